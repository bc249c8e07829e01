//! Patches: JSON patch, merge patch, strategic merge patch and apply.

use std::fmt::Display;

use std::sync::Arc;

use baton_apimachinery::field::{FieldError, FieldErrorType};
use baton_apimachinery::go_fmt;
use baton_apimachinery::go_json::{self, UnmarshalTypeError};
use baton_apimachinery::merge::apply::{ApplyError, apply};
use baton_apimachinery::merge::json_patch::{self, JsonPatchError};
use baton_apimachinery::merge::strategic::{self, MergeError};
use baton_apimachinery::merge::{conflict::Conflicts, field_validation, merge_patch};
use baton_apimachinery::meta;
use baton_apimachinery::yaml;
use serde_json::{Value, json};

use crate::api_error::ApiError;
use crate::handlers::codecs::reply::Reply;
use crate::handlers::codecs::{decode, strategic_decode};
use crate::handlers::field_managers::{Validation, check_options, invalid_patch, report};
use crate::handlers::{Call, Core, strategy};

/// The media type of strategic merge patches.
pub(in crate::handlers) const STRATEGIC: &str = "application/strategic-merge-patch+json";

impl Core {
    pub(in crate::handlers) fn patch(
        self: &Arc<Self>,
        call: &Call,
        warnings: &mut Vec<String>,
    ) -> Result<Reply, ApiError> {
        check_options(call, "PatchOptions")?;
        match call.media() {
            "application/json-patch+json" => self.json_patch(call, warnings),
            "application/merge-patch+json" => self.merge_patch(call, warnings),
            STRATEGIC => self.strategic_patch(call, warnings),
            "application/apply-patch+yaml" => self.apply(call),
            _ => Err(unsupported(call)),
        }
    }

    fn json_patch(self: &Arc<Self>, call: &Call, warnings: &mut Vec<String>) -> Result<Reply, ApiError> {
        let patch = json_patch_in(call)?;
        let own = field_validation::json_patch(&patch);
        self.change_by(call, warnings, |old| {
            let change = || json_patch::apply(old, &patch).map_err(|error| json_patch_error(&error));
            patched(call, change()?, own.clone(), || {
                change().unwrap_or_default().to_string()
            })
        })
    }

    fn merge_patch(self: &Arc<Self>, call: &Call, warnings: &mut Vec<String>) -> Result<Reply, ApiError> {
        let patch = merge_patch_in(call)?;
        let duplicates = field_validation::duplicate_keys(&call.body);
        self.change_by(call, warnings, |old| {
            let change = || {
                let mut new = old.clone();
                merge_patch::apply(&mut new, &patch);
                new
            };
            patched(call, change(), duplicates.clone(), || change().to_string())
        })
    }

    fn strategic_patch(self: &Arc<Self>, call: &Call, warnings: &mut Vec<String>) -> Result<Reply, ApiError> {
        if call.resource.custom().is_some() {
            return Err(unsupported(call));
        }
        let patch = strategic_patch_in(call)?;
        let duplicates = field_validation::duplicate_keys(&call.body);
        self.change_by(call, warnings, |old| {
            let mut new = strategic::merge(call.resource.model(), old, &patch).map_err(merge_error)?;
            // A strategic patch cannot change the type.
            decode::set_type(call, &mut new);
            patched(call, new, duplicates.clone(), || {
                go_fmt::plain(&strategic_decode::left_of(&patch))
            })
        })
    }

    /// Changes an object by a patch; its warnings are reported once, however often the change is retried.
    fn change_by(
        self: &Arc<Self>,
        call: &Call,
        warnings: &mut Vec<String>,
        mut change: impl FnMut(&Value) -> Result<(Value, Vec<String>), ApiError>,
    ) -> Result<Reply, ApiError> {
        let mut found = Vec::new();
        let reply = self.change(call, |old| {
            let (new, findings) = change(old)?;
            same_uid(call, old, &new)?;
            found = findings;
            Ok(new)
        });
        // A refused request gets the warnings, too.
        warnings.append(&mut found);
        reply
    }

    fn apply(self: &Arc<Self>, call: &Call) -> Result<Reply, ApiError> {
        let applied = applied(call, &call.resource.api_version, &call.resource.kind)?;
        let manager = call.manager();
        let force = call.query.is_set("force");
        let merged = |old: Option<&Value>| {
            let versions = self.served(call);
            let write = call.write(&manager, &versions, self);
            let outcome = apply(call.resource.model(), old, &applied, &write, force).map_err(apply_error)?;
            let mut object = outcome.object;
            decode::check_type(call, &mut object)?;
            crate::handlers::verbs::named::check_name(call, &object)?;
            crate::handlers::verbs::named::check_namespace(call, &mut object)?;
            strategy::decode(&call.resource, &mut object).map_err(ApiError::plain_500)?;
            Ok(object)
        };
        let found = self.store.get(call.resource.bucket, &call.key()).is_some();
        if !found && call.subresource.is_none() {
            let mut object = merged(None)?;
            if let Some(uid) = meta::str_at(&object, &["metadata", "uid"]) {
                let cause =
                    format!("uid mismatch: the provided object specified uid {uid}, and no existing object was found");
                let name = call.name.as_deref().unwrap_or_default();
                return Err(ApiError::conflict(call.about(name), &cause));
            }
            meta::unset(&mut object, "resourceVersion");
            return self.create_object(call, object);
        }
        self.change(call, |old| {
            let object = merged(Some(old))?;
            same_uid(call, old, &object)?;
            Ok(object)
        })
    }
}

/// Applies the patch in the body to an object that is not the stored one, such as a `Scale`.
pub(in crate::handlers) fn patch_other(call: &Call, old: &Value) -> Result<Value, ApiError> {
    match call.media() {
        "application/json-patch+json" => {
            json_patch::apply(old, &json_patch_in(call)?).map_err(|error| json_patch_error(&error))
        }
        "application/merge-patch+json" => {
            let mut new = old.clone();
            merge_patch::apply(&mut new, &merge_patch_in(call)?);
            Ok(new)
        }
        STRATEGIC if call.resource.custom().is_none() => {
            let mut new = old.clone();
            merge_patch::apply(&mut new, &strategic_patch_in(call)?);
            Ok(new)
        }
        _ => Err(unsupported(call)),
    }
}

fn undecodable(error: impl Display) -> ApiError {
    ApiError::bad_request(format!("error decoding patch: {error}"))
}

/// Returns the operations of a JSON patch.
fn json_patch_in(call: &Call) -> Result<Value, ApiError> {
    let patch = go_json::parse(&call.body).map_err(undecodable)?;
    if !patch.is_array() {
        json_patch::apply(&Value::Null, &patch).map_err(|error| json_patch_error(&error))?;
    }
    Ok(patch)
}

/// The Go type of a patch.
const MAP: &str = "map[string]interface {}";

/// Returns a merge patch: an object.
fn merge_patch_in(call: &Call) -> Result<Value, ApiError> {
    match go_json::parse(&call.body).map_err(undecodable)? {
        Value::Object(members) => Ok(Value::Object(members)),
        Value::Null => Err(ApiError::bad_request("Invalid JSON Patch")),
        other => Err(undecodable(UnmarshalTypeError::value(&other, MAP))),
    }
}

/// Returns a strategic merge patch: an object, or null.
fn strategic_patch_in(call: &Call) -> Result<Value, ApiError> {
    match go_json::parse(&call.body).map_err(ApiError::bad_request)? {
        Value::Object(members) => Ok(Value::Object(members)),
        Value::Null => Ok(json!({})),
        other => Err(ApiError::bad_request(UnmarshalTypeError::value(&other, MAP))),
    }
}

fn unsupported(call: &Call) -> ApiError {
    if call.resource.custom().is_some() {
        let message = "the body of the request was in an unknown format - accepted media types include: \
                       application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml";
        return ApiError::new(415, "UnsupportedMediaType", message, None);
    }
    ApiError::new(
        415,
        "UnsupportedMediaType",
        "415: Unsupported Media Type",
        Some(json!({})),
    )
}

/// Reads the applied object, and checks that it has the expected type.
pub(in crate::handlers) fn applied(call: &Call, expected: &str, expected_kind: &str) -> Result<Value, ApiError> {
    let not_yaml = |error| {
        let message = format!("error decoding YAML: error converting YAML to JSON: yaml: {error}");
        ApiError::bad_request(message)
    };
    let mut applied = yaml::read(&call.body).map_err(not_yaml)?;
    if applied.is_null() {
        applied = json!({});
    }
    if !applied.is_object() {
        let kind = baton_apimachinery::merge::go_type(&applied);
        let message = format!(
            "error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal {kind} into Go value of type map[string]interface {{}}"
        );
        return Err(ApiError::bad_request(message));
    }
    let text = |name: &str| meta::text(&applied, name);
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    if api_version != expected || kind != expected_kind {
        let slash = if api_version.contains('/') { "" } else { "/" };
        return Err(ApiError::bad_request(format!(
            "invalid object type: {slash}{api_version}, Kind={kind}"
        )));
    }
    Ok(applied)
}

/// Returns the result of a patch as its kind reads it, with its unknown fields.
fn patched(
    call: &Call,
    mut new: Value,
    mut findings: Vec<String>,
    quoted: impl FnOnce() -> String,
) -> Result<(Value, Vec<String>), ApiError> {
    if call.resource.custom().is_none()
        && let Some(cause) = decode::cause_of_other_type(call, &new)
    {
        return Err(invalid_patch(quoted(), &cause));
    }
    if call.resource.custom().is_none() {
        decode::check_type(call, &mut new)?;
    } else if let Err(error) = decode::type_of_custom(&new, || new.to_string()) {
        return Err(invalid_patch(quoted(), &error));
    } else if meta::str_at(&new, &["apiVersion"]).is_none() {
        return Err(ApiError::internal(
            "Object 'apiVersion' is missing in 'object has no apiVersion field'",
        ));
    }
    if call.resource.custom().is_none() && call.validation() != Validation::Ignore {
        findings.extend(field_validation::unknown_fields(call.resource.model(), &new));
    }
    match strategy::decode(&call.resource, &mut new) {
        Ok(dropped) => findings.extend(dropped.iter().map(|path| field_validation::unknown_field(path))),
        Err(error) if call.media() == STRATEGIC => {
            return Err(invalid_patch(quoted(), &strategic_decode::worded(&error)));
        }
        Err(error) => return Err(invalid_patch(quoted(), &error)),
    }
    let mut warnings = Vec::new();
    if let Err(error) = report(call, findings, &mut warnings) {
        return Err(invalid_patch(quoted(), &error));
    }
    crate::handlers::verbs::named::check_name(call, &new)?;
    crate::handlers::verbs::named::check_namespace(call, &mut new)?;
    Ok((new, warnings))
}

/// Refuses a patch of another object of the same name.
fn same_uid(call: &Call, old: &Value, new: &Value) -> Result<(), ApiError> {
    let uid = |object| meta::str_at(object, &["metadata", "uid"]).map(str::to_owned);
    if uid(new).is_none() || uid(old) == uid(new) {
        return Ok(());
    }
    let given = Value::from(uid(new).unwrap_or_default());
    let finding = FieldError::with_value(FieldErrorType::Invalid, "metadata.uid", &given, "field is immutable");
    let name = call.name.as_deref().unwrap_or_default();
    // The generic validation and that of the kind both report it.
    Err(ApiError::invalid(call.about_kind(name), &[finding.clone(), finding]))
}

fn json_patch_error(error: &JsonPatchError) -> ApiError {
    let message = error.to_string();
    match error {
        JsonPatchError::NotAList(_) => ApiError::bad_request(message),
        JsonPatchError::TooLarge(_) => ApiError::new(413, "RequestEntityTooLarge", message, Some(json!({}))),
        JsonPatchError::Failed(_) => ApiError::new(422, "Invalid", message, Some(json!({}))),
    }
}

fn merge_error(error: MergeError) -> ApiError {
    match error {
        MergeError::BadRequest(message) => ApiError::bad_request(message),
        MergeError::Unprocessable(message) => ApiError::new(422, "Invalid", message, Some(json!({}))),
        MergeError::Internal(message) => ApiError::plain_500(message),
    }
}

pub(in crate::handlers) fn apply_error(error: ApplyError) -> ApiError {
    match error {
        ApplyError::Conflicts(conflicts) => conflict(&conflicts),
        ApplyError::BadRequest(message) => ApiError::bad_request(message),
        other @ (ApplyError::Document { .. } | ApplyError::Version(_)) => ApiError::plain_500(other),
    }
}

fn conflict(conflicts: &Conflicts) -> ApiError {
    let causes: Vec<Value> = conflicts
        .0
        .iter()
        .map(|conflict| json!({"reason": "FieldManagerConflict", "message": conflict.message(), "field": conflict.field}))
        .collect();
    ApiError::new(409, "Conflict", conflicts.to_string(), Some(json!({"causes": causes})))
}

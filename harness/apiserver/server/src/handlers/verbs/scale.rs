//! The scale subresource: a small object that reads and writes the replicas of another one.

use std::sync::Arc;

use baton_apimachinery::field::{FieldError, FieldErrorType};
use baton_apimachinery::merge::apply::apply;
use baton_apimachinery::merge::field_validation;
use baton_apimachinery::meta;
use baton_apimachinery::schema::crd::scale::set;
use serde_json::{Value, json};

use crate::api_error::{About, ApiError};
use crate::handlers::codecs::decode;
use crate::handlers::codecs::reply::Reply;
use crate::handlers::field_managers::{cannot_be_handled, check_options, invalid_patch, report};
use crate::handlers::replicas::{lenient, scale_of, spec_path};
use crate::handlers::verbs::named::check_name;
use crate::handlers::verbs::patch::{STRATEGIC, applied, apply_error, patch_other};
use crate::handlers::{Call, Core, Verb};
use crate::registry::Resource;

impl Core {
    pub(in crate::handlers) fn scale(
        self: &Arc<Self>,
        call: &Call,
        warnings: &mut Vec<String>,
    ) -> Result<Reply, ApiError> {
        let resource = &call.resource;
        match call.verb {
            Verb::Get => {
                let stored = self.find(call)?;
                let scale = scale_of(resource, &stored.value())?;
                Ok(Reply::Made {
                    code: 200,
                    object: scale,
                })
            }
            Verb::Update => {
                check_options(call, "UpdateOptions")?;
                let wanted = decode::object(call)?;
                check_kind(&wanted)?;
                if let Some(error) = wrong_type(&wanted) {
                    let message = format!("Scale in version \"v1\" cannot be handled as a Scale: {error}");
                    return Err(ApiError::bad_request(message));
                }
                report(call, unknown(&wanted), warnings).map_err(|error| cannot_be_handled(call, &error))?;
                check_name(call, &wanted)?;
                self.change_scale(call, |_| Ok(wanted.clone()))
            }
            Verb::Patch => {
                check_options(call, "PatchOptions")?;
                if call.is_apply() {
                    return self.apply_scale(call);
                }
                let mut found = Vec::new();
                let reply = self.change_scale(call, |old| {
                    let present = lenient(resource, old);
                    let mut scale = patch_other(call, &present)?;
                    // A strategic patch cannot change the type.
                    if call.media() == STRATEGIC {
                        scale["apiVersion"] = "autoscaling/v1".into();
                        scale["kind"] = "Scale".into();
                    }
                    if let Some(error) = other_kind(&scale).or_else(|| wrong_type(&scale)) {
                        return Err(invalid_patch(scale.to_string(), &error));
                    }
                    check_name(call, &scale)?;
                    if let (Some(given), Some(found)) = (meta::uid(&scale), meta::uid(&present))
                        && given != found
                    {
                        let cause =
                            format!("Precondition failed: UID in precondition: {given}, UID in object meta: {found}");
                        let about = About {
                            group: &resource.group,
                            kind: &format!("{}/scale", resource.plural),
                            name: call.name.as_deref().unwrap_or_default(),
                        };
                        return Err(ApiError::conflict(about, &cause));
                    }
                    found.clear();
                    report(call, unknown(&scale), &mut found)
                        .map_err(|error| invalid_patch(scale.to_string(), &error))?;
                    Ok(scale)
                })?;
                warnings.append(&mut found);
                Ok(reply)
            }
            Verb::Create | Verb::Delete | Verb::List | Verb::Watch | Verb::DeleteCollection => {
                Err(ApiError::method_not_allowed())
            }
        }
    }

    fn change_scale(
        self: &Arc<Self>,
        call: &Call,
        mut change: impl FnMut(&Value) -> Result<Value, ApiError>,
    ) -> Result<Reply, ApiError> {
        let resource = &call.resource;
        let reply = self.change(call, |old| {
            let scale = change(old)?;
            let replicas = replicas_of(call, &scale)?;
            let mut new = old.clone();
            if !set(&mut new, spec_path(resource), replicas.into()) {
                return Err(ApiError::internal("the replicas cannot be set"));
            }
            match meta::resource_version(&scale) {
                Some(version) => meta::set(&mut new, "resourceVersion", version),
                None => meta::unset(&mut new, "resourceVersion"),
            }
            Ok(new)
        })?;
        as_scale(resource, reply)
    }

    /// Merges an applied `Scale` into the replicas; the object records their owner under the name of the subresource.
    fn apply_scale(self: &Arc<Self>, call: &Call) -> Result<Reply, ApiError> {
        let resource = &call.resource;
        let scale = applied(call, "autoscaling/v1", "Scale")?;
        if resource.custom().is_some() {
            return Err(ApiError::plain_500(
                "failed to create manager for existing fields: failed to convert live object (/; autoscaling/v1, \
                 Kind=Scale) to proper version: request to convert CR to an invalid group/version: autoscaling/v1",
            ));
        }
        if let Some(error) = wrong_type(&scale) {
            return Err(ApiError::bad_request(error));
        }
        let manager = call.manager();
        let force = call.query.is_set("force");
        let mut wanted = json!({"apiVersion": resource.api_version, "kind": resource.kind});
        if meta::at(&scale, &["spec", "replicas"]).is_some() {
            let replicas = replicas_of(call, &scale)?;
            set(&mut wanted, spec_path(resource), replicas.into());
        }
        let reply = self.change(call, |old| {
            let versions = self.served(call);
            let write = call.write(&manager, &versions, self);
            let merged = apply(resource.model(), Some(old), &wanted, &write, force).map_err(apply_error)?;
            Ok(merged.object)
        })?;
        as_scale(resource, reply)
    }
}

/// Returns the `Scale` of a changed object.
fn as_scale(resource: &Resource, reply: Reply) -> Result<Reply, ApiError> {
    match reply {
        Reply::Object { code, object, .. } => Ok(Reply::Made {
            code,
            object: scale_of(resource, &object.value())?,
        }),
        other @ (Reply::List(_) | Reply::Made { .. } | Reply::Watch(..) | Reply::Raw { .. }) => Ok(other),
    }
}

/// Returns the replicas that a `Scale` requests.
fn replicas_of(call: &Call, scale: &Value) -> Result<i64, ApiError> {
    let replicas = meta::at(scale, &["spec", "replicas"]).and_then(Value::as_i64);
    let replicas = replicas.unwrap_or(0);
    if replicas >= 0 || call.resource.custom().is_some() {
        return Ok(replicas);
    }
    let detail = "must be greater than or equal to 0";
    let error = FieldError::with_value(FieldErrorType::Invalid, "spec.replicas", &replicas.into(), detail);
    let about = About {
        group: "autoscaling",
        kind: "Scale",
        name: call.name.as_deref().unwrap_or_default(),
    };
    Err(ApiError::invalid(about, &[error]))
}

/// Returns the decoder's error for a `Scale` whose replicas are not a whole number.
fn wrong_type(scale: &Value) -> Option<String> {
    let spec = scale.get("spec")?;
    let found = baton_apimachinery::merge::go_type;
    if !spec.is_object() && !spec.is_null() {
        let kind = found(spec);
        return Some(format!(
            "json: cannot unmarshal {kind} into Go struct field Scale.spec of type v1.ScaleSpec"
        ));
    }
    let replicas = spec.get("replicas").filter(|value| !value.is_null())?;
    let fits = replicas.as_i64().is_some_and(|number| i32::try_from(number).is_ok());
    let kind = match replicas {
        Value::Number(number) => format!("number {number}"),
        other => found(other).to_owned(),
    };
    (!fits).then(|| format!("json: cannot unmarshal {kind} into Go struct field ScaleSpec.spec.replicas of type int32"))
}

/// Returns the decoder's error for an object that is not a `Scale`.
fn other_kind(scale: &Value) -> Option<String> {
    let text = |key: &str| meta::text(scale, key);
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    (api_version != "autoscaling/v1" || kind != "Scale").then(|| not_registered(api_version, kind))
}

fn not_registered(api_version: &str, kind: &str) -> String {
    format!("no kind {kind:?} is registered for version {api_version:?} in scheme \"pkg/runtime/scheme.go:111\"")
}

/// Returns the unknown members of a `Scale`.
fn unknown(scale: &Value) -> Vec<String> {
    let of = |value: Option<&Value>, before: &str, known: &[&str]| -> Vec<String> {
        let members = value.and_then(Value::as_object).into_iter().flatten();
        let unknown = members.filter(|(name, _)| !known.contains(&name.as_str()));
        unknown
            .map(|(name, _)| field_validation::unknown_field(&format!("{before}{name}")))
            .collect()
    };
    let mut found = of(Some(scale), "", &["apiVersion", "kind", "metadata", "spec", "status"]);
    found.extend(of(scale.get("spec"), "spec.", &["replicas"]));
    found.extend(of(scale.get("status"), "status.", &["replicas", "selector"]));
    found
}

fn check_kind(scale: &Value) -> Result<(), ApiError> {
    let text = |key: &str| meta::text(scale, key);
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    if matches!(kind, "" | "Scale") && matches!(api_version, "" | "autoscaling/v1") {
        return Ok(());
    }
    // Missing types are filled in.
    let kind = if kind.is_empty() { "Scale" } else { kind };
    let api_version = if api_version.is_empty() {
        "autoscaling/v1"
    } else {
        api_version
    };
    let version = api_version.rsplit('/').next().unwrap_or_default();
    let error = if api_version.split('/').next() == Some("autoscaling") {
        not_registered(api_version, kind)
    } else {
        format!("converting ({version}.{kind}) to (autoscaling.Scale): unknown conversion")
    };
    Err(ApiError::bad_request(format!(
        "{kind} in version {version:?} cannot be handled as a Scale: {error}"
    )))
}

//! Decoding of a request's body.

use std::fmt::Display;

use baton_apikinds::{protobuf, resources};
use baton_apimachinery::field::{FieldError, FieldErrorType};
use baton_apimachinery::go_json::{self, UnmarshalTypeError};
use baton_apimachinery::merge::field_validation;
use baton_apimachinery::meta;
use baton_apimachinery::yaml;
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, header};
use serde_json::Value;

use crate::api_error::{About, ApiError, Untyped, not_registered_in};
use crate::handlers::{Call, field_managers, strategy};
use crate::registry::Resource;

/// Returns the object in the body.
pub(in crate::handlers) fn object(call: &Call) -> Result<Value, ApiError> {
    let content_type = call.header(header::CONTENT_TYPE).unwrap_or("application/json");
    let media = content_type.split(';').next().unwrap_or_default().trim();
    let value = match media {
        media if is_json_type(media) => {
            match go_json::parse(&call.body).map_err(|error| unrecognized(call, &Untyped::from(error)))? {
                // For a struct, null counts as an empty object.
                Value::Null if call.resource.custom().is_none() => Value::Object(serde_json::Map::new()),
                object @ (Value::Object(_) | Value::Null) => object,
                other => return Err(unrecognized(call, &Untyped::not_an_object(&other))),
            }
        }
        "application/yaml" => yaml(&call.body)?,
        _ => return Err(unknown_format()),
    };
    Ok(value)
}

fn is_json_type(media: &str) -> bool {
    matches!(media, "" | "application/json" | "*/*")
}

fn unknown_format() -> ApiError {
    ApiError::new(
        415,
        "UnsupportedMediaType",
        "the body of the request was in an unknown format - accepted media types include: application/json, \
         application/yaml, application/vnd.kubernetes.protobuf",
        None,
    )
}

/// Converts a body in the binary form of Go clients to JSON; leaves any other body as it is.
pub(in crate::handlers) fn from_protobuf(headers: &HeaderMap, body: Bytes) -> Result<(HeaderMap, Bytes), ApiError> {
    let mut headers = headers.clone();
    let media = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    if !media.is_some_and(|media| media.starts_with("application/vnd.kubernetes.protobuf")) || body.is_empty() {
        return Ok((headers, body));
    }
    let object = protobuf::decode(&body).map_err(ApiError::bad_request)?;
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Ok((headers, Bytes::from(object.to_string())))
}

/// Returns the object in the body in the form of its kind; reports or refuses unknown fields.
pub(in crate::handlers) fn checked(call: &Call, warnings: &mut Vec<String>) -> Result<Value, ApiError> {
    let mut object = object(call)?;
    let custom = call.resource.custom().is_some();
    if custom {
        let shown = || String::from_utf8_lossy(&call.body).into_owned();
        type_of_custom(&object, shown).map_err(|error| unrecognized(call, &error))?;
    } else {
        check_type(call, &mut object)?;
    }
    let mut findings = field_managers::findings_of_body(call);
    let dropped = strategy::decode(&call.resource, &mut object)
        .map_err(|error| field_managers::cannot_be_handled(call, &error))?;
    let api_version = meta::str_at(&object, &["apiVersion"]).unwrap_or_default();
    if custom && api_version != call.resource.api_version {
        return Err(other_version(&call.resource, api_version));
    }
    findings.extend(dropped.iter().map(|path| field_validation::unknown_field(path)));
    field_managers::report(call, findings, warnings)
        .map_err(|error| field_managers::cannot_be_handled(call, &error))?;
    Ok(object)
}

/// Returns the error for a body without a readable type.
fn unrecognized(call: &Call, error: &impl Display) -> ApiError {
    const SHOWN: usize = 30;
    let kind = &call.resource.kind;
    let start = call.body.get(..SHOWN).unwrap_or(&call.body);
    let more = if call.body.len() > SHOWN { " ..." } else { "" };
    let start = match start.first() {
        None => "<empty>".to_owned(),
        Some(b'{') => String::from_utf8_lossy(start).into_owned(),
        Some(_) => start.iter().fold(String::new(), |hex, byte| format!("{hex}{byte:02x}")),
    };
    ApiError::bad_request(format!(
        "the object provided is unrecognized (must be of type {kind}): {error} ({start}{more})"
    ))
}

/// Returns the options of a deletion in the body.
pub(in crate::handlers) fn delete_options(call: &Call) -> Result<Value, ApiError> {
    let body = match call.media() {
        "application/yaml" => yaml(&call.body)?,
        media if !is_json_type(media) => return Err(unknown_format()),
        _ => go_json::parse(&call.body).map_err(|error| ApiError::bad_request(Untyped::from(error)))?,
    };
    let text = |key: &str| meta::str_at(&body, &[key]).unwrap_or_default();
    match (text("kind"), text("apiVersion")) {
        ("" | "DeleteOptions", _) => Ok(body),
        (kind, api_version) => Err(ApiError::bad_request(not_registered(api_version, kind))),
    }
}

/// Reads YAML in a request's body.
pub(in crate::handlers) fn yaml(bytes: &[u8]) -> Result<Value, ApiError> {
    yaml::read(bytes).map_err(|error| ApiError::bad_request(format!("error converting YAML to JSON: yaml: {error}")))
}

/// Checks that an object is of the kind in its path, and sets the type if the object leaves it out.
pub(in crate::handlers) fn check_type(call: &Call, object: &mut Value) -> Result<(), ApiError> {
    let resource = &call.resource;
    if !object.is_object() {
        return Err(ApiError::bad_request("the body of the request is not an object"));
    }
    if let Some((api_version, kind)) = other_type(resource, object) {
        return Err(wrong_type(resource, &api_version, &kind));
    }
    set_type(call, object);
    Ok(())
}

/// Reason for which a custom resource cannot be decoded.
#[derive(Debug, thiserror::Error)]
pub(in crate::handlers) enum TypeError {
    #[error(transparent)]
    Untyped(#[from] Untyped),
    #[error("Object 'Kind' is missing in '{0}'")]
    MissingKind(String),
    #[error("unexpected GroupVersion string: {0}")]
    GroupVersion(String),
}

/// Checks the types of `apiVersion` and `kind` in a custom resource; a later check compares them with the path. `shown`
/// is the object as it was read.
pub(in crate::handlers) fn type_of_custom(object: &Value, shown: impl FnOnce() -> String) -> Result<(), TypeError> {
    for name in ["apiVersion", "kind"] {
        if let Some(other) = object.get(name).filter(|value| !value.is_null() && !value.is_string()) {
            return Err(Untyped::from(UnmarshalTypeError::field(other, &format!(".{name}"), "string")).into());
        }
    }
    let text = |name: &str| meta::str_at(object, &[name]).unwrap_or_default();
    if text("kind").is_empty() {
        return Err(TypeError::MissingKind(shown()));
    }
    if text("apiVersion").matches('/').count() > 1 {
        return Err(TypeError::GroupVersion(text("apiVersion").to_owned()));
    }
    Ok(())
}

/// Refuses a custom resource of another kind or version than that of its path.
pub(in crate::handlers) fn check_custom(call: &Call, object: &Value) -> Result<(), ApiError> {
    let resource = &call.resource;
    if resource.custom().is_none() {
        return Ok(());
    }
    let text = |name: &str| meta::str_at(object, &[name]).unwrap_or_default();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    let finding = |field: &str, given: &str, wanted: &str| {
        let detail = format!("must be {wanted}");
        (given != wanted).then(|| FieldError::with_value(FieldErrorType::Invalid, field, &given.into(), &detail))
    };
    let errors: Vec<FieldError> = finding("kind", kind, &resource.kind)
        .into_iter()
        .chain(finding("apiVersion", api_version, &resource.api_version))
        .collect();
    if errors.is_empty() {
        return Ok(());
    }
    let about = About {
        group: api_version.split_once('/').map_or("", |(group, _)| group),
        kind,
        name: meta::name(object).unwrap_or_default(),
    };
    Err(ApiError::invalid(about, &errors))
}

/// Sets the type of an object to that of its path.
pub(in crate::handlers) fn set_type(call: &Call, object: &mut Value) {
    if let Some(members) = object.as_object_mut() {
        members.insert("apiVersion".to_owned(), call.resource.api_version.clone().into());
        members.insert("kind".to_owned(), call.resource.kind.clone().into());
    }
}

/// Returns the decoder's error if the result of a patch is of another kind than the patched object.
pub(in crate::handlers) fn cause_of_other_type(call: &Call, object: &Value) -> Option<String> {
    let (api_version, kind) = other_type(&call.resource, object)?;
    cause_of(&call.resource, &api_version, &kind)
}

/// Returns `apiVersion` and `kind` of an object, with missing ones filled in, if they differ from those of the
/// resource.
fn other_type(resource: &Resource, object: &Value) -> Option<(String, String)> {
    let text = |key: &str, expected: &str| {
        let given = object.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
        given.unwrap_or(expected).to_owned()
    };
    let (api_version, kind) = (text("apiVersion", &resource.api_version), text("kind", &resource.kind));
    let differs = api_version != resource.api_version || kind != resource.kind;
    differs.then_some((api_version, kind))
}

/// Returns the reason for which an object of another type cannot become an object of the resource, or `None` if only
/// the version differs.
fn cause_of(resource: &Resource, api_version: &str, kind: &str) -> Option<String> {
    let expected = &resource.kind;
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let single = kind.strip_suffix("List").unwrap_or(kind);
    let known = resources::by_kind(group, version, single).is_some();
    // Versions that the reference still decodes although it no longer serves them.
    let retired = matches!(
        api_version,
        "extensions/v1beta1" | "apps/v1beta1" | "apps/v1beta2" | "batch/v1beta1"
    );
    if kind == expected && (known || retired) {
        return None;
    }
    let package = match resource.group.split('.').next() {
        Some("") | None => "core",
        Some(package) => package,
    };
    Some(if known {
        format!("converting ({version}.{kind}) to ({package}.{expected}): unknown conversion")
    } else {
        not_registered(api_version, kind)
    })
}

pub(crate) fn not_registered(api_version: &str, kind: &str) -> String {
    not_registered_in(api_version, kind, "k8s.io/kubernetes/pkg/api/legacyscheme/scheme.go:30")
}

fn other_version(resource: &Resource, api_version: &str) -> ApiError {
    ApiError::bad_request(format!(
        "the API version in the data ({api_version}) does not match the expected API version ({})",
        resource.api_version
    ))
}

fn wrong_type(resource: &Resource, api_version: &str, kind: &str) -> ApiError {
    let Some(cause) = cause_of(resource, api_version, kind) else {
        return other_version(resource, api_version);
    };
    let (_, version) = api_version.split_once('/').unwrap_or(("", api_version));
    ApiError::bad_request(format!(
        "{kind} in version {version:?} cannot be handled as a {}: {cause}",
        resource.kind
    ))
}

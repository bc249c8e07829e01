//! From the bytes of a request to an object.

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, header};
use serde_json::Value;

use super::{Call, kinds, manage};
use crate::builtin::{catalogue, protobuf};
use crate::merge::strict;
use crate::registry::Resource;
use crate::status::ApiError;
use crate::yaml;

/// The object in the body.
pub(super) fn object(call: &Call) -> Result<Value, ApiError> {
    let content_type = call.header(header::CONTENT_TYPE).unwrap_or("application/json");
    let media = content_type.split(';').next().unwrap_or_default().trim();
    let value = match media {
        "" | "application/json" | "*/*" => match json(&call.body)? {
            // Into a struct, nothing is read as nothing.
            Value::Null if call.resource.custom().is_none() => Value::Object(serde_json::Map::new()),
            object => object,
        },
        "application/yaml" => yaml(&call.body)?,
        _ => {
            return Err(ApiError::new(
                415,
                "UnsupportedMediaType",
                "the body of the request was in an unknown format - accepted media types include: application/json, \
                 application/yaml, application/vnd.kubernetes.protobuf",
                None,
            ));
        }
    };
    Ok(value)
}

/// A body in the binary form of Go clients becomes the JSON that it stands for; any other stays as it is.
pub(super) fn from_protobuf(headers: &HeaderMap, body: Bytes) -> Result<(HeaderMap, Bytes), ApiError> {
    let mut headers = headers.clone();
    let media = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    if !media.is_some_and(|media| media.starts_with("application/vnd.kubernetes.protobuf")) || body.is_empty() {
        return Ok((headers, body));
    }
    let object = protobuf::decode(&body).map_err(|error| ApiError::bad_request(error.to_string()))?;
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Ok((headers, Bytes::from(object.to_string())))
}

/// The object in the body in the form of its kind, what is unknown in it told or refused.
pub(super) fn checked(call: &Call, warnings: &mut Vec<String>) -> Result<Value, ApiError> {
    let mut object = object(call)?;
    check_type(call, &mut object)?;
    let mut findings = manage::findings_of_body(call);
    let dropped =
        kinds::decode(&call.resource, &mut object).map_err(|error| manage::cannot_be_handled(call, &error))?;
    findings.extend(dropped.iter().map(|path| strict::unknown_field(path)));
    manage::report(call, findings, warnings).map_err(|error| manage::cannot_be_handled(call, &error))?;
    Ok(object)
}

/// Whether the body is JSON, not YAML.
pub(super) fn is_json(call: &Call) -> bool {
    call.media() != "application/yaml"
}

/// JSON, as a request's body.
pub(super) fn json(bytes: &[u8]) -> Result<Value, ApiError> {
    serde_json::from_slice(bytes).map_err(|error| ApiError::bad_request(format!("invalid JSON: {error}")))
}

/// YAML, as a request's body.
pub(super) fn yaml(bytes: &[u8]) -> Result<Value, ApiError> {
    yaml::read(bytes).map_err(|error| ApiError::bad_request(format!("error converting YAML to JSON: yaml: {error}")))
}

/// Checks that an object is of the kind that its path is about, and sets what it leaves out.
pub(super) fn check_type(call: &Call, object: &mut Value) -> Result<(), ApiError> {
    let resource = &call.resource;
    if !object.is_object() {
        return Err(ApiError::bad_request("the body of the request is no object"));
    }
    if let Some((api_version, kind)) = other_type(resource, object) {
        return Err(wrong_type(resource, &api_version, &kind));
    }
    set_type(call, object);
    Ok(())
}

/// Makes an object one of the kind that its path is about.
pub(super) fn set_type(call: &Call, object: &mut Value) {
    if let Some(members) = object.as_object_mut() {
        members.insert("apiVersion".to_owned(), call.resource.api_version.clone().into());
        members.insert("kind".to_owned(), call.resource.kind.clone().into());
    }
}

/// Why the result of a patch is not of the kind of the object that was patched, in the words of the decoder.
pub(super) fn cause_of_other_type(call: &Call, object: &Value) -> Option<String> {
    let (api_version, kind) = other_type(&call.resource, object)?;
    cause_of(&call.resource, &api_version, &kind)
}

/// `apiVersion` and `kind` of an object, what is left out filled in, if they are not those of the resource.
fn other_type(resource: &Resource, object: &Value) -> Option<(String, String)> {
    let text = |key: &str, expected: &str| {
        let given = object.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
        given.unwrap_or(expected).to_owned()
    };
    let (api_version, kind) = (text("apiVersion", &resource.api_version), text("kind", &resource.kind));
    let differs = api_version != resource.api_version || kind != resource.kind;
    differs.then_some((api_version, kind))
}

/// Why no object of the resource can be made of one of another type; `None` if only the version is another one.
fn cause_of(resource: &Resource, api_version: &str, kind: &str) -> Option<String> {
    let expected = &resource.kind;
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let single = kind.strip_suffix("List").unwrap_or(kind);
    let known = catalogue::by_kind(group, version, single).is_some();
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
        format!(
            "no kind {kind:?} is registered for version {api_version:?} in scheme \
             \"k8s.io/kubernetes/pkg/api/legacyscheme/scheme.go:30\""
        )
    })
}

fn wrong_type(resource: &Resource, api_version: &str, kind: &str) -> ApiError {
    let other_version = || {
        ApiError::bad_request(format!(
            "the API version in the data ({api_version}) does not match the expected API version ({})",
            resource.api_version
        ))
    };
    if resource.custom().is_some() && api_version != resource.api_version {
        return other_version();
    }
    let Some(cause) = cause_of(resource, api_version, kind) else {
        return other_version();
    };
    let (_, version) = api_version.split_once('/').unwrap_or(("", api_version));
    ApiError::bad_request(format!(
        "{kind} in version {version:?} cannot be handled as a {}: {cause}",
        resource.kind
    ))
}

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
        "" | "application/json" | "*/*" => json(&call.body)?,
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
    let Some(members) = object.as_object_mut() else {
        return Err(ApiError::bad_request("the body of the request is no object"));
    };
    let text = |key: &str| members.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    let other_version = !api_version.is_empty() && api_version != resource.api_version;
    let other_kind = !kind.is_empty() && kind != resource.kind;
    if other_version || other_kind {
        return Err(wrong_type(resource, &api_version, &kind));
    }
    members.insert("apiVersion".to_owned(), resource.api_version.clone().into());
    members.insert("kind".to_owned(), resource.kind.clone().into());
    Ok(())
}

fn wrong_type(resource: &Resource, api_version: &str, kind: &str) -> ApiError {
    let expected = &resource.kind;
    let api_version = if api_version.is_empty() {
        &resource.api_version
    } else {
        api_version
    };
    let kind = if kind.is_empty() { expected } else { kind };
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let other_version = ApiError::bad_request(format!(
        "the API version in the data ({api_version}) does not match the expected API version ({})",
        resource.api_version
    ));
    if resource.custom().is_some() && api_version != resource.api_version {
        return other_version;
    }
    let single = kind.strip_suffix("List").unwrap_or(kind);
    let known = catalogue::by_kind(group, version, single).is_some();
    // Versions that the reference still decodes although it no longer serves them.
    let retired = matches!(
        api_version,
        "extensions/v1beta1" | "apps/v1beta1" | "apps/v1beta2" | "batch/v1beta1"
    );
    if kind == expected && (known || retired) {
        return other_version;
    }
    let package = match resource.group.split('.').next() {
        Some("") | None => "core",
        Some(package) => package,
    };
    let cause = if known {
        format!("converting ({version}.{kind}) to ({package}.{expected}): unknown conversion")
    } else {
        format!(
            "no kind {kind:?} is registered for version {api_version:?} in scheme \
             \"k8s.io/kubernetes/pkg/api/legacyscheme/scheme.go:30\""
        )
    };
    ApiError::bad_request(format!(
        "{kind} in version {version:?} cannot be handled as a {expected}: {cause}"
    ))
}

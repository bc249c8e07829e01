//! From the bytes of a request to an object.

use http::header;
use serde_json::Value;

use super::{Call, kinds, manage};
use crate::status::ApiError;

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

/// The object in the body in the form of its kind, what is unknown in it told or refused.
pub(super) fn checked(call: &Call, warnings: &mut Vec<String>) -> Result<Value, ApiError> {
    let mut object = object(call)?;
    check_type(call, &mut object)?;
    let findings = manage::findings_of_body(call, &object);
    kinds::decode(&call.resource, &mut object).map_err(|error| manage::cannot_be_handled(call, &error))?;
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
    serde_yaml::from_slice(bytes)
        .map_err(|error| ApiError::bad_request(format!("error converting YAML to JSON: yaml: {error}")))
}

/// Checks that an object is of the kind that its path is about, and sets what it leaves out.
pub(super) fn check_type(call: &Call, object: &mut Value) -> Result<(), ApiError> {
    let resource = &call.resource;
    let Some(members) = object.as_object_mut() else {
        return Err(ApiError::bad_request("the body of the request is no object"));
    };
    let text = |key: &str| members.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    if !api_version.is_empty() && api_version != resource.api_version {
        return Err(ApiError::bad_request(format!(
            "the API version in the data ({api_version}) does not match the expected API version ({})",
            resource.api_version
        )));
    }
    if !kind.is_empty() && kind != resource.kind {
        return Err(ApiError::bad_request(format!(
            "{kind} in version {:?} cannot be handled as a {}",
            resource.version, resource.kind
        )));
    }
    members.insert("apiVersion".to_owned(), resource.api_version.clone().into());
    members.insert("kind".to_owned(), resource.kind.clone().into());
    Ok(())
}

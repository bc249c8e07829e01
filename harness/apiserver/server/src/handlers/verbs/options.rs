//! Validation of the options of lists and watches, as in a kube-apiserver.

use baton_apimachinery::field::{FieldError, FieldErrorType};

use crate::api_error::{About, ApiError};
use crate::handlers::Call;

const MATCH: &str = "resourceVersionMatch";
const ABOUT: About<'static> = About {
    group: "meta.k8s.io",
    kind: "ListOptions",
    name: "",
};

fn forbidden(field: &str, detail: &str) -> FieldError {
    FieldError::without_value(FieldErrorType::Forbidden, field, detail)
}

fn not_supported(value: &str, supported: &str) -> FieldError {
    let detail = format!("supported values: {supported}");
    FieldError::with_value(FieldErrorType::NotSupported, MATCH, &value.into(), &detail)
}

fn verdict(errors: &[FieldError]) -> Result<(), ApiError> {
    if errors.is_empty() {
        Ok(())
    } else {
        Err(ApiError::invalid(ABOUT, errors))
    }
}

/// Checks the options of a list.
pub(in crate::handlers) fn check_list(call: &Call) -> Result<(), ApiError> {
    let version = call.query.get("resourceVersion");
    let mut errors = Vec::new();
    if let Some(given) = call.query.get(MATCH) {
        if version.is_none() {
            errors.push(forbidden(
                MATCH,
                "resourceVersionMatch is forbidden unless resourceVersion is provided",
            ));
        }
        if call.query.get("continue").is_some() {
            errors.push(forbidden(
                MATCH,
                "resourceVersionMatch is forbidden when continue is provided",
            ));
        }
        if !matches!(given, "Exact" | "NotOlderThan") {
            errors.push(not_supported(given, "\"Exact\", \"NotOlderThan\", \"\""));
        }
        if given == "Exact" && version == Some("0") {
            let detail = "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"";
            errors.push(forbidden(MATCH, detail));
        }
    }
    if call.query.flag("sendInitialEvents").is_some() {
        errors.push(forbidden(
            "sendInitialEvents",
            "sendInitialEvents is forbidden for list",
        ));
    }
    verdict(&errors)
}

/// Checks the options of a watch.
pub(in crate::handlers) fn check_watch(call: &Call) -> Result<(), ApiError> {
    let initial = call.query.flag("sendInitialEvents").is_some();
    let given = call.query.get(MATCH);
    let mut errors = Vec::new();
    if initial && given != Some("NotOlderThan") {
        let detail = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
        errors.push(forbidden(MATCH, detail));
    }
    if let Some(given) = given {
        if !initial {
            let detail = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided";
            errors.push(forbidden(MATCH, detail));
        }
        if given != "NotOlderThan" {
            errors.push(not_supported(given, "\"NotOlderThan\""));
        }
        if call.query.get("continue").is_some() {
            errors.push(forbidden(
                MATCH,
                "resourceVersionMatch is forbidden when continue is provided",
            ));
        }
    }
    verdict(&errors)
}

/// A resource version in a query that is not a number.
#[derive(Debug, thiserror::Error)]
#[error("resourceVersion: Invalid value: {0:?}: strconv.ParseUint: parsing {0:?}: invalid syntax")]
pub(in crate::handlers) struct InvalidVersion(String);

/// Reads a resource version in a query; returns `None` for 0 and for nothing.
pub(in crate::handlers) fn version(text: Option<&str>) -> Result<Option<u64>, InvalidVersion> {
    match text {
        None | Some("0") => Ok(None),
        Some(text) => text.parse().map(Some).map_err(|_| InvalidVersion(text.to_owned())),
    }
}

/// Returns the error for a version that is newer than the newest.
pub(in crate::handlers) fn too_new(wanted: u64, current: u64) -> ApiError {
    let message = format!("Timeout: Too large resource version: {wanted}, current: {current}");
    let details = serde_json::json!({
        "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
        "retryAfterSeconds": 1,
    });
    ApiError::new(504, "Timeout", message, Some(details))
}

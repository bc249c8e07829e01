//! The `AdmissionReview` that a webhook gets, and its answer.

use base64::Engine as _;
use serde_json::{Value, json};

use crate::api::decode::{not_registered, not_typed};
use crate::go_json;
use crate::merge::json_patch;
use crate::status::ApiError;

/// What a webhook has said.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) allowed: bool,
    pub(crate) status: Value,
    pub(crate) patch: Option<Value>,
    pub(crate) warnings: Vec<String>,
}

/// The body of a call.
pub(crate) fn review(version: &str, request: &Value) -> Vec<u8> {
    let review = json!({
        "apiVersion": format!("admission.k8s.io/{version}"),
        "kind": "AdmissionReview",
        "request": request,
    });
    review.to_string().into_bytes()
}

/// Reads an answer; the error is in the words of the server.
pub(crate) fn read_answer(body: &[u8], version: &str, uid: &str, validating: bool) -> Result<Answer, String> {
    let invalid = |detail: String| format!("received invalid webhook response: {detail}");
    let called = |error: String| format!("failed to call webhook: {error}");
    let untyped = |error: String| called(format!("couldn't get version/kind; json parse error: {error}"));
    let review = go_json::parse(body).map_err(untyped)?;
    if !review.is_object() {
        return Err(untyped(not_typed(&review)));
    }
    let expected = format!("admission.k8s.io/{version}");
    let given = |name, default| {
        Some(text(&review, name))
            .filter(|text| !text.is_empty())
            .unwrap_or(default)
    };
    // What leaves its type out is taken for what is expected.
    let (api_version, kind) = (given("apiVersion", expected.as_str()), given("kind", "AdmissionReview"));
    let served = matches!(api_version, "admission.k8s.io/v1" | "admission.k8s.io/v1beta1");
    if !served || kind != "AdmissionReview" {
        return Err(called(not_registered(api_version, kind)));
    }
    if api_version != expected || kind != "AdmissionReview" {
        return Err(invalid(format!(
            "expected webhook response of {expected}, Kind=AdmissionReview, got {api_version}, Kind={kind}"
        )));
    }
    let Some(response) = review.get("response").filter(|response| response.is_object()) else {
        return Err(invalid("webhook response was absent".to_owned()));
    };
    let given = text(response, "uid");
    if version == "v1" && given != uid {
        return Err(invalid(format!("expected response.uid={uid:?}, got {given:?}")));
    }
    let patch_type = text(response, "patchType");
    let patch = match response.get("patch").and_then(Value::as_str) {
        None | Some("") => None,
        Some(_) if validating => return Err(invalid("validating webhook may not return response.patch".to_owned())),
        Some(_) if version == "v1" && patch_type.is_empty() => {
            let detail = "webhook returned response.patch but not response.patchType";
            return Err(invalid(detail.to_owned()));
        }
        Some(_) if version == "v1" && patch_type != "JSONPatch" => {
            return Err(invalid(format!(
                "webhook returned response.patchType of {patch_type:?}, expected \"JSONPatch\""
            )));
        }
        Some(encoded) => {
            let bytes = base64::engine::general_purpose::STANDARD.decode(encoded);
            let bytes = bytes.map_err(|error| invalid(error.to_string()))?;
            Some(serde_json::from_slice(&bytes).map_err(|error| invalid(error.to_string()))?)
        }
    };
    Ok(Answer {
        allowed: response.get("allowed").and_then(Value::as_bool).unwrap_or(false),
        status: response.get("status").cloned().unwrap_or(Value::Null),
        patch,
        warnings: super::matching::strings(response, "warnings"),
    })
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// The error of a write that a webhook has refused.
pub(crate) fn refusal(webhook: &str, status: &Value) -> ApiError {
    let code = status
        .get("code")
        .and_then(Value::as_u64)
        .and_then(|code| u16::try_from(code).ok());
    let code = code.filter(|code| *code >= 400).unwrap_or(400);
    let denied = format!("admission webhook {webhook:?} denied the request");
    let (message, reason) = (text(status, "message"), text(status, "reason"));
    let message = match (message, reason) {
        ("", "") => format!("{denied} without explanation"),
        ("", reason) => format!("{denied}: {reason}"),
        (message, _) => format!("{denied}: {message}"),
    };
    ApiError::new(code, known_reason(reason), message, status.get("details").cloned())
}

/// The reasons of the API.
pub(crate) fn known_reason(reason: &str) -> &'static str {
    const REASONS: [&str; 18] = [
        "Unauthorized",
        "Forbidden",
        "NotFound",
        "AlreadyExists",
        "Conflict",
        "Gone",
        "Invalid",
        "ServerTimeout",
        "StoreReadError",
        "Timeout",
        "TooManyRequests",
        "BadRequest",
        "MethodNotAllowed",
        "NotAcceptable",
        "RequestEntityTooLarge",
        "UnsupportedMediaType",
        "InternalError",
        "ServiceUnavailable",
    ];
    REASONS.into_iter().find(|known| *known == reason).unwrap_or_default()
}

/// An object with the patch of a webhook.
pub(crate) fn patched(object: &Value, patch: &Value) -> Result<Value, String> {
    json_patch::apply(object, patch).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::{read_answer, refusal};
    use serde_json::{Value, json};

    #[test]
    fn answers_are_checked() {
        let good = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
            "response": {"uid": "u", "allowed": true, "patchType": "JSONPatch", "patch": "W10=", "warnings": ["w"]}});
        let answer = read_answer(good.to_string().as_bytes(), "v1", "u", false).unwrap();
        assert!(answer.allowed && answer.patch == Some(json!([])) && answer.warnings == ["w"]);
        let patching = read_answer(good.to_string().as_bytes(), "v1", "u", true).unwrap_err();
        let words = "received invalid webhook response: validating webhook may not return response.patch";
        assert_eq!(patching, words);
        let wrong = read_answer(good.to_string().as_bytes(), "v1", "x", false).unwrap_err();
        assert_eq!(
            wrong,
            "received invalid webhook response: expected response.uid=\"x\", got \"u\""
        );
        for (body, words) in [
            (
                "\"no\"",
                "failed to call webhook: couldn't get version/kind; json parse error: json: cannot unmarshal string",
            ),
            ("{}", "received invalid webhook response: webhook response was absent"),
            (
                r#"{"apiVersion": "admission.k8s.io/v2"}"#,
                "failed to call webhook: no kind \"AdmissionReview\" is registered",
            ),
        ] {
            let error = read_answer(body.as_bytes(), "v1", "u", false).unwrap_err();
            assert!(error.starts_with(words), "{error}");
        }
    }

    #[test]
    fn refusals_name_the_webhook() {
        let cases = [
            (
                json!({"message": "no", "code": 403, "reason": "Forbidden"}),
                403,
                "Forbidden",
                "denied the request: no",
            ),
            (json!({"message": "no", "code": 200}), 400, "", "denied the request: no"),
            (Value::Null, 400, "", "denied the request without explanation"),
        ];
        for (status, code, reason, end) in cases {
            let error = refusal("a.b.c", &status);
            assert_eq!((error.code, error.reason), (code, reason));
            assert_eq!(error.message, format!("admission webhook \"a.b.c\" {end}"));
        }
    }
}

//! The `AdmissionReview` that a webhook gets, and its answer.

use std::sync::Arc;

use baton_apimachinery::go_base64::{self, IllegalByte};
use baton_apimachinery::go_json::{self, JsonError, UnmarshalTypeError};
use baton_apimachinery::merge::json_patch::{self, JsonPatchError};
use baton_apimachinery::meta::text;
use serde_json::{Value, json};

use crate::api_error::ApiError;
use crate::webhook_client::CallError;
use crate::webhook_client::answer::{Form, Member, ReviewError};

/// The answer of a webhook.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) allowed: bool,
    pub(crate) status: Value,
    pub(crate) patch: Option<Value>,
    pub(crate) warnings: Vec<String>,
}

/// Reason for which an answer cannot be used, in the words of the server.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AnswerError {
    #[error("failed to call webhook: {0}")]
    Call(#[from] Arc<CallError>),
    #[error("failed to call webhook: {0}")]
    Review(#[from] ReviewError),
    #[error("failed to call webhook: {0}")]
    Base64(#[from] IllegalByte),
    #[error("received invalid webhook response: webhook response was absent")]
    Absent,
    #[error("received invalid webhook response: {0}")]
    Head(#[source] ReviewError),
    #[error("received invalid webhook response: {0}")]
    Form(&'static str),
    #[error("received undecodable patch in webhook response: {0}")]
    Patch(#[from] JsonError),
    #[error("received undecodable patch in webhook response: {0}")]
    Operations(#[from] UnmarshalTypeError),
    #[error("unsupported patch type {0:?}")]
    PatchType(String),
}

/// Returns the body of a call.
pub(crate) fn review(version: &str, request: &Value) -> Vec<u8> {
    let review = json!({
        "apiVersion": format!("admission.k8s.io/{version}"),
        "kind": "AdmissionReview",
        "request": request,
    });
    review.to_string().into_bytes()
}

const REVIEW: Form = Form {
    group: "admission.k8s.io",
    kind: "AdmissionReview",
    response: "AdmissionResponse",
    members: &[
        Member::new("uid", Value::is_string, "types.UID"),
        Member::new("allowed", Value::is_boolean, "bool"),
        Member::new("status", Value::is_object, "v1.Status"),
        Member::new("patch", Value::is_string, "[]uint8"),
        Member::new("patchType", Value::is_string, "v1.PatchType"),
        Member::of_texts("auditAnnotations", Value::is_object, "map[string]string"),
        Member::of_texts("warnings", Value::is_array, "[]string"),
    ],
};

/// Reads an answer.
pub(crate) fn read_answer(body: &[u8], version: &str, uid: &str, validating: bool) -> Result<Answer, AnswerError> {
    let review = REVIEW.read(body, version)?;
    let response = review.response().ok_or(AnswerError::Absent)?;
    let patch = go_base64::decode(text(response, "patch"))?;
    let patch_type = response.get("patchType").and_then(Value::as_str);
    if version == "v1" {
        review.check_head(uid).map_err(AnswerError::Head)?;
        check_patch_type(!patch.is_empty(), patch_type, validating)?;
    }
    Ok(Answer {
        allowed: response.get("allowed").and_then(Value::as_bool).unwrap_or(false),
        status: response.get("status").cloned().unwrap_or(Value::Null),
        patch: if validating {
            None
        } else {
            operations(&patch, patch_type)?
        },
        warnings: super::matching::strings(response, "warnings"),
    })
}

fn check_patch_type(has_patch: bool, patch_type: Option<&str>, validating: bool) -> Result<(), AnswerError> {
    Err(AnswerError::Form(match (validating, has_patch, patch_type) {
        (true, true, _) => "validating webhook may not return response.patch",
        (true, false, Some(_)) => "validating webhook may not return response.patchType",
        (false, true, None) => "webhook returned response.patch but not response.patchType",
        (false, false, Some(_)) => "webhook returned response.patchType but not response.patch",
        (false, true, Some("")) => "webhook returned invalid response.patchType of \"\"",
        (_, false, None) | (false, true, Some(_)) => return Ok(()),
    }))
}

/// Returns the operations of a patch, or `None` if it is empty.
fn operations(patch: &[u8], patch_type: Option<&str>) -> Result<Option<Value>, AnswerError> {
    if patch.is_empty() {
        return Ok(None);
    }
    let patch = go_json::parse(patch)?;
    let unlike = |value: &Value, wanted: &str| UnmarshalTypeError::value(value, wanted).into();
    let Some(operations) = patch.as_array() else {
        return if patch.is_null() {
            Ok(None)
        } else {
            Err(unlike(&patch, "jsonpatch.Patch"))
        };
    };
    if let Some(other) = operations.iter().find(|operation| !operation.is_object()) {
        return Err(unlike(other, "jsonpatch.Operation"));
    }
    match patch_type {
        _ if operations.is_empty() => Ok(None),
        Some("JSONPatch") | None => Ok(Some(patch)),
        Some(other) => Err(AnswerError::PatchType(other.to_owned())),
    }
}

/// Returns the error of a write that a webhook has refused.
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
    ApiError::new(code, reason.to_owned(), message, status.get("details").cloned())
}

/// Returns an object with the patch of a webhook applied.
pub(crate) fn patched(object: &Value, patch: &Value) -> Result<Value, ApiError> {
    json_patch::apply(object, patch).map_err(|error| match error {
        JsonPatchError::Failed(operation) => ApiError::internal(&operation.to_string()),
        other @ (JsonPatchError::NotAList(_) | JsonPatchError::TooLarge(_)) => ApiError::internal(&other.to_string()),
    })
}

#[cfg(test)]
mod tests {
    use super::{read_answer, refusal};
    use rstest::rstest;
    use serde_json::{Value, json};

    fn response(more: &Value) -> Vec<u8> {
        let mut response = json!({"uid": "u", "allowed": true});
        for (key, value) in more.as_object().into_iter().flatten() {
            response[key] = value.clone();
        }
        let review = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response});
        review.to_string().into_bytes()
    }

    #[test]
    fn what_a_webhook_answers_is_taken_in() {
        let patching = response(&json!({"patchType": "JSONPatch", "patch": "W3sib3AiOiJhZGQifV0=", "warnings": ["w"]}));
        let answer = read_answer(&patching, "v1", "u", false).unwrap();
        assert!(answer.allowed && answer.patch == Some(json!([{"op": "add"}])) && answer.warnings == ["w"]);
        for (more, patch) in [
            (json!({"patchType": "JSONPatch", "patch": "W10="}), None),
            (json!({"patchType": "Merge", "patch": "W10="}), None),
            (json!({"allowed": null, "status": null}), None),
        ] {
            assert_eq!(
                read_answer(&response(&more), "v1", "u", false).unwrap().patch,
                patch,
                "{more}"
            );
        }
        let yaml = b"apiVersion: admission.k8s.io/v1\nkind: AdmissionReview\nresponse: {uid: u, allowed: true}\n";
        assert!(read_answer(yaml, "v1", "u", true).unwrap().allowed);
    }

    /// A patch of one operation.
    const ONE: &str = "W3sib3AiOiJhZGQifV0=";

    #[rstest]
    #[case(json!({"uid": "x"}), false, "received invalid webhook response: expected response.uid=\"u\", got \"x\"")]
    #[case(json!({"patchType": "JSONPatch", "patch": ONE}), true, "received invalid webhook response: validating webhook may not return response.patch")]
    #[case(json!({"patchType": "JSONPatch"}), true, "received invalid webhook response: validating webhook may not return response.patchType")]
    #[case(json!({"patchType": "JSONPatch"}), false, "received invalid webhook response: webhook returned response.patchType but not response.patch")]
    #[case(json!({"patch": ONE}), false, "received invalid webhook response: webhook returned response.patch but not response.patchType")]
    #[case(json!({"patch": ONE, "patchType": ""}), false, "received invalid webhook response: webhook returned invalid response.patchType of \"\"")]
    #[case(json!({"patch": ONE, "patchType": "Merge"}), false, "unsupported patch type \"Merge\"")]
    #[case(json!({"patch": "eHg=", "patchType": "JSONPatch"}), false, "received undecodable patch in webhook response: invalid character 'x' looking for beginning of value")]
    #[case(json!({"patch": "e30=", "patchType": "JSONPatch"}), false, "received undecodable patch in webhook response: json: cannot unmarshal object into Go value of type jsonpatch.Patch")]
    #[case(json!({"patch": "WyJ4Il0=", "patchType": "JSONPatch"}), false, "received undecodable patch in webhook response: json: cannot unmarshal string into Go value of type jsonpatch.Operation")]
    #[case(json!({"patch": "%%%"}), true, "failed to call webhook: illegal base64 data at input byte 0")]
    #[case(json!({"patch": "W10"}), false, "failed to call webhook: illegal base64 data at input byte 0")]
    #[case(json!({"patch": "W1%0="}), false, "failed to call webhook: illegal base64 data at input byte 2")]
    #[case(json!({"allowed": "yes"}), false, "failed to call webhook: json: cannot unmarshal string into Go struct field AdmissionResponse.response.allowed of type bool")]
    #[case(json!({"warnings": [1]}), false, "failed to call webhook: json: cannot unmarshal number into Go struct field AdmissionResponse.response.warnings of type string")]
    #[case(json!({"auditAnnotations": {"a": 1}}), true, "failed to call webhook: json: cannot unmarshal number into Go struct field AdmissionResponse.response.auditAnnotations of type string")]
    fn what_is_wrong_with_an_answer_is_told_as_the_api_server_does(
        #[case] more: Value,
        #[case] validating: bool,
        #[case] words: &str,
    ) {
        assert_eq!(
            read_answer(&response(&more), "v1", "u", validating)
                .unwrap_err()
                .to_string(),
            words
        );
    }

    #[test]
    fn other_documents_are_no_answers() {
        let untyped = "failed to call webhook: couldn't get version/kind; json parse error: json: cannot unmarshal";
        let got = "received invalid webhook response: expected webhook response of admission.k8s.io/v1, \
                   Kind=AdmissionReview, got";
        for (body, words) in [
            ("\"no\"", format!("{untyped} string into Go value of type struct")),
            ("hello", format!("{untyped} string into Go value of type struct")),
            ("{}", "received invalid webhook response: webhook response was absent".to_owned()),
            ("null", "received invalid webhook response: webhook response was absent".to_owned()),
            (r#"{"response": {"uid": "u"}}"#, format!("{got} /, Kind=")),
            (r#"{"kind": "AdmissionReview", "response": {"uid": "u"}}"#, format!("{got} /, Kind=AdmissionReview")),
            (
                r#"{"apiVersion": "admission.k8s.io/v2"}"#,
                "failed to call webhook: no kind \"AdmissionReview\" is registered for version \"admission.k8s.io/v2\" in \
                 scheme \"pkg/runtime/scheme.go:111\"".to_owned(),
            ),
            (
                r#"{"apiVersion": "admission.k8s.io/v1beta1", "kind": "AdmissionReview"}"#,
                "failed to call webhook: converting (v1beta1.AdmissionReview) to (v1.AdmissionReview): unknown conversion".to_owned(),
            ),
        ] {
            let error = read_answer(body.as_bytes(), "v1", "u", false).unwrap_err().to_string();
            assert!(error.starts_with(&words), "{body}: {error}");
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
            (
                json!({"reason": "because"}),
                400,
                "because",
                "denied the request: because",
            ),
            (Value::Null, 400, "", "denied the request without explanation"),
        ];
        for (status, code, reason, end) in cases {
            let error = refusal("a.b.c", &status);
            assert_eq!((error.code, error.reason.as_ref()), (code, reason));
            assert_eq!(error.message, format!("admission webhook \"a.b.c\" {end}"));
        }
    }
}

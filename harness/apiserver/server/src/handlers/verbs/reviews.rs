//! Reviews of identity and permissions: created and answered, but not stored. Every authenticated user may do
//! everything.

use baton_apimachinery::meta;
use serde_json::{Value, json};

use crate::api_error::ApiError;
use crate::handlers::codecs::decode;
use crate::handlers::codecs::reply::Reply;
use crate::handlers::verbs::named::check_namespace;
use crate::handlers::verbs::tokens;
use crate::handlers::{Call, Core};

/// Answers a review; `None` if the call is for something else.
pub(in crate::handlers) fn answer(
    core: &Core,
    call: &Call,
    warnings: &mut Vec<String>,
) -> Option<Result<Reply, ApiError>> {
    let answer = match call.resource.plural.as_str() {
        "selfsubjectreviews" => myself,
        "selfsubjectaccessreviews" | "subjectaccessreviews" | "localsubjectaccessreviews" => access,
        "selfsubjectrulesreviews" => rules,
        "tokenreviews" => tokens::review,
        _ => return None,
    };
    Some(read(call, warnings).and_then(|review| answer(core, call, review)))
}

/// Reads the review in the body, in the form of its kind.
fn read(call: &Call, warnings: &mut Vec<String>) -> Result<Value, ApiError> {
    let mut review = decode::checked(call, warnings)?;
    if call.resource.namespaced {
        check_namespace(call, &mut review)?;
    }
    Ok(review)
}

#[expect(clippy::unnecessary_wraps, reason = "as the other answers")]
fn myself(core: &Core, call: &Call, mut review: Value) -> Result<Reply, ApiError> {
    set(&mut review, "metadata", json!({"creationTimestamp": core.now()}));
    Ok(Reply::of_review(review, json!({"userInfo": call.caller.user.info()})))
}

#[expect(clippy::unnecessary_wraps, reason = "as the other answers")]
fn access(_: &Core, _: &Call, review: Value) -> Result<Reply, ApiError> {
    Ok(Reply::of_review(review, json!({"allowed": true})))
}

fn rules(_: &Core, _: &Call, mut review: Value) -> Result<Reply, ApiError> {
    if meta::str_at(&review, &["spec", "namespace"])
        .unwrap_or_default()
        .is_empty()
    {
        return Err(ApiError::bad_request("no namespace on request"));
    }
    set(&mut review, "metadata", json!({}));
    set(&mut review, "spec", json!({}));
    let status = json!({
        "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
        "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
        "incomplete": false,
    });
    Ok(Reply::of_review(review, status))
}

fn set(object: &mut Value, key: &str, value: Value) {
    if let Some(members) = object.as_object_mut() {
        members.insert(key.to_owned(), value);
    }
}

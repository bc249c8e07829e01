//! Questions about who somebody is and what they may do, and tokens: created, answered, not kept. Everybody who gets in
//! may do everything.

use std::sync::Arc;

use baton_apikinds::codec;
use baton_apikinds::validation::reviews::{self, Asked};
use baton_apimachinery::field::{FieldError, FieldErrorType};
use baton_apimachinery::meta;
use serde_json::{Map, Value, json};

use crate::api_error::{About, ApiError};
use crate::handlers::codecs::decode;
use crate::handlers::codecs::reply::Reply;
use crate::handlers::verbs::create;
use crate::handlers::{Call, Core};
use crate::store::key;

/// Who tokens are for, unless it is said.
const AUDIENCE: &str = "https://kubernetes.default.svc.cluster.local";

/// How long a token lives, unless it is said, in seconds.
const LIFETIME: i64 = 3600;

const SHORTEST_LIFETIME: i64 = 600;

/// What a token can be bound to.
const BOUND: [(&str, &str); 3] = [("Node", "nodes"), ("Pod", "pods"), ("Secret", "secrets")];

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
        "tokenreviews" => token,
        _ => return None,
    };
    Some(read(call, warnings).and_then(|review| answer(core, call, review)))
}

/// The review in the body, in the form of its kind.
fn read(call: &Call, warnings: &mut Vec<String>) -> Result<Value, ApiError> {
    let mut review = decode::checked(call, warnings)?;
    if call.resource.namespaced {
        create::check_namespace(call, &mut review)?;
    }
    Ok(review)
}

fn reviewed(mut review: Value, status: Value) -> Reply {
    if let Some(members) = review.as_object_mut() {
        members.insert("status".to_owned(), status);
        members.entry("metadata").or_insert_with(|| json!({}));
    }
    Reply::Made {
        code: 201,
        object: review,
    }
}

#[expect(clippy::unnecessary_wraps, reason = "as the other answers")]
fn myself(core: &Core, call: &Call, mut review: Value) -> Result<Reply, ApiError> {
    set(&mut review, "metadata", json!({"creationTimestamp": core.now()}));
    let user = json!({"username": &*call.caller.user, "groups": &*call.caller.groups});
    Ok(reviewed(review, json!({"userInfo": user})))
}

fn access(_: &Core, call: &Call, review: Value) -> Result<Reply, ApiError> {
    let asked = match call.resource.plural.as_str() {
        "selfsubjectaccessreviews" => Asked::Oneself,
        "localsubjectaccessreviews" => Asked::Within,
        _ => Asked::Anybody,
    };
    let errors = reviews::access(&review, asked);
    if !errors.is_empty() {
        let about = About {
            group: &call.resource.group,
            kind: "",
            name: "",
        };
        return Err(ApiError::invalid(about, &errors));
    }
    let mut status = json!({"allowed": true});
    let ignored = reviews::ignored(&review);
    if !ignored.is_empty() {
        set(&mut status, "evaluationError", ignored.join("; ").into());
    }
    Ok(reviewed(review, status))
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
    Ok(reviewed(review, status))
}

fn token(_: &Core, _: &Call, review: Value) -> Result<Reply, ApiError> {
    if meta::str_at(&review, &["spec", "token"]).unwrap_or_default().is_empty() {
        return Err(ApiError::bad_request(
            "token is required for TokenReview in authentication",
        ));
    }
    Ok(reviewed(review, json!({"user": {}, "error": "invalid bearer token"})))
}

fn set(object: &mut Value, key: &str, value: Value) {
    if let Some(members) = object.as_object_mut() {
        members.insert(key.to_owned(), value);
    }
}

impl Core {
    /// A token for a service account.
    pub(in crate::handlers) fn request_token(
        self: &Arc<Self>,
        call: &Call,
        mut request: Value,
    ) -> Result<Reply, ApiError> {
        let account = self.find(call)?.value();
        codec::decode("authentication.k8s.io", "v1", "TokenRequest", &mut request).map_err(ApiError::bad_request)?;
        create::check_namespace(call, &mut request)?;
        let name = call.name.as_deref().unwrap_or_default();
        let spec = complete(request.get("spec"));
        check_token(name, &request, &spec)?;
        if let Some(bound) = spec.get("boundObjectRef").filter(|bound| bound.is_object()) {
            self.check_bound(call, name, bound)?;
        }
        let lifetime = spec
            .get("expirationSeconds")
            .and_then(Value::as_i64)
            .unwrap_or(LIFETIME);
        let now = (self.options.clock)();
        let end = now
            .checked_add(jiff::SignedDuration::from_secs(lifetime))
            .unwrap_or(now);
        let of_account = |key: &str| meta::at(&account, &["metadata", key]);
        let metadata = json!({
            "name": name, "namespace": call.namespace, "uid": of_account("uid"), "creationTimestamp": meta::time(now),
        });
        Ok(Reply::Made {
            code: 201,
            object: json!({
                "kind": "TokenRequest", "apiVersion": "authentication.k8s.io/v1", "metadata": metadata, "spec": spec,
                "status": {"token": self.ids.uid(), "expirationTimestamp": meta::time(end)},
            }),
        })
    }

    /// Refuses to bind a token to what is not there.
    fn check_bound(&self, call: &Call, account: &str, bound: &Value) -> Result<(), ApiError> {
        let text = |key: &str| meta::str_at(bound, &[key]).unwrap_or_default();
        let (api_version, kind, name) = (text("apiVersion"), text("kind"), text("name"));
        let known = BOUND.iter().find(|(each, _)| *each == kind && api_version == "v1");
        let Some((_, plural)) = known else {
            let slash = if api_version.contains('/') { "" } else { "/" };
            let message = format!("cannot bind token to object of type {slash}{api_version}, Kind={kind}");
            return Err(ApiError::bad_request(message));
        };
        let namespace = call.namespace.as_deref().filter(|_| kind != "Node");
        let found = self.store.get(self.store.bucket("", plural), &key(namespace, name));
        let about = About {
            group: "",
            kind: plural,
            name,
        };
        let found = found.ok_or_else(|| ApiError::not_found(about))?.value();
        let runs_as = meta::str_at(&found, &["spec", "serviceAccountName"]).unwrap_or_default();
        if kind == "Pod" && runs_as != account {
            return Err(ApiError::bad_request(format!(
                "cannot bind token for serviceaccount {account:?} to pod running with different serviceaccount name."
            )));
        }
        Ok(())
    }
}

/// What is asked for, with what is left out.
fn complete(spec: Option<&Value>) -> Map<String, Value> {
    let mut spec = spec.and_then(Value::as_object).cloned().unwrap_or_default();
    let audiences = spec.get("audiences").and_then(Value::as_array);
    if audiences.is_none_or(Vec::is_empty) {
        spec.insert("audiences".to_owned(), json!([AUDIENCE]));
    }
    let lifetime = spec.entry("expirationSeconds").or_insert(Value::Null);
    if lifetime.is_null() {
        *lifetime = LIFETIME.into();
    }
    spec.entry("boundObjectRef").or_insert(Value::Null);
    spec
}

fn check_token(account: &str, request: &Value, spec: &Map<String, Value>) -> Result<(), ApiError> {
    let given = meta::name(request).unwrap_or(account);
    let about = |name| About {
        group: "authentication.k8s.io",
        kind: "TokenRequest",
        name,
    };
    if given != account {
        let detail = "must match the service account name if specified";
        let error = FieldError::with_value(FieldErrorType::Invalid, "metadata.name", &given.into(), detail);
        return Err(ApiError::invalid(about(account), &[error]));
    }
    let lifetime = spec
        .get("expirationSeconds")
        .and_then(Value::as_i64)
        .unwrap_or(LIFETIME);
    let detail = match lifetime {
        ..SHORTEST_LIFETIME => "may not specify a duration less than 10 minutes",
        lifetime if lifetime > 1 << 32 => "may not specify a duration larger than 2^32 seconds",
        _ => return Ok(()),
    };
    let error = FieldError::with_value(
        FieldErrorType::Invalid,
        "spec.expirationSeconds",
        &lifetime.into(),
        detail,
    );
    Err(ApiError::invalid(about(""), &[error]))
}

//! Tokens of service accounts: `TokenRequest` and `TokenReview`.

use std::sync::Arc;

use baton_apikinds::codec;
use baton_apimachinery::field::{FieldError, FieldErrorType};
use baton_apimachinery::meta;
use jiff::SignedDuration;
use serde_json::{Map, Value, json};

use crate::api_error::{About, ApiError};
use crate::handlers::authentication::{AUDIENCE, accounts};
use crate::handlers::codecs::reply::Reply;
use crate::handlers::verbs::named::check_namespace;
use crate::handlers::{Call, Core};
use crate::store::key;

/// Default lifetime of a token in seconds.
const LIFETIME: i64 = 3600;

const SHORTEST_LIFETIME: i64 = 600;

/// The kinds that a token can be bound to: kind, plural, and the name of the claim.
const BOUND: [(&str, &str, &str); 3] = [
    ("Node", "nodes", "node"),
    ("Pod", "pods", "pod"),
    ("Secret", "secrets", "secret"),
];

/// Returns the user of a token.
pub(super) fn review(core: &Core, _: &Call, review: Value) -> Result<Reply, ApiError> {
    let token = meta::str_at(&review, &["spec", "token"]).unwrap_or_default();
    if token.is_empty() {
        return Err(ApiError::bad_request(
            "token is required for TokenReview in authentication",
        ));
    }
    let asked = meta::at(&review, &["spec", "audiences"]).and_then(Value::as_array);
    let mut audiences: Vec<String> = asked
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect();
    if audiences.is_empty() {
        audiences.push(AUDIENCE.to_owned());
    }
    let status = match core.authenticate(token, &audiences) {
        Ok(known) => json!({"authenticated": true, "user": known.user.info(), "audiences": known.audiences}),
        Err(error) => json!({"user": {}, "error": error.to_string()}),
    };
    Ok(Reply::of_review(review, status))
}

impl Core {
    /// Issues a token for a service account.
    pub(in crate::handlers) fn request_token(
        self: &Arc<Self>,
        call: &Call,
        mut request: Value,
    ) -> Result<Reply, ApiError> {
        let account = self.find(call)?.value();
        codec::decode("authentication.k8s.io", "v1", "TokenRequest", &mut request).map_err(ApiError::bad_request)?;
        check_namespace(call, &mut request)?;
        let name = call.name.as_deref().unwrap_or_default();
        let spec = complete(request.get("spec"));
        check_token(name, &request, &spec)?;
        let bound = spec.get("boundObjectRef").filter(|bound| bound.is_object());
        let bound = bound.map_or_else(|| Ok(Vec::new()), |bound| self.bound(call, name, bound))?;
        let lifetime = spec
            .get("expirationSeconds")
            .and_then(Value::as_i64)
            .unwrap_or(LIFETIME);
        let now = (self.options.clock)();
        let end = now.checked_add(SignedDuration::from_secs(lifetime)).unwrap_or(now);
        let wanted = accounts::Request {
            audiences: spec.get("audiences").unwrap_or(&Value::Null),
            lifetime: SignedDuration::from_secs(lifetime),
            bound,
        };
        let token = self.issue(&account, wanted);
        let token = token.map_err(|error| ApiError::internal(&format!("failed to generate token: {error}")))?;
        let metadata = json!({
            "name": name, "namespace": call.namespace, "uid": meta::uid(&account), "creationTimestamp": meta::time(now),
        });
        Ok(Reply::Made {
            code: 201,
            object: json!({
                "kind": "TokenRequest", "apiVersion": "authentication.k8s.io/v1", "metadata": metadata, "spec": spec,
                "status": {"token": token, "expirationTimestamp": meta::time(end)},
            }),
        })
    }

    /// Returns the claims of a token about the object that it is bound to; refuses an object that does not exist.
    fn bound(&self, call: &Call, account: &str, bound: &Value) -> Result<Vec<(&'static str, Value)>, ApiError> {
        let text = |key: &str| meta::str_at(bound, &[key]).unwrap_or_default();
        let (api_version, kind, name) = (text("apiVersion"), text("kind"), text("name"));
        let known = BOUND.iter().find(|(each, ..)| *each == kind && api_version == "v1");
        let Some((_, plural, claim)) = known else {
            let slash = if api_version.contains('/') { "" } else { "/" };
            let message = format!("cannot bind token to object of type {slash}{api_version}, Kind={kind}");
            return Err(ApiError::bad_request(message));
        };
        let namespace = call.namespace.as_deref().filter(|_| kind != "Node");
        let about = About {
            group: "",
            kind: plural,
            name,
        };
        let find = |plural: &str, key: &str| self.store.get(self.store.bucket("", plural), key);
        let found = find(plural, &key(namespace, name)).ok_or_else(|| ApiError::not_found(about))?;
        let found = found.value();
        let runs_as = meta::str_at(&found, &["spec", "serviceAccountName"]).unwrap_or_default();
        if kind == "Pod" && runs_as != account {
            return Err(ApiError::bad_request(format!(
                "cannot bind token for serviceaccount {account:?} to pod running with different serviceaccount name."
            )));
        }
        let (given, uid) = (text("uid"), meta::uid(&found).unwrap_or_default());
        if !given.is_empty() && given != uid {
            let about = About { kind, ..about };
            return Err(ApiError::conflict(
                about,
                &format!(
                    "the UID in the bound object reference ({given}) does not match the UID in record. The object might \
                     have been deleted and then recreated"
                ),
            ));
        }
        let mut claims = vec![(*claim, json!({"name": name, "uid": uid}))];
        if let Some(node) = meta::str_at(&found, &["spec", "nodeName"]).filter(|_| kind == "Pod") {
            let found = find("nodes", node).map(|found| found.value());
            let uid = found.as_ref().and_then(|found| meta::uid(found));
            let mut of_node = json!({"name": node});
            if let Some(uid) = uid {
                of_node["uid"] = uid.into();
            }
            claims.push(("node", of_node));
        }
        Ok(claims)
    }
}

/// Returns the requested spec with its defaults.
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

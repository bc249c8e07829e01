//! Subresources that are created but not stored: bindings of pods, evictions, and the reviews in `reviews`.

use std::sync::Arc;

use baton_apimachinery::meta;
use serde_json::{Value, json};

use crate::api_error::{About, ApiError};
use crate::handlers::admission::plugins::{AdmissionRequest, Operation};
use crate::handlers::codecs::decode;
use crate::handlers::codecs::reply::Reply;
use crate::handlers::verbs::evict::set_condition;
use crate::handlers::verbs::reviews;
use crate::handlers::verbs::write::uid_mismatch;
use crate::handlers::{Call, Core};
use crate::store::{Expect, Write, key};

impl Core {
    /// Creates an object that is only answered.
    pub(in crate::handlers) fn create_unstored(
        self: &Arc<Self>,
        call: &Call,
        warnings: &mut Vec<String>,
    ) -> Result<Reply, ApiError> {
        if let Some(answer) = reviews::answer(self, call, warnings) {
            return answer;
        }
        let mut body = decode::object(call)?;
        if call.subresource.is_none() {
            decode::set_type(call, &mut body);
        }
        let admitted = match call.subresource.as_deref() {
            Some("binding") => Some(("v1", "Binding")),
            Some("eviction") => Some(("policy/v1", "Eviction")),
            Some(_) | None => None,
        };
        if let Some((api_version, kind)) = admitted {
            self.admit_unstored(call, &body, api_version, kind)?;
        }
        match (call.resource.plural.as_str(), call.subresource.as_deref()) {
            ("pods", Some("binding")) => {
                let name = call.name.clone().unwrap_or_default();
                self.bind(call, &name, &body)
            }
            ("bindings", None) => {
                let name = meta::name(&body).unwrap_or_default().to_owned();
                self.bind(call, &name, &body)
            }
            ("pods", Some("eviction")) => self.evict(call, &body),
            ("serviceaccounts", Some("token")) => self.request_token(call, body),
            _ => Err(ApiError::method_not_allowed()),
        }
    }

    /// Calls admission for the subresource of a pod.
    fn admit_unstored(
        self: &Arc<Self>,
        call: &Call,
        body: &Value,
        api_version: &str,
        kind: &str,
    ) -> Result<(), ApiError> {
        let name = call.name.as_deref().unwrap_or_default();
        if meta::name(body) != Some(name) {
            let message = format!("name in URL does not match name in {kind} object");
            return Err(ApiError::bad_request(message));
        }
        let mut shown = body.clone();
        if let Some(members) = shown.as_object_mut() {
            members.insert("apiVersion".to_owned(), api_version.into());
            members.insert("kind".to_owned(), kind.into());
        }
        self.validate(&AdmissionRequest::new(call, Operation::Create, name, None), &shown)
    }

    /// Binds a pod to a node.
    fn bind(self: &Arc<Self>, call: &Call, name: &str, binding: &Value) -> Result<Reply, ApiError> {
        check_target(binding)?;
        if name.is_empty() {
            return Err(ApiError::bad_request("Name parameter required."));
        }
        let node = meta::str_at(binding, &["target", "name"]).unwrap_or_default();
        let bucket = self.store.bucket("", "pods");
        let key = key(call.namespace.as_deref(), name);
        let about = About {
            group: "",
            kind: "pods",
            name,
        };
        loop {
            let stored = self.store.get(bucket, &key).ok_or_else(|| ApiError::not_found(about))?;
            let found = meta::uid(&stored.value()).unwrap_or_default().to_owned();
            if let Some(given) = meta::uid(binding).filter(|given| call.subresource.is_some() && *given != found) {
                return Err(ApiError::conflict(about, &uid_mismatch(call, given, &found)));
            }
            let about = About {
                group: "",
                kind: "pods/binding",
                name,
            };
            if let Some(taken) = meta::str_at(&stored.value(), &["spec", "nodeName"]) {
                let cause = format!("pod {name} is already assigned to node {taken:?}");
                return Err(ApiError::conflict(about, &cause));
            }
            if meta::deletion_timestamp(&stored.value()).is_some() {
                return Err(ApiError::conflict(
                    about,
                    &format!("pod {name} is being deleted, cannot be assigned to a host"),
                ));
            }
            let mut pod = Value::clone(&stored.value());
            if let Some(spec) = pod.get_mut("spec").and_then(Value::as_object_mut) {
                spec.insert("nodeName".to_owned(), node.into());
            }
            annotate(&mut pod, binding);
            let scheduled = json!({
                "type": "PodScheduled", "status": "True", "lastProbeTime": null, "lastTransitionTime": self.now(),
            });
            set_condition(&mut pod, scheduled);
            let success =
                json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201});
            let write = Write::Put(pod);
            if call.query.dry_run()
                || self
                    .commit(bucket, &key, Expect::Revision(stored.revision), write, &call.caller)
                    .is_ok()
            {
                return Ok(Reply::Made {
                    code: 201,
                    object: success,
                });
            }
        }
    }
}

/// Validates the target of a binding; reports the first error only.
fn check_target(binding: &Value) -> Result<(), ApiError> {
    let kind = meta::str_at(binding, &["target", "kind"]).unwrap_or_default();
    if !matches!(kind, "" | "Node") {
        let supported = "supported values: \"Node\", \"<empty>\"";
        return Err(ApiError::plain_500(format!(
            "target.kind: Unsupported value: {kind:?}: {supported}"
        )));
    }
    if meta::str_at(binding, &["target", "name"]).is_none() {
        return Err(ApiError::plain_500("target.name: Required value"));
    }
    Ok(())
}

/// Copies the metadata of the binding to the pod.
fn annotate(pod: &mut Value, binding: &Value) {
    for kind in ["annotations", "labels"] {
        let given = meta::at(binding, &["metadata", kind]).and_then(Value::as_object);
        for (name, value) in given.into_iter().flatten() {
            pod["metadata"][kind][name] = value.clone();
        }
    }
}

//! What is created but not kept: bindings of pods, evictions, and what `reviews` answers.

use std::sync::Arc;

use serde_json::{Value, json};

use super::admit::{AdmissionRequest, Operation};
use super::delete::{DeleteOptions, Given, read_options};
use super::reply::Reply;
use super::{Call, Core, decode, reviews};
use crate::meta;
use crate::status::{About, ApiError};
use crate::store::{Expect, Write, key};

impl Core {
    /// Creates something that is only answered.
    pub(super) fn create_unstored(self: &Arc<Self>, call: &Call) -> Result<Reply, ApiError> {
        if let Some(answer) = reviews::answer(self, call) {
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

    /// Asks admission about what is done to a pod.
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

    /// Puts a pod on a node.
    fn bind(self: &Arc<Self>, call: &Call, name: &str, binding: &Value) -> Result<Reply, ApiError> {
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
            schedule(&mut pod, &self.now());
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

    /// Deletes a pod as a drain does.
    fn evict(self: &Arc<Self>, call: &Call, eviction: &Value) -> Result<Reply, ApiError> {
        let options = match eviction.get("deleteOptions") {
            Some(options) => read_options(&Given {
                body: Some(options),
                query: &call.query,
            })?,
            None => DeleteOptions {
                dry_run: call.query.dry_run(),
                ..DeleteOptions::default()
            },
        };
        self.delete_object(&call.resource, &call.key(), &options, &call.caller)?;
        let success = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201});
        Ok(Reply::Made {
            code: 201,
            object: success,
        })
    }
}

/// The condition of a pod that has a node.
fn schedule(pod: &mut Value, now: &str) {
    let Some(status) = pod
        .as_object_mut()
        .map(|pod| pod.entry("status").or_insert_with(|| json!({})))
    else {
        return;
    };
    let condition = json!({"type": "PodScheduled", "status": "True", "lastProbeTime": null, "lastTransitionTime": now});
    if let Some(status) = status.as_object_mut() {
        let conditions = status.entry("conditions").or_insert_with(|| json!([]));
        if let Some(conditions) = conditions.as_array_mut() {
            conditions.retain(|each| each.get("type") != Some(&"PodScheduled".into()));
            conditions.push(condition);
        }
    }
}

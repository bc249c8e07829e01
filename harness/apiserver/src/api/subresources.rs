//! What is created but not kept: bindings of pods, evictions, tokens and reviews.

use std::sync::Arc;

use serde_json::{Value, json};

use super::admit::{AdmissionRequest, Operation};
use super::delete::{DeleteOptions, Given, read_options};
use super::reply::Reply;
use super::{Call, Core, decode};
use crate::meta;
use crate::status::{About, ApiError};
use crate::store::{Expect, Write, key};

impl Core {
    /// Creates something that is only answered.
    pub(super) fn create_unstored(self: &Arc<Self>, call: &Call) -> Result<Reply, ApiError> {
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
            ("serviceaccounts", Some("token")) => {
                self.find(call)?;
                Ok(reviewed(
                    body,
                    json!({"token": self.ids.uid(), "expirationTimestamp": self.now()}),
                ))
            }
            ("selfsubjectaccessreviews" | "subjectaccessreviews" | "localsubjectaccessreviews", None) => {
                Ok(reviewed(body, json!({"allowed": true})))
            }
            ("selfsubjectrulesreviews", None) => {
                let status = json!({
                    "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
                    "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
                    "incomplete": false,
                });
                Ok(reviewed(body, status))
            }
            ("selfsubjectreviews", None) => {
                let user = json!({"username": &*call.caller.user, "groups": &*call.caller.groups});
                Ok(reviewed(body, json!({"userInfo": user})))
            }
            ("tokenreviews", None) => Ok(reviewed(body, json!({"user": {}, "authenticated": false}))),
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
        if let Some(given) = meta::name(body).filter(|given| *given != name) {
            let message = match kind {
                "Binding" => "name in URL does not match name in Binding object".to_owned(),
                _ => format!("name in URL does not match name in {kind} object: {given}"),
            };
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

/// A review with its answer.
fn reviewed(mut review: Value, status: Value) -> Reply {
    if let Some(members) = review.as_object_mut() {
        members.insert("status".to_owned(), status);
        let metadata = members.entry("metadata").or_insert_with(|| json!({}));
        if metadata.is_null() {
            *metadata = json!({});
        }
    }
    Reply::Made {
        code: 201,
        object: review,
    }
}

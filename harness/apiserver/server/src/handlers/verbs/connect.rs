//! Connections through the server to running programs: logs, commands, ports, proxies. Nothing runs here, so every such
//! request ends with an error that gives the reason.

use std::sync::Arc;

use baton_apimachinery::field::{FieldError, FieldErrorType};
use baton_apimachinery::meta;
use bytes::Bytes;
use serde_json::Value;

use crate::api_error::{About, ApiError};
use crate::handlers::codecs::reply::Reply;
use crate::handlers::{Call, Core};
use crate::store::key;

/// The annotation with the default container of a pod.
const DEFAULT_CONTAINER: &str = "kubectl.kubernetes.io/default-container";

/// Returns `true` if a call is a connection through the server.
pub(in crate::handlers) fn is_connection(call: &Call) -> bool {
    let through = matches!(
        call.subresource.as_deref(),
        Some("attach" | "exec" | "log" | "portforward" | "proxy")
    );
    through && call.resource.custom().is_none()
}

impl Core {
    /// Answers a connection through the server.
    pub(in crate::handlers) fn connect(self: &Arc<Self>, call: &Call) -> Result<Reply, ApiError> {
        let name = call.name.as_deref().unwrap_or_default();
        match (call.resource.plural.as_str(), call.subresource.as_deref()) {
            ("pods", Some("proxy")) => {
                self.find(call)?;
                Err(ApiError::bad_request("address not allowed"))
            }
            ("pods", Some("log")) => {
                check_lines(call)?;
                let pod = self.find(call)?.value();
                check_container(call, &pod)?;
                match node_of(&pod) {
                    Some(node) => Err(self.unreachable(node)),
                    // A container that has not been started has no logs.
                    None => Ok(Reply::Raw {
                        code: 204,
                        content_type: "text/plain",
                        body: Bytes::new(),
                    }),
                }
            }
            ("pods", subresource) => {
                let pod = self.find(call)?.value();
                if subresource != Some("portforward") {
                    check_container(call, &pod)?;
                }
                let homeless = || ApiError::bad_request(format!("pod {name} does not have a host assigned"));
                Err(node_of(&pod).map_or_else(homeless, |node| self.unreachable(node)))
            }
            ("services", _) => Err(self.no_endpoints(call, name)),
            _ => {
                self.find(call)?;
                Err(no_address())
            }
        }
    }

    /// Returns the error for a node that cannot be reached.
    fn unreachable(&self, node: &str) -> ApiError {
        if self.store.get(self.store.bucket("", "nodes"), node).is_some() {
            return no_address();
        }
        let about = About {
            group: "",
            kind: "pods",
            name: node,
        };
        ApiError::not_found(about)
    }

    fn no_endpoints(&self, call: &Call, name: &str) -> ApiError {
        // `scheme:name:port`, `name:port` or `name`.
        let parts: Vec<&str> = name.split(':').collect();
        let service = match parts.as_slice() {
            [_, service, _] | [service, ..] => service,
            [] => name,
        };
        let endpoints = self.store.bucket("", "endpoints");
        if self
            .store
            .get(endpoints, &key(call.namespace.as_deref(), service))
            .is_none()
        {
            return ApiError::not_found(call.about(service));
        }
        let message = format!("no endpoints available for service {service:?}");
        ApiError::new(503, "ServiceUnavailable", message, None)
    }
}

fn no_address() -> ApiError {
    ApiError::plain_500("no preferred addresses found; known addresses: []")
}

fn node_of(pod: &Value) -> Option<&str> {
    meta::str_at(pod, &["spec", "nodeName"])
}

/// Refuses a negative number of lines.
fn check_lines(call: &Call) -> Result<(), ApiError> {
    let lines = call.query.get("tailLines").and_then(|lines| lines.parse::<i64>().ok());
    let Some(lines) = lines.filter(|lines| *lines < 0) else {
        return Ok(());
    };
    let about = About {
        group: "",
        kind: "PodLogOptions",
        name: call.name.as_deref().unwrap_or_default(),
    };
    let detail = "must be greater than or equal to 0";
    let error = FieldError::with_value(FieldErrorType::Invalid, "tailLines", &lines.into(), detail);
    Err(ApiError::invalid(about, &[error]))
}

/// Refuses a container that the pod does not have, and a missing name if there are several.
fn check_container(call: &Call, pod: &Value) -> Result<(), ApiError> {
    let named = |list: &str| -> Vec<&str> {
        let containers = meta::at(pod, &["spec", list]).and_then(Value::as_array);
        let names = containers
            .into_iter()
            .flatten()
            .filter_map(|container| container.get("name"));
        names.filter_map(Value::as_str).collect()
    };
    let (mains, inits) = (named("containers"), named("initContainers"));
    let pod_name = call.name.as_deref().unwrap_or_default();
    let by_default = || meta::str_at(pod, &["metadata", "annotations", DEFAULT_CONTAINER]);
    let wanted = call
        .query
        .get("container")
        .filter(|name| !name.is_empty())
        .or_else(by_default);
    let known = |name: &str| {
        [&mains, &inits, &named("ephemeralContainers")]
            .iter()
            .any(|list| list.contains(&name))
    };
    match wanted {
        Some(wanted) if known(wanted) => Ok(()),
        Some(wanted) => Err(ApiError::bad_request(format!(
            "container {wanted} is not valid for pod {pod_name}"
        ))),
        None if mains.len() == 1 => Ok(()),
        None => {
            let or_inits = match inits.as_slice() {
                [] => String::new(),
                inits => format!(" or one of the init containers: [{}]", inits.join(" ")),
            };
            Err(ApiError::bad_request(format!(
                "a container name must be specified for pod {pod_name}, choose one of: [{}]{or_inits}",
                mains.join(" ")
            )))
        }
    }
}

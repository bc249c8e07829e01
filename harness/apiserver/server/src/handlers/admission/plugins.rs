//! Admission by built-in plug-ins.
//!
//! The order of a write is: mutating admission, defaulting and preparation, validation, validating admission, commit.
//! [`Core::mutate`] and [`Core::validate`] are the two places; both get an [`AdmissionRequest`] with all data of an
//! `AdmissionReview`. The first one makes the changes of a real server's default plug-ins; the second one makes their
//! refusals.

use std::sync::Arc;

use baton_apikinds::services::Allocations;
use baton_apikinds::strategy::{admit, readmit};
use baton_apimachinery::meta;
use serde_json::Value;

use crate::api_error::{About, ApiError};
use crate::handlers::{Call, Core};
use crate::registry::Resource;

/// A write, as an `AdmissionReview` describes it.
pub(crate) struct AdmissionRequest<'a> {
    pub(crate) operation: Operation,
    pub(crate) resource: &'a Arc<Resource>,
    pub(crate) subresource: Option<&'a str>,
    pub(crate) namespace: Option<&'a str>,
    pub(crate) name: &'a str,
    /// The state before; `None` for a create.
    pub(crate) old: Option<&'a Value>,
    pub(crate) call: &'a Call,
}

/// The operation of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
    Create,
    Update,
    Delete,
}

impl Operation {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
        }
    }
}

impl<'a> AdmissionRequest<'a> {
    pub(in crate::handlers) fn new(
        call: &'a Call,
        operation: Operation,
        name: &'a str,
        old: Option<&'a Value>,
    ) -> Self {
        Self {
            operation,
            resource: &call.resource,
            subresource: call.subresource.as_deref(),
            namespace: call.namespace.as_deref(),
            name,
            old,
            call,
        }
    }
}

/// The namespaces that every cluster needs.
const NEEDED: [&str; 3] = ["default", "kube-public", "kube-system"];

/// Refuses to delete a namespace that every cluster needs.
pub(in crate::handlers) fn check_may_be_deleted(call: &Call, object: &Value) -> Result<(), ApiError> {
    let name = meta::name(object).unwrap_or_default();
    if call.resource.is("", "namespaces") && NEEDED.contains(&name) {
        return Err(ApiError::forbidden(
            call.about(name),
            "this namespace may not be deleted",
        ));
    }
    Ok(())
}

impl Core {
    /// Mutating admission.
    pub(in crate::handlers) fn mutate(
        &self,
        request: &AdmissionRequest<'_>,
        object: &mut Value,
    ) -> Result<(), ApiError> {
        if request.operation == Operation::Create {
            self.check_namespace_is_there(request)?;
        }
        if request.resource.is("", "pods") && request.subresource.is_none() {
            match request.operation {
                Operation::Create => {
                    let bucket = self.store.bucket("scheduling.k8s.io", "priorityclasses");
                    let class = |name: &str| Some(Value::clone(&self.store.get(bucket, name)?.value()));
                    let about = || request.call.about(request.name);
                    admit(object, class).map_err(|unknown| ApiError::forbidden(about(), &unknown.to_string()))?;
                }
                Operation::Update => readmit(object, request.old.unwrap_or(&Value::Null)),
                Operation::Delete => {}
            }
        }
        self.call_mutating(request, object)
    }

    /// Validating admission: cannot change the object any more.
    pub(in crate::handlers) fn validate(&self, request: &AdmissionRequest<'_>, object: &Value) -> Result<(), ApiError> {
        self.call_validating(request, Some(object))
    }

    /// Refuses to create an object in a namespace that does not exist or is being deleted.
    fn check_namespace_is_there(&self, request: &AdmissionRequest<'_>) -> Result<(), ApiError> {
        let Some(namespace) = request.namespace else {
            return Ok(());
        };
        let about = About {
            group: "",
            kind: "namespaces",
            name: namespace,
        };
        let found = self.namespace(namespace).ok_or_else(|| ApiError::not_found(about))?;
        if meta::deletion_timestamp(&found.value()).is_none() {
            return Ok(());
        }
        let cause = format!("unable to create new content in namespace {namespace} because it is being terminated");
        let mut error = ApiError::forbidden(request.call.about(request.name), &cause);
        if let Some(details) = error.details.as_mut().and_then(Value::as_object_mut) {
            let message = format!("namespace {namespace} is being terminated");
            let cause = serde_json::json!({"reason": "NamespaceTerminating", "message": message, "field": "metadata.namespace"});
            details.insert("causes".to_owned(), serde_json::json!([cause]));
        }
        Err(error)
    }

    /// Assigns to a Service an address that no other Service has.
    pub(in crate::handlers) fn allocate(&self, call: &Call, service: &mut Value) {
        if !call.resource.is("", "services") || call.subresource.is_some() {
            return;
        }
        let mut allocations = Allocations::default();
        let own = meta::uid(service).map(str::to_owned);
        for stored in self.store.list(self.store.bucket("", "services"), "").0 {
            if meta::uid(&stored.value()) != own.as_deref() {
                allocations.observe(&stored.value());
            }
        }
        allocations.allocate(service);
    }
}

//! The identity of a workload: what its binding refers to, and what its template and its copies have in common.

use std::fmt;

use serde_json::Value;

use crate::{case::model::ObjectRef, timeline::ObjectId};

/// Kind, namespace and name of a workload, or of a resource that is propagated with it. They are the same on all clusters.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Workload {
    /// Its kind.
    pub kind: String,
    /// Its namespace; empty if it is cluster-scoped.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl Workload {
    /// Returns the workload that a binding refers to in `spec.resource`. What the reference lacks is empty.
    pub fn of_binding(binding: &Value) -> Self {
        Self::of_reference(&binding["spec"]["resource"])
    }

    /// Returns the workload that a reference with `kind`, `namespace` and `name` names, such as `involvedObject` of an Event.
    pub fn of_reference(reference: &Value) -> Self {
        Self {
            kind: text(&reference["kind"]),
            namespace: text(&reference["namespace"]),
            name: text(&reference["name"]),
        }
    }

    /// Returns the workload that a manifest describes.
    pub fn of_manifest(manifest: &Value) -> Self {
        Self {
            kind: text(&manifest["kind"]),
            namespace: text(&manifest["metadata"]["namespace"]),
            name: text(&manifest["metadata"]["name"]),
        }
    }

    /// Returns `true` if an object is its template or one of its copies.
    pub fn includes(&self, id: &ObjectId) -> bool {
        self.kind == id.kind && self.namespace == id.namespace && self.name == id.name
    }
}

/// `Deployment default/deploy`; without a namespace, `Tenant acme`.
impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, namespace, name } = self;
        match namespace.as_str() {
            "" => write!(f, "{kind} {name}"),
            _ => write!(f, "{kind} {namespace}/{name}"),
        }
    }
}

impl From<&ObjectRef> for Workload {
    fn from(workload: &ObjectRef) -> Self {
        Self {
            kind: workload.kind.clone(),
            namespace: workload.namespace.clone().unwrap_or_default(),
            name: workload.name.clone(),
        }
    }
}

impl From<&ObjectId> for Workload {
    fn from(id: &ObjectId) -> Self {
        Self {
            kind: id.kind.clone(),
            namespace: id.namespace.clone(),
            name: id.name.clone(),
        }
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

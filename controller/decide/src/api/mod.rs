//! The public API: Karmada's groups, kinds and field names, as far as failover needs them.
//!
//! Read in this order: [`policy`] (what users write), [`failover`] (the part of it that this project is about),
//! [`binding`] (what the controller makes of it), [`work`] (one copy on one member), [`cluster`], [`taint_policy`],
//! [`interpreter`].
//! [`crds`] turns all of them into `CustomResourceDefinition`s.
//!
//! Kinds that exist twice, namespaced and cluster-scoped, share their spec and status types; only the namespaced one
//! has a root type, the other one's definition is derived from it.

pub mod binding;
pub mod cluster;
pub mod crds;
pub mod failover;
pub mod interpreter;
pub mod policy;
pub mod taint_policy;
pub mod work;

pub use binding::{
    AggregatedStatusItem, BindingSpec, BindingStatus, GracefulEvictionTask, ObjectReference, ResourceHealth,
    TargetCluster,
};
pub use cluster::{ClusterSpec, ClusterStatus, Taint, TaintEffect};
pub use failover::{FailoverBehavior, PurgeMode, StatePreservation, StatePreservationRule};
pub use policy::{Placement, PropagationSpec, ResourceSelector};
pub use taint_policy::{ClusterTaintPolicySpec, ClusterTaintPolicyStatus};
pub use work::{WorkSpec, WorkStatus};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::{Deserialize, Serialize};

/// An object of this API, namespaced or cluster-scoped: metadata, spec and status, without `kind`.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Resource<Spec, Status> {
    /// The object's metadata.
    pub metadata: ObjectMeta,
    /// What is wanted.
    pub spec: Spec,
    /// What was observed.
    #[serde(default)]
    pub status: Status,
}

impl<Spec, Status> Resource<Spec, Status> {
    /// The object's name; empty while it has none.
    pub fn name(&self) -> &str {
        self.metadata.name.as_deref().unwrap_or_default()
    }

    /// The object's namespace; absent for cluster-scoped objects.
    pub fn namespace(&self) -> Option<&str> {
        self.metadata.namespace.as_deref()
    }

    /// Whether the object is marked for deletion.
    pub fn is_being_deleted(&self) -> bool {
        self.metadata.deletion_timestamp.is_some()
    }

    /// The value of an annotation.
    pub fn annotation(&self, key: &str) -> Option<&str> {
        self.metadata.annotations.as_ref()?.get(key).map(String::as_str)
    }

    /// Whether the object carries the finalizer.
    pub fn has_finalizer(&self, finalizer: &str) -> bool {
        self.metadata.finalizers.iter().flatten().any(|held| held == finalizer)
    }
}

/// `PropagationPolicy` or `ClusterPropagationPolicy`.
pub type Policy = Resource<PropagationSpec, serde_json::Value>;
/// `ResourceBinding` or `ClusterResourceBinding`.
pub type Binding = Resource<BindingSpec, BindingStatus>;
/// `Work`.
pub type Work = Resource<WorkSpec, WorkStatus>;
/// `Cluster`.
pub type Cluster = Resource<ClusterSpec, ClusterStatus>;
/// `ResourceInterpreterCustomization`.
pub type Customization = Resource<interpreter::ResourceInterpreterCustomizationSpec, serde_json::Value>;
/// `ClusterTaintPolicy`.
pub type ClusterTaintPolicy = Resource<ClusterTaintPolicySpec, ClusterTaintPolicyStatus>;

/// The schema of a point in time.
fn date_time(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({"type": "string", "format": "date-time"})
}

/// The schema of a piece of another object, kept as it is.
fn any_object(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})
}

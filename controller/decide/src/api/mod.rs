//! The public API: Karmada's groups, kinds and field names that failover needs.
//!
//! Read in this order: [`policy`] (written by users), [`failover`] (the part of a policy that this project is about),
//! [`binding`] (one resource and its clusters), [`work`] (one copy on one member), [`cluster`], [`taint_policy`],
//! [`interpreter`].
//! [`crds`] generates the `CustomResourceDefinition`s of these types.
//!
//! Kinds that exist both namespaced and cluster-scoped share their spec and status types. Only the namespaced kind has
//! a root type; the definition of the cluster-scoped kind is derived from it.

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
    /// Metadata of the object.
    pub metadata: ObjectMeta,
    /// Desired state.
    pub spec: Spec,
    /// Observed state.
    #[serde(default)]
    pub status: Status,
}

impl<Spec, Status> Resource<Spec, Status> {
    /// Returns the object's name, or an empty text if it has none yet.
    pub fn name(&self) -> &str {
        self.metadata.name.as_deref().unwrap_or_default()
    }

    /// Returns the object's namespace; `None` for cluster-scoped objects.
    pub fn namespace(&self) -> Option<&str> {
        self.metadata.namespace.as_deref()
    }

    /// Returns true if the object is marked for deletion.
    pub fn is_being_deleted(&self) -> bool {
        self.metadata.deletion_timestamp.is_some()
    }

    /// Returns the value of an annotation.
    pub fn annotation(&self, key: &str) -> Option<&str> {
        self.metadata.annotations.as_ref()?.get(key).map(String::as_str)
    }

    /// Returns true if the object carries the finalizer.
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

/// Schema of a point in time.
fn date_time(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({"type": "string", "format": "date-time"})
}

/// Schema of a part of another object, which is stored unchanged.
fn any_object(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})
}

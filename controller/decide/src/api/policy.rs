//! `PropagationPolicy` and `ClusterPropagationPolicy`: which resources go to which clusters, and how they fail over.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube_derive::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::failover::FailoverBehavior;

/// Resources to propagate, their placement, and their failover behaviour.
#[derive(Clone, CustomResource, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[kube(
    group = "policy.karmada.io",
    version = "v1alpha1",
    kind = "PropagationPolicy",
    plural = "propagationpolicies",
    shortname = "pp",
    category = "karmada-io",
    namespaced,
    doc = "Propagates resources that it selects to member clusters.",
    crates(kube_core = "kube_core"),
    printcolumn(name = "Priority", type_ = "integer", json_path = ".spec.priority"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [{
    "rule": "!has(self.failover) || !has(self.failover.application) || (has(self.propagateDeps) && self.propagateDeps)",
    "message": "propagateDeps must be true when failover.application is set"
}]))]
pub struct PropagationSpec {
    /// The resources to propagate.
    #[schemars(length(min = 1))]
    pub resource_selectors: Vec<ResourceSelector>,
    /// Clusters to propagate the resources to.
    #[serde(default)]
    pub placement: Placement,
    /// Failover behaviour of the resources.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failover: Option<FailoverBehavior>,
    /// Propagates dependencies of the workload (`ConfigMap`s, `Secret`s, …) along with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub propagate_deps: Option<bool>,
    /// Priority among policies that select the same resource: the highest number wins. Defaults to 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<i32>,
    /// Action if the object already exists on the member and is not managed: `Abort` (the default) or `Overwrite`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conflict_resolution: Option<ConflictResolution>,
    /// Keeps objects on members when the policy or the resource is deleted (DRN-02).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preserve_resources_on_deletion: Option<bool>,
    /// Name of the scheduler; defaults to this controller's (`default-scheduler`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduler_name: Option<String>,
}

/// Selector of resources.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceSelector {
    /// API version, such as `apps/v1`.
    #[schemars(length(min = 1))]
    pub api_version: String,
    /// Kind, such as `Deployment`.
    #[schemars(length(min = 1))]
    pub kind: String,
    /// Namespace; if unset, the namespace of the policy, or any namespace for a cluster-scoped policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Name; any if unset. If set, `labelSelector` is ignored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Labels to select by; ignored if `name` is set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label_selector: Option<LabelSelector>,
}

/// Action if an unmanaged object with the same name exists on the member.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
pub enum ConflictResolution {
    /// Leaves the object unchanged and reports a conflict.
    #[default]
    Abort,
    /// Takes over the object.
    Overwrite,
}

/// Constraints on the clusters that may run copies of a resource.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Placement {
    /// Clusters to choose from; all if unset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_affinity: Option<ClusterAffinity>,
    /// Taints of clusters that the resource tolerates.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cluster_tolerations: Vec<Toleration>,
    /// Number of clusters to spread the resource over.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub spread_constraints: Vec<SpreadConstraint>,
    /// Distribution of replicas; if unset, each cluster gets all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replica_scheduling: Option<ReplicaSchedulingStrategy>,
}

/// Selector of clusters. All criteria that are set must hold.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterAffinity {
    /// Labels to select by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label_selector: Option<LabelSelector>,
    /// Names to select.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cluster_names: Vec<String>,
    /// Names to exclude, even if the other criteria hold.
    #[serde(default, skip_serializing_if = "Vec::is_empty", rename = "exclude")]
    pub exclude_clusters: Vec<String>,
}

/// A taint that the resource tolerates, as in Kubernetes (TNT-09).
#[derive(Clone, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Toleration {
    /// Key of the taint; empty with operator `Exists` means any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// `Equal` (the default) or `Exists`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operator: Option<TolerationOperator>,
    /// Value of the taint under `Equal`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// Effect of the taint; empty means any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "toleration_effect")]
    pub effect: Option<String>,
    /// Time that a `NoExecute` taint is tolerated after its `timeAdded`; for ever if unset (TNT-03). Seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub toleration_seconds: Option<i64>,
}

/// Comparison of a toleration with a taint.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
pub enum TolerationOperator {
    /// Key and value equal those of the taint.
    #[default]
    Equal,
    /// The key equals that of the taint, or is empty.
    Exists,
}

/// Number of cluster groups to spread a resource over.
#[derive(Clone, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SpreadConstraint {
    /// Field to group clusters by; only `cluster` is supported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "spread_field")]
    pub spread_by_field: Option<String>,
    /// Maximum number of groups; unlimited if unset or 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub max_groups: Option<i32>,
    /// Minimum number of groups; defaults to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub min_groups: Option<i32>,
}

/// Distribution of replicas among the chosen clusters.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReplicaSchedulingStrategy {
    /// `Duplicated` (the default): every cluster gets all replicas; `Divided`: the replicas are divided among the
    /// clusters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replica_scheduling_type: Option<ReplicaSchedulingType>,
    /// Preference for dividing replicas; both values divide evenly here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replica_division_preference: Option<ReplicaDivisionPreference>,
    /// Weights of clusters under `Weighted`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "super::any_object")]
    pub weight_preference: Option<serde_json::Value>,
}

/// Distribution of replicas: all on each cluster, or a share on each.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
pub enum ReplicaSchedulingType {
    /// All replicas on every cluster.
    #[default]
    Duplicated,
    /// A share of the replicas on each cluster.
    Divided,
}

/// Preference for dividing replicas.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
pub enum ReplicaDivisionPreference {
    /// Uses as few clusters as possible.
    Aggregated,
    /// Divides by weight.
    Weighted,
}

fn toleration_effect(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({"type": "string", "enum": ["", "NoSchedule", "PreferNoSchedule", "NoExecute"]})
}

fn spread_field(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({"type": "string", "enum": ["cluster"]})
}

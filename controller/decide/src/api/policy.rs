//! `PropagationPolicy` and `ClusterPropagationPolicy`: what goes where, and how it fails over.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube_derive::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::failover::FailoverBehavior;

/// What a policy propagates, where to, and how it fails over.
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
    /// Where to.
    #[serde(default)]
    pub placement: Placement,
    /// How to fail over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failover: Option<FailoverBehavior>,
    /// Whether what the workload names (`ConfigMap`s, `Secret`s, …) follows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub propagate_deps: Option<bool>,
    /// Which policy wins when several select a resource: the highest number. 0 if unset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<i32>,
    /// What to do when the object already exists on the member and is not ours: `Abort` (the default) or `Overwrite`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conflict_resolution: Option<ConflictResolution>,
    /// Whether member objects stay when policy or resource are deleted (DRN-02).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preserve_resources_on_deletion: Option<bool>,
    /// The scheduler to use; unset, this controller's (`default-scheduler`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduler_name: Option<String>,
}

/// Which resources a policy means.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceSelector {
    /// API version, such as `apps/v1`.
    #[schemars(length(min = 1))]
    pub api_version: String,
    /// Kind, such as `Deployment`.
    #[schemars(length(min = 1))]
    pub kind: String,
    /// Namespace; the policy's own if unset, any if unset in a cluster-scoped policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Name; any if unset. A name makes `labelSelector` irrelevant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Labels to select by; ignored if a name is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label_selector: Option<LabelSelector>,
}

/// What to do about an object on the member that is not ours.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
pub enum ConflictResolution {
    /// Leave it alone, and report a conflict.
    #[default]
    Abort,
    /// Take it over.
    Overwrite,
}

/// Where copies of a resource may run.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Placement {
    /// The clusters to choose from; all if unset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_affinity: Option<ClusterAffinity>,
    /// The taints of clusters that the resource puts up with.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cluster_tolerations: Vec<Toleration>,
    /// Over how many clusters it spreads.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub spread_constraints: Vec<SpreadConstraint>,
    /// How replicas are shared out; each cluster gets them all if unset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replica_scheduling: Option<ReplicaSchedulingStrategy>,
}

/// Which clusters are meant. All criteria that are given must hold.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterAffinity {
    /// Clusters by label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label_selector: Option<LabelSelector>,
    /// Clusters by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cluster_names: Vec<String>,
    /// Clusters that are not meant, whatever else holds.
    #[serde(default, skip_serializing_if = "Vec::is_empty", rename = "exclude")]
    pub exclude_clusters: Vec<String>,
}

/// A taint that is put up with, as in Kubernetes (TNT-09).
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
    /// How long a `NoExecute` taint is put up with after its `timeAdded`; for ever if unset (TNT-03). Seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub toleration_seconds: Option<i64>,
}

/// How a toleration compares.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
pub enum TolerationOperator {
    /// Key and value are the taint's.
    #[default]
    Equal,
    /// The key is the taint's, or empty.
    Exists,
}

/// Over how many groups of clusters a resource spreads.
#[derive(Clone, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SpreadConstraint {
    /// What makes a group: `cluster`, the only one that is understood.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "spread_field")]
    pub spread_by_field: Option<String>,
    /// The most groups to use; no bound if unset or 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub max_groups: Option<i32>,
    /// The fewest groups to use; 1 if unset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub min_groups: Option<i32>,
}

/// How replicas are shared out among the chosen clusters.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReplicaSchedulingStrategy {
    /// `Duplicated` (the default): every cluster gets all replicas; `Divided`: they are shared out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replica_scheduling_type: Option<ReplicaSchedulingType>,
    /// How replicas are divided; both values divide evenly here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replica_division_preference: Option<ReplicaDivisionPreference>,
    /// Weights of clusters under `Weighted`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "super::any_object")]
    pub weight_preference: Option<serde_json::Value>,
}

/// Whether each cluster gets all replicas or a share.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
pub enum ReplicaSchedulingType {
    /// All replicas on every cluster.
    #[default]
    Duplicated,
    /// A share on each.
    Divided,
}

/// How replicas are divided.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
pub enum ReplicaDivisionPreference {
    /// On as few clusters as possible.
    Aggregated,
    /// By weight.
    Weighted,
}

fn toleration_effect(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({"type": "string", "enum": ["", "NoSchedule", "PreferNoSchedule", "NoExecute"]})
}

fn spread_field(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({"type": "string", "enum": ["cluster"]})
}

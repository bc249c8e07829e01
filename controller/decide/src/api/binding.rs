//! `ResourceBinding` and `ClusterResourceBinding`: one resource, the clusters it is bound to, and its evictions.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube_derive::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::failover::{FailoverBehavior, PurgeMode};
use super::policy::{ConflictResolution, Placement};

/// A resource and the clusters it runs on.
#[expect(clippy::duplicated_attributes, reason = "columns of the same type")]
#[derive(Clone, CustomResource, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[kube(
    group = "work.karmada.io",
    version = "v1alpha2",
    kind = "ResourceBinding",
    plural = "resourcebindings",
    shortname = "rb",
    category = "karmada-io",
    namespaced,
    status = "BindingStatus",
    doc = "Binds one resource to the clusters that the scheduler chose.",
    crates(kube_core = "kube_core"),
    printcolumn(
        name = "Scheduled",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Scheduled\")].status"
    ),
    printcolumn(
        name = "FullyApplied",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"FullyApplied\")].status"
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct BindingSpec {
    /// The resource.
    pub resource: ObjectReference,
    /// Replicas of the resource; unset for kinds without replicas.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,
    /// The scheduling result.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clusters: Vec<TargetCluster>,
    /// Evictions that have been decided and are still in progress.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub graceful_eviction_tasks: Vec<GracefulEvictionTask>,
    /// Clusters the workload left because the application was unhealthy there (APP-08).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub active_eviction_history: Vec<ActiveEvictionHistory>,
    /// The policy's placement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placement: Option<Placement>,
    /// The policy's failover behaviour (POL-03).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failover: Option<FailoverBehavior>,
    /// The policy's `propagateDeps`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub propagate_deps: Option<bool>,
    /// Bindings that depend on this resource, with their clusters (APP-12).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub required_by: Vec<BindingSnapshot>,
    /// The policy's `conflictResolution`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conflict_resolution: Option<ConflictResolution>,
    /// The policy's `preserveResourcesOnDeletion`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preserve_resources_on_deletion: Option<bool>,
    /// The policy's `schedulerName`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduler_name: Option<String>,
}

/// Reference to the resource of a binding.
#[derive(Clone, Debug, Default, Deserialize, Eq, JsonSchema, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ObjectReference {
    /// API version, such as `apps/v1`.
    pub api_version: String,
    /// Kind, such as `Deployment`.
    pub kind: String,
    /// Namespace; absent for cluster-scoped resources.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Name.
    pub name: String,
    /// UID of the resource on the control plane.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
}

/// A cluster of the scheduling result.
#[derive(Clone, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
pub struct TargetCluster {
    /// Name of the cluster.
    pub name: String,
    /// Replicas assigned to the cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,
}

/// A binding that depends on the resource of another binding.
#[derive(Clone, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
pub struct BindingSnapshot {
    /// Namespace of the dependent binding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Name of the dependent binding.
    pub name: String,
    /// Clusters of the dependent binding: its scheduling result and the clusters that still hold a copy.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clusters: Vec<TargetCluster>,
}

/// An eviction from one cluster.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GracefulEvictionTask {
    /// Name of the cluster that the workload leaves.
    pub from_cluster: String,
    /// Purge mode: when the old copy is removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "task_purge_mode")]
    pub purge_mode: Option<PurgeMode>,
    /// Replicas that ran on the cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,
    /// Machine-readable reason, such as `TaintUntolerated` or `ApplicationFailure`.
    pub reason: String,
    /// Reason shown to users.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Component that decided the eviction: `TaintManager` or `ResourceBindingApplicationFailoverController`.
    pub producer: String,
    /// Grace period of the old copy under `Gracefully` (GRE-05). Seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grace_period_seconds: Option<i32>,
    /// Under `Never`: keeps the old copy while true (PRG-09).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suppress_deletion: Option<bool>,
    /// State preserved from the old copy, by label key (STP-02).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub preserved_label_state: BTreeMap<String, String>,
    /// Scheduling result before the eviction; these clusters never receive the labels (REC-03, REC-04).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clusters_before_failover: Vec<String>,
    /// Time of the decision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "super::date_time")]
    pub creation_timestamp: Option<Timestamp>,
}

/// A cluster the workload left because the application was unhealthy there.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ActiveEvictionHistory {
    /// Name of the cluster.
    pub cluster_name: String,
    /// Time of the eviction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "super::date_time")]
    pub creation_timestamp: Option<Timestamp>,
}

/// Observed state of a binding.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BindingStatus {
    /// Conditions: `Scheduled`, `FullyApplied`, `FailoverBlocked`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// Status and health per cluster (POL-07).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aggregated_status: Vec<AggregatedStatusItem>,
}

/// Status and health of the resource on one cluster.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AggregatedStatusItem {
    /// Name of the cluster.
    pub cluster_name: String,
    /// The object's `.status` on the cluster, as last collected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "super::any_object")]
    pub status: Option<serde_json::Value>,
    /// True if the object was applied to the cluster.
    #[serde(default)]
    pub applied: bool,
    /// Reason why the object was not applied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub applied_message: Option<String>,
    /// True once the object has been healthy on the cluster (APP-06).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settled: Option<bool>,
    /// Health of the object.
    #[serde(default)]
    #[schemars(schema_with = "health")]
    pub health: ResourceHealth,
    /// Time at which the object stopped being healthy; an unknown health in between does not reset it (APP-02, APP-04).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "super::date_time")]
    pub unhealthy_since: Option<Timestamp>,
    /// Time at which the status was first collected (APP-05).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "super::date_time")]
    pub creation_timestamp: Option<Timestamp>,
}

/// Health of a workload.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub enum ResourceHealth {
    /// The workload works as its kind requires.
    Healthy,
    /// The workload is known not to work.
    Unhealthy,
    /// The health cannot be determined, or has not been determined yet.
    #[default]
    Unknown,
}

/// The schema of [`ResourceHealth`], inline so that it stays structural.
pub(super) fn health(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({"type": "string", "enum": ["Healthy", "Unhealthy", "Unknown"]})
}

fn task_purge_mode(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({
        "type": "string",
        "enum": ["Directly", "Gracefully", "Never", "Immediately", "Graciously"]
    })
}

//! `ResourceBinding` and `ClusterResourceBinding`: one resource, the clusters it is bound to, and its evictions.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube_derive::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::failover::{FailoverBehavior, PurgeMode};
use super::policy::{ConflictResolution, Placement};

/// One resource and where it is to run.
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
    /// Its replicas; absent for kinds that have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,
    /// The scheduling result.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clusters: Vec<TargetCluster>,
    /// Evictions that were decided and are not yet over.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub graceful_eviction_tasks: Vec<GracefulEvictionTask>,
    /// Clusters that were left because the application was unhealthy there (APP-08).
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
    /// The bindings of those that depend on the resource, with their clusters (APP-12).
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

/// The resource that a binding is about.
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
    /// The cluster.
    pub name: String,
    /// Its share of the replicas.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,
}

/// A binding that depends on another one.
#[derive(Clone, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
pub struct BindingSnapshot {
    /// Its namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
    /// Its clusters: those of its result, and those that still have a copy.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clusters: Vec<TargetCluster>,
}

/// One decided eviction from one cluster.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GracefulEvictionTask {
    /// The cluster that is left.
    pub from_cluster: String,
    /// How the old copy leaves it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "task_purge_mode")]
    pub purge_mode: Option<PurgeMode>,
    /// The replicas that ran there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,
    /// Why, in one word: `TaintUntolerated`, `ApplicationFailure`.
    pub reason: String,
    /// Why, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Who decided: `TaintManager`, `ResourceBindingApplicationFailoverController`.
    pub producer: String,
    /// How long the old copy may wait under `Gracefully` (GRE-05). Seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grace_period_seconds: Option<i32>,
    /// Under `Never`: the old copy stays while this is true (PRG-09).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suppress_deletion: Option<bool>,
    /// The state of the old copy: label key to value (STP-02).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub preserved_label_state: BTreeMap<String, String>,
    /// The scheduling result before the eviction; these clusters never get the labels (REC-03, REC-04).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clusters_before_failover: Vec<String>,
    /// When it was decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "super::date_time")]
    pub creation_timestamp: Option<Timestamp>,
}

/// A cluster that was left because the application was unhealthy there.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ActiveEvictionHistory {
    /// The cluster.
    pub cluster_name: String,
    /// When it was left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "super::date_time")]
    pub creation_timestamp: Option<Timestamp>,
}

/// What is known of a binding.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BindingStatus {
    /// `Scheduled`, `FullyApplied`, `FailoverBlocked`.
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
    /// The cluster.
    pub cluster_name: String,
    /// The object's `.status` there, as it was last collected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "super::any_object")]
    pub status: Option<serde_json::Value>,
    /// Whether the object was applied there.
    #[serde(default)]
    pub applied: bool,
    /// Why not, if not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub applied_message: Option<String>,
    /// Whether it was once healthy there (APP-06).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settled: Option<bool>,
    /// Its health.
    #[serde(default)]
    #[schemars(schema_with = "health")]
    pub health: ResourceHealth,
    /// Since when it has not been healthy; whether it became unknown meanwhile does not matter (APP-02, APP-04).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "super::date_time")]
    pub unhealthy_since: Option<Timestamp>,
    /// When its status was first collected (APP-05).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "super::date_time")]
    pub creation_timestamp: Option<Timestamp>,
}

/// Whether a workload does its job.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub enum ResourceHealth {
    /// It does.
    Healthy,
    /// It does not.
    Unhealthy,
    /// Not known, or not known yet.
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

//! `ClusterTaintPolicy`: taints a cluster when its conditions have matched long enough.

use jiff::Timestamp;
use kube_derive::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::cluster::TaintEffect;
use super::failover::LABEL_KEY;
use super::policy::ClusterAffinity;

/// Pattern of a label value (VAL-03).
const LABEL_VALUE: &str = "^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$";

/// Clusters to taint, their taints, and the conditions for it. Fields described as "released form" hold the same in the
/// spelling of released implementations; the others are the proposal's (CTP-09).
#[derive(Clone, CustomResource, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[kube(
    group = "policy.karmada.io",
    version = "v1alpha1",
    kind = "ClusterTaintPolicy",
    plural = "clustertaintpolicies",
    status = "ClusterTaintPolicyStatus",
    category = "karmada-io",
    doc = "Taints clusters while their conditions hold.",
    crates(kube_core = "kube_core"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [{
    "rule": "!(has(self.targetCluster) || has(self.matchConditions) || has(self.taintsToAdd)) || \
        !(has(self.targetClusters) || has(self.addOnConditions) || has(self.removeOnConditions) || has(self.taints))",
    "message": "targetCluster, matchConditions and taintsToAdd cannot be combined with targetClusters, addOnConditions, \
        removeOnConditions and taints"
}]))]
pub struct ClusterTaintPolicySpec {
    /// Clusters that the policy applies to; all if unset (CTP-05).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_cluster: Option<ClusterAffinity>,
    /// Conditions that must all hold; an empty list always holds (CTP-04).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub match_conditions: Vec<MatchCondition>,
    /// Taints to add; each combination of key and effect occurs once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["key", "effect"]))]
    pub taints_to_add: Vec<TaintToAdd>,
    /// Released form of `targetCluster`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_clusters: Option<ClusterAffinity>,
    /// Released form: conditions that must hold for taints to be added.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub add_on_conditions: Vec<MatchCondition>,
    /// Released form: conditions that must hold for taints to be removed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remove_on_conditions: Vec<MatchCondition>,
    /// Released form of `taintsToAdd`; these taints are added and removed without delay.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub taints: Vec<PlainTaint>,
}

/// Comparison of one condition of a cluster.
#[derive(Clone, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MatchCondition {
    /// Type of the condition, such as `Ready`.
    #[schemars(length(min = 1))]
    pub condition_type: String,
    /// Comparison of the condition's status with `statusValues`.
    pub operator: MatchConditionOperator,
    /// Statuses to compare with.
    #[schemars(length(min = 1))]
    pub status_values: Vec<ConditionStatus>,
}

/// Comparison of a condition's status.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
pub enum MatchConditionOperator {
    /// The status is one of the values.
    In,
    /// The status is none of the values.
    NotIn,
}

/// Status of a condition.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
pub enum ConditionStatus {
    /// The condition holds.
    True,
    /// The condition does not hold.
    False,
    /// The status is not known.
    Unknown,
}

/// A taint to add, with the times that its conditions must hold.
#[derive(Clone, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TaintToAdd {
    /// Key of the taint.
    #[schemars(length(min = 1, max = 317), regex(pattern = LABEL_KEY))]
    pub key: String,
    /// Effect of the taint.
    pub effect: TaintEffect,
    /// Value of the taint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63), regex(pattern = LABEL_VALUE))]
    pub value: Option<String>,
    /// Time that the conditions must hold before the taint is added; defaults to 300 (CTP-03). Seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1), extend("default" = 300))]
    pub add_on_match_seconds: Option<i32>,
    /// Time that the conditions must not hold before the taint is removed; defaults to 180 (CTP-03). Seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1), extend("default" = 180))]
    pub remove_on_mismatch_seconds: Option<i32>,
}

/// A taint without delays.
#[derive(Clone, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
pub struct PlainTaint {
    /// Key of the taint.
    #[schemars(length(min = 1, max = 317), regex(pattern = LABEL_KEY))]
    pub key: String,
    /// Effect of the taint.
    pub effect: TaintEffect,
    /// Value of the taint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63), regex(pattern = LABEL_VALUE))]
    pub value: Option<String>,
}

/// Taints that a policy has added, and times that it has observed.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct ClusterTaintPolicyStatus {
    /// Taints that the policy has added; it removes no others (CTP-12).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub taints: Vec<AddedTaint>,
    /// Times since which the conditions match a cluster or do not, if the cluster's own conditions do not show them
    /// (CTP-16).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub windows: Vec<MatchWindow>,
}

/// A taint that a policy has added to a cluster.
#[derive(Clone, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
pub struct AddedTaint {
    /// Name of the cluster.
    pub cluster: String,
    /// Key of the taint.
    pub key: String,
    /// Effect of the taint.
    pub effect: TaintEffect,
    /// `timeAdded` of the taint.
    #[schemars(schema_with = "super::date_time")]
    pub since: Timestamp,
}

/// Time since which the conditions of a policy match a cluster or do not.
#[derive(Clone, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
pub struct MatchWindow {
    /// Name of the cluster.
    pub cluster: String,
    /// True if the conditions match.
    pub matches: bool,
    /// Start of the period.
    #[schemars(schema_with = "super::date_time")]
    pub since: Timestamp,
}

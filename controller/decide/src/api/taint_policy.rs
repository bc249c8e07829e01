//! `ClusterTaintPolicy`: when a cluster's conditions hold long enough, it is tainted.

use jiff::Timestamp;
use kube_derive::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::cluster::TaintEffect;
use super::failover::LABEL_KEY;
use super::policy::ClusterAffinity;

/// A label value (VAL-03).
const LABEL_VALUE: &str = "^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$";

/// Which clusters are tainted with what, and when. The fields without `Seconds` in them are the proposal's; those under
/// "released form" are the same in the spelling of released implementations (CTP-09).
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
    /// The clusters; all if unset (CTP-05).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_cluster: Option<ClusterAffinity>,
    /// What must hold, all of it; nothing means always (CTP-04).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub match_conditions: Vec<MatchCondition>,
    /// The taints; each key and effect once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["key", "effect"]))]
    pub taints_to_add: Vec<TaintToAdd>,
    /// Released form of `targetCluster`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_clusters: Option<ClusterAffinity>,
    /// Released form: what must hold for taints to be added.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub add_on_conditions: Vec<MatchCondition>,
    /// Released form: what must hold for taints to be removed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remove_on_conditions: Vec<MatchCondition>,
    /// Released form of `taintsToAdd`; these are added and removed at once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub taints: Vec<PlainTaint>,
}

/// One condition of a cluster, compared.
#[derive(Clone, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MatchCondition {
    /// Type of the condition, such as `Ready`.
    #[schemars(length(min = 1))]
    pub condition_type: String,
    /// How to compare.
    pub operator: MatchConditionOperator,
    /// With what.
    #[schemars(length(min = 1))]
    pub status_values: Vec<ConditionStatus>,
}

/// How a condition's status is compared.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
pub enum MatchConditionOperator {
    /// It is one of the values.
    In,
    /// It is none of them.
    NotIn,
}

/// Status of a condition.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
pub enum ConditionStatus {
    /// It holds.
    True,
    /// It does not.
    False,
    /// Not known.
    Unknown,
}

/// A taint that a policy adds, and how long its conditions must hold for that.
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
    /// How long the conditions must hold; 300 if unset (CTP-03). Seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1), extend("default" = 300))]
    pub add_on_match_seconds: Option<i32>,
    /// How long they must not hold for the taint to go again; 180 if unset (CTP-03). Seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1), extend("default" = 180))]
    pub remove_on_mismatch_seconds: Option<i32>,
}

/// A taint without times.
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

/// What a policy has done.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct ClusterTaintPolicyStatus {
    /// The taints that the policy has added; it removes no others (CTP-12).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub taints: Vec<AddedTaint>,
    /// Since when the conditions match a cluster, or do not, where the cluster's own conditions do not tell (CTP-16).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub windows: Vec<MatchWindow>,
}

/// A taint that a policy has added to a cluster.
#[derive(Clone, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
pub struct AddedTaint {
    /// The cluster.
    pub cluster: String,
    /// Key of the taint.
    pub key: String,
    /// Effect of the taint.
    pub effect: TaintEffect,
    /// `timeAdded` of the taint.
    #[schemars(schema_with = "super::date_time")]
    pub since: Timestamp,
}

/// Since when the conditions of a policy match a cluster, or do not.
#[derive(Clone, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
pub struct MatchWindow {
    /// The cluster.
    pub cluster: String,
    /// Whether they match.
    pub matches: bool,
    /// Since when.
    #[schemars(schema_with = "super::date_time")]
    pub since: Timestamp,
}

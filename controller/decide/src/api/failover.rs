//! `spec.failover`: how a workload leaves a cluster that failed, or a cluster on which it is unhealthy.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A label key: an optional DNS subdomain and a slash, then up to 63 characters (VAL-02).
pub(super) const LABEL_KEY: &str = r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$";
/// Text and closed `{…}` actions with closed quotes. A pattern cannot check the rest of the grammar (VAL-02).
const JSON_PATH_TEMPLATE: &str = r#"^([^{]|\{([^{}'"]|'([^'\\]|\\.)*'|"([^"\\]|\\.)*")*\})+$"#;

/// Failover behaviour in case of an application or a cluster failure.
#[derive(Clone, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FailoverBehavior {
    /// Behaviour when the application fails. If unset, an unhealthy workload stays where it is (APP-01).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub application: Option<ApplicationFailoverBehavior>,
    /// Behaviour when the cluster fails. If unset, the controller's options apply (PRG-08).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<ClusterFailoverBehavior>,
}

/// Failover behaviour when a cluster fails.
#[derive(Clone, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [{
    "rule": "!has(self.gracePeriodSeconds) || !has(self.purgeMode) || self.purgeMode in ['Gracefully', 'Graciously']",
    "message": "gracePeriodSeconds is only allowed when purgeMode is Gracefully"
}]))]
pub struct ClusterFailoverBehavior {
    /// Purge mode: `Directly` or `Gracefully` (the default). `Immediately` and `Graciously` are older spellings of
    /// these (POL-05, POL-06).
    #[serde(default)]
    #[schemars(schema_with = "cluster_purge_mode")]
    pub purge_mode: PurgeMode,
    /// Time that the old copy waits for the new one to become healthy under `Gracefully` (GRE-05). Seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub grace_period_seconds: Option<i32>,
    /// Time from a `PreferNoExecute` taint to the eviction; defaults to 300, and 0 evicts at once (PNE-02). Seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0), extend("default" = 300))]
    pub toleration_seconds: Option<i32>,
    /// State to read from the old copy's status and to pass to the new copy as labels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state_preservation: Option<StatePreservation>,
}

/// Failover behaviour when the application is unhealthy.
#[derive(Clone, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("required" = ["decisionConditions"], "x-kubernetes-validations" = [{
    "rule": "!has(self.gracePeriodSeconds) || !has(self.purgeMode) || self.purgeMode in ['Gracefully', 'Graciously']",
    "message": "gracePeriodSeconds is only allowed when purgeMode is Gracefully"
}]))]
pub struct ApplicationFailoverBehavior {
    /// Preconditions: failover is not considered unless they hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pre_conditions: Option<PreConditions>,
    /// Conditions under which the failover is carried out.
    // Optional on read: policies stored before the field became required may lack it.
    #[serde(default)]
    #[schemars(transform = without_default)]
    pub decision_conditions: DecisionConditions,
    /// Purge mode of the old copy. `Never` keeps it until a user confirms its removal (PRG-09).
    #[serde(default)]
    #[schemars(schema_with = "application_purge_mode")]
    pub purge_mode: PurgeMode,
    /// Time that the old copy may wait under `Gracefully`; defaults to 600 (APP-07). Seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub grace_period_seconds: Option<i32>,
    /// Time that the scheduler avoids the cluster the workload left; defaults to 600, and 0 means for ever (APP-08).
    /// Seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0), extend("default" = 600))]
    pub block_predecessor_seconds: Option<i32>,
    /// State to read from the old copy's status and to pass to the new copy as labels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state_preservation: Option<StatePreservation>,
}

/// Preconditions of application failover (APP-05, APP-06).
#[derive(Clone, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PreConditions {
    /// Minimum time since the first status was collected. Seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub delay_seconds: Option<i32>,
    /// `Healthy`: a workload fails over only if it was healthy on the cluster once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "healthy_state")]
    pub healthy_state: Option<String>,
}

/// Conditions under which application failover is carried out (APP-02).
#[derive(Clone, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DecisionConditions {
    /// Time that the workload must be unhealthy without interruption; defaults to 10. Seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0), extend("default" = 10))]
    pub toleration_seconds: Option<i32>,
}

/// Removal of the old copy from the cluster it leaves.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub enum PurgeMode {
    /// Removes the old copy before the new one is created.
    Directly,
    /// Keeps the old copy until the new one is healthy or the grace period has expired.
    #[default]
    Gracefully,
    /// Keeps the old copy until a user confirms its removal.
    Never,
    /// Older spelling of `Directly`.
    Immediately,
    /// Older spelling of `Gracefully`.
    Graciously,
}

impl PurgeMode {
    /// Returns the name of the mode in the API.
    pub fn name(self) -> &'static str {
        match self {
            Self::Directly => "Directly",
            Self::Gracefully => "Gracefully",
            Self::Never => "Never",
            Self::Immediately => "Immediately",
            Self::Graciously => "Graciously",
        }
    }

    /// Maps older spellings to the current mode (POL-06).
    #[must_use]
    pub fn canonical(self) -> Self {
        match self {
            Self::Directly | Self::Immediately => Self::Directly,
            Self::Gracefully | Self::Graciously => Self::Gracefully,
            Self::Never => Self::Never,
        }
    }
}

/// State to preserve from the old copy's status during a failover.
#[derive(Clone, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
pub struct StatePreservation {
    /// Rules, one per label; a label key may occur once (VAL-05).
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["aliasLabelName"]))]
    pub rules: Vec<StatePreservationRule>,
}

/// A piece of state: its place in `.status` and the label that carries it.
#[derive(Clone, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StatePreservationRule {
    /// Key of the label that the migrated object receives (REC-02).
    #[schemars(length(min = 1, max = 317), regex(pattern = LABEL_KEY))]
    pub alias_label_name: String,
    /// Kubernetes JSONPath template, evaluated from the object's `.status` (STP-04, STP-05), such as
    /// `{ .jobStatus.jobID }`.
    #[serde(rename = "jsonPath")]
    #[schemars(length(min = 1, max = 1024), regex(pattern = JSON_PATH_TEMPLATE))]
    pub json_path: String,
}

fn cluster_purge_mode(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({
        "type": "string",
        "enum": ["Directly", "Gracefully", "Immediately", "Graciously"],
        "default": "Gracefully"
    })
}

/// Removes fields with a default from `required`: they are never missing.
fn without_default(schema: &mut schemars::Schema) {
    schema.remove("default");
}

fn application_purge_mode(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({
        "type": "string",
        "enum": ["Directly", "Gracefully", "Never", "Immediately", "Graciously"],
        "default": "Gracefully"
    })
}

fn healthy_state(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({"type": "string", "enum": ["Healthy"]})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn older_spellings_mean_the_present_ones() {
        assert_eq!(PurgeMode::Immediately.canonical(), PurgeMode::Directly);
        assert_eq!(PurgeMode::Graciously.canonical(), PurgeMode::Gracefully);
        assert_eq!(PurgeMode::Never.canonical(), PurgeMode::Never);
    }

    #[test]
    fn an_empty_cluster_behaviour_is_gracefully() {
        let behavior: FailoverBehavior = serde_json::from_value(serde_json::json!({"cluster": {}})).unwrap();
        assert_eq!(behavior.cluster.unwrap().purge_mode, PurgeMode::Gracefully);
    }
}

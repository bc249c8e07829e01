//! `spec.failover`: how a workload leaves a cluster that failed, or on which it is unhealthy.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A label key: an optional DNS subdomain and a slash, then up to 63 characters (VAL-02).
pub(super) const LABEL_KEY: &str = r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$";
/// Text and closed `{…}` actions, quotes inside them closed too; the rest of the grammar no pattern can check (VAL-02).
const JSON_PATH_TEMPLATE: &str = r#"^([^{]|\{([^{}'"]|'([^'\\]|\\.)*'|"([^"\\]|\\.)*")*\})+$"#;

/// Failover behaviours in case of an application or a cluster failure.
#[derive(Clone, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FailoverBehavior {
    /// Behaviour when the application fails. Unset, an unhealthy workload stays where it is (APP-01).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub application: Option<ApplicationFailoverBehavior>,
    /// Behaviour when the cluster fails. Unset, the controller's options rule (PRG-08).
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
    /// How the old copy leaves the failed cluster: `Directly` or `Gracefully` (the default). `Immediately` and
    /// `Graciously` are older spellings of the same (POL-05, POL-06).
    #[serde(default)]
    #[schemars(schema_with = "cluster_purge_mode")]
    pub purge_mode: PurgeMode,
    /// How long the old copy may wait for the new one to become healthy under `Gracefully` (GRE-05). Seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub grace_period_seconds: Option<i32>,
    /// How long after a `PreferNoExecute` taint the workload is evicted; 300 if unset, 0 at once (PNE-02). Seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0), extend("default" = 300))]
    pub toleration_seconds: Option<i32>,
    /// What state is read from the old copy's status and handed to the new one as labels.
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
    /// What must hold before failover is considered at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pre_conditions: Option<PreConditions>,
    /// What must hold for failover to be carried out.
    // What was stored before it was required may lack it.
    #[serde(default)]
    #[schemars(transform = without_default)]
    pub decision_conditions: DecisionConditions,
    /// How the old copy leaves the cluster. `Never` leaves it until a user confirms its removal (PRG-09).
    #[serde(default)]
    #[schemars(schema_with = "application_purge_mode")]
    pub purge_mode: PurgeMode,
    /// How long the old copy may wait under `Gracefully`; 600 if unset (APP-07). Seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub grace_period_seconds: Option<i32>,
    /// How long the scheduler keeps off the cluster that was left; 600 if unset, 0 for ever (APP-08). Seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0), extend("default" = 600))]
    pub block_predecessor_seconds: Option<i32>,
    /// What state is read from the old copy's status and handed to the new one as labels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state_preservation: Option<StatePreservation>,
}

/// What must hold before application failover is considered (APP-05, APP-06).
#[derive(Clone, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PreConditions {
    /// Time that must have passed since the first status was collected. Seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub delay_seconds: Option<i32>,
    /// `Healthy`: only a workload that was once healthy on the cluster fails over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "healthy_state")]
    pub healthy_state: Option<String>,
}

/// What must hold for application failover to be carried out (APP-02).
#[derive(Clone, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DecisionConditions {
    /// How long the workload must be unhealthy without a break; 10 if unset. Seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0), extend("default" = 10))]
    pub toleration_seconds: Option<i32>,
}

/// How a legacy copy is dealt with on the cluster that it leaves.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub enum PurgeMode {
    /// The old copy is removed before the new one is created.
    Directly,
    /// The old copy stays until the new one is healthy, or the grace period is over.
    #[default]
    Gracefully,
    /// The old copy stays until a user confirms its removal.
    Never,
    /// Older spelling of `Directly`.
    Immediately,
    /// Older spelling of `Gracefully`.
    Graciously,
}

impl PurgeMode {
    /// The mode as it is written.
    pub fn name(self) -> &'static str {
        match self {
            Self::Directly => "Directly",
            Self::Gracefully => "Gracefully",
            Self::Never => "Never",
            Self::Immediately => "Immediately",
            Self::Graciously => "Graciously",
        }
    }

    /// The mode under its present name (POL-06).
    #[must_use]
    pub fn canonical(self) -> Self {
        match self {
            Self::Directly | Self::Immediately => Self::Directly,
            Self::Gracefully | Self::Graciously => Self::Gracefully,
            Self::Never => Self::Never,
        }
    }
}

/// What is kept of the old copy's status during a failover.
#[derive(Clone, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
pub struct StatePreservation {
    /// One rule per label; a label key may occur once (VAL-05).
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["aliasLabelName"]))]
    pub rules: Vec<StatePreservationRule>,
}

/// One piece of state: where it is in `.status`, and the label that carries it.
#[derive(Clone, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StatePreservationRule {
    /// Key of the label that the migrated object gets (REC-02).
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

/// What has a default is never missing, also where it is required.
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

//! Kinds of workloads, and their shares.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Kind of a workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Of `apps/v1`.
    Deployment,
    /// Of `apps/v1`.
    StatefulSet,
    /// Of `flink.apache.org/v1beta1`.
    FlinkDeployment,
}

/// A value of the status that is preserved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StateRule {
    /// Key of the label.
    pub label: &'static str,
    /// JSONPath of the value in the status.
    pub path: &'static str,
    /// The same path as a JSON pointer.
    pointer: &'static str,
}

const REPLICAS: [StateRule; 2] = [
    StateRule {
        label: "failover.karmada.io/replicas",
        path: "{ .replicas }",
        pointer: "/replicas",
    },
    StateRule {
        label: "failover.karmada.io/readyReplicas",
        path: "{ .readyReplicas }",
        pointer: "/readyReplicas",
    },
];

const JOB: [StateRule; 1] = [StateRule {
    label: "failover.karmada.io/failover-jobid",
    path: "{ .jobStatus.jobID }",
    pointer: "/jobStatus/jobID",
}];

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::Deployment, Self::StatefulSet, Self::FlinkDeployment];

    /// Its name in the API.
    pub fn name(self) -> &'static str {
        match self {
            Self::Deployment => "Deployment",
            Self::StatefulSet => "StatefulSet",
            Self::FlinkDeployment => "FlinkDeployment",
        }
    }

    /// Its API version.
    pub fn api_version(self) -> &'static str {
        match self {
            Self::Deployment | Self::StatefulSet => "apps/v1",
            Self::FlinkDeployment => "flink.apache.org/v1beta1",
        }
    }

    /// The kind with this name in the API.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// The values that are preserved under Directly.
    pub fn state_rules(self) -> &'static [StateRule] {
        match self {
            Self::Deployment | Self::StatefulSet => &REPLICAS,
            Self::FlinkDeployment => &JOB,
        }
    }

    /// The values of a status that are preserved, as texts, in the order of the rules.
    pub fn state(self, status: &Value) -> Vec<Option<String>> {
        let values = self.state_rules().iter().map(|rule| status.pointer(rule.pointer));
        let texts = values.map(|value| match value? {
            Value::String(text) => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
        });
        texts.collect()
    }

    /// Number of ready replicas in a status. A job that runs counts as one.
    pub fn ready(self, status: &Value) -> u64 {
        match self {
            Self::Deployment | Self::StatefulSet => status["readyReplicas"].as_u64().unwrap_or_default(),
            Self::FlinkDeployment => u64::from(status["jobStatus"]["state"] == "RUNNING"),
        }
    }
}

/// Shares of the kinds among the workloads, relative to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Shares {
    /// Of Deployments.
    pub deployments: u16,
    /// Of `StatefulSet`s.
    pub stateful_sets: u16,
    /// Of `FlinkDeployment`s.
    pub flink_deployments: u16,
}

impl Default for Shares {
    /// Deployments alone.
    fn default() -> Self {
        Self {
            deployments: 1,
            stateful_sets: 0,
            flink_deployments: 0,
        }
    }
}

impl Shares {
    /// The share of a kind.
    pub fn of(self, kind: Kind) -> u16 {
        match kind {
            Kind::Deployment => self.deployments,
            Kind::StatefulSet => self.stateful_sets,
            Kind::FlinkDeployment => self.flink_deployments,
        }
    }

    /// Sets the share of a kind.
    pub fn set(&mut self, kind: Kind, share: u16) {
        match kind {
            Kind::Deployment => self.deployments = share,
            Kind::StatefulSet => self.stateful_sets = share,
            Kind::FlinkDeployment => self.flink_deployments = share,
        }
    }

    /// Sum of the shares.
    pub fn total(self) -> usize {
        Kind::ALL.into_iter().map(|kind| usize::from(self.of(kind))).sum()
    }

    /// The kind of a workload, with its number from 0. Each row of `total` workloads has the shares exactly; rows are
    /// shifted, so that the kind does not depend on the member on which a workload begins.
    pub fn kind(self, number: usize) -> Kind {
        let total = self.total().max(1);
        let mut place = (number + number / total) % total;
        for kind in Kind::ALL {
            let share = usize::from(self.of(kind));
            if place < share {
                return kind;
            }
            place -= share;
        }
        Kind::Deployment
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn shares_hold_for_all_members_on_which_workloads_begin() {
        let shares = Shares {
            deployments: 2,
            stateful_sets: 1,
            flink_deployments: 1,
        };
        let count = |kind: Kind, member: usize| {
            let begin = (0..64).filter(|number| number % 4 == member);
            begin.filter(|number| shares.kind(*number) == kind).count()
        };
        for member in 0..4 {
            assert_eq!(Kind::ALL.map(|kind| count(kind, member)), [8, 4, 4], "{member}");
        }
        assert_eq!(Shares::default().kind(17), Kind::Deployment);
    }

    #[test]
    fn state_is_read_as_labels_hold_it() {
        let text = |text: &str| Some(text.to_owned());
        let replicas = json!({"replicas": 2, "readyReplicas": 1});
        assert_eq!(Kind::StatefulSet.state(&replicas), [text("2"), text("1")]);
        let job = json!({"jobStatus": {"jobID": "e6fd", "state": "RUNNING"}});
        assert_eq!(Kind::FlinkDeployment.state(&job), [text("e6fd")]);
        assert_eq!(
            (Kind::FlinkDeployment.ready(&job), Kind::Deployment.ready(&replicas)),
            (1, 1)
        );
        assert_eq!(Kind::FlinkDeployment.state(&json!({})), [None]);
    }
}

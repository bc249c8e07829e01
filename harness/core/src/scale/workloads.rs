//! The objects that are created, and where they may be placed.

use serde_json::{Value, json};

use super::{
    kinds::Kind,
    parameters::{Parameters, Profile, Spread},
};
use crate::names::ClusterName;

/// Prefix of the names of workloads.
const PREFIX: &str = "scale-";

/// Name of a workload, with its number from 0.
pub fn name(number: usize) -> String {
    format!("{PREFIX}{number:06}")
}

/// The number of a workload of this name.
pub fn number(name: &str) -> Option<usize> {
    name.strip_prefix(PREFIX)?.parse().ok()
}

/// Replicas of a workload. They differ, so that state that gets mixed up shows. A job counts as one.
pub fn replicas(number: usize, profile: Profile, kind: Kind) -> u64 {
    let least = profile.clusters() as u64;
    match kind {
        Kind::Deployment | Kind::StatefulSet => least + number as u64 % 3,
        Kind::FlinkDeployment => 1,
    }
}

/// The members on which workloads begin, and those to which they may go.
#[derive(Debug, Clone)]
pub struct Layout {
    parameters: Parameters,
    failing: Vec<ClusterName>,
    healthy: Vec<ClusterName>,
}

impl Layout {
    /// Of a fleet with these members, sorted by name: the first ones fail.
    pub fn new(parameters: Parameters, members: &[ClusterName]) -> Self {
        let (failing, healthy) = members.split_at(parameters.failing.min(members.len()));
        Self {
            parameters,
            failing: failing.to_vec(),
            healthy: healthy.to_vec(),
        }
    }

    /// The members that fail.
    pub fn failing(&self) -> &[ClusterName] {
        &self.failing
    }

    /// The members that a workload may be placed on: first those where it is expected to begin.
    pub fn candidates(&self, number: usize) -> Vec<&ClusterName> {
        let turn = |of: &'_ [ClusterName], at: usize| at % of.len().max(1);
        let (first, at) = match self.parameters.spread {
            Spread::Failing => (
                self.failing.get(turn(&self.failing, number)),
                number / self.failing.len().max(1),
            ),
            Spread::All => {
                let all = self.failing.len() + self.healthy.len();
                let begin = number % all.max(1);
                let healthy = begin.checked_sub(self.failing.len());
                let first = self.failing.get(begin).or_else(|| self.healthy.get(healthy?));
                (first, healthy.map_or(number / all.max(1), |at| at + 1))
            }
        };
        let mut candidates: Vec<&ClusterName> = first.into_iter().collect();
        for step in 0..self.parameters.profile.clusters() {
            let next = self.healthy.get(turn(&self.healthy, at + step));
            candidates.extend(next.filter(|next| !candidates.contains(next)));
        }
        candidates
    }

    /// The kind of a workload.
    pub fn kind(&self, number: usize) -> Kind {
        self.parameters.kinds.kind(number)
    }

    /// The object of a workload.
    pub fn object(&self, number: usize) -> Value {
        let (name, kind) = (name(number), self.kind(number));
        let labels = json!({"app": name});
        let replicas = replicas(number, self.parameters.profile, kind);
        let mut spec = match kind {
            Kind::Deployment | Kind::StatefulSet => json!({
                "replicas": replicas,
                "selector": {"matchLabels": labels},
                "template": {
                    "metadata": {"labels": labels},
                    "spec": {"containers": [{"name": "web", "image": "nginx:1.27"}]},
                },
            }),
            Kind::FlinkDeployment => json!({
                "image": "flink:1.20",
                "flinkVersion": "v1_20",
                "serviceAccount": "flink",
                "jobManager": {"replicas": 1, "resource": {"cpu": 0.1, "memory": "256m"}},
                "taskManager": {"replicas": 1, "resource": {"cpu": 0.1, "memory": "256m"}},
                "job": {
                    "jarURI": "local:///opt/flink/examples/streaming/StateMachineExample.jar",
                    "parallelism": 1,
                    "state": "running",
                    "upgradeMode": "last-state",
                },
            }),
        };
        if kind == Kind::StatefulSet {
            spec["serviceName"] = Value::from(name.clone());
        }
        json!({
            "apiVersion": kind.api_version(), "kind": kind.name(),
            "metadata": {"name": name, "labels": labels}, "spec": spec,
        })
    }

    /// The policy of a workload.
    pub fn policy(&self, number: usize) -> Value {
        let (name, kind) = (name(number), self.kind(number));
        let candidates = self.candidates(number);
        let most = self.parameters.profile.clusters();
        let mut placement = json!({
            "clusterAffinity": {"clusterNames": candidates},
            "spreadConstraints": [{"spreadByField": "cluster", "minGroups": 1, "maxGroups": most}],
        });
        let failover = match self.parameters.profile {
            Profile::Directly => {
                let rules = kind.state_rules().iter();
                let rules = rules.map(|rule| json!({"aliasLabelName": rule.label, "jsonPath": rule.path}));
                json!({"purgeMode": "Directly", "statePreservation": {"rules": rules.collect::<Vec<_>>()}})
            }
            Profile::Gracefully | Profile::Divided => json!({"purgeMode": "Gracefully"}),
        };
        if self.parameters.profile == Profile::Divided {
            let weight = |name: &&ClusterName| json!({"targetCluster": {"clusterNames": [name]}, "weight": 1});
            placement["replicaScheduling"] = json!({
                "replicaSchedulingType": "Divided",
                "replicaDivisionPreference": "Weighted",
                "weightPreference": {"staticWeightList": candidates.iter().map(weight).collect::<Vec<_>>()},
            });
        }
        json!({
            "apiVersion": "policy.karmada.io/v1alpha1", "kind": "PropagationPolicy", "metadata": {"name": name},
            "spec": {
                "resourceSelectors": [{"apiVersion": kind.api_version(), "kind": kind.name(), "name": name}],
                "placement": placement,
                "failover": {"cluster": failover},
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::scale::kinds::Shares;

    fn layout(members: usize, failing: usize, profile: Profile, spread: Spread) -> Layout {
        let parameters = Parameters {
            members,
            workloads: 12,
            failing,
            profile,
            kinds: Shares::default(),
            spread,
            rate: None,
            seed: 0,
            limit_seconds: 1,
        };
        let members: Vec<_> = (1..=members)
            .map(|it| ClusterName::new(format!("member{it}")))
            .collect();
        Layout::new(parameters, &members)
    }

    fn firsts(layout: &Layout) -> BTreeMap<String, usize> {
        let mut firsts = BTreeMap::new();
        for number in 0..12 {
            let candidates = layout.candidates(number);
            *firsts.entry(candidates[0].to_string()).or_default() += 1;
            let healthy = candidates.iter().filter(|it| !layout.failing().contains(it)).count();
            assert!(
                healthy >= layout.parameters.profile.clusters().min(healthy.max(1)),
                "{candidates:?}"
            );
        }
        firsts
    }

    #[test]
    fn all_begin_on_failing_members_or_on_all_in_turn() {
        let failing = firsts(&layout(6, 2, Profile::Directly, Spread::Failing));
        assert_eq!(failing, [("member1".to_owned(), 6), ("member2".to_owned(), 6)].into());
        let all = firsts(&layout(6, 2, Profile::Directly, Spread::All));
        assert_eq!(all.len(), 6);
        assert!(all.values().all(|count| *count == 2), "{all:?}");
    }

    #[test]
    fn a_workload_that_must_move_has_enough_members_to_go_to() {
        for profile in Profile::ALL {
            let layout = layout(7, 3, profile, Spread::All);
            for number in 0..12 {
                let candidates = layout.candidates(number);
                let on_failing = |it: &&ClusterName| layout.failing().contains(it);
                let (failing, healthy): (Vec<&ClusterName>, Vec<&ClusterName>) =
                    candidates.iter().copied().partition(on_failing);
                assert!(failing.len() <= 1, "{candidates:?}");
                assert!(
                    failing.is_empty() || healthy.len() == profile.clusters(),
                    "{candidates:?}"
                );
            }
        }
    }

    #[test]
    fn names_lead_back_to_numbers() {
        assert_eq!(number(&name(17)), Some(17));
        assert_eq!(number("deploy"), None);
    }
}

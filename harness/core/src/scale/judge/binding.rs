//! The fields of a binding that are judged.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::{names::ClusterName, scale::kinds::Kind};

/// The fields of a binding that are judged.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Bound {
    /// Scheduling result: replicas of each cluster.
    result: BTreeMap<ClusterName, u64>,
    /// Clusters with an eviction task.
    pub(super) tasks: Vec<ClusterName>,
    /// The report of each cluster that is reported as healthy.
    healthy: BTreeMap<ClusterName, Reported>,
}

/// Report of a cluster in a binding.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Reported {
    /// Ready replicas.
    ready: u64,
    /// Values that are preserved.
    state: Vec<Option<String>>,
}

impl Bound {
    pub(super) fn read(binding: &Value, kind: Kind) -> Self {
        let list = |pointer: &str| binding.pointer(pointer).and_then(Value::as_array).into_iter().flatten();
        let name = |of: &Value, key: &str| of[key].as_str().map(ClusterName::new);
        let result = list("/spec/clusters").filter_map(|it| {
            let replicas = it["replicas"].as_u64().unwrap_or_default();
            Some((name(it, "name")?, replicas))
        });
        let tasks = list("/spec/gracefulEvictionTasks").filter_map(|it| name(it, "fromCluster"));
        let healthy = list("/status/aggregatedStatus").filter(|it| it["health"] == "Healthy");
        let healthy = healthy.filter_map(|it| {
            let reported = Reported {
                ready: kind.ready(&it["status"]),
                state: kind.state(&it["status"]),
            };
            Some((name(it, "clusterName")?, reported))
        });
        Self {
            result: result.collect(),
            tasks: tasks.collect(),
            healthy: healthy.collect(),
        }
    }

    pub(super) fn names(&self, cluster: &ClusterName) -> bool {
        self.result.contains_key(cluster)
    }

    pub(super) fn has_tasks(&self) -> bool {
        !self.tasks.is_empty()
    }

    pub(super) fn clusters(&self) -> Vec<&ClusterName> {
        self.result.keys().collect()
    }

    /// Replicas of the scheduling result.
    pub(super) fn total(&self) -> u64 {
        self.result.values().sum()
    }

    /// Ready replicas on the clusters of the result, if all of these are healthy; 0 otherwise.
    pub(super) fn ready_on_result(&self) -> u64 {
        let each = self.result.keys().map(|name| self.healthy.get(name).map(|it| it.ready));
        each.sum::<Option<u64>>().unwrap_or_default()
    }

    /// The values that a cluster that is reported as healthy has of the preserved state; empty for others.
    pub(super) fn state_on(&self, cluster: &ClusterName) -> &[Option<String>] {
        self.healthy
            .get(cluster)
            .map(|it| it.state.as_slice())
            .unwrap_or_default()
    }

    /// The result and the tasks, for people.
    pub(super) fn words(&self) -> String {
        let names =
            |of: &mut dyn Iterator<Item = &ClusterName>| of.map(ClusterName::as_str).collect::<Vec<_>>().join(", ");
        let result = names(&mut self.result.keys());
        let result = if result.is_empty() {
            "no cluster".to_owned()
        } else {
            result
        };
        if self.tasks.is_empty() {
            result
        } else {
            format!("{result}; tasks from {}", names(&mut self.tasks.iter()))
        }
    }
}

//! The fields of a binding that are judged.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::names::ClusterName;

/// The fields of a binding that are judged.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Bound {
    /// Scheduling result: replicas of each cluster.
    result: BTreeMap<ClusterName, u64>,
    /// Clusters with an eviction task.
    pub(super) tasks: Vec<ClusterName>,
    /// Replicas and ready replicas of each cluster that is reported as healthy.
    healthy: BTreeMap<ClusterName, [u64; 2]>,
}

impl Bound {
    pub(super) fn read(binding: &Value) -> Self {
        let list = |pointer: &str| binding.pointer(pointer).and_then(Value::as_array).into_iter().flatten();
        let name = |of: &Value, key: &str| of[key].as_str().map(ClusterName::new);
        let result = list("/spec/clusters").filter_map(|it| {
            let replicas = it["replicas"].as_u64().unwrap_or_default();
            Some((name(it, "name")?, replicas))
        });
        let tasks = list("/spec/gracefulEvictionTasks").filter_map(|it| name(it, "fromCluster"));
        let healthy = list("/status/aggregatedStatus").filter(|it| it["health"] == "Healthy");
        let healthy = healthy.filter_map(|it| {
            let number = |key: &str| it["status"][key].as_u64().unwrap_or_default();
            Some((name(it, "clusterName")?, [number("replicas"), number("readyReplicas")]))
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
        let each = self.result.keys().map(|name| self.healthy.get(name).map(|it| it[1]));
        each.sum::<Option<u64>>().unwrap_or_default()
    }

    /// Replicas and ready replicas of a cluster that is reported as healthy.
    pub(super) fn healthy_on(&self, cluster: &ClusterName) -> Option<[u64; 2]> {
        self.healthy.get(cluster).copied()
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

//! Injects preserved state as labels into new copies (REC-01 to REC-11).

use std::collections::BTreeMap;

use crate::api::{Binding, PurgeMode, Work};
use crate::evict::mode_of;
use crate::names;

/// Returns the labels with preserved state for the copy on this cluster.
///
/// The labels are decided when the Work is created and are kept with it: they are never added later, because an object
/// has one first revision (REC-01), and never removed (REC-11).
pub fn labels(binding: &Binding, cluster: &str, existing: Option<&Work>, gate: bool) -> BTreeMap<String, String> {
    match existing {
        Some(work) => injected(work),
        None if gate => for_new_copy(binding, cluster),
        None => BTreeMap::new(),
    }
}

/// Returns the labels that the Work was created with.
fn injected(work: &Work) -> BTreeMap<String, String> {
    work.annotation(names::INJECTED_LABELS)
        .and_then(|json| serde_json::from_str(json).ok())
        .unwrap_or_default()
}

/// Returns the state of the last failover (REC-07), if it used `Directly` (REC-05), the workload runs on a single
/// cluster (REC-06), and this cluster did not run the workload before (REC-03).
fn for_new_copy(binding: &Binding, cluster: &str) -> BTreeMap<String, String> {
    let spec = &binding.spec;
    let is_single = matches!(spec.clusters.as_slice(), [only] if only.name == cluster);
    match spec.graceful_eviction_tasks.last() {
        Some(task)
            if is_single
                && mode_of(task) == PurgeMode::Directly
                && task.clusters_before_failover.len() <= 1
                && task.from_cluster != cluster
                && !task.clusters_before_failover.iter().any(|before| before == cluster) =>
        {
            task.preserved_label_state.clone()
        }
        Some(_) | None => BTreeMap::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use serde_json::{Value, json};

    fn task(from: &str, mode: &str, before: &[&str], state: &Value) -> Value {
        json!({"fromCluster": from, "purgeMode": mode, "reason": "TaintUntolerated", "producer": "TaintManager",
            "clustersBeforeFailover": before, "preservedLabelState": state})
    }

    #[test]
    fn when_labels_are_given() {
        let one = json!([{"name": "member2"}]);
        let state = &json!({"k": "1"});
        for (case, clusters, tasks, gate, expected) in [
            (
                "a failover",
                one.clone(),
                json!([task("member1", "Directly", &["member1"], state)]),
                true,
                true,
            ),
            (
                "gate off",
                one.clone(),
                json!([task("member1", "Directly", &["member1"], state)]),
                false,
                false,
            ),
            ("no failover", one.clone(), json!([]), true, false),
            (
                "gracefully",
                one.clone(),
                json!([task("member1", "Gracefully", &["member1"], state)]),
                true,
                false,
            ),
            (
                "ran here before",
                one.clone(),
                json!([task("member1", "Directly", &["member1", "member2"], state)]),
                true,
                false,
            ),
            (
                "back home",
                one.clone(),
                json!([task("member2", "Directly", &["member2"], state)]),
                true,
                false,
            ),
            (
                "two clusters",
                json!([{"name": "member2"}, {"name": "member3"}]),
                json!([task("member1", "Directly", &["member1"], state)]),
                true,
                false,
            ),
            (
                "was on two",
                one.clone(),
                json!([task("member1", "Directly", &["member1", "member3"], state)]),
                true,
                false,
            ),
            (
                "last one empty",
                one.clone(),
                json!([
                    task("member3", "Directly", &["member3"], state),
                    task("member1", "Directly", &["member1"], &json!({}))
                ]),
                true,
                false,
            ),
        ] {
            let binding = testing::binding(&json!({"clusters": clusters, "gracefulEvictionTasks": tasks}));
            assert_eq!(!labels(&binding, "member2", None, gate).is_empty(), expected, "{case}");
        }
    }

    #[test]
    fn labels_stay_with_the_work_and_are_not_added_later() {
        let binding = testing::binding(&json!({"clusters": [{"name": "member2"}]}));
        let with: Work = serde_json::from_value(json!({
            "metadata": {"annotations": {names::INJECTED_LABELS: "{\"k\":\"1\"}"}}, "spec": {"workload": {}}
        }))
        .unwrap();
        assert_eq!(
            labels(&binding, "member2", Some(&with), true),
            BTreeMap::from([("k".into(), "1".into())])
        );

        let pending = task("member1", "Directly", &["member1"], &json!({"k": "1"}));
        let binding = testing::binding(&json!({"clusters": [{"name": "member2"}], "gracefulEvictionTasks": [pending]}));
        let without: Work = serde_json::from_value(json!({"metadata": {}, "spec": {"workload": {}}})).unwrap();
        assert!(labels(&binding, "member2", Some(&without), true).is_empty());
    }
}

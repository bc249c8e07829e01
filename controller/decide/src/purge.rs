//! Decides when an eviction is complete.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};

use crate::api::{Binding, BindingStatus, GracefulEvictionTask, PurgeMode};
use crate::evict::mode_of;
use crate::plugins;
use crate::settings::Settings;

/// Outcome for one task.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum TaskOutcome {
    /// Keep the task.
    Keep,
    /// Keep the task until this time at most.
    KeepUntil(Timestamp),
    /// Clear the task: the eviction is complete.
    Clear,
}

/// Remaining tasks, and the time to check them again.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// Tasks to keep.
    pub tasks: Vec<GracefulEvictionTask>,
    /// Time to check again, if nothing changes before.
    pub again: Option<Timestamp>,
}

/// Decides which tasks to keep. `occupied` are the clusters that still have a Work of the binding, `status` is the
/// current status of its copies.
pub fn decide(
    binding: &Binding,
    status: &BindingStatus,
    occupied: &BTreeSet<String>,
    settings: &Settings,
    now: Timestamp,
) -> Decision {
    let mut decision = Decision {
        tasks: Vec::new(),
        again: None,
    };
    for task in &binding.spec.graceful_eviction_tasks {
        match outcome(task, binding, status, occupied, settings, now) {
            TaskOutcome::Clear => {}
            TaskOutcome::Keep => decision.tasks.push(task.clone()),
            TaskOutcome::KeepUntil(until) => {
                decision.tasks.push(task.clone());
                decision.again = Some(decision.again.map_or(until, |again| again.min(until)));
            }
        }
    }
    decision
}

fn outcome(
    task: &GracefulEvictionTask,
    binding: &Binding,
    status: &BindingStatus,
    occupied: &BTreeSet<String>,
    settings: &Settings,
    now: Timestamp,
) -> TaskOutcome {
    let clusters = &binding.spec.clusters;
    let is_back = clusters.iter().any(|target| target.name == task.from_cluster);
    let has_successor = || plugins::has_healthy_successor(binding, status);
    match mode_of(task) {
        // The state is needed until the new copy has recovered (REC-11), the task until the old one is gone (PRG-02).
        PurgeMode::Directly | PurgeMode::Immediately => {
            if has_successor() && !occupied.contains(&task.from_cluster) {
                TaskOutcome::Clear
            } else {
                TaskOutcome::Keep
            }
        }
        PurgeMode::Never => {
            if is_back || task.suppress_deletion == Some(false) {
                TaskOutcome::Clear
            } else {
                TaskOutcome::Keep
            }
        }
        PurgeMode::Gracefully | PurgeMode::Graciously => {
            let passes = plugins::pass(&settings.evict_plugins, binding, status);
            if is_back || passes || task.suppress_deletion == Some(false) {
                return TaskOutcome::Clear;
            }
            if clusters.is_empty() || task.suppress_deletion == Some(true) {
                return TaskOutcome::Keep;
            }
            match deadline(task, settings) {
                Some(deadline) if deadline <= now => TaskOutcome::Clear,
                Some(deadline) => TaskOutcome::KeepUntil(deadline),
                None => TaskOutcome::Keep,
            }
        }
    }
}

/// Returns the end of the task's grace period (GRE-05).
fn deadline(task: &GracefulEvictionTask, settings: &Settings) -> Option<Timestamp> {
    let period = task
        .grace_period_seconds
        .map_or(settings.graceful_eviction_timeout, |seconds| {
            SignedDuration::from_secs(i64::from(seconds))
        });
    task.creation_timestamp.and_then(|since| since.checked_add(period).ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{at, binding};
    use serde_json::{Value, json};

    fn decide_with(
        mode: &str,
        clusters: &[&str],
        health: &[(&str, &str)],
        occupied: &[&str],
        extra: &Value,
    ) -> Decision {
        let mut task = json!({"fromCluster": "member1", "purgeMode": mode, "reason": "r", "producer": "p",
            "creationTimestamp": "2026-01-01T00:00:00Z"});
        for (key, value) in extra.as_object().unwrap() {
            task[key] = value.clone();
        }
        let clusters: Value = clusters.iter().map(|name| json!({"name": name})).collect();
        let binding = binding(&json!({"clusters": clusters, "gracefulEvictionTasks": [task]}));
        let items: Value = health
            .iter()
            .map(|(name, health)| json!({"clusterName": name, "applied": true, "health": health}))
            .collect();
        let status = serde_json::from_value(json!({"aggregatedStatus": items})).unwrap();
        let occupied = occupied.iter().map(|name| (*name).to_owned()).collect();
        decide(&binding, &status, &occupied, &Settings::default(), at(10))
    }

    const WELL: &[(&str, &str)] = &[("member2", "Healthy")];
    const SICK: &[(&str, &str)] = &[("member2", "Unhealthy")];
    const OLD: &[&str] = &["member1"];
    const NEW: &[&str] = &["member2"];
    const BOTH: &[&str] = &["member1", "member2"];

    fn is_over(mode: &str, clusters: &[&str], health: &[(&str, &str)], occupied: &[&str], extra: &Value) -> bool {
        decide_with(mode, clusters, health, occupied, extra).tasks.is_empty()
    }

    #[test]
    fn directly_is_over_when_the_old_one_is_gone_and_the_new_one_healthy() {
        let none = &json!({});
        assert!(is_over("Directly", NEW, WELL, NEW, none));
        assert!(!is_over("Directly", NEW, WELL, BOTH, none), "old one still there");
        assert!(!is_over("Directly", NEW, SICK, NEW, none), "new one not healthy");
        assert!(!is_over("Directly", &[], &[], &[], none), "nothing fits");
    }

    #[test]
    fn gracefully_is_over_when_the_new_one_is_healthy_or_time_is_up() {
        let (none, short, long) = (
            &json!({}),
            &json!({"gracePeriodSeconds": 10}),
            &json!({"gracePeriodSeconds": 11}),
        );
        assert!(is_over("Gracefully", NEW, WELL, OLD, none));
        assert!(is_over("Gracefully", OLD, &[], OLD, none), "back again");
        assert!(is_over("Gracefully", NEW, SICK, OLD, short), "time is up");
        assert!(!is_over("Gracefully", NEW, SICK, OLD, long), "time is not up");
        assert!(!is_over("Gracefully", NEW, SICK, OLD, none), "new one not healthy yet");
        assert!(
            !is_over("Gracefully", &["member2", "member3"], WELL, OLD, none),
            "one of two not healthy"
        );
        assert!(
            !is_over("Gracefully", &[], &[], OLD, short),
            "no cluster, whatever the time"
        );
    }

    #[test]
    fn without_plugins_only_time_the_result_and_users_clear_a_task() {
        let task = json!({"fromCluster": "member1", "purgeMode": "Gracefully", "reason": "r", "producer": "p",
            "creationTimestamp": "2026-01-01T00:00:00Z"});
        let binding = binding(&json!({"clusters": [{"name": "member2"}], "gracefulEvictionTasks": [task]}));
        let item = json!({"clusterName": "member2", "applied": true, "health": "Healthy"});
        let status = serde_json::from_value(json!({"aggregatedStatus": [item]})).unwrap();
        let none = Settings {
            evict_plugins: BTreeSet::new(),
            ..Settings::default()
        };
        let left =
            |settings: &Settings, second| decide(&binding, &status, &BTreeSet::new(), settings, at(second)).tasks;
        assert_eq!(left(&none, 599).len(), 1);
        assert!(left(&none, 600).is_empty());
        assert!(left(&Settings::default(), 10).is_empty());
    }

    #[test]
    fn never_is_over_when_a_user_says_so() {
        assert!(!is_over("Never", NEW, WELL, OLD, &json!({"suppressDeletion": true})));
        assert!(is_over("Never", NEW, SICK, OLD, &json!({"suppressDeletion": false})));
    }

    #[test]
    fn the_next_look_is_at_the_deadline() {
        let sick: &[(&str, &str)] = &[("member2", "Unhealthy")];
        let again = |extra| decide_with("Gracefully", &["member2"], sick, &["member1"], &extra).again;
        assert_eq!(again(json!({})), Some(at(600)));
        assert_eq!(again(json!({"gracePeriodSeconds": 20})), Some(at(20)));
        assert_eq!(decide_with("Directly", &["member2"], sick, &[], &json!({})).again, None);
    }
}

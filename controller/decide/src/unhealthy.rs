//! Evicts an unhealthy application from its cluster (APP).

use jiff::{SignedDuration, Timestamp};

use crate::aggregate;
use crate::api::binding::{ActiveEvictionHistory, AggregatedStatusItem};
use crate::api::failover::ApplicationFailoverBehavior;
use crate::api::{Binding, BindingSpec, GracefulEvictionTask, PurgeMode, ResourceHealth};
use crate::evict;
use crate::preserve::Obstacle;
use crate::settings::Settings;
use crate::taints::EvictionTime;

/// Reason of evictions caused by health (APP-02).
pub const APPLICATION_FAILURE: &str = "ApplicationFailure";
/// Time that an application may be unhealthy, if its policy does not set it (APP-02).
const TOLERATION: SignedDuration = SignedDuration::from_secs(10);
/// Grace period of an old copy, if its policy does not set it (APP-07). Seconds.
const GRACE_PERIOD_SECONDS: i32 = 600;

/// Returns the time at which the copy on a cluster must leave because of its health (APP-01 to APP-06).
pub fn eviction_time(binding: &Binding, cluster: &str, settings: &Settings, now: Timestamp) -> EvictionTime {
    let Some(behavior) =
        behavior(&binding.spec).filter(|_| settings.failover && settings.controllers.application_failover)
    else {
        return EvictionTime::Never;
    };
    let items = &binding.status.aggregated_status;
    let Some(item) = items.iter().find(|item| item.cluster_name == cluster) else {
        return EvictionTime::Never;
    };
    let since = aggregate::not_healthy_since(&binding.status, cluster);
    let Some(since) = since.filter(|_| item.health == ResourceHealth::Unhealthy) else {
        return EvictionTime::Never;
    };
    let conditions = behavior.pre_conditions.clone().unwrap_or_default();
    if conditions.healthy_state.is_some() && item.settled != Some(true) {
        return EvictionTime::Never;
    }
    let tolerated = behavior
        .decision_conditions
        .toleration_seconds
        .map_or(TOLERATION, seconds);
    let Ok(due) = since.checked_add(tolerated) else {
        return EvictionTime::Never;
    };
    let Some(delayed) = delayed(item, conditions.delay_seconds) else {
        return EvictionTime::Never;
    };
    match due.max(delayed) {
        due if due <= now => EvictionTime::Now,
        due => EvictionTime::At(due),
    }
}

fn seconds(seconds: i32) -> SignedDuration {
    SignedDuration::from_secs(i64::from(seconds))
}

/// Returns the end of `delaySeconds`, which starts with the first status; `None` before the first status (APP-05).
fn delayed(item: &AggregatedStatusItem, delay_seconds: Option<i32>) -> Option<Timestamp> {
    let Some(delay_seconds) = delay_seconds else {
        return Some(Timestamp::MIN);
    };
    item.creation_timestamp?.checked_add(seconds(delay_seconds)).ok()
}

/// Returns the binding's spec without the cluster, with a task, and with the record that blocks the cluster for the
/// scheduler (APP-08).
pub fn carry_out(
    binding: &Binding,
    cluster: &str,
    settings: &Settings,
    occupied: &std::collections::BTreeSet<String>,
    now: Timestamp,
) -> Result<BindingSpec, Obstacle> {
    let spec = &binding.spec;
    let Some(behavior) = behavior(spec) else {
        return Ok(spec.clone());
    };
    let mode = behavior.purge_mode.canonical();
    let collected = aggregate::collected(&binding.status, cluster);
    let state = evict::state(spec, behavior.state_preservation.as_ref(), collected, settings)?;
    let kind = if binding.namespace().is_some() {
        "ResourceBinding"
    } else {
        "ClusterResourceBinding"
    };
    let task = GracefulEvictionTask {
        from_cluster: cluster.to_owned(),
        purge_mode: Some(mode),
        replicas: spec
            .clusters
            .iter()
            .find(|target| target.name == cluster)
            .and_then(|target| target.replicas),
        reason: APPLICATION_FAILURE.to_owned(),
        message: None,
        producer: format!("{kind}ApplicationFailoverController"),
        grace_period_seconds: (mode == PurgeMode::Gracefully)
            .then(|| behavior.grace_period_seconds.unwrap_or(GRACE_PERIOD_SECONDS)),
        suppress_deletion: (mode == PurgeMode::Never).then_some(true),
        preserved_label_state: state,
        clusters_before_failover: spec.clusters.iter().map(|target| target.name.clone()).collect(),
        creation_timestamp: Some(now),
    };
    let mut spec = evict::carry_out(spec, task, occupied);
    spec.active_eviction_history
        .retain(|entry| entry.cluster_name != cluster);
    spec.active_eviction_history.push(ActiveEvictionHistory {
        cluster_name: cluster.to_owned(),
        creation_timestamp: Some(now),
    });
    Ok(spec)
}

fn behavior(spec: &BindingSpec) -> Option<&ApplicationFailoverBehavior> {
    spec.failover.as_ref()?.application.as_ref()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{at, binding};
    use serde_json::{Value, json};

    fn sick(application: &Value, item: &Value) -> Binding {
        let mut binding = binding(&json!({
            "clusters": [{"name": "member1", "replicas": 2}], "failover": {"application": application}
        }));
        let mut full = json!({"clusterName": "member1", "applied": true, "health": "Unhealthy", "status": {"replicas": 2},
            "unhealthySince": "2026-01-01T00:00:00Z", "creationTimestamp": "2026-01-01T00:00:00Z"});
        for (key, value) in item.as_object().unwrap() {
            full[key] = value.clone();
        }
        binding.status.aggregated_status = vec![serde_json::from_value(full).unwrap()];
        binding
    }

    fn settings() -> Settings {
        Settings {
            failover: true,
            stateful_injection: true,
            ..Settings::default()
        }
    }

    #[test]
    fn when_an_unhealthy_application_leaves() {
        let plain = json!({"decisionConditions": {}});
        let settled = json!({"decisionConditions": {}, "preConditions": {"healthyState": "Healthy"}});
        let delayed = json!({"decisionConditions": {}, "preConditions": {"delaySeconds": 100}});
        let none = json!({});
        for (case, application, item, expected) in [
            ("ten seconds by default", &plain, none.clone(), EvictionTime::At(at(10))),
            (
                "its own time",
                &json!({"decisionConditions": {"tolerationSeconds": 3}}),
                none.clone(),
                EvictionTime::Now,
            ),
            (
                "not known now",
                &plain,
                json!({"health": "Unknown"}),
                EvictionTime::Never,
            ),
            (
                "healthy",
                &plain,
                json!({"health": "Healthy", "unhealthySince": null}),
                EvictionTime::Never,
            ),
            ("never was healthy", &settled, none.clone(), EvictionTime::Never),
            (
                "was healthy once",
                &settled,
                json!({"settled": true}),
                EvictionTime::At(at(10)),
            ),
            ("held back", &delayed, none.clone(), EvictionTime::At(at(100))),
            (
                "the first status came late",
                &delayed,
                json!({"creationTimestamp": "2026-01-01T00:00:04Z"}),
                EvictionTime::At(at(104)),
            ),
            (
                "no status yet",
                &delayed,
                json!({"creationTimestamp": null}),
                EvictionTime::Never,
            ),
        ] {
            assert_eq!(
                eviction_time(&sick(application, &item), "member1", &settings(), at(5)),
                expected,
                "{case}"
            );
        }
        let mut unset = sick(&plain, &none);
        unset.spec.failover = None;
        assert_eq!(
            eviction_time(&unset, "member1", &settings(), at(99)),
            EvictionTime::Never
        );
    }

    #[test]
    fn the_task_and_the_record() {
        let application = json!({"decisionConditions": {}, "purgeMode": "Directly", "statePreservation": {"rules": [
            {"aliasLabelName": "r", "jsonPath": "{.replicas}"}]}});
        let binding = sick(&application, &json!({}));
        let spec = carry_out(
            &binding,
            "member1",
            &settings(),
            &std::collections::BTreeSet::new(),
            at(10),
        )
        .unwrap();
        let task = &spec.graceful_eviction_tasks[0];
        assert_eq!(
            (task.reason.as_str(), task.preserved_label_state["r"].as_str()),
            ("ApplicationFailure", "2")
        );
        assert_eq!(task.producer, "ResourceBindingApplicationFailoverController");
        assert_eq!(spec.active_eviction_history[0].cluster_name, "member1");
        assert!(spec.clusters.is_empty());
    }

    #[test]
    fn never_is_kept_until_confirmed_and_gracefully_has_ten_minutes() {
        for (mode, suppress, grace) in [("Never", Some(true), None), ("Gracefully", None, Some(600))] {
            let binding = sick(&json!({"decisionConditions": {}, "purgeMode": mode}), &json!({}));
            let spec = carry_out(
                &binding,
                "member1",
                &settings(),
                &std::collections::BTreeSet::new(),
                at(10),
            )
            .unwrap();
            let task = &spec.graceful_eviction_tasks[0];
            assert_eq!(
                (task.suppress_deletion, task.grace_period_seconds),
                (suppress, grace),
                "{mode}"
            );
        }
    }
}

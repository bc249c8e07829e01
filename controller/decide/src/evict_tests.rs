use super::*;
use crate::testing::{at, binding, cluster, clusters, no_execute};
use serde_json::json;

fn settings() -> Settings {
    Settings {
        failover: true,
        stateful_injection: true,
        ..Settings::default()
    }
}

fn stateful(mode: &str) -> Value {
    json!({
        "clusters": [{"name": "member1", "replicas": 2}],
        "failover": {"cluster": {"purgeMode": mode, "statePreservation": {"rules": [
            {"aliasLabelName": "failover.karmada.io/replicas", "jsonPath": "{ .replicas }"}
        ]}}}
    })
}

#[test]
fn the_task_says_what_happened() {
    let spec = binding(&stateful("Immediately")).spec;
    let task = task(&spec, "member1", Some(&json!({"replicas": 2})), &settings(), at(5)).unwrap();
    assert_eq!(
        serde_json::to_value(task).unwrap(),
        json!({
            "fromCluster": "member1", "purgeMode": "Directly", "replicas": 2, "reason": "TaintUntolerated",
            "producer": "TaintManager", "preservedLabelState": {"failover.karmada.io/replicas": "2"},
            "clustersBeforeFailover": ["member1"], "creationTimestamp": "2026-01-01T00:00:05Z"
        })
    );
}

#[test]
fn gates_rule_eviction_and_state() {
    let spec = binding(&stateful("Directly")).spec;
    let failed = cluster("member1", &no_execute());
    let tolerated = |settings: &Settings| tolerated_for(&spec, &failed.spec.taints[0], settings);
    assert_eq!(tolerated(&settings()), Some(SignedDuration::ZERO));
    let off = Settings {
        failover: false,
        ..settings()
    };
    assert_eq!(tolerated(&off), None);
    let without = Settings {
        stateful_injection: false,
        ..settings()
    };
    assert!(
        task(&spec, "member1", None, &without, at(0))
            .unwrap()
            .preserved_label_state
            .is_empty()
    );
    assert_eq!(
        task(&spec, "member1", None, &settings(), at(0)),
        Err(Obstacle::NotCollected)
    );
}

#[test]
fn the_option_rules_where_the_policy_says_nothing() {
    let spec = binding(&json!({"failover": null, "clusters": [{"name": "member1"}]})).spec;
    for (option, expected) in [
        (PurgeMode::Gracefully, PurgeMode::Gracefully),
        (PurgeMode::Directly, PurgeMode::Directly),
    ] {
        let settings = Settings {
            default_purge_mode: option,
            ..settings()
        };
        assert_eq!(
            task(&spec, "member1", None, &settings, at(0)).unwrap().purge_mode,
            Some(expected)
        );
    }
    let defaulted = binding(&json!({"failover": {"cluster": {}}, "clusters": [{"name": "member1"}]})).spec;
    let settings = Settings {
        default_purge_mode: PurgeMode::Directly,
        ..settings()
    };
    assert_eq!(
        task(&defaulted, "member1", None, &settings, at(0)).unwrap().purge_mode,
        Some(PurgeMode::Gracefully)
    );
}

#[test]
fn the_grace_period_is_recorded_under_gracefully_alone() {
    for (mode, expected) in [("Gracefully", Some(30)), ("Directly", None)] {
        let spec = binding(&json!({"failover": {"cluster": {"purgeMode": mode, "gracePeriodSeconds": 30}}})).spec;
        assert_eq!(
            task(&spec, "member1", None, &settings(), at(0))
                .unwrap()
                .grace_period_seconds,
            expected,
            "{mode}"
        );
    }
}

#[test]
fn evictions_in_vain_are_given_up() {
    let two = clusters(&[("member1", json!([])), ("member2", no_execute()), ("other", json!([]))]);
    let one = clusters(&[("member1", json!([])), ("other", json!([]))]);
    let spec = binding(&json!({"clusters": [{"name": "member1"}]})).spec;
    assert_eq!(infeasible(&spec, "member1", &two), None);
    assert!(infeasible(&spec, "member1", &one).is_some());
    let divided = binding(&json!({
        "clusters": [{"name": "member1"}, {"name": "member2"}],
        "placement": {
            "clusterAffinity": {"clusterNames": ["member1", "member2"]},
            "replicaScheduling": {"replicaSchedulingType": "Divided"}
        }
    }));
    assert!(infeasible(&divided.spec, "member1", &two).is_some());
}

#[test]
fn a_second_failover_takes_over_the_state_and_ends_the_first_task() {
    let mut over = stateful("Directly");
    over["clusters"] = json!([{"name": "member2", "replicas": 2}]);
    over["gracefulEvictionTasks"] = json!([{"fromCluster": "member1", "purgeMode": "Directly", "reason": "TaintUntolerated",
        "producer": "TaintManager", "preservedLabelState": {"failover.karmada.io/replicas": "7"},
        "clustersBeforeFailover": ["member1"]}]);
    let spec = binding(&over).spec;
    let task = task(&spec, "member2", None, &settings(), at(0)).unwrap();
    assert_eq!(task.preserved_label_state["failover.karmada.io/replicas"], "7");
    let after = carry_out(&spec, task.clone(), &BTreeSet::from(["member2".to_owned()]));
    assert!(after.clusters.is_empty());
    assert_eq!(after.graceful_eviction_tasks, std::slice::from_ref(&task));
    // While the first object is still there its task is, too.
    let both = BTreeSet::from(["member1".to_owned(), "member2".to_owned()]);
    assert_eq!(carry_out(&spec, task, &both).graceful_eviction_tasks.len(), 2);
}

#[test]
fn one_task_per_cluster() {
    let spec = binding(&stateful("Gracefully")).spec;
    let task = task(&spec, "member1", Some(&json!({"replicas": 2})), &settings(), at(0)).unwrap();
    let once = carry_out(&spec, task.clone(), &BTreeSet::new());
    assert_eq!(
        carry_out(&once, task, &BTreeSet::new()).graceful_eviction_tasks.len(),
        1
    );
}

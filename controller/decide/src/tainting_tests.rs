use super::*;
use crate::testing::{at, cluster};
use serde_json::{Value, json};

fn policy(spec: &Value) -> ClusterTaintPolicy {
    let metadata = json!({"name": "p", "creationTimestamp": "2026-01-01T00:00:00Z"});
    serde_json::from_value(json!({"metadata": metadata, "spec": spec})).unwrap()
}

fn not_ready_policy() -> ClusterTaintPolicy {
    policy(&json!({
        "targetCluster": {"clusterNames": ["member1"]},
        "matchConditions": [{"conditionType": "Ready", "operator": "In", "statusValues": ["False", "Unknown"]}],
        "taintsToAdd": [{"key": "not-ready", "effect": "NoExecute"}]
    }))
}

fn with_ready(status: &str, taints: &Value) -> Cluster {
    let mut cluster = cluster("member1", taints);
    status.clone_into(&mut cluster.status.conditions[0].status);
    cluster
}

fn keys(decision: &Decision) -> Vec<&str> {
    decision.taints.iter().map(|taint| taint.key.as_str()).collect()
}

#[test]
fn added_after_five_minutes_removed_after_three() {
    let (policy, mut memory) = (not_ready_policy(), Memory::default());
    let others = json!([{"key": "others", "effect": "NoSchedule"}]);
    let down = with_ready("False", &others);
    let decision = decide(&down, [&policy], &mut memory, true, at(299));
    assert_eq!((keys(&decision), decision.again), (vec!["others"], Some(at(300))));
    let decision = decide(&down, [&policy], &mut memory, true, at(300));
    assert_eq!(keys(&decision), ["others", "not-ready"]);
    assert_eq!(decision.taints[1].time_added, Some(at(300)));

    let mut up = with_ready("True", &json!([]));
    up.spec.taints = decision.taints;
    let decision = decide(&up, [&policy], &mut memory, true, at(400));
    assert_eq!(
        (keys(&decision), decision.again),
        (vec!["others", "not-ready"], Some(at(580)))
    );
    assert_eq!(keys(&decide(&up, [&policy], &mut memory, true, at(580))), ["others"]);
}

#[test]
fn flapping_starts_the_time_anew() {
    let (policy, mut memory) = (not_ready_policy(), Memory::default());
    for (second, status) in [(0, "False"), (200, "True"), (250, "False"), (400, "Unknown")] {
        let decision = decide(
            &with_ready(status, &json!([])),
            [&policy],
            &mut memory,
            true,
            at(second),
        );
        assert!(decision.taints.is_empty(), "{second}");
    }
    let decision = decide(
        &with_ready("Unknown", &json!([])),
        [&policy],
        &mut memory,
        true,
        at(550),
    );
    assert_eq!(
        keys(&decision),
        ["not-ready"],
        "False to Unknown does not restart the time"
    );
}

#[test]
fn targets_operators_and_no_conditions() {
    let taints = json!([{"key": "t", "effect": "NoSchedule", "addOnMatchSeconds": 1}]);
    let up = with_ready("True", &json!([]));
    let ready = |operator: &str| json!([{"conditionType": "Ready", "operator": operator, "statusValues": ["True"]}]);
    for (spec, expected) in [
        (json!({"taintsToAdd": taints}), 1),
        (
            json!({"taintsToAdd": taints, "targetCluster": {"clusterNames": ["other"]}}),
            0,
        ),
        (json!({"taintsToAdd": taints, "matchConditions": ready("In")}), 1),
        (json!({"taintsToAdd": taints, "matchConditions": ready("NotIn")}), 0),
    ] {
        let decision = decide(&up, [&policy(&spec)], &mut Memory::default(), true, at(10));
        assert_eq!(decision.taints.len(), expected, "{spec}");
    }
}

#[test]
fn the_released_form() {
    let when = |status: &str| json!([{"conditionType": "Ready", "operator": "In", "statusValues": [status]}]);
    let policy = policy(&json!({
        "targetClusters": {"clusterNames": ["member1"]}, "addOnConditions": when("False"),
        "removeOnConditions": when("True"), "taints": [{"key": "t", "effect": "NoExecute"}]
    }));
    let mut memory = Memory::default();
    let added = decide(&with_ready("False", &json!([])), [&policy], &mut memory, true, at(1));
    assert_eq!(keys(&added), ["t"]);
    let mut unknown = with_ready("Unknown", &json!([]));
    unknown.spec.taints = added.taints;
    assert_eq!(keys(&decide(&unknown, [&policy], &mut memory, true, at(2))), ["t"]);
    "True".clone_into(&mut unknown.status.conditions[0].status);
    assert!(decide(&unknown, [&policy], &mut memory, true, at(3)).taints.is_empty());
}

#[test]
fn with_the_gate_off_nothing_is_added_or_removed() {
    let (policy, mut memory) = (not_ready_policy(), Memory::default());
    let down = with_ready("False", &json!([]));
    let decision = decide(&down, [&policy], &mut memory, false, at(9_999));
    assert!(decision.taints.is_empty() && decision.statuses.is_empty());
}

#[test]
fn only_taints_that_a_policy_has_added_are_removed_also_after_a_restart() {
    let mut policy = not_ready_policy();
    let theirs = json!([{"key": "not-ready", "effect": "NoExecute", "timeAdded": "2026-01-01T00:00:01Z"}]);
    let up = with_ready("True", &theirs);
    let decision = decide(&up, [&policy], &mut Memory::default(), true, at(9_999));
    assert_eq!(keys(&decision), ["not-ready"], "it is unknown who added it");

    let added = decide(
        &with_ready("False", &json!([])),
        [&policy],
        &mut Memory::default(),
        true,
        at(301),
    );
    assert_eq!(added.taints[0].time_added, Some(at(300)), "when it was due");
    policy.status = added.statuses["p"].clone();
    let mut up = with_ready("True", &json!([]));
    up.spec.taints = added.taints;
    let mut memory = Memory::default();
    let decision = decide(&up, [&policy], &mut memory, true, at(400));
    assert!(decision.taints.is_empty(), "the policy's status tells");
    assert!(decision.statuses.is_empty(), "the record goes after the taint");
    up.spec.taints = decision.taints;
    let decision = decide(&up, [&policy], &mut memory, true, at(400));
    assert!(decision.statuses["p"].taints.is_empty());
}

#[test]
fn what_one_policy_still_wants_stays_and_goes_with_the_last() {
    let unknown = policy_named("q", "Unknown");
    let (down, mut memory) = (not_ready_policy(), Memory::default());
    let both = [&down, &unknown];
    let mut cluster = with_ready("Unknown", &json!([]));
    cluster.spec.taints = decide(&cluster, both, &mut memory, true, at(300)).taints;
    "False".clone_into(&mut cluster.status.conditions[0].status);
    for second in [400, 800] {
        let decision = decide(&cluster, both, &mut memory, true, at(second));
        assert_eq!(keys(&decision), ["not-ready"], "{second}");
    }
    "True".clone_into(&mut cluster.status.conditions[0].status);
    decide(&cluster, both, &mut memory, true, at(900));
    assert!(decide(&cluster, both, &mut memory, true, at(1_080)).taints.is_empty());
}

#[test]
fn a_restart_goes_on_with_the_window_where_no_transition_tells_of_it() {
    let (mut policy, mut memory) = (not_ready_policy(), Memory::default());
    decide(&with_ready("False", &json!([])), [&policy], &mut memory, true, at(0));
    let mut unknown = with_ready("Unknown", &json!([]));
    unknown.status.conditions[0].last_transition_time.0 = at(200);
    let decision = decide(&unknown, [&policy], &mut memory, true, at(200));
    policy.status = decision.statuses["p"].clone();
    assert_eq!(policy.status.windows[0].since, at(0));
    let decision = decide(&unknown, [&policy], &mut Memory::default(), true, at(300));
    assert_eq!(keys(&decision), ["not-ready"]);
}

fn policy_named(name: &str, status: &str) -> ClusterTaintPolicy {
    let mut policy = not_ready_policy();
    policy.metadata.name = Some(name.to_owned());
    let values = json!([{"conditionType": "Ready", "operator": "In", "statusValues": [status]}]);
    policy.spec.match_conditions = serde_json::from_value(values).unwrap();
    policy
}

//! Invariants of gates, rates, taints and placements say yes to good timelines and no to spoiled ones, which are made
//! here.

#![expect(clippy::unwrap_used, reason = "what is made here fits, or the test has failed")]

mod common;

use std::sync::Arc;

use baton_core::{
    case::model::Invariant,
    timeline::{Change, Event, HANDS},
};
use common::story::{Story, TARGET, binding, cluster, failed, moved, none, with};
use rstest::rstest;
use serde_json::{Value, json};

fn policy(window: u64) -> Value {
    json!({
        "metadata": {"name": "detect"},
        "spec": {
            "matchConditions": [{"conditionType": "Ready", "operator": "In", "statusValues": ["False", "Unknown"]}],
            "taintsToAdd": [{"key": "failed", "effect": "NoExecute", "addOnMatchSeconds": window}],
        },
    })
}

fn tainted_by(by: &str, taints: Value) -> Story {
    Story::begin()
        .hands(0.0, "Cluster", cluster("member1", none(), "True"))
        .hands(0.0, "ClusterTaintPolicy", policy(1))
        .target(10.0, "Cluster", cluster("member1", none(), "False"))
        .by(by, 20.0, "Cluster", cluster("member1", taints, "False"))
}

#[rstest]
#[case::a_policy_taints(TARGET, false, &["GAT-06"])]
#[case::somebody_taints(HANDS, false, &[])]
#[case::the_gate_is_on(TARGET, true, &[])]
fn with_the_gate_off_no_policy_taints(#[case] by: &str, #[case] on: bool, #[case] refuted: &[&str]) {
    let (judged, found) = tainted_by(by, failed()).judged(Invariant::GateOffMovesNothing, with(on, &[]));
    assert_eq!(
        (judged > 0, found),
        (!on, refuted.iter().map(ToString::to_string).collect())
    );
}

#[rstest]
#[case::a_task_is_written(moved(), false, &["GAT-01"])]
#[case::nothing_happens(json!({}), false, &[])]
#[case::the_gate_is_on(moved(), true, &[])]
fn with_the_gate_off_nothing_moves(#[case] then: Value, #[case] on: bool, #[case] refuted: &[&str]) {
    let story = Story::begin()
        .hands(0.0, "Cluster", cluster("member1", none(), "True"))
        .target(0.0, "ResourceBinding", binding("web", json!({})))
        .hands(1.0, "Cluster", cluster("member1", failed(), "True"))
        .target(2.0, "ResourceBinding", binding("web", then));
    let (judged, found) = story.judged(Invariant::GateOffMovesNothing, with(on, &[]));
    assert_eq!(
        (judged > 0, found),
        (!on, refuted.iter().map(ToString::to_string).collect())
    );
}

/// Workloads that leave member1 at these times, with `faulty` of `all` clusters tainted since second 1.
fn leaving(times: &[f64], faulty: usize, all: usize) -> Story {
    let mut story = Story::begin();
    for number in 1..=all {
        story = story.hands(0.0, "Cluster", cluster(&format!("member{number}"), none(), "True"));
    }
    for (number, _) in times.iter().enumerate() {
        story = story.target(0.0, "ResourceBinding", binding(&format!("web-{number}"), json!({})));
    }
    for number in 1..=faulty {
        story = story.hands(1.0, "Cluster", cluster(&format!("member{number}"), failed(), "False"));
    }
    for (number, at) in times.iter().enumerate() {
        story = story.target(*at, "ResourceBinding", binding(&format!("web-{number}"), moved()));
    }
    story
}

#[rstest]
#[case::at_the_rate(leaving(&[1.0, 3.0, 5.0, 7.0], 1, 3), &[], &[])]
// Clocks with whole seconds bring them nearer to each other.
#[case::almost(leaving(&[1.0, 2.2, 4.9], 1, 3), &[], &[])]
#[case::all_at_once(leaving(&[1.0, 1.1, 1.2], 1, 3), &[], &["RAT-01"])]
#[case::a_higher_rate(leaving(&[1.0, 1.1, 1.2], 1, 3), &[("resource-eviction-rate", "10")], &[])]
#[case::a_lower_rate(leaving(&[1.0, 4.0, 7.0], 1, 3), &[("resource-eviction-rate", "0.1")], &["RAT-01"])]
#[case::many_clusters(leaving(&[1.0, 11.0, 21.0], 7, 12), &[], &[])]
#[case::many_clusters_too_fast(leaving(&[1.0, 3.0, 5.0], 7, 12), &[], &["RAT-02"])]
#[case::few_clusters(leaving(&[9.0], 2, 3), &[], &["RAT-03"])]
#[case::few_clusters_and_under_way(leaving(&[2.0], 2, 3), &[], &[])]
fn the_eviction_rate_is_kept(#[case] story: Story, #[case] options: &[(&str, &str)], #[case] refuted: &[&str]) {
    let (judged, found) = story.judged(Invariant::EvictionRateKept, with(true, options));
    assert!(judged > 0);
    assert_eq!(found, refuted);
}

/// No document says what a rate of 0 means.
#[test]
fn a_rate_of_zero_is_not_judged() {
    let options = [("resource-eviction-rate", "0")];
    let (judged, found) = leaving(&[9.0], 1, 3).judged(Invariant::EvictionRateKept, with(true, &options));
    assert_eq!((judged, found), (0, vec![]));
}

#[rstest]
#[case::of_a_policy(TARGET, failed(), &[])]
#[case::of_somebody(HANDS, json!([{"key": "other", "effect": "NoExecute"}]), &[])]
#[case::of_itself(TARGET, json!([{"key": "other", "effect": "NoExecute"}]), &["CTP-08"])]
// No document forbids one with another effect.
#[case::that_moves_nothing(TARGET, json!([{"key": "other", "effect": "NoSchedule"}]), &[])]
#[case::that_only_some_prefer(TARGET, json!([{"key": "other", "effect": "PreferNoExecute"}]), &[])]
fn only_policies_taint(#[case] by: &str, #[case] taints: Value, #[case] refuted: &[&str]) {
    let (_, found) = tainted_by(by, taints).judged(Invariant::OnlyPoliciesTaint, with(true, &[]));
    assert_eq!(found, refuted);
}

/// A cluster that is not ready from second 10 on, again from `again` on, and tainted at some second.
fn window(again: Option<f64>, window: u64, tainted: f64) -> Story {
    let mut story = Story::begin()
        .hands(0.0, "Cluster", cluster("member1", none(), "True"))
        .hands(0.0, "ClusterTaintPolicy", policy(window))
        .target(10.0, "Cluster", cluster("member1", none(), "False"));
    if let Some(again) = again {
        story = story
            .target(again - 1.0, "Cluster", cluster("member1", none(), "True"))
            .target(again, "Cluster", cluster("member1", none(), "Unknown"));
    }
    story.target(tainted, "Cluster", cluster("member1", failed(), "False"))
}

#[test]
fn no_taint_comes_while_its_conditions_have_never_held() {
    let story = Story::begin()
        .hands(0.0, "Cluster", cluster("member1", none(), "True"))
        .hands(0.0, "ClusterTaintPolicy", policy(60))
        .target(70.0, "Cluster", cluster("member1", failed(), "True"));
    let (_, found) = story.judged(Invariant::TaintNotBeforeItsWindow, with(true, &[]));
    assert_eq!(found, ["CTP-04"]);
}

#[rstest]
#[case::on_time(window(None, 60, 70.0), &[])]
#[case::almost(window(None, 60, 68.5), &[])]
#[case::late(window(None, 60, 100.0), &[])]
#[case::too_early(window(None, 60, 60.0), &["CTP-01"])]
#[case::after_a_break(window(Some(40.0), 60, 100.0), &[])]
#[case::as_if_without_a_break(window(Some(40.0), 60, 70.0), &["CTP-06"])]
fn no_taint_comes_before_its_window(#[case] story: Story, #[case] refuted: &[&str]) {
    let (judged, found) = story.judged(Invariant::TaintNotBeforeItsWindow, with(true, &[]));
    assert!(judged > 0);
    assert_eq!(found, refuted);
}

/// A cluster that is not ready from second 10 on, tainted with an effect by the policy, perhaps ready again at `ready`, and
/// without the taint at some second.
fn untainted(effect: &str, ready: Option<f64>, at: f64) -> Story {
    let mut detect = policy(20);
    detect["spec"]["taintsToAdd"][0]["effect"] = json!(effect);
    detect["spec"]["taintsToAdd"][0]["removeOnMismatchSeconds"] = json!(30);
    detect["spec"]["targetCluster"] = json!({"clusterNames": ["member1"]});
    let tainted = || json!([{"key": "failed", "effect": effect}]);
    let mut story = Story::begin()
        .hands(0.0, "Cluster", cluster("member1", none(), "True"))
        .hands(0.0, "ClusterTaintPolicy", detect)
        .target(10.0, "Cluster", cluster("member1", none(), "False"))
        .target(30.0, "Cluster", cluster("member1", tainted(), "False"));
    if let Some(ready) = ready {
        story = story.target(ready, "Cluster", cluster("member1", tainted(), "True"));
    }
    let now = if ready.is_some() { "True" } else { "False" };
    story.target(at, "Cluster", cluster("member1", none(), now))
}

#[rstest]
#[case::on_time(untainted("NoExecute", Some(100.0), 130.0), &[])]
#[case::almost(untainted("NoSchedule", Some(100.0), 128.5), &[])]
#[case::too_early(untainted("NoExecute", Some(100.0), 110.0), &["CTP-02"])]
#[case::too_early_with_another_effect(untainted("NoSchedule", Some(100.0), 110.0), &["CTP-02"])]
#[case::while_the_conditions_hold(untainted("NoExecute", None, 110.0), &["CTP-02"])]
fn no_taint_of_a_policy_goes_before_its_window(#[case] story: Story, #[case] refuted: &[&str]) {
    let (judged, found) = story.judged(Invariant::TaintStaysForItsWindow, with(true, &[]));
    assert!(judged > 0);
    assert_eq!(found, refuted);
}

#[test]
fn a_taint_that_keeps_new_workloads_away_does_not_come_before_its_window_either() {
    let mut detect = policy(60);
    detect["spec"]["taintsToAdd"][0]["effect"] = json!("NoSchedule");
    let story = Story::begin()
        .hands(0.0, "Cluster", cluster("member1", none(), "True"))
        .hands(0.0, "ClusterTaintPolicy", detect)
        .target(10.0, "Cluster", cluster("member1", none(), "False"))
        .target(
            30.0,
            "Cluster",
            cluster("member1", json!([{"key": "failed", "effect": "NoSchedule"}]), "False"),
        );
    let (_, found) = story.judged(Invariant::TaintNotBeforeItsWindow, with(true, &[]));
    assert_eq!(found, ["CTP-01"]);
}

#[rstest]
#[case::by_the_target(TARGET, json!([{"operator": "Exists"}]), &["TNT-06"])]
#[case::by_the_case(HANDS, json!([{"operator": "Exists"}]), &[])]
#[case::something_else(TARGET, Value::Null, &[])]
fn nobody_but_the_case_changes_tolerations(#[case] by: &str, #[case] then: Value, #[case] refuted: &[&str]) {
    let policy = |tolerations: Value, label: &str| {
        json!({
            "metadata": {"name": "policy", "namespace": "default", "labels": {"is": label}},
            "spec": {"placement": {"clusterTolerations": tolerations}},
        })
    };
    let story = Story::begin()
        .hands(0.0, "PropagationPolicy", policy(Value::Null, "a"))
        .by(by, 1.0, "PropagationPolicy", policy(then, "b"));
    assert_eq!(
        story.judged(Invariant::PoliciesUntouched, with(true, &[])),
        (2, refuted.iter().map(ToString::to_string).collect())
    );
}

/// A workload that goes to a cluster at second 20, which has had these taints since some second.
fn goes(to: &str, taints: Value, since: f64, over: Value) -> Story {
    let mut then = json!({"clusters": [{"name": to}]});
    for (key, value) in over.as_object().unwrap() {
        then[key] = value.clone();
    }
    Story::begin()
        .hands(0.0, "Cluster", cluster("member2", none(), "True"))
        .target(0.0, "ResourceBinding", binding("web", over))
        .hands(since, "Cluster", cluster("member2", taints, "True"))
        .target(20.0, "ResourceBinding", binding("web", then))
}

fn blocked_for(seconds: u64) -> Value {
    json!({
        "activeEvictionHistory": [{"clusterName": "member2"}],
        "failover": {"application": {"blockPredecessorSeconds": seconds}},
    })
}

#[rstest]
#[case::that_is_clean("member2", none(), 1.0, json!({}), &[])]
#[case::outside_the_affinity("member3", none(), 1.0, json!({}), &["TNT-10"])]
#[case::with_no_execute("member2", failed(), 1.0, json!({}), &["TNT-01"])]
#[case::with_no_schedule("member2", json!([{"key": "k", "effect": "NoSchedule"}]), 1.0, json!({}), &["TNT-02"])]
#[case::with_a_taint_of_just_now("member2", failed(), 19.0, json!({}), &[])]
#[case::that_is_tolerated("member2", failed(), 1.0, json!({"placement": {"clusterTolerations": [{"operator": "Exists"}]}}), &[])]
#[case::that_is_blocked("member2", none(), 1.0, blocked_for(60), &["APP-08"])]
#[case::that_is_blocked_for_ever("member2", none(), 1.0, blocked_for(0), &["APP-08"])]
#[case::that_is_free_again("member2", none(), 1.0, blocked_for(15), &[])]
fn a_workload_goes_to_a_cluster(
    #[case] to: &str,
    #[case] taints: Value,
    #[case] since: f64,
    #[case] over: Value,
    #[case] refuted: &[&str],
) {
    let (judged, found) = goes(to, taints, since, over).judged(Invariant::DestinationFits, with(true, &[]));
    assert!(judged > 0);
    assert_eq!(found, refuted);
}

#[rstest]
#[case::all(2, "Divided", 60.0, &[])]
#[case::one_is_lost(1, "Divided", 60.0, &["POL-11"])]
#[case::for_a_moment(1, "Divided", 12.0, &[])]
#[case::not_divided(1, "Duplicated", 60.0, &[])]
fn replicas_add_up(#[case] there: u64, #[case] kind: &str, #[case] until: f64, #[case] refuted: &[&str]) {
    let divided = |second: u64| {
        json!({
            "replicas": 4,
            "placement": {"replicaScheduling": {"replicaSchedulingType": kind}},
            "clusters": [{"name": "member1", "replicas": 2}, {"name": "member2", "replicas": second}],
        })
    };
    let story = Story::begin()
        .target(0.0, "ResourceBinding", binding("web", divided(2)))
        .target(10.0, "ResourceBinding", binding("web", divided(there)))
        .target(until, "ResourceBinding", binding("web", divided(2)));
    assert_eq!(story.judged(Invariant::ReplicasAddUp, with(true, &[])).1, refuted);
}

/// A task of member1 that `by` clears at second 10, and a copy there that goes at some second.
fn cleared(by: &str, gone: Option<f64>, result: &str) -> Story {
    let then = json!({"clusters": [{"name": result}]});
    let story = Story::begin()
        .hands(0.0, "Cluster", cluster("member1", failed(), "True"))
        .target(0.0, "ResourceBinding", binding("web", json!({})))
        .copy(0.0, "member1", Change::Added)
        .target(1.0, "ResourceBinding", binding("web", moved()))
        .by(by, 10.0, "ResourceBinding", binding("web", then));
    let story = match gone {
        Some(at) => story.copy(at, "member1", Change::Deleted),
        None => story,
    };
    story.hands(300.0, "ConfigMap", json!({"metadata": {"name": "end"}}))
}

fn never_purged(mut story: Story) -> Story {
    for entry in &mut story.0 {
        if let Event::Revision(revision) = &mut entry.event
            && let Some(mode) =
                Arc::make_mut(&mut revision.object).pointer_mut("/spec/gracefulEvictionTasks/0/purgeMode")
        {
            *mode = json!("Never");
        }
    }
    story
}

#[rstest]
#[case::gone(cleared(TARGET, Some(12.0), "member2"), 1, &[])]
#[case::left(cleared(TARGET, None, "member2"), 1, &["GRE-10"])]
#[case::back_again(cleared(TARGET, None, "member1"), 0, &[])]
#[case::by_hand(cleared(HANDS, None, "member2"), 0, &[])]
#[case::never_purged(never_purged(cleared(TARGET, None, "member2")), 0, &[])]
fn a_task_ends_well(#[case] story: Story, #[case] judged: usize, #[case] refuted: &[&str]) {
    let found = story.judged(Invariant::TaskEndsWell, with(true, &[]));
    assert_eq!(found, (judged, refuted.iter().map(ToString::to_string).collect()));
}

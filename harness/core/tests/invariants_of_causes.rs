//! A task has a cause that is old enough, the old copy stays for as long as its purge mode says, and the new one has its state
//! whenever it is made.

#![expect(clippy::needless_pass_by_value, reason = "JSON is made where it is passed")]

mod common;

use baton_core::{
    case::model::Invariant,
    timeline::Change::{Added, Deleted, Modified},
};
use common::story::{Story, binding, cluster, none, with};
use rstest::rstest;
use serde_json::{Value, json};

/// A binding with these fields that has collected this health on the first member.
fn said(over: Value, health: &str) -> Value {
    let mut said = binding("web", over);
    said["status"] = json!({"aggregatedStatus": [{"clusterName": "member1", "health": health}]});
    said
}

/// Another field of a binding: a task from the first member.
fn evicted(reason: &str, mode: &str) -> Value {
    json!([{"fromCluster": "member1", "reason": reason, "purgeMode": mode}])
}

/// A taint that comes at 2 s and goes at another time, and a task because of it at 100 s; the placement tolerates the taint.
fn evicted_by_taint(taint: Value, gone: Option<f64>, toleration: Value) -> Story {
    let placement = json!({"clusterTolerations": [toleration]});
    let before = binding("web", json!({"placement": placement}));
    let story = Story::in_order()
        .hands(0.5, "Cluster", cluster("member1", none(), "True"))
        .target(1.0, "ResourceBinding", before)
        .copy(1.0, "member1", Added)
        .hands(2.0, "Cluster", cluster("member1", json!([taint]), "True"));
    let story = match gone {
        Some(gone) => story.hands(gone, "Cluster", cluster("member1", none(), "True")),
        None => story,
    };
    let tasks = evicted("TaintUntolerated", "Directly");
    let after = json!({"placement": placement, "clusters": [], "gracefulEvictionTasks": tasks});
    story.target(100.0, "ResourceBinding", binding("web", after))
}

#[rstest]
#[case::tolerated_for_ever(None, json!({"key": "failed", "operator": "Exists"}), 1, &["TNT-03"])]
#[case::another_taint_is_tolerated(None, json!({"key": "other", "operator": "Exists"}), 1, &[])]
#[case::removed_before_its_time(Some(20.0), json!({"key": "failed", "operator": "Exists", "tolerationSeconds": 60}), 1, &["TNT-05"])]
#[case::removed_after_its_time(Some(80.0), json!({"key": "failed", "operator": "Exists", "tolerationSeconds": 60}), 0, &[])]
#[case::removed_a_moment_ago(Some(96.0), json!({"key": "failed", "operator": "Exists", "tolerationSeconds": 110}), 1, &[])]
#[case::too_early(None, json!({"key": "failed", "operator": "Exists", "tolerationSeconds": 110}), 1, &["TNT-03"])]
#[case::in_time(None, json!({"key": "failed", "operator": "Exists", "tolerationSeconds": 60}), 1, &[])]
fn a_task_because_of_a_taint_has_a_taint_that_is_not_tolerated_any_more(
    #[case] gone: Option<f64>,
    #[case] toleration: Value,
    #[case] judged: usize,
    #[case] refuted: &[&str],
) {
    let story = evicted_by_taint(json!({"key": "failed", "effect": "NoExecute"}), gone, toleration);
    let refuted = refuted.iter().map(ToString::to_string).collect();
    assert_eq!(
        story.judged(Invariant::NoEvictionBeforeItsTime, with(true, &[])),
        (judged, refuted)
    );
}

/// `PreferNoExecute` taints have another time limit.
#[test]
fn a_taint_with_another_effect_is_not_judged() {
    let toleration = json!({"key": "failed", "operator": "Exists"});
    let story = evicted_by_taint(json!({"key": "failed", "effect": "PreferNoExecute"}), None, toleration);
    assert_eq!(
        story.judged(Invariant::NoEvictionBeforeItsTime, with(true, &[])),
        (0, Vec::new())
    );
}

/// An application that is created at 1 s and fails over at 100 s. Its copy reports these statuses, each collected half a second
/// later with this health.
fn application(failover: Value, reports: &[(f64, &str, &str)]) -> Story {
    let mut story = Story::in_order()
        .target(1.0, "ResourceBinding", binding("web", json!({"failover": failover})))
        .copy(1.0, "member1", Added);
    let mut said = binding("web", json!({"failover": failover}));
    for (at, status, health) in reports {
        let status = json!({"state": status});
        let item = json!({"clusterName": "member1", "status": status, "health": health});
        said["status"] = json!({"aggregatedStatus": [item]});
        story = story
            .copy_reports(*at, "member1", Modified, status)
            .target(at + 0.5, "ResourceBinding", said.clone());
    }
    said["spec"]["clusters"] = json!([]);
    said["spec"]["gracefulEvictionTasks"] = evicted("ApplicationFailure", "Directly");
    story.target(100.0, "ResourceBinding", said)
}

fn tolerating(seconds: u64) -> Value {
    json!({"application": {"decisionConditions": {"tolerationSeconds": seconds}}})
}

/// When the application of the tests begins, and becomes healthy.
const STARTS: (f64, &str, &str) = (1.5, "starting", "Unhealthy");
const RUNS: (f64, &str, &str) = (2.0, "running", "Healthy");

#[rstest]
#[case::long_enough(tolerating(60), &[STARTS, RUNS, (30.0, "failed", "Unhealthy")], &[])]
#[case::too_early(tolerating(60), &[STARTS, RUNS, (70.0, "failed", "Unhealthy")], &["APP-02"])]
#[case::the_first_change_counts(tolerating(60), &[STARTS, RUNS, (30.0, "failed", "Unhealthy"), (90.0, "worse", "Unhealthy")], &[])]
#[case::unknown_meanwhile(tolerating(60), &[STARTS, RUNS, (30.0, "failed", "Unhealthy"), (80.0, "lost", "Unknown"), (90.0, "failed", "Unhealthy")], &[])]
#[case::healthy_to_the_end(tolerating(60), &[STARTS, RUNS], &["APP-02"])]
#[case::healthy_again(tolerating(60), &[STARTS, RUNS, (20.0, "failed", "Unhealthy"), (70.0, "running", "Healthy"), (90.0, "failed", "Unhealthy")], &["APP-02"])]
#[case::never_healthy(tolerating(60), &[STARTS], &[])]
#[case::never_healthy_and_too_early(tolerating(120), &[STARTS], &["APP-02"])]
#[case::no_policy_asks_for_it(json!({"cluster": {"purgeMode": "Directly"}}), &[STARTS, RUNS, (30.0, "failed", "Unhealthy")], &["APP-01"])]
fn an_application_fails_over_after_its_time(
    #[case] failover: Value,
    #[case] reports: &[(f64, &str, &str)],
    #[case] refuted: &[&str],
) {
    let refuted = refuted.iter().map(ToString::to_string).collect();
    assert_eq!(
        application(failover, reports).judged(Invariant::NoApplicationFailoverBeforeItsTime, with(true, &[])),
        (1, refuted)
    );
}

/// A binding may repeat the status of a copy late, when the copy has already failed: after some seconds, or after a restart.
#[rstest]
#[case::some_seconds(38.0)]
#[case::after_a_restart(70.0)]
fn a_status_may_be_collected_late(#[case] collected: f64) {
    let late = |at: f64, status: &str, health: &str| {
        let item = json!({"clusterName": "member1", "status": {"state": status}, "health": health});
        let mut said = binding("web", json!({"failover": tolerating(60)}));
        said["status"] = json!({"aggregatedStatus": [item]});
        (at, said)
    };
    let mut story = Story::in_order()
        .copy_reports(1.0, "member1", Added, json!({"state": "running"}))
        .copy_reports(36.0, "member1", Modified, json!({"state": "failed"}));
    for (at, said) in [
        late(collected, "running", "Healthy"),
        late(collected + 3.0, "failed", "Unhealthy"),
    ] {
        story = story.target(at, "ResourceBinding", said);
    }
    let (_, mut said) = late(100.0, "failed", "Unhealthy");
    said["spec"]["gracefulEvictionTasks"] = evicted("ApplicationFailure", "Directly");
    let story = story.target(97.0, "ResourceBinding", said);
    assert_eq!(
        story.judged(Invariant::NoApplicationFailoverBeforeItsTime, with(true, &[])),
        (1, Vec::new())
    );
}

/// A binding need not repeat its policy.
#[test]
fn a_policy_may_ask_for_application_failover_without_its_binding() {
    let policy = json!({"metadata": {"name": "policy"}, "spec": {"failover": tolerating(60)}});
    let story = application(json!({}), &[STARTS]).hands(101.0, "PropagationPolicy", policy);
    assert_eq!(
        story.judged(Invariant::NoApplicationFailoverBeforeItsTime, with(true, &[])),
        (1, Vec::new())
    );
}

/// A customization can change the health of a workload that stays as it is.
#[test]
fn a_customization_changes_the_health_of_a_workload() {
    let customization = json!({"metadata": {"name": "health"}, "spec": {}});
    let mut story = application(tolerating(60), &[STARTS, RUNS]);
    let end = story.0.split_off(story.0.len() - 1);
    let mut story = story.hands(30.0, "ResourceInterpreterCustomization", customization);
    story.0.extend(end);
    assert_eq!(
        story.judged(Invariant::NoApplicationFailoverBeforeItsTime, with(true, &[])),
        (1, Vec::new())
    );
}

/// A template or a copy with these replicas.
fn with_replicas(replicas: u64) -> Value {
    json!({"metadata": {"name": "web", "namespace": "default"}, "spec": {"replicas": replicas}})
}

/// A copy with 2 replicas whose workload leaves the first member with a task of this mode.
fn leaving(mode: &str) -> Story {
    let tasks = evicted("TaintUntolerated", mode);
    let moved = json!({"clusters": [{"name": "member2"}], "gracefulEvictionTasks": tasks});
    Story::in_order()
        .hands(0.5, "Deployment", with_replicas(2))
        .target(1.0, "ResourceBinding", said(json!({}), "Healthy"))
        .copy_as(1.0, "member1", Added, with_replicas(2))
        .target(10.0, "ResourceBinding", said(moved, "Healthy"))
}

#[rstest]
#[case::under_gracefully("Gracefully", Invariant::GracefullyNeverWithoutCopy, &["PRG-05", "PRG-14"])]
#[case::under_never("Never", Invariant::CopyStaysUnderNever, &["PRG-09"])]
fn an_old_copy_keeps_its_replicas(#[case] mode: &str, #[case] invariant: Invariant, #[case] refuted: &[&str]) {
    let story = leaving(mode);
    let still = story.clone().copy_as(12.0, "member1", Modified, with_replicas(2));
    assert_eq!(still.judged(invariant, with(true, &[])).1, Vec::<String>::new());
    let emptied = story.clone().copy_as(12.0, "member1", Modified, with_replicas(0));
    assert_eq!(emptied.judged(invariant, with(true, &[])).1, refuted);
    // The owner may want none any more.
    let unwanted =
        story
            .hands(11.0, "Deployment", with_replicas(0))
            .copy_as(12.0, "member1", Modified, with_replicas(0));
    assert_eq!(unwanted.judged(invariant, with(true, &[])).1, Vec::<String>::new());
}

#[test]
fn under_never_a_copy_goes_only_when_a_user_wants_it() {
    let gone = |story: Story| {
        let story = story.copy(20.0, "member1", Deleted);
        story.judged(Invariant::CopyStaysUnderNever, with(true, &[]))
    };
    let refuted = vec!["PRG-09".to_owned()];
    assert_eq!(gone(leaving("Never")), (1, refuted));
    let mut confirmed = evicted("TaintUntolerated", "Never");
    confirmed[0]["suppressDeletion"] = json!(false);
    let confirmed = json!({"clusters": [{"name": "member2"}], "gracefulEvictionTasks": confirmed});
    let story = leaving("Never").hands(15.0, "ResourceBinding", said(confirmed, "Healthy"));
    assert_eq!(gone(story), (1, Vec::new()));
    assert_eq!(gone(leaving("Gracefully")), (0, Vec::new()));
}

/// A new copy with its label that is deleted and made again without it.
fn made_again(healthy: bool, cleared: bool, template: bool) -> Story {
    let mut task = evicted("TaintUntolerated", "Directly");
    task[0]["preservedLabelState"] = json!({"baton.dev/state": "third"});
    let of = |tasks: Value, clusters: &[&str], health: &str| {
        let clusters: Value = clusters.iter().map(|name| json!({"name": name})).collect();
        let mut said = binding("web", json!({"clusters": clusters, "gracefulEvictionTasks": tasks}));
        said["status"] = json!({"aggregatedStatus": [{"clusterName": "member2", "health": health}]});
        said
    };
    let health = if healthy { "Healthy" } else { "Unhealthy" };
    let mut story = Story::in_order()
        .hands(0.5, "Deployment", with_replicas(2))
        .target(1.0, "ResourceBinding", binding("web", json!({})))
        .copy(1.0, "member1", Added)
        .target(10.0, "ResourceBinding", of(task.clone(), &[], health))
        .copy(11.0, "member1", Deleted)
        .target(12.0, "ResourceBinding", of(task.clone(), &["member2"], "Unhealthy"))
        .copy_with(13.0, "member2", Added, json!({"baton.dev/state": "third"}))
        .target(14.0, "ResourceBinding", of(task, &["member2"], health));
    if cleared {
        story = story.target(15.0, "ResourceBinding", of(json!([]), &["member2"], health));
    }
    if template {
        story = story.hands(15.0, "Deployment", with_replicas(3));
    }
    story.copy(16.0, "member2", Deleted).copy(17.0, "member2", Added)
}

#[rstest]
#[case::before_it_was_healthy(false, false, false, &["REC-01"])]
#[case::after_it_was_healthy(true, false, false, &[])]
#[case::when_the_task_is_cleared(false, true, false, &[])]
#[case::after_an_edit_of_its_owner(false, false, true, &[])]
fn a_copy_that_is_made_again_has_its_state(
    #[case] healthy: bool,
    #[case] cleared: bool,
    #[case] template: bool,
    #[case] refuted: &[&str],
) {
    let story = made_again(healthy, cleared, template);
    assert_eq!(
        story.judged(Invariant::LabelsFromFirstRevision, with(true, &[])).1,
        refuted
    );
}

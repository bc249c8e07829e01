//! An eviction task has the purge mode and the grace period of the policy, or the mode of the option.

#![expect(clippy::needless_pass_by_value, reason = "JSON is made where it is passed")]

mod common;

use baton_core::{case::model::Invariant, timeline::Change};
use common::story::{Story, binding, with};
use rstest::rstest;
use serde_json::{Value, json};

/// A task that is written for a reason, with these fields, while the binding has this failover behaviour.
fn following(reason: &str, of_task: Value, failover: Value) -> Story {
    let said = |clusters: &[&str], tasks: Value| {
        let spec = json!({"clusters": clusters.iter().map(|name| json!({"name": name})).collect::<Value>(), "gracefulEvictionTasks": tasks, "failover": failover});
        binding("web", spec)
    };
    let mut task = json!({"fromCluster": "member1", "reason": reason});
    for (key, value) in of_task.as_object().into_iter().flatten() {
        task[key] = value.clone();
    }
    Story::in_order()
        .target(1.0, "ResourceBinding", said(&["member1"], json!([])))
        .copy(1.0, "member1", Change::Added)
        .target(5.0, "ResourceBinding", said(&[], json!([task])))
}

#[rstest]
#[case::the_mode_of_the_policy("TaintUntolerated", json!({"purgeMode": "Directly"}), json!({"cluster": {"purgeMode": "Directly"}}), &[])]
#[case::another_mode("TaintUntolerated", json!({"purgeMode": "Gracefully"}), json!({"cluster": {"purgeMode": "Directly"}}), &["POL-05"])]
#[case::another_than_the_default("TaintUntolerated", json!({"purgeMode": "Directly"}), json!({"cluster": {}}), &["POL-05"])]
#[case::an_older_spelling("TaintUntolerated", json!({"purgeMode": "Immediately"}), json!({"cluster": {"purgeMode": "Directly"}}), &[])]
#[case::no_mode("TaintUntolerated", json!({}), json!({"cluster": {"purgeMode": "Directly"}}), &[])]
#[case::of_an_application("ApplicationFailure", json!({"purgeMode": "Gracefully"}), json!({"application": {"purgeMode": "Never"}}), &["APP-07"])]
#[case::of_the_other_failover("ApplicationFailure", json!({"purgeMode": "Directly"}), json!({"cluster": {"purgeMode": "Directly"}, "application": {"purgeMode": "Gracefully"}}), &["APP-07"])]
#[case::the_period_of_the_policy("TaintUntolerated", json!({"gracePeriodSeconds": 30}), json!({"cluster": {"gracePeriodSeconds": 30}}), &[])]
#[case::another_period("TaintUntolerated", json!({"gracePeriodSeconds": 600}), json!({"cluster": {"gracePeriodSeconds": 30}}), &["GRE-05"])]
#[case::another_period_of_an_application("ApplicationFailure", json!({"gracePeriodSeconds": 600}), json!({"application": {"gracePeriodSeconds": 30}}), &["APP-07"])]
#[case::a_period_that_no_policy_sets("TaintUntolerated", json!({"gracePeriodSeconds": 600}), json!({"cluster": {}}), &[])]
fn a_task_follows_the_policy(
    #[case] reason: &str,
    #[case] of_task: Value,
    #[case] failover: Value,
    #[case] refuted: &[&str],
) {
    let refuted = refuted.iter().map(ToString::to_string).collect();
    let story = following(reason, of_task, failover);
    assert_eq!(
        story.judged(Invariant::TaskFollowsPolicy, with(true, &[])),
        (1, refuted)
    );
}

/// Without a policy that says it, the option decides; without the option, no document does.
#[rstest]
#[case::the_option(Some("Directly"), "Directly", None, 1, &[])]
#[case::another_mode(Some("Directly"), "Gracefully", None, 1, &["PRG-08"])]
#[case::no_option(None, "Gracefully", None, 0, &[])]
#[case::a_policy_that_the_binding_does_not_repeat(Some("Directly"), "Gracefully", Some("Gracefully"), 0, &[])]
fn the_option_decides_where_no_policy_does(
    #[case] option: Option<&str>,
    #[case] mode: &str,
    #[case] of_policy: Option<&str>,
    #[case] judged: usize,
    #[case] refuted: &[&str],
) {
    let mut story = following("TaintUntolerated", json!({"purgeMode": mode}), json!({}));
    if let Some(mode) = of_policy {
        let failover = json!({"cluster": {"purgeMode": mode}});
        let policy = json!({"metadata": {"name": "policy"}, "spec": {"failover": failover}});
        story = story.hands(6.0, "PropagationPolicy", policy);
    }
    let options: Vec<(&str, &str)> = option
        .map(|mode| ("no-execute-taint-eviction-purge-mode", mode))
        .into_iter()
        .collect();
    let refuted = refuted.iter().map(ToString::to_string).collect();
    assert_eq!(
        story.judged(Invariant::TaskFollowsPolicy, with(true, &options)),
        (judged, refuted)
    );
}

#[rstest]
#[case::as_it_was("third", json!({"session": "third"}), &[])]
#[case::what_the_old_copy_reports_by_now("fourth", json!({"session": "fourth"}), &[])]
#[case::a_number_that_it_reports("4", json!({"progress": {"offsets": [3, 4]}}), &[])]
#[case::what_it_does_not_report("other", json!({"session": "fourth"}), &["STP-11"])]
#[case::an_earlier_value("second", json!({"session": "third"}), &["STP-11"])]
#[case::a_part_of_a_value("four", json!({"session": "fourth"}), &["STP-11"])]
fn a_preserved_state_follows_only_the_old_copy(#[case] now: &str, #[case] reported: Value, #[case] refuted: &[&str]) {
    let said = |state: &str, reported: &Value| {
        let task = json!({"fromCluster": "member1", "reason": "TaintUntolerated", "purgeMode": "Directly", "preservedLabelState": {"baton.dev/state": state}});
        let mut said = binding("web", json!({"clusters": [], "gracefulEvictionTasks": [task]}));
        said["status"] = json!({"aggregatedStatus": [{"clusterName": "member1", "status": reported}, {"clusterName": "member2", "status": {"session": "other"}}]});
        said
    };
    let story = Story::in_order()
        .target(5.0, "ResourceBinding", said("third", &json!({"session": "third"})))
        .target(6.0, "ResourceBinding", said(now, &reported));
    let (judged, found) = story.judged(Invariant::PreservedStateNeverChanges, with(true, &[]));
    assert_eq!(judged, 1);
    assert_eq!(found, refuted);
}

#[test]
fn a_preserved_state_keeps_its_labels() {
    let said = |state: Value| {
        let task = json!({"fromCluster": "member1", "reason": "TaintUntolerated", "purgeMode": "Directly", "preservedLabelState": state});
        binding("web", json!({"clusters": [], "gracefulEvictionTasks": [task]}))
    };
    let story = Story::in_order()
        .target(5.0, "ResourceBinding", said(json!({"baton.dev/state": "third"})))
        .target(6.0, "ResourceBinding", said(json!({})));
    let (_, found) = story.judged(Invariant::PreservedStateNeverChanges, with(true, &[]));
    assert_eq!(found, ["STP-11"]);
}

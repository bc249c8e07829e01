//! Invariants do not ask how an implementation gets there: a task may be written in several writes, without the fields that
//! it need not have, and from a status that the binding repeats only later. What must not happen must not happen then either.

#![expect(clippy::needless_pass_by_value, reason = "JSON is made where it is passed")]

mod common;

use baton_core::{
    case::model::Invariant::{
        GracefullyNeverWithoutCopy, LabelsOnlyUnderDirectly, NoEvictionBeforeItsTime, PreservedStateNeverChanges,
        StatePreserved, StateReachesCopy, TaskNamesPredecessors, TaskStaysUntilOver,
    },
    judge::invariants,
    plan::Plan,
    timeline::Change::{Added, Deleted, Modified},
};
use common::story::{Story, binding, cluster, failed, none, with};
use rstest::rstest;
use serde_json::{Value, json};

/// A binding with this policy, this result and these tasks, which has collected these statuses.
fn said(failover: &Value, result: &[&str], tasks: Value, collected: Value) -> Value {
    let clusters: Value = result.iter().map(|name| json!({"name": name})).collect();
    let mut said = binding(
        "web",
        json!({"failover": failover, "clusters": clusters, "gracefulEvictionTasks": tasks}),
    );
    said["status"] = json!({"aggregatedStatus": collected});
    said
}

/// Status of a copy, as a binding collects it.
fn item(cluster: &str, health: &str, status: Value) -> Value {
    json!({"clusterName": cluster, "health": health, "status": status})
}

/// Requirements that the invariants about tasks, states and labels refute.
fn refuted(story: Story, gates: bool) -> Vec<String> {
    let mut plan = Plan::of(&common::case("proposal/deployment-directly.yaml"));
    plan.controller = with(gates, &[]);
    plan.controller
        .feature_gates
        .insert("StatefulFailoverInjection".to_owned(), true);
    let judged = invariants::judge(&story.timeline(), &std::collections::BTreeSet::new(), Some(&plan));
    let checks = [
        GracefullyNeverWithoutCopy,
        LabelsOnlyUnderDirectly,
        NoEvictionBeforeItsTime,
        PreservedStateNeverChanges,
        StatePreserved,
        StateReachesCopy,
        TaskNamesPredecessors,
        TaskStaysUntilOver,
    ];
    let titles = checks.map(invariants::title);
    let findings = judged.findings.iter().filter(|it| titles.contains(&it.title));
    findings
        .flat_map(|it| &it.requirements)
        .map(ToString::to_string)
        .collect()
}

fn directly() -> Value {
    let rules = json!([{"aliasLabelName": "baton.dev/state", "jsonPath": "{ .session }"}]);
    json!({"cluster": {"purgeMode": "Directly", "statePreservation": {"rules": rules}}})
}

fn whole_task() -> Value {
    json!({
        "fromCluster": "member1", "reason": "TaintUntolerated", "purgeMode": "Directly",
        "clustersBeforeFailover": ["member1"], "preservedLabelState": {"baton.dev/state": "third"},
    })
}

/// A failover under Directly of a workload with state. Its task has these revisions.
fn in_several_writes(tasks: &[Value], gone: f64) -> Story {
    let status = json!({"session": "third"});
    let collected = json!([item("member1", "Healthy", status.clone())]);
    let story = Story::in_order()
        .target(
            1.0,
            "ResourceBinding",
            said(&directly(), &["member1"], json!([]), json!([])),
        )
        .copy(1.0, "member1", Added)
        .copy_reports(1.5, "member1", Modified, status)
        .target(
            2.0,
            "ResourceBinding",
            said(&directly(), &["member1"], json!([]), collected.clone()),
        )
        .hands(14.0, "Cluster", cluster("member1", failed(), "True"));
    let (mut story, mut at) = (story, 15.0);
    for task in tasks {
        if at > gone {
            story = story.copy(gone, "member1", Deleted);
        }
        story = story.target(
            at,
            "ResourceBinding",
            said(&directly(), &[], json!([task]), collected.clone()),
        );
        at += 1.0;
    }
    let last = tasks.last().cloned().unwrap_or_default();
    if gone >= at - 1.0 {
        story = story.copy(gone, "member1", Deleted);
    }
    story
        .target(
            20.0,
            "ResourceBinding",
            said(&directly(), &["member2"], json!([last]), json!([])),
        )
        .copy_with(31.0, "member2", Added, json!({"baton.dev/state": "third"}))
}

fn without(field: &str) -> Value {
    let mut task = whole_task();
    task.as_object_mut().and_then(|it| it.remove(field));
    task
}

#[rstest]
#[case::in_one_write(&[whole_task()], 20.0, &[])]
#[case::its_state_later(&[without("preservedLabelState"), whole_task()], 20.0, &[])]
#[case::the_clusters_before_later(&[without("clustersBeforeFailover"), whole_task()], 20.0, &[])]
#[case::its_mode_later(&[without("purgeMode"), whole_task()], 20.0, &[])]
#[case::without_its_mode(&[without("purgeMode")], 20.0, &[])]
#[case::without_its_state(&[without("preservedLabelState")], 20.0, &["STP-02"])]
#[case::its_state_too_late(&[without("preservedLabelState"), whole_task()], 15.5, &["STP-02"])]
#[case::the_clusters_before_too_late(&[without("clustersBeforeFailover"), whole_task()], 15.5, &["REC-04"])]
fn a_task_may_be_written_in_several_writes(#[case] tasks: &[Value], #[case] gone: f64, #[case] expected: &[&str]) {
    assert_eq!(refuted(in_several_writes(tasks, gone), true), expected);
}

/// The binding has "second" when the task is written; the copy reports this.
fn newer(reported: &str, kept: &str) -> Story {
    let second = json!({"session": "second"});
    let mut task = whole_task();
    task["preservedLabelState"] = json!({"baton.dev/state": kept});
    let collected = json!([item("member1", "Healthy", second.clone())]);
    Story::in_order()
        .target(
            1.0,
            "ResourceBinding",
            said(&directly(), &["member1"], json!([]), json!([])),
        )
        .copy(1.0, "member1", Added)
        .copy_reports(1.2, "member1", Modified, json!({"session": "first"}))
        .copy_reports(1.5, "member1", Modified, second)
        .target(
            2.0,
            "ResourceBinding",
            said(&directly(), &["member1"], json!([]), collected.clone()),
        )
        .hands(14.0, "Cluster", cluster("member1", failed(), "True"))
        .copy_reports(14.9, "member1", Modified, json!({"session": reported}))
        .target(
            15.0,
            "ResourceBinding",
            said(&directly(), &[], json!([task]), collected),
        )
        .copy(16.0, "member1", Deleted)
}

#[rstest]
#[case::what_the_binding_has("third", "second", &[])]
#[case::what_the_copy_reports("third", "third", &[])]
#[case::what_nobody_reports("third", "fourth", &["STP-01"])]
#[case::what_it_reported_before("third", "first", &["STP-01"])]
fn a_state_may_be_newer_than_the_binding(#[case] reported: &str, #[case] kept: &str, #[case] expected: &[&str]) {
    assert_eq!(refuted(newer(reported, kept), true), expected);
}

/// A failover under Gracefully: the old copy goes at second 8, and the task at second 8.1.
struct Graceful {
    before: &'static [&'static str],
    result: &'static [&'static str],
    task: Value,
    failover: Value,
    /// When the new copy on member3 is ready.
    ready: f64,
    /// When the binding says so.
    said: f64,
}

impl Default for Graceful {
    fn default() -> Self {
        Self {
            before: &["member1"],
            result: &["member3"],
            task: json!({"purgeMode": "Gracefully"}),
            failover: json!({"cluster": {"purgeMode": "Gracefully"}}),
            ready: 7.0,
            said: 7.5,
        }
    }
}

impl Graceful {
    fn story(self) -> Story {
        let mut task = json!({"fromCluster": "member1", "reason": "TaintUntolerated"});
        for (key, value) in self.task.as_object().into_iter().flatten() {
            task[key] = value.clone();
        }
        let items = |more: &[&str]| -> Value {
            let all = self.before.iter().chain(more);
            all.map(|it| item(it, "Healthy", json!({"readyReplicas": 1}))).collect()
        };
        let said = |result: &[&str], tasks: Value, more: &[&str]| said(&self.failover, result, tasks, items(more));
        let story = Story::in_order().target(1.0, "ResourceBinding", said(self.before, json!([]), &[]));
        let story = self.before.iter().fold(story, |story, it| story.copy(1.0, it, Added));
        let mut later = vec![(8.0, 0), (8.1, 1), (self.said, 2), (self.ready, 3)];
        later.sort_by(|one, other| one.0.total_cmp(&other.0));
        let mut story = story
            .hands(4.0, "Cluster", cluster("member1", failed(), "True"))
            .target(5.0, "ResourceBinding", said(self.result, json!([task]), &[]))
            .copy(6.0, "member3", Added);
        let (mut tasks, mut healthy) = (json!([task]), false);
        for (at, what) in later {
            story = match what {
                0 => story.copy(at, "member1", Deleted),
                3 => story.copy_reports(at, "member3", Modified, json!({"readyReplicas": 1})),
                _ => {
                    if what == 1 {
                        tasks = json!([]);
                    }
                    healthy |= what == 2;
                    let more: &[&str] = if healthy { &["member3"] } else { &[] };
                    story.target(at, "ResourceBinding", said(self.result, tasks.clone(), more))
                }
            };
        }
        story
    }
}

#[rstest]
#[case::said_before(Graceful::default(), &[])]
#[case::said_soon_afterwards(Graceful { said: 9.0, ..Graceful::default() }, &[])]
#[case::said_long_afterwards(Graceful { said: 20.0, ..Graceful::default() }, &["PRG-05", "PRG-14"])]
#[case::ready_afterwards(Graceful { ready: 8.5, said: 9.0, ..Graceful::default() }, &["PRG-05", "PRG-14"])]
#[case::another_copy_was_always_healthy(
    Graceful { before: &["member1", "member2"], result: &["member2", "member3"], ready: 11.0, said: 12.0, ..Graceful::default() },
    &["PRG-05", "PRG-14"]
)]
#[case::another_copy_takes_its_part(
    Graceful { before: &["member1", "member2"], result: &["member2"], ready: 11.0, said: 12.0, ..Graceful::default() },
    &[]
)]
#[case::a_period_that_it_gives_itself(
    Graceful { task: json!({"purgeMode": "Gracefully", "gracePeriodSeconds": 1}), ready: 11.0, said: 12.0, ..Graceful::default() },
    &["PRG-05", "PRG-14"]
)]
#[case::the_period_of_the_policy(
    Graceful {
        task: json!({"purgeMode": "Gracefully", "gracePeriodSeconds": 2}),
        failover: json!({"cluster": {"purgeMode": "Gracefully", "gracePeriodSeconds": 2}}),
        ready: 11.0,
        said: 12.0,
        ..Graceful::default()
    },
    &[]
)]
#[case::a_task_without_mode(Graceful { task: json!({}), ready: 11.0, said: 12.0, ..Graceful::default() }, &["PRG-05", "PRG-14"])]
#[case::a_mode_that_nobody_names(
    Graceful { task: json!({}), failover: Value::Null, ready: 11.0, said: 12.0, ..Graceful::default() },
    &[]
)]
fn an_old_copy_goes_when_the_new_one_is_healthy(#[case] story: Graceful, #[case] expected: &[&str]) {
    let found = refuted(story.story(), true);
    let purges: Vec<&String> = found.iter().filter(|it| it.starts_with("PRG")).collect();
    assert_eq!(purges, expected);
}

/// A task that is written before its time, with this reason.
fn early(reason: &str, failover: &Value) -> Story {
    let tolerations = json!([{"key": "failed", "operator": "Exists", "tolerationSeconds": 60}]);
    let placement = json!({"clusterTolerations": tolerations});
    let task = json!({"fromCluster": "member1", "reason": reason, "purgeMode": "Directly"});
    let said = |tasks: Value| {
        let over = json!({"failover": failover, "placement": placement, "gracefulEvictionTasks": tasks});
        binding("web", over)
    };
    Story::in_order()
        .hands(0.5, "Cluster", cluster("member1", none(), "True"))
        .target(1.0, "ResourceBinding", said(json!([])))
        .copy(1.0, "member1", Added)
        .hands(4.0, "Cluster", cluster("member1", failed(), "True"))
        .target(20.0, "ResourceBinding", said(json!([task])))
}

#[rstest]
#[case::the_word_of_the_documents("TaintUntolerated", json!({"cluster": {}}), &["TNT-03"])]
#[case::another_word("Evicted", json!({"cluster": {}}), &["TNT-03"])]
#[case::another_cause("ApplicationFailure", json!({"cluster": {}}), &[])]
#[case::perhaps_another_cause("Evicted", json!({"cluster": {}, "application": {}}), &[])]
fn the_words_of_a_reason_are_free(#[case] reason: &str, #[case] failover: Value, #[case] expected: &[&str]) {
    let found = refuted(early(reason, &failover), true);
    let early: Vec<&String> = found.iter().filter(|it| it.starts_with("TNT")).collect();
    assert_eq!(early, expected);
}

//! Timelines of runs against a real implementation, judged by the cases of today: each says what it really shows.
//!
//! They were recorded with Karmada f8fdd02d on kube-apiservers v1.36.2; `fixtures/timelines/karmada/README.md` says
//! what is in each. Each has a twin here that is spoiled (or mended) in one place, and is judged differently for that.

#![expect(
    clippy::unwrap_used,
    reason = "what is committed can be read, or the test has failed"
)]

mod aligned;
mod common;

use aligned::Lines;
use baton_core::{
    case::model::Action,
    judge::{self, Verdict},
    names::RequirementId,
};
use rstest::rstest;
use serde_json::{Value, json};

fn verdict(case: &str, lines: &Lines) -> Verdict {
    let (plan, timeline) = aligned::run_of(&common::case_named(case), &lines.timeline());
    judge::judge(&plan, &timeline)
}

fn ids<'a>(ids: impl IntoIterator<Item = &'a RequirementId>) -> Vec<&'a str> {
    ids.into_iter().map(RequirementId::as_str).collect()
}

#[rstest]
// What is right: the state is carried, and labels are there from the first revision.
#[case::deployment("deployment-directly", &["REC-04"], &[])]
#[case::statefulset("statefulset-directly", &["REC-04"], &[])]
#[case::flink("flink-jobid-directly", &["REC-04"], &[])]
// The hold ended at once, so that it is not known whether it was respected.
#[case::held("held-by-finalizer", &["PRG-13", "REC-04"], &["PRG-01", "PRG-02", "PRG-03"])]
#[case::not_back("not-back-while-purged-policy", &["PRG-02", "PRG-03", "PRG-13"], &["PRG-11"])]
// The cut was healed before there was a task.
#[case::cut_off("cut-off", &["REC-04"], &["PRG-03", "PRG-04", "PRG-12", "PRG-13", "PRG-15"])]
#[case::cut_off_too("cut-off-cluster-scoped", &["REC-04"], &["PRG-03", "PRG-04", "PRG-12", "PRG-13", "PRG-15"])]
#[case::unhealthy("unhealthy-for-long-given", &[], &[])]
// Special rules for the health of a kind that no document speaks of.
#[case::unknown("unknown-health", &[], &["APP-17"])]
#[case::status("status-of-each-cluster", &[], &[])]
// A wrong label is not the fault of the component that injects it.
#[case::million("whole-numbers-a-million", &["REC-04", "STP-07"], &["REC-02"])]
#[case::cluster_scoped(
    "cluster-scoped",
    &["REC-04", "STP-07"],
    &["POL-04", "PRG-01", "REC-01"],
)]
// The run ended in the middle, because its times were short.
#[case::partition("after-a-partition", &["PRG-13", "REC-04"], &["FLK-03", "PRG-03"])]
#[case::aggregated("aggregated-status-deployment-cluster-policy", &[], &[])]
fn it_says_what_the_timeline_shows(#[case] name: &str, #[case] broken: &[&str], #[case] not_judged: &[&str]) {
    let verdict = verdict(name, &Lines::of(name));
    let told = || {
        let findings = verdict.findings.iter();
        findings.fold(String::new(), |text, it| text + &format!("{it}\n\n"))
    };
    assert_eq!(ids(&verdict.broken()), broken, "\n{}", told());
    assert_eq!(ids(verdict.not_judged.keys()), not_judged, "\n{}", told());
    let asked = common::case_named(name).requirements;
    let told: Vec<_> = asked.iter().filter(|id| !verdict.broken().contains(*id)).collect();
    let told: Vec<_> = told
        .into_iter()
        .filter(|id| !verdict.not_judged.contains_key(*id))
        .cloned()
        .collect();
    assert_eq!(
        ids(&verdict.shown),
        ids(&told),
        "what is neither broken nor left open is shown"
    );
}

/// A policy's deletion, of which no document says what it removes: no case asks for it any more.
#[test]
fn what_a_deleted_policy_leaves_behind_is_not_judged() {
    let mut lines = Lines::of("deleted-policy");
    assert_eq!(judge::judge_recording(&lines.timeline()).findings, []);
    let binding = |line: &Value| line["kind"] == "ResourceBinding" && line["type"] == "DELETED";
    lines.0.retain(|line| !binding(line));
    let left: Vec<_> = judge::judge_recording(&lines.timeline()).findings;
    assert!(
        left.iter()
            .any(|finding| finding.requirements.contains(&"POL-14".into())),
        "{left:#?}"
    );
}

/// The case asked for a field that is not collected there. It asks for another one now, which is.
#[test]
fn the_field_of_a_stateful_set_that_the_case_asks_for_is_collected() {
    let lines = Lines::of("any-kind-statefulset");
    let statuses = lines.0.iter().filter(|line| line["kind"] == "ResourceBinding");
    let last = statuses
        .filter_map(|line| line.pointer("/object/status/aggregatedStatus/0/status"))
        .next_back()
        .unwrap();
    let case = common::case_named("any-kind-statefulset");
    let asked = case.steps.iter().find_map(|step| match &step.action {
        Action::Capture { field, .. } => field.last(),
        _ => None,
    });
    assert!(last.get(asked.unwrap()).is_some(), "{last}");
    assert_eq!(last.get("currentRevision"), None);
}

/// Changes every object of a kind.
fn each(lines: &mut Lines, kind: &str, change: impl Fn(&mut Value)) {
    for line in lines.0.iter_mut().filter(|line| line["kind"] == kind) {
        change(&mut line["object"]);
    }
}

fn tasks(binding: &mut Value) -> impl Iterator<Item = &mut Value> {
    let tasks = binding
        .pointer_mut("/spec/gracefulEvictionTasks")
        .and_then(Value::as_array_mut);
    tasks.into_iter().flatten()
}

fn named(lines: &mut Lines) {
    each(lines, "ResourceBinding", |binding| {
        tasks(binding).for_each(|task| task["clustersBeforeFailover"] = json!([task["fromCluster"]]));
    });
}

fn replaced(lines: &mut Lines, from: &str, to: &str) {
    let text = Value::Array(std::mem::take(&mut lines.0)).to_string().replace(from, to);
    lines.0 = serde_json::from_str(&text).unwrap();
}

/// Lets what comes from a line on come later.
fn later(lines: &mut Lines, from: usize, by: f64) {
    for line in &mut lines.0[from..] {
        line["t"] = json!(line["t"].as_f64().unwrap() + by);
    }
}

fn mark(lines: &Lines, name: &str, step: usize) -> usize {
    lines
        .0
        .iter()
        .position(|line| line["mark"][name]["step"] == step)
        .unwrap()
}

/// The hold lasts as long as the case says.
fn held_for_long(lines: &mut Lines) {
    let ended = mark(lines, "stepEnded", 12);
    later(lines, ended, 30.0);
}

/// The cut is healed half a minute after the task was written.
fn cut_for_long(lines: &mut Lines) {
    let (ended, healed) = (mark(lines, "stepEnded", 11), mark(lines, "stepStarted", 13));
    let marks: Vec<Value> = lines.0.drain(ended..=healed).collect();
    let written = |line: &Value| {
        let tasks = line
            .pointer("/object/spec/gracefulEvictionTasks")
            .and_then(Value::as_array);
        tasks.is_some_and(|tasks| !tasks.is_empty())
    };
    let after = lines.0.iter().position(written).unwrap() + 1;
    let at = lines.0[after - 1]["t"].clone();
    // The steps before it end when it is there.
    let began = mark(lines, "stepStarted", 11);
    let start = lines.0.remove(began);
    let mut moved = vec![start];
    moved.extend(marks);
    for line in &mut moved {
        line["t"] = at.clone();
    }
    lines.0.splice(after - 1..after - 1, moved);
    later(lines, after, 30.0);
}

/// The same runs, with one thing that is otherwise: the judge says so, and of nothing else.
#[rstest]
#[case::predecessors("deployment-directly", named, &[])]
#[case::mode("deployment-directly", |it: &mut Lines| each(it, "ResourceBinding", |binding| {
    tasks(binding).for_each(|task| task["purgeMode"] = json!("Gracefully"));
}), &["PRG-05", "PRG-07", "PRG-14", "REC-04", "REC-05"])]
#[case::replicas("statefulset-directly", |it: &mut Lines| each(it, "ResourceBinding", |binding| {
    tasks(binding).for_each(|task| task["replicas"] = json!(1));
}), &["PRG-07", "REC-04"])]
#[case::label("flink-jobid-directly", |it: &mut Lines| each(it, "FlinkDeployment", |copy| {
    copy["metadata"]["labels"] = json!({});
}), &["FLK-01", "REC-01", "REC-02", "REC-04", "STP-13"])]
#[case::held("held-by-finalizer", held_for_long, &["PRG-13", "REC-04"])]
#[case::alone("not-back-while-purged-policy", |it: &mut Lines| it.0.retain(|line| line["cluster"] != "member2"), &["PRG-13"])]
#[case::cut_off("cut-off", cut_for_long, &["PRG-04", "PRG-15", "REC-04"])]
#[case::cut_off_too("cut-off-cluster-scoped", cut_for_long, &["PRG-04", "PRG-15", "REC-04"])]
// No document fixes the text of the producer.
#[case::producer("unhealthy-for-long-given", |it: &mut Lines| replaced(it, "application-failover", "somebody"), &[])]
#[case::mixed_up("status-of-each-cluster", |it: &mut Lines| replaced(it, r#""jobID":"two""#, r#""jobID":"one""#), &["POL-07"])]
#[case::decimal("whole-numbers-a-million", |it: &mut Lines| replaced(it, "1e+06", "1000000"), &["REC-02", "REC-04"])]
#[case::decimal_too(
    "cluster-scoped",
    |it: &mut Lines| replaced(it, "1.734462491693e+12", "1734462491693"),
    &["POL-04", "REC-01", "REC-04"],
)]
#[case::partition("after-a-partition", named, &["PRG-13"])]
#[case::health("aggregated-status-deployment-cluster-policy", |it: &mut Lines| each(it, "ResourceBinding", |binding| {
    binding["status"]["aggregatedStatus"] = json!([]);
}), &["POL-04", "POL-07"])]
fn one_thing_makes_the_difference(#[case] name: &str, #[case] change: fn(&mut Lines), #[case] broken: &[&str]) {
    let mut lines = Lines::of(name);
    change(&mut lines);
    let verdict = verdict(name, &lines);
    let told = || {
        let findings = verdict.findings.iter();
        findings.fold(String::new(), |text, it| text + &format!("{it}\n\n"))
    };
    assert_eq!(ids(&verdict.broken()), broken, "\n{}", told());
}

/// The new copy lacks its label because a number was read wrongly.
#[test]
fn a_label_that_is_missing_because_of_a_wrong_value_is_not_a_second_defect() {
    let case = "whole-numbers-a-million";
    let mut lines = Lines::of(case);
    let mut copy = lines
        .0
        .iter()
        .find(|line| line["kind"] == "FlinkDeployment" && line["cluster"] == "member1")
        .unwrap()
        .clone();
    copy["cluster"] = json!("member2");
    let end = lines.0.iter().position(|line| line["mark"] == "cleanUp").unwrap();
    for member in ["seq", "t"] {
        copy[member] = lines.0[end - 2][member].clone();
    }
    // The copy takes the place of the last line before the end of the step that waits for it, a repeated Event.
    lines.0[end - 2] = copy;
    let verdict = verdict(case, &lines);
    // Nothing removes this copy when the case ends.
    assert_eq!(ids(&verdict.broken()), ["POL-08", "REC-04", "STP-07"]);
    assert_eq!(ids(verdict.not_judged.keys()), ["REC-02", "STP-12"]);
}

#[test]
fn a_hold_that_lasted_shows_what_it_was_to_show() {
    let mut lines = Lines::of("held-by-finalizer");
    held_for_long(&mut lines);
    assert_eq!(
        ids(&verdict("held-by-finalizer", &lines).shown),
        ["PRG-01", "PRG-02", "PRG-03"]
    );
}

//! Verdicts where the order of two events is not certain: never that it was right.

#![expect(
    clippy::unwrap_used,
    reason = "what is committed can be read, or the test has failed"
)]

mod common;

use baton_core::{
    judge::{self, Verdict},
    names::RequirementId,
    plan::Plan,
    timeline::Timeline,
};
use common::spoiled;
use serde_json::{Value, json};

const ORDERED: [&str; 2] = ["PRG-01", "PRG-03"];

/// The lines of a timeline of `deployment-directly`, as if it had been recorded by watches.
fn arrived(name: &str) -> Vec<Value> {
    let text = String::from_utf8(spoiled::bytes("deployment-directly", name)).unwrap();
    let mut lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    lines[0]["mark"]["begin"]["order"] = json!({"arrival": {"uncertainty_secs": 0.1}});
    lines
}

fn verdict(mut lines: Vec<Value>) -> Verdict {
    // The number of the line is the place of an entry that does not say.
    for line in &mut lines {
        line.as_object_mut().unwrap().remove("seq");
    }
    let text: Vec<String> = lines.iter().map(Value::to_string).collect();
    let timeline = Timeline::read(text.join("\n").as_bytes()).unwrap();
    judge::judge(&Plan::of(&common::case("proposal/deployment-directly.yaml")), &timeline)
}

/// Number of the last line with this change of the Deployment on a member.
fn line(lines: &[Value], change: &str) -> usize {
    let is = |line: &Value| line["kind"] == "Deployment" && line["type"] == change && line["cluster"] != "control";
    lines.iter().rposition(is).unwrap()
}

fn fence(lines: &[Value], before_the_new_copy: i64) -> Value {
    let (gone, created) = (&lines[line(lines, "DELETED")], &lines[line(lines, "ADDED")]);
    let version = created["object"]["metadata"]["resourceVersion"].as_str().unwrap();
    let version: i64 = version.parse().unwrap();
    let fence = json!({
        "cluster": created["cluster"], "revision": version - before_the_new_copy, "asked_secs": gone["t"],
    });
    json!({"t": created["t"], "mark": {"fence": fence}})
}

fn ids(verdict: &Verdict) -> Vec<String> {
    let inconclusive = verdict.inconclusive.iter().flat_map(|it| &it.requirements);
    inconclusive.map(RequirementId::to_string).collect()
}

#[test]
fn two_events_that_are_too_close_prove_nothing() {
    let verdict = verdict(arrived("good"));
    assert_eq!(verdict.findings, []);
    assert_eq!(ids(&verdict), ORDERED);
    assert!(verdict.too_close);
    assert!(ORDERED.iter().all(|id| !verdict.shown.contains(&(*id).into())));
    assert!(!verdict.conforms());
}

#[test]
fn a_fence_between_them_proves_their_order() {
    let mut lines = arrived("good");
    let fence = fence(&lines, 1);
    lines.insert(line(&lines, "ADDED"), fence);
    let verdict = verdict(lines);
    assert!(verdict.conforms(), "{:#?}", verdict.inconclusive);
    assert!(!verdict.too_close);
    assert!(ORDERED.iter().all(|id| verdict.shown.contains(&(*id).into())));
}

#[test]
fn a_fence_that_the_new_copy_does_not_lie_behind_proves_nothing() {
    let mut lines = arrived("good");
    let fence = fence(&lines, 0);
    lines.insert(line(&lines, "ADDED"), fence);
    assert_eq!(ids(&verdict(lines)), ORDERED);
}

#[test]
fn events_that_are_far_enough_apart_are_in_order() {
    let mut lines = arrived("good");
    let later = line(&lines, "ADDED");
    for line in &mut lines[later..] {
        line["t"] = json!(line["t"].as_f64().unwrap() + 0.2);
    }
    let verdict = verdict(lines);
    assert!(verdict.conforms(), "{:#?}", verdict.inconclusive);
}

#[test]
fn a_new_copy_that_comes_too_early_is_found_if_it_is_early_enough() {
    let mut lines = arrived("new-before-old-is-gone");
    assert_eq!(ids(&verdict(lines.clone())), ORDERED);
    let gone = line(&lines, "DELETED");
    for line in &mut lines[gone..] {
        line["t"] = json!(line["t"].as_f64().unwrap() + 0.2);
    }
    let verdict = verdict(lines);
    let broken = verdict.broken();
    // The old copy is marked for deletion: that breaks PRG-02 and not PRG-01, which is not shown either.
    assert!(
        ["PRG-02", "PRG-03"].iter().all(|id| broken.contains(&(*id).into())),
        "{broken:?}"
    );
    assert!(!broken.contains(&"PRG-01".into()));
    assert!(verdict.not_judged.contains_key(&"PRG-01".into()));
}

#[test]
fn a_run_in_a_namespace_of_its_own_is_judged_there() {
    let mut lines = arrived("good");
    lines[0]["mark"]["begin"]["order"] = json!("exact");
    lines[0]["mark"]["begin"]["namespace"] = json!("elsewhere");
    let plain = verdict(lines.clone());
    assert!(!plain.conforms(), "nothing of the case is in that namespace");
    let text = Value::Array(lines).to_string();
    let moved = text.replace(r#""namespace":"default""#, r#""namespace":"elsewhere""#);
    let Value::Array(lines) = serde_json::from_str(&moved).unwrap() else {
        return;
    };
    let verdict = verdict(lines);
    assert!(verdict.conforms(), "{:#?}", verdict.findings);
}

//! The invariants, judged on recordings of a real implementation: they find its known faults and nothing else.

#![expect(
    clippy::unwrap_used,
    reason = "what is committed can be read, or the test has failed"
)]

mod common;

use std::{collections::BTreeSet, fs::File, io::BufReader, path::Path, time::Duration};

use baton_core::{
    judge::{
        self,
        recorded::{self, Recorded},
    },
    names::RequirementId,
    plan::Plan,
    timeline::Timeline,
};
use common::spoiled;
use rstest::rstest;
use serde_json::Value;

fn recording(name: &str) -> Timeline {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fixtures/recordings")
        .join(name)
        .with_extension("jsonl");
    Timeline::read(BufReader::new(File::open(path).unwrap())).unwrap()
}

#[rstest]
#[case::deployment("scenario-deployment", &["REC-04"])]
#[case::statefulset("scenario-statefulset", &["REC-04"])]
#[case::flinkdeployment("scenario-flinkdeployment", &["REC-04"])]
#[case::held_by_finalizer("origin-held-by-finalizer", &["PRG-02", "PRG-03", "PRG-13", "REC-04"])]
#[case::path_misses("path-misses", &["REC-04", "STP-06"])]
#[case::invalid_label_value("invalid-label-value", &["REC-04", "STP-12"])]
#[case::unreachable("origin-unreachable-timeout", &["PRG-03", "PRG-13", "REC-01", "REC-04"])]
#[case::gracefully("gracefully", &[])]
#[case::application("application-failover", &[])]
#[case::taint_removed("taint-removed-in-time", &[])]
#[case::two_clusters("two-target-clusters", &[])]
fn invariants_find_what_is_known(#[case] name: &str, #[case] expected: &[&str]) {
    let judge::Judged { findings, .. } = judge::judge_recording(&recording(name));
    let found: BTreeSet<_> = findings
        .iter()
        .flat_map(|finding| finding.requirements.iter().map(ToString::to_string))
        .collect();
    let said = findings.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    assert_eq!(found, expected.iter().map(ToString::to_string).collect(), "\n{said}");
}

fn texts<'a>(ids: impl IntoIterator<Item = &'a RequirementId>) -> Vec<&'a str> {
    ids.into_iter().map(RequirementId::as_str).collect()
}

/// The cases of the proposal, on recordings of a driver that acts as they do: in other namespaces, with other taints.
#[rstest]
#[case::deployment(
    "scenario-deployment",
    "deployment-directly",
    &["REC-04"],
    &[
        "POL-01", "POL-02", "PRG-01", "PRG-03", "PRG-07", "REC-01", "REC-02", "REC-08", "STP-01", "STP-02",
        "STP-03", "STP-04", "STP-13", "TNT-01",
    ],
)]
#[case::flinkdeployment(
    "scenario-flinkdeployment",
    "flink-jobid-directly",
    &["REC-04"],
    // The order of the copies is not known there.
    &[
        "FLK-01", "POL-01", "POL-02", "REC-01", "REC-02", "REC-08", "STP-01", "STP-02", "STP-04", "STP-13", "TNT-01",
    ],
)]
#[case::one_path_misses(
    "path-misses",
    "deployment-directly",
    // The labels lack what the task lacks: that is not the fault of the component that injects them.
    &["REC-04", "STP-01", "STP-02", "STP-03", "STP-04", "STP-06"],
    &["POL-01", "POL-02", "PRG-01", "PRG-03", "PRG-07", "REC-08", "TNT-01"],
)]
fn a_case_is_found_in_a_recording(
    #[case] name: &str,
    #[case] case: &str,
    #[case] broken: &[&str],
    #[case] shown: &[&str],
) {
    let case = common::case(&format!("proposal/{case}.yaml"));
    let Recorded { verdict, missing, .. } = recorded::judge_by(&Plan::of(&case), &recording(name));
    assert_eq!(missing, None);
    assert_eq!(texts(&verdict.broken()), broken);
    assert_eq!(texts(&verdict.shown), shown);
}

#[test]
fn findings_name_entries_of_the_recording() {
    let recording = recording("scenario-deployment");
    let case = common::case("proposal/deployment-directly.yaml");
    let verdict = recorded::judge_by(&Plan::of(&case), &recording).verdict;
    for finding in &verdict.findings {
        let entry = recording
            .entries()
            .iter()
            .find(|entry| entry.seq == finding.seq)
            .unwrap();
        assert_eq!(entry.at, finding.at, "{finding}");
    }
}

/// A step that the driver left out is not a fault of the implementation.
#[test]
fn a_step_that_nobody_took_is_told() {
    let whole = recording("scenario-deployment");
    let before = |entry: &&baton_core::timeline::Entry| entry.at < Duration::from_secs(2);
    let begun = Timeline::new(whole.entries().iter().filter(before).cloned().collect()).unwrap();
    let case = common::case("proposal/deployment-directly.yaml");
    let Recorded { verdict, missing, .. } = recorded::judge_by(&Plan::of(&case), &begun);
    assert_eq!(missing.as_deref(), Some("taint origin with baton.dev/failed:NoExecute"));
    assert_eq!(verdict.findings, []);
    assert_eq!(texts(&verdict.shown), ["POL-01", "POL-02"]);
    let other = common::case("proposal/statefulset-directly.yaml");
    let Recorded { verdict, missing, .. } = recorded::judge_by(&Plan::of(&other), &whole);
    assert_eq!(
        missing, None,
        "a kind that is not recorded at all may not have been looked at"
    );
    assert!(!verdict.conforms(), "it was never scheduled");
}

/// The same recording with the Deployment `deploy` so many times, all of them at once, under other names.
fn of_many(one: &Timeline, times: usize) -> Timeline {
    let mut text = Vec::new();
    one.write(&mut text).unwrap();
    let mut lines = Vec::new();
    for line in String::from_utf8(text).unwrap().lines() {
        let mut value: Value = serde_json::from_str(line).unwrap();
        value.as_object_mut().unwrap().remove("seq");
        let line = value.to_string();
        let of_all = value.get("mark").is_some() || ["Cluster", "Namespace"].iter().any(|kind| value["kind"] == *kind);
        lines.push(line.clone());
        for number in (1..times).filter(|_| !of_all) {
            let renamed = line.replace("\"deploy\"", &format!("\"deploy{number}\""));
            let renamed = renamed.replace("\"deploy-", &format!("\"deploy{number}-"));
            lines.push(renamed.replace("\"uid\":\"", &format!("\"uid\":\"{number}-")));
        }
    }
    Timeline::read(lines.join("\n").as_bytes()).unwrap()
}

#[rstest]
#[case::recording(recording("scenario-deployment"))]
#[case::with_pods(spoiled::timeline("deployment-directly", "two-live-copies"))]
#[case::labels(spoiled::timeline("deployment-directly", "label-added-later"))]
#[case::good(spoiled::good("deployment-directly"))]
fn of_many_workloads_each_is_judged_as_it_would_be_alone(#[case] one: Timeline) {
    const TIMES: usize = 7;
    let told = |timeline: &Timeline| {
        let mut told: Vec<_> = judge::judge_recording(timeline)
            .findings
            .iter()
            .map(|it| format!("{:?} {} {}", it.requirements, it.title, it.seen))
            .collect();
        told.sort();
        told
    };
    let alone: Vec<_> = told(&of_many(&one, 1))
        .into_iter()
        .flat_map(|it| vec![it; TIMES])
        .collect();
    assert_eq!(told(&of_many(&one, TIMES)), alone);
    let tasks = |times| baton_core::judge::failovers::tasks(of_many(&one, times).entries()).len();
    assert_eq!(tasks(TIMES), TIMES * tasks(1));
}

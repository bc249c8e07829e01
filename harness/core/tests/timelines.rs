//! The judge can say no: recorded timelines of the proposal's cases, good ones and deliberately bad ones.

#![expect(
    clippy::unwrap_used,
    reason = "what is committed can be read, or the test has failed"
)]

mod common;

use std::{collections::BTreeSet, path::Path};

use baton_core::{
    judge::{self, DifferenceKind, Verdict},
    plan::Plan,
    timeline::{Event, HotLoop, Mark, StepEnd, Timeline},
};
use common::spoiled;
use rstest::rstest;

fn verdict(case: &str, timeline: &str) -> Verdict {
    let case_file = common::case(&format!("proposal/{case}.yaml"));
    judge::judge(&Plan::of(&case_file), &spoiled::timeline(case, timeline))
}

#[rstest]
fn a_good_timeline_conforms(
    #[values("deployment-directly", "statefulset-directly", "flink-jobid-directly")] case: &str,
) {
    let verdict = verdict(case, "good");
    assert!(verdict.conforms(), "{:#?}", verdict.findings);
    assert_eq!(
        verdict.shown,
        common::case(&format!("proposal/{case}.yaml")).requirements
    );
}

#[rstest]
fn a_bad_timeline_fails_for_the_right_reason(
    #[values("deployment-directly", "statefulset-directly", "flink-jobid-directly")] case: &str,
    #[values(
        ("label-missing", "REC-01"),
        ("label-on-template", "REC-08"),
        ("label-added-later", "REC-01"),
        ("label-with-wrong-value", "REC-02"),
        ("named-before-old-is-gone", "PRG-13"),
        ("new-before-old-is-gone", "PRG-02"),
        ("two-live-copies", "PRG-03"),
        ("task-without-predecessors", "REC-04")
    )]
    fault: (&str, &str),
) {
    let (timeline, requirement) = fault;
    let verdict = verdict(case, timeline);
    assert!(
        verdict.broken().contains(&requirement.into()),
        "{:#?}",
        verdict.findings
    );
    let findings = verdict.findings.iter().chain(&verdict.elsewhere);
    let told: BTreeSet<_> = findings.map(ToString::to_string).collect();
    let told = told.into_iter().collect::<Vec<_>>().join("\n\n");
    // The whole message is what an implementer reads: which requirement, expected, seen, where and when.
    insta::with_settings!({snapshot_path => "snapshots/timelines"}, {
        insta::assert_snapshot!(format!("{case}-{}", Path::new(timeline).display()), told);
    });
}

/// A good timeline of `deployment-directly`, cut in the middle of the step that taints; the step ends as told.
fn cut_at_the_taint(marks: Vec<Mark>, end: StepEnd) -> Timeline {
    let good = spoiled::good("deployment-directly");
    let mut entries = good.entries().iter().enumerate();
    let tainted = entries.find_map(|(index, entry)| match &entry.event {
        Event::Mark(Mark::StepStarted { step, text }) if text.starts_with("taint") => Some((index, *step)),
        Event::Mark(_) | Event::Revision(_) => None,
    });
    let (until, step) = tainted.unwrap();
    let mut cut = Timeline::default();
    let mut last = good.entries()[until].clone();
    for entry in &good.entries()[..=until] {
        cut.push(entry.clone()).unwrap();
    }
    for mark in marks.into_iter().chain([Mark::StepEnded { step, end }, Mark::CleanUp]) {
        last.seq += 1;
        last.event = Event::Mark(mark);
        cut.push(last.clone()).unwrap();
    }
    cut
}

/// A step in the middle of which nothing could go on breaks no requirement and shows none that was still open.
#[rstest]
#[case::target_ended(
    vec![Mark::TargetEnded {
        status: "exit status: 101".to_owned(),
        last_lines: vec!["thread 'main' panicked".to_owned()],
    }],
    StepEnd::TargetEnded,
    "it ended unexpectedly: exit status: 101\n"
)]
#[case::hot_loop(
    Vec::new(),
    StepEnd::HotLoop(HotLoop {
        object: "ResourceBinding default/x on control".to_owned(),
        by: Some("manager/v1".to_owned()),
        times: 4990,
        revisions: 5000,
    }),
    "ResourceBinding default/x on control was written 4990 times by manager/v1 without time passing (5000 revisions"
)]
fn a_run_that_cannot_go_on_is_a_finding(#[case] marks: Vec<Mark>, #[case] end: StepEnd, #[case] seen: &str) {
    let case = common::case("proposal/deployment-directly.yaml");
    let cut = cut_at_the_taint(marks, end);
    let verdict = judge::judge(&Plan::of(&case), &cut);
    let [finding] = verdict.findings.as_slice() else {
        panic!("{:#?}", verdict.findings)
    };
    assert!(finding.requirements.is_empty());
    assert!(finding.seen.starts_with(seen), "{}", finding.seen);
    assert!(!verdict.shown.contains(&"REC-01".into()) && !verdict.shown.contains(&"PRG-03".into()));
    // It is reported after it was written and read again.
    let mut text = Vec::new();
    cut.write(&mut text).unwrap();
    assert_eq!(
        judge::judge(&Plan::of(&case), &Timeline::read(text.as_slice()).unwrap()),
        verdict
    );
}

/// One defect, found by an assertion and by an invariant.
#[test]
fn an_assertion_and_an_invariant_that_miss_the_same_name_the_same_field() {
    let found = verdict("deployment-directly", "task-without-predecessors").findings;
    let differences: BTreeSet<_> = found.iter().map(|it| (it.field.as_deref(), it.kind)).collect();
    let of_steps = found.iter().filter(|it| it.step.is_some()).count();
    assert!(of_steps > 0 && of_steps < found.len(), "{found:#?}");
    let field = Some("spec.gracefulEvictionTasks[].clustersBeforeFailover");
    assert_eq!(differences, BTreeSet::from([(field, DifferenceKind::Missing)]));
}

/// A label that the new copy lacks: the same field for every key.
#[rstest]
fn labels_are_one_field_whatever_their_keys(
    #[values("deployment-directly", "statefulset-directly", "flink-jobid-directly")] case: &str,
) {
    let found = verdict(case, "label-missing").findings;
    let labels = found
        .iter()
        .find(|it| it.requirements.contains(&"REC-01".into()))
        .unwrap();
    assert_eq!(
        (labels.field.as_deref(), labels.kind),
        (Some("metadata.labels[]"), DifferenceKind::Missing)
    );
}

//! The judge can say no: recorded timelines of the proposal's cases, good ones and deliberately bad ones.
//!
//! The bad ones are made by `examples/spoil.rs`.

#![expect(
    clippy::unwrap_used,
    reason = "what is committed can be read, or the test has failed"
)]

mod common;

use std::{collections::BTreeSet, fs::File, io::BufReader, path::Path};

use baton_core::{
    judge::{self, Verdict},
    timeline::{Entry, Event, Mark, StepEnd, Timeline},
};
use rstest::rstest;

fn verdict(case: &str, timeline: &str) -> Verdict {
    let case_file = common::case(&format!("proposal/{case}.yaml"));
    let path = common::root().join(format!("fixtures/timelines/{case}/{timeline}.jsonl"));
    let timeline = Timeline::read(BufReader::new(File::open(&path).unwrap())).unwrap();
    judge::judge(&case_file, &timeline)
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
        ("new-before-old-is-gone", "PRG-01"),
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
    let told: BTreeSet<_> = verdict.findings.iter().map(ToString::to_string).collect();
    let told = told.into_iter().collect::<Vec<_>>().join("\n\n");
    // The whole message is what an implementer reads: which requirement, expected, seen, where and when.
    insta::with_settings!({snapshot_path => "snapshots/timelines"}, {
        insta::assert_snapshot!(format!("{case}-{}", Path::new(timeline).display()), told);
    });
}

/// A target that ends in the middle of a step breaks no requirement and shows none that was still open.
#[test]
fn a_target_that_ends_by_itself_is_a_finding() {
    let path = common::root().join("fixtures/timelines/deployment-directly/good.jsonl");
    let good = Timeline::read(BufReader::new(File::open(&path).unwrap())).unwrap();
    let case = common::case("proposal/deployment-directly.yaml");
    let tainted = |entry: &Entry| matches!(&entry.event, Event::Mark(Mark::StepStarted { text, .. }) if text.starts_with("taint"));
    let until = good.entries().iter().position(tainted).unwrap();
    let mut cut = Timeline::default();
    let mut last = good.entries()[until].clone();
    for entry in &good.entries()[..=until] {
        cut.push(entry.clone()).unwrap();
    }
    let Event::Mark(Mark::StepStarted { step, .. }) = last.event else {
        panic!("the taint is a step")
    };
    let ended = Mark::TargetEnded {
        status: "exit status: 101".to_owned(),
        last_lines: vec!["thread 'main' panicked".to_owned()],
    };
    let end = StepEnd::TargetEnded;
    for mark in [ended, Mark::StepEnded { step, end }, Mark::CleanUp] {
        last.seq += 1;
        last.event = Event::Mark(mark);
        cut.push(last.clone()).unwrap();
    }
    let verdict = judge::judge(&case, &cut);
    let [finding] = verdict.findings.as_slice() else {
        panic!("{:#?}", verdict.findings)
    };
    assert!(finding.requirements.is_empty());
    assert!(
        finding.seen.starts_with("it ended by itself: exit status: 101\n"),
        "{}",
        finding.seen
    );
    assert!(!verdict.shown.contains(&"REC-01".into()) && !verdict.shown.contains(&"PRG-03".into()));
    // It is told after it was written and read again.
    let mut text = Vec::new();
    cut.write(&mut text).unwrap();
    assert_eq!(judge::judge(&case, &Timeline::read(text.as_slice()).unwrap()), verdict);
}

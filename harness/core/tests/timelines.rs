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
    timeline::Timeline,
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

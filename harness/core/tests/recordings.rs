//! The invariants, judged on recordings of a real implementation: they find its known faults and nothing else.

use std::{collections::BTreeSet, fs::File, io::BufReader, path::Path};

use baton_core::{judge, timeline::Timeline};
use rstest::rstest;

#[rstest]
#[case::deployment("scenario-deployment", &["REC-03", "REC-04"])]
#[case::statefulset("scenario-statefulset", &["REC-03", "REC-04"])]
#[case::flinkdeployment("scenario-flinkdeployment", &["REC-03", "REC-04"])]
#[case::held_by_finalizer("origin-held-by-finalizer", &["PRG-01", "PRG-02", "PRG-03", "REC-03", "REC-04"])]
#[case::path_misses("path-misses", &["REC-03", "REC-04", "STP-06"])]
#[case::invalid_label_value("invalid-label-value", &["REC-03", "REC-04", "STP-12"])]
#[case::unreachable("origin-unreachable-timeout", &["PRG-03", "REC-03", "REC-04"])]
#[case::gracefully("gracefully", &[])]
#[case::application("application-failover", &[])]
#[case::taint_removed("taint-removed-in-time", &[])]
#[case::two_clusters("two-target-clusters", &[])]
fn invariants_find_what_is_known(#[case] name: &str, #[case] expected: &[&str]) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fixtures/recordings")
        .join(name)
        .with_extension("jsonl");
    let timeline = Timeline::read(BufReader::new(File::open(path).unwrap())).unwrap();
    let judge::Judged { findings, .. } = judge::judge_recording(&timeline);
    let found: BTreeSet<_> = findings
        .iter()
        .flat_map(|finding| finding.requirements.iter().map(ToString::to_string))
        .collect();
    let said = findings.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    assert_eq!(found, expected.iter().map(ToString::to_string).collect(), "\n{said}");
}

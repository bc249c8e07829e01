//! The schemas for editors: they are those of the reader's tables, allow all that is right, and refuse what they can.

#![expect(clippy::unwrap_used, clippy::panic, reason = "what fails here fails a test")]

mod common;
mod validator;

use std::{
    fs,
    path::{Path, PathBuf},
};

use baton_core::{catalogue::Catalogue, schema, yaml};
use rstest::rstest;
use serde_json::Value;
use validator::Validator;

fn catalogue() -> Catalogue {
    Catalogue::parse(include_str!("../../../cases/requirements.yaml")).unwrap()
}

fn of_cases() -> Validator {
    Validator(schema::of_cases(&catalogue()))
}

fn of_targets() -> Validator {
    Validator(schema::of_targets(&catalogue()))
}

fn value(text: &str) -> Value {
    yaml::parse(Path::new("file.yaml"), text.as_bytes()).unwrap().0.value()
}

#[track_caller]
fn assert_valid(schema: &Validator, file: &Path) {
    let value = value(&fs::read_to_string(file).unwrap());
    if let Err(wrong) = schema.check(&value) {
        panic!("{}: {wrong}", file.display());
    }
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let below = |path: PathBuf| if path.is_dir() { files_below(&path) } else { vec![path] };
    entries.flat_map(below).collect()
}

#[test]
fn the_schemas_of_the_repository_are_the_present_ones() {
    for (name, schema) in [
        ("case", schema::of_cases(&catalogue())),
        ("target", schema::of_targets(&catalogue())),
    ] {
        let file = format!("fixtures/schemas/{name}.json");
        let there = fs::read_to_string(common::root().join(&file)).unwrap_or_default();
        assert!(
            there == format!("{schema:#}\n"),
            "{file} is an older one; write it anew: cargo run -p baton -- schema {name} > {file}"
        );
    }
}

#[test]
fn every_case_and_target_of_the_repository_is_valid() {
    let (cases, targets) = (of_cases(), of_targets());
    let is_yaml = |file: &PathBuf| file.extension().is_some_and(|it| it == "yaml");
    let mut files = files_below(&common::root().join("cases"));
    files.retain(|file| is_yaml(file) && !file.ends_with("requirements.yaml"));
    assert!(files.len() > 50, "{}", files.len());
    files.push(common::root().join("harness/core/tests/good/case.yaml"));
    for file in &files {
        assert_valid(&cases, file);
    }
    let new = include_str!("../../cli/src/commands/case.yaml").replace("name: NAME", "name: new");
    assert_eq!(cases.check(&value(&new)), Ok(()));
    for file in files_below(&common::root().join("fixtures/targets"))
        .iter()
        .filter(|file| is_yaml(file))
    {
        assert_valid(&targets, file);
    }
}

/// The schema refuses what the reader refuses, as far as a schema can.
#[rstest]
#[case("title: Everything is right here", "title: 7")]
#[case("title: Everything", "titel: Everything")]
#[case("members: 3", "members: none")]
#[case("members: 3", "members: 51")]
#[case("name: good,", "name: Not Good,")]
#[case("STP-01, REC-01", "STP-01, REC-99")]
#[case("PurgeDirectly]", "PurgeDirekt]")]
#[case("{Failover: true}", "[Failover]")]
#[case("{Failover: true}", "{Failover: 1}")]
#[case("{resource-eviction-rate: 0.5}", "fast")]
#[case("effect: NoExecute}\n    - hold", "effect: NoExec}\n    - hold")]
#[case("taint: {cluster: origin, ", "taint: {")]
#[case("elapse: 1h30m", "capture: {name: now, now: true, field: a}")]
#[case("elapse: 1h30m", "refused: {mentions: x}")]
#[case(
    "elapse: 1h30m",
    "workloads: {on: control, file: workloads/deploy.yaml, count: 10001, name: \"a-{i}\"}"
)]
#[case("elapse: 1h30m", "condition: {cluster: origin, type: A, status: Yes}")]
#[case("elapse: 1h30m", "fail: {cluster: origin, path: readyz, with: 500}")]
#[case("elapse: 1h30m", "elapse: 90 minutes")]
#[case("elapse: 1h30m", "elapse: 300")]
#[case("elapse: 1h30m", "elaps: 1h30m")]
#[case("elapse: 1h30m", "elapse: 1h30m\n      heal: origin")]
#[case("{for: statusCollected,", "{for: statusColected,")]
#[case("{for: statusCollected,", "{for: statusCollected, on: origin,")]
#[case("{for: statusCollected,", "{")]
#[case("controller: stop", "controller: pause")]
#[case("controller: stop", "controller: {refuses: {featureGates: {Failover: true}}}")]
#[case("mode: firstSeen,", "mode: first,")]
#[case("{mode: consistently, for: 10s,", "{mode: consistently, for: soon,")]
#[case("absent: true}", "absent: true, present: true}")]
#[case("{exactly: [{fromCluster: \"${origin}\"}]}", "[{fromCluster: \"${origin}\"}]")]
#[case("role: destination,", "role: \"o}\",")]
#[case("{bindingOf: *deploy}", "{bindingOf: *deploy, kind: Deployment}")]
#[case("of: [taints, labels]", "of: [taints, label]")]
#[case("apply: {on: [control, members], file: deploy.yaml}", "apply: {on: control}")]
#[case("          kind: PropagationPolicy\n", "")]
#[case("[atMostOneLiveCopy]", "[atMostOneCopy]")]
#[case("reason: to see that it can be}", "}")]
#[case("apiVersion: baton.dev/v1alpha1", "apiVersion: baton.dev/v1")]
fn what_the_schema_of_cases_refuses_the_reader_refuses(#[case] from: &str, #[case] to: &str) {
    let good = include_str!("good/case.yaml").replace("file: deploy.yaml", "file: workloads/deploy.yaml");
    let from = from.replace("file: deploy.yaml", "file: workloads/deploy.yaml");
    let text = good.replacen(&from, to, 1);
    assert_ne!(text, good, "{from}");
    let read = |text: &str| common::read_bytes(Path::new("case.yaml"), text.as_bytes());
    assert!(read(&good).is_ok(), "{}", common::lines(&read(&good).unwrap_err()));
    assert!(read(&text).is_err(), "the reader allows {to}");
    assert!(!of_cases().is_valid(&value(&text)), "the schema allows {to}");
}

#[rstest]
#[case("version: 0.2.0", "version: 1")]
#[case("version: 0.2.0", "versoin: 0.1.0")]
#[case("- Propagation\n", "- Propagatoin\n")]
#[case("  settable:", "  timeouts: {factor: 0}\n  settable:")]
#[case("  settable:", "  timeouts: {evict: 5}\n  settable:")]
#[case("  run:\n", "  run:\n    installed: {}\n")]
#[case("{feature: FailoverGate, featureGate: Failover}", "{feature: FailoverGate}")]
#[case("  run:\n", "  baseline: [{requirement: REC-1, reason: x}]\n  run:\n")]
#[case("  run:\n", "  baseline: [{requirement: REC-01}]\n  run:\n")]
fn the_schema_of_targets_refuses_what_is_wrong(#[case] from: &str, #[case] to: &str) {
    let good = fs::read_to_string(common::root().join("fixtures/targets/reference.yaml")).unwrap();
    let text = good.replacen(from, to, 1);
    assert_ne!(text, good, "{from}");
    assert!(!of_targets().is_valid(&value(&text)), "the schema allows {to}");
}

#[test]
fn the_broken_files_of_the_reader_are_broken_for_the_schemas() {
    assert!(!of_cases().is_valid(&value(include_str!("bad/everything.yaml"))));
    assert!(!of_targets().is_valid(&value(include_str!("bad/target.yaml"))));
}

/// Parameters of scenarios may stand for anything.
#[test]
fn parameters_stand_for_anything() {
    let text = include_str!("good/case.yaml").replace("members: 3", "members: $(members)");
    assert!(of_cases().is_valid(&value(&text)));
    assert!(!of_cases().is_valid(&value(&text.replace("$(members)", "$members"))));
}

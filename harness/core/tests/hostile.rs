//! Files that no one wrote in good faith, and files with many mistakes: reading them ends soon, and says where.

use std::{path::Path, sync::LazyLock};

use baton_core::{
    case::{
        model::Case,
        read,
        refs::{FixtureError, Objects, ReadContext},
    },
    catalogue::Catalogue,
    yaml::{self, Diagnostic},
};
use proptest::prelude::*;
use rstest::rstest;

static CATALOGUE: LazyLock<Catalogue> =
    LazyLock::new(|| Catalogue::parse(include_str!("../../../cases/requirements.yaml")).unwrap_or_default());

/// A case in which everything is used that a case can hold.
const GOOD: &str = include_str!("good/case.yaml");

const DEPLOY: &str = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: deploy}\n";

fn read_bytes(bytes: &[u8]) -> Result<Vec<Case>, Vec<Diagnostic>> {
    let fixture = |name: &str| {
        if name == "deploy.yaml" {
            Ok(DEPLOY.to_owned())
        } else {
            Err(FixtureError::Missing)
        }
    };
    let check_path = |path: &str| {
        if path.starts_with('{') && path.ends_with('}') {
            Ok(())
        } else {
            Err("unclosed action".into())
        }
    };
    let context = ReadContext {
        catalogue: &CATALOGUE,
        fixture: &fixture,
        fixtures: &["deploy.yaml".to_owned()],
        check_path: &check_path,
        check_admission: &|_, _| Ok(()),
        objects: Objects::default(),
    };
    read::read(Path::new("c.yaml"), "area", bytes, &context)
}

fn told(text: &str) -> String {
    match read_bytes(text.as_bytes()) {
        Ok(_) => "nothing".to_owned(),
        Err(found) => found.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"),
    }
}

/// The good case with one text replaced by another, and everything that is said about it.
fn told_of(from: &str, to: &str) -> String {
    assert_eq!(GOOD.matches(from).count(), 1, "{from}");
    told(&GOOD.replace(from, to))
}

#[test]
fn the_good_case_is_good() {
    assert_eq!(told(GOOD), "nothing");
    assert_eq!(told(&format!("\u{feff}{GOOD}")), "nothing");
    assert_eq!(told(&GOOD.replace('\n', "\r\n")), "nothing");
}

#[rstest]
#[case("{Failover: true}", "[Failover]", "9:30: featureGates must be a map, not a list")]
#[case("{resource-eviction-rate: 0.5}", "fast", "9:57: options must be a map, not a string")]
#[case(
    "[{invariant: noLabelOnTemplate, reason: to see that it can be}]",
    "all",
    "46:11: exempt must be a list, not a string"
)]
#[case(
    "noLabelOnTemplate",
    "atMostOneLiveCopy",
    "46:11: `atMostOneLiveCopy` is listed under `invariants` and under `exempt` (keep one of them)"
)]
#[case(
    "file: deploy.yaml",
    "file: ../secrets.yaml",
    "11:45: `../secrets.yaml` is not a path below fixtures/ (pass a file below fixtures/, such as `workloads/deploy.yaml`)"
)]
#[case(
    "file: deploy.yaml",
    "file: /etc/passwd",
    "11:45: `/etc/passwd` is not a path below fixtures/ (pass a file below fixtures/, such as `workloads/deploy.yaml`)"
)]
#[case(
    "file: deploy.yaml",
    "file: depoy.yaml",
    "11:45: cannot read fixtures/depoy.yaml: no such file (did you mean `deploy.yaml`?)"
)]
#[case(
    "name: after",
    "name: ../after",
    "44:24: `../after` cannot be a snapshot's name (use at most 63 letters, digits, dashes and underscores)"
)]
#[case(
    "elapse: 1h30m",
    "elapse: 90 minutes",
    "26:15: elapse must be a time, not `90 minutes` (write a number with its unit, such as 300s, 5m or 250ms)"
)]
#[case(
    "{spec: {gracefulEvictionTasks: {exactly: [{fromCluster: \"${origin}\"}]}}}",
    "{a: [1], b: {c: [2]}}",
    "30:20: a list must say how it is matched: {contains: […]}, {exactly: […]} or {lacks: […]}\nc.yaml:30:32: a list must say how it is matched: {contains: […]}, {exactly: […]} or {lacks: […]}"
)]
#[case(
    "{from: \"${origin}\"}",
    "{from: \"${origan}\", to: \"${nobody}\"}",
    "22:75: `${origan}` is neither a role nor a capture of an earlier step (did you mean `origin`?)\nc.yaml:22:92: `${nobody}` is neither a role nor a capture of an earlier step (expected one of origin, replicas, namespace)"
)]
#[case(
    "jsonPath: \"{.replicas}\"",
    "jsonPath: \"{.replicas\"",
    "18:97: invalid JSONPath `{.replicas`: unclosed action (write paths like `{ .jobStatus.jobID }`)"
)]
#[case("effect: NoExecute}\n    - hold", "effect: !!str NoExecute}\n    - hold", "nothing")]
#[case(
    "effect: NoExecute}\n    - hold",
    "effect: !secret NoExecute}\n    - hold",
    "24:48: tags such as `!secret` mean nothing here (remove it; quotes make anything a string)"
)]
#[case(
    "members: 3",
    "members: 3\n  <<: {members: 4}",
    "9:3: YAML 1.2 has no merge keys (write out the fields)"
)]
#[case("members: 3", "members: 3\n  [a]: 4", "9:3: a key must be a string")]
#[case(
    "members: 3",
    "members: 3\n  members: 4\n  titel: x",
    "9:3: duplicate key `members` (remove one of them)\nc.yaml:10:3: unknown field `titel` in spec (did you mean `title`?)"
)]
#[case(
    "requirements: [STP-01, REC-01, PRG-03]",
    "requirements: [STP-01, REC-01, PRG-03, REC-02]",
    "6:17: nothing in this case proves REC-02 (name it under `proves` of an assertion, or list an invariant that proves it)"
)]
#[case(
    ", PurgeDirectly]",
    "]",
    "7:13: the case also needs PurgeDirectly for PRG-03 (a target that does not declare it would fail the case instead of not supporting it)"
)]
#[case(
    "role: origin,",
    "role: \"o}\",",
    "19:24: `o}` cannot be a role's name (use at most 63 letters, digits, dashes and underscores)"
)]
#[case(
    "members: 3",
    "members: 3\n  scenarios: [{name: One}, {name: two, with: [x]}]",
    "9:22: `One` cannot be a scenario's name (use lower-case letters, digits and dashes, since it names files)\nc.yaml:9:46: with must be a map, not a list"
)]
#[case(
    "members: 3",
    "members: 3\n  scenarios: [{name: one, with: {k: [1]}}]\n  $(k): 4",
    "10:3: a key must be a string"
)]
#[case(
    "for: statusCollected, of: *deploy,",
    "for: statusCollected, on: origin, of: *deploy,",
    "23:36: unknown field `on` in a wait for statusCollected (expected one of for, of, from, status, phase)"
)]
#[case(
    "match: {metadata: {labels: {a: \"${replicas}\"}}}, proves: [REC-01]",
    "absent: true, proves: [REC-01]",
    "39:15: `absent` cannot be combined with the mode `firstSeen` (an object that is seen exists; use `now`, `never` or `consistently`)"
)]
fn a_mistake_is_told_with_its_place(#[case] from: &str, #[case] to: &str, #[case] want: &str) {
    let told = told_of(from, to);
    let want = if want == "nothing" {
        want.to_owned()
    } else {
        format!("c.yaml:{want}")
    };
    assert!(told.starts_with(&want), "want {want}\n got {told}");
}

#[test]
fn a_role_is_bound_before_it_is_used() {
    let told = told_of("bindRole: {role: destination", "bindRole: {role: elsewhere");
    assert_eq!(
        told.matches("the role `destination` is not bound before this step")
            .count(),
        2,
        "{told}"
    );
}

#[track_caller]
fn soon(text: &[u8], want: &str) {
    let told = match read_bytes(text) {
        Ok(_) => "nothing".to_owned(),
        Err(found) => found.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"),
    };
    let brief: String = told.chars().take(300).collect();
    assert!(told.contains(want), "want {want}\n got {brief}");
    assert!(told.lines().count() <= 101, "{} lines", told.lines().count());
}

#[rstest]
#[case("a: 1\n\tb: 2", "1:4", "indent with spaces")]
#[case("a: b: c", "1:5", "quote strings")]
#[case("a: [1, 2\nb: 3", "2:2", "close the bracket")]
#[case("a: {b: 1", "1:4", "close the bracket")]
#[case("a: @x", "1:4", "quote the string")]
#[case("a: \"x", "1:4", "close the quote")]
#[case("a: 'it's'", "1:8", "written twice")]
#[case("a: \"\\q\"", "1:4", "written twice")]
#[case("a: *x", "1:4", "before its aliases")]
#[case("- a\nb: 1", "2:1", "indented alike")]
fn what_is_no_yaml_is_told_with_advice(#[case] text: &str, #[case] place: &str, #[case] advice: &str) {
    let told = told(text);
    assert!(told.starts_with(&format!("c.yaml:{place}: invalid YAML")), "{told}");
    assert!(told.contains(advice), "{told}");
}

/// Each of these would take minutes, or all memory, without its limit.
#[test]
fn reading_ends_soon() {
    let line = |i: usize| format!("a{i}: &a{i} [*a{p}, *a{p}]\n", p = i - 1);
    let laughs: String = (1..40).map(line).collect();
    soon(format!("a0: &a0 [x]\n{laughs}").as_bytes(), "too many values");
    let long = "x".repeat(300_000);
    soon(
        format!("a: &a {long}\nb: [{}]", "*a,".repeat(90_000)).as_bytes(),
        "too many values",
    );
    let step = |i: usize| format!("a{i}: &a{i} [*a{}]\n", i - 1);
    let steps: String = (1..400).map(step).collect();
    soon(format!("a0: &a0 [x]\n{steps}").as_bytes(), "nested too deeply");
    soon(format!("{}{}", "[".repeat(300_000), "]".repeat(300_000)).as_bytes(), "");
    soon("&a [".repeat(60).as_bytes(), "invalid YAML");
    let key = |i: usize| format!("k{i}: 1\n");
    // One line, which columns are counted in; and as many keys as fit.
    soon(format!("[{}]", "a,".repeat(90_000)).as_bytes(), "a case must be a map");
    soon((0..49_000).map(key).collect::<String>().as_bytes(), "more errors");
    soon("k: 1\n".repeat(49_000).as_bytes(), "more errors");
    let unknown = "REC-99, ".repeat(50_000);
    soon(GOOD.replace("STP-01, REC-01,", &unknown).as_bytes(), "more errors");
    soon(format!("{}: 1", "k".repeat(1_000)).as_bytes(), "unknown field");
    let scenario = |i: usize| format!("    - {{name: s{i}}}\n");
    // Scenarios times values times uses.
    let scenarios: String = (0..5_000).map(scenario).collect();
    let many = GOOD.replace("  steps:\n", &format!("  scenarios:\n{scenarios}  steps:\n"));
    soon(many.as_bytes(), "the scenarios are too large");
    let value = format!("[{}]", "a,".repeat(10_000));
    let uses = "$(v),".repeat(10_000);
    let big = format!("spec: {{scenarios: [{{name: s, with: {{v: {value}}}}}], steps: [{uses}]}}");
    soon(big.as_bytes(), "the scenarios are too large");
    soon(&vec![b' '; 50 << 20], "too large");
    soon(&[0xff, 0xfe, 0x61, 0x00], "c.yaml:1:1: invalid UTF-8");
    soon(
        "a: é\nb: é".as_bytes().split_last().map_or(&[], |(_, rest)| rest),
        "c.yaml:2:4: invalid UTF-8",
    );
    soon(b"", "the file is empty");
    soon(b"# only this\n", "the file is empty");
    soon(b"---\n", "a case must be a map, not nothing");
    soon(b"a: *a", "invalid YAML");
    soon(b"a: &a [*a]", "");
    soon(b"\0", "");
}

/// Parts of the good case, and what breaks YAML.
fn part() -> impl Strategy<Value = String> {
    let lines: Vec<&str> = GOOD.lines().collect();
    prop_oneof![
        prop::sample::select(lines).prop_map(|line| format!("{line}\n")),
        prop::sample::select(vec![
            "[",
            "]",
            "{",
            "}",
            ": ",
            "- ",
            "\n",
            "  ",
            "&a ",
            "*a",
            "*deploy",
            "!!str ",
            "!x ",
            "\"",
            "'",
            "|",
            ">",
            "#",
            "---\n",
            "...\n",
            "%YAML 1.2\n",
            "<<: ",
            "? ",
            "é",
            "\t",
            "\u{feff}",
            "null",
            "1e999",
            "${origin}",
            "\r\n",
        ])
        .prop_map(ToOwned::to_owned),
    ]
}

fn check(bytes: &[u8]) -> Result<(), TestCaseError> {
    let first = read_bytes(bytes);
    prop_assert_eq!(&first, &read_bytes(bytes));
    let Err(found) = first else { return Ok(()) };
    prop_assert!(!found.is_empty());
    for diagnostic in found {
        prop_assert!(diagnostic.line >= 1 && diagnostic.column >= 1);
        prop_assert!(
            diagnostic.span.start <= diagnostic.span.end,
            "{diagnostic}: {:?}",
            diagnostic.span
        );
        prop_assert!(
            diagnostic.span.end <= bytes.len(),
            "{diagnostic}: {:?}",
            diagnostic.span
        );
        if let Ok(text) = std::str::from_utf8(bytes) {
            prop_assert!(
                text.get(diagnostic.span.clone()).is_some(),
                "{diagnostic}: {:?}",
                diagnostic.span
            );
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_answered(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        check(&bytes)?;
    }

    #[test]
    fn anything_like_yaml_is_answered(parts in prop::collection::vec(part(), 0..30)) {
        check(parts.concat().as_bytes())?;
    }

    #[test]
    fn a_case_with_a_part_changed_is_answered(at in 0..GOOD.len(), cut in 0..40_usize, part in part()) {
        let end = (at + cut).min(GOOD.len());
        if let (Some(before), Some(after)) = (GOOD.get(..at), GOOD.get(end..)) {
            check(format!("{before}{part}{after}").as_bytes())?;
        }
    }

    #[test]
    fn json_is_yaml(value in "[ -~é☃]{0,12}", number in any::<i64>()) {
        let json = serde_json::json!({"a": value, "b": [number, null, true], "c": {"d": value}});
        let read = yaml::parse(Path::new("c.yaml"), json.to_string().as_bytes());
        let read = read.map(|(node, found)| (node.value(), found.len())).map_err(|found| found.to_string());
        prop_assert_eq!(read, Ok((json, 0)));
    }
}

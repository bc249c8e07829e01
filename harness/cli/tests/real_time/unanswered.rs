//! Promises of a target file that the target does not keep: metrics without a server, commands that are missing or do
//! not end. Such a case proves nothing: it is broken, with its name and its step, and not a deviation.

use std::{
    fs,
    net::{Ipv4Addr, TcpListener},
    process::Command,
};

use rstest::rstest;
use tokio::net::TcpSocket;

use crate::common::{baton_in, printed, root};

const CASE: &str = "\
apiVersion: baton.dev/v1alpha1
kind: Case
metadata: {name: mine}
spec:
  title: A case that asks the target itself
  requirements: [$(requirement)]
  features: [Propagation, $(feature)]
  members: 1
  controller: {featureGates: {Failover: true}}
  scenarios:
    - {name: metrics, with: {requirement: OBS-01, feature: EvictionMetrics, step: {assert: {mode: now, metric: {name: cluster_fault_num, is: 0}, proves: [OBS-01]}}}}
    - {name: command, with: {requirement: DRN-01, feature: Drain, step: {run: {command: drain, args: [member1], within: 1s, exits: 0, proves: [DRN-01]}}}}
  steps:
    - apply: {on: control, file: workloads/deploy.yaml}
    - $(step)
";

/// Returns the minimal implementation of the contract, with additional fields below `spec`.
fn target(rest: &str) -> String {
    let implementation = root().join("fixtures/targets/minimal/minimal.py");
    format!(
        "apiVersion: baton.dev/v1alpha1
kind: Target
metadata: {{name: minimal}}
spec:
  implementation: {{name: minimal, version: '1'}}
  features: [Propagation, EvictionMetrics, Drain]
  settable: {{featureGates: [Failover]}}
  timeouts: {{slack: 0s}}
  run: {{exec: {{command: '{}', featureGates: '--feature-gates={{{{gates}}}}'}}}}
{rest}",
        implementation.canonicalize().unwrap().display()
    )
}

/// Runs a case; returns its exit code and output, or `None` without Python.
fn run(case: &str, rest: &str) -> Option<(Option<i32>, String)> {
    if Command::new("python3").arg("--version").output().is_err() {
        println!("not tried: there is no python3 here");
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join("cases")).unwrap();
    fs::write(folder.path().join("cases/mine.yaml"), CASE).unwrap();
    fs::write(folder.path().join("target.yaml"), target(rest)).unwrap();
    let arguments = ["run", case, "--target", "target.yaml", "--no-preflight"];
    let output = baton_in(folder.path(), &arguments).output().unwrap();
    Some((output.status.code(), printed(&output)))
}

/// Returns the lines about the case, without its timeline.
fn of_the_case(said: &str) -> String {
    let begins = |line: &&str| line.starts_with("--- ") || line.starts_with("error: ");
    let lines = said.lines().skip_while(|line| !begins(line));
    let told: Vec<&str> = lines.take_while(|line| !line.starts_with("  moment ")).collect();
    told.join("\n")
}

fn check(name: &str, case: &str, rest: &str, code: i32) {
    let Some((exit, said)) = run(case, rest) else { return };
    assert_eq!(exit, Some(code), "{said}");
    if code == 1 {
        // With the same target file, so that undeclared features are not required.
        let judges = |line: &str| line.starts_with("judge again: ") && line.ends_with(".jsonl --target target.yaml");
        assert!(said.lines().any(judges), "{said}");
    }
    let filters = [
        (r"seed \d+", "seed SEED"),
        (r"could not be run in [\d.]+ s", "could not be run in TIME"),
        (
            r"(\d) of \d+ cases run, \d+ not run",
            "$1 of ALL cases run, OTHERS not run",
        ),
        (r":\d{2,5}/", ":PORT/"),
        (r" \(os error \d+\)", ""),
    ];
    insta::with_settings!({filters => filters, omit_expression => true}, {
        insta::assert_snapshot!(name, of_the_case(&said));
    });
}

#[rstest]
#[case::ends_not("ends_not", "sh, args: [-c, exec sleep 600], install: '-'", 3)]
#[case::missing("missing", "./no-such-command, install: build it", 2)]
// It has ended, and that is for the case to judge.
#[case::fails("fails", "sh, args: [-c, exit 5], install: '-'", 1)]
fn a_command_that_cannot_be_run_to_its_end_is_no_deviation(
    #[case] name: &str,
    #[case] command: &str,
    #[case] code: i32,
) {
    let rest = format!("  commands: {{drain: {{command: {command}}}}}\n");
    check(&format!("command_{name}"), "mine-command", &rest, code);
}

#[test]
fn metrics_that_are_not_there_are_no_deviation() {
    // Bound, so that no other test gets the port, but not listening: connections are refused.
    let nobody = TcpSocket::new_v4().unwrap();
    nobody.bind((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
    let silent = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    for (name, address) in [("nobody", nobody.local_addr()), ("silent", silent.local_addr())] {
        let port = address.unwrap().port();
        let rest = format!("  metrics: {{url: 'http://127.0.0.1:{port}/metrics'}}\n");
        check(&format!("metrics_{name}"), "mine-metrics", &rest, 3);
    }
}

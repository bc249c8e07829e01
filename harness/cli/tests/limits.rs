//! Input that is too large, too long or not what it should be: an error that names it, no panic and no waiting.

#![expect(
    clippy::unwrap_used,
    reason = "what a test has made is there, or the test has failed"
)]

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn baton(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_baton"));
    command.arg("--root").arg(root()).args(arguments).output().unwrap()
}

/// Refused as invalid, with these words.
fn refused(arguments: &[&str], words: &str) {
    let output = baton(arguments);
    let told = String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {told}");
    assert!(told.contains(words), "{arguments:?}: {told}");
}

/// The case of the proposal with another line in its `spec`.
fn case_with(line: &str) -> String {
    let case = fs::read_to_string(root().join("cases/proposal/deployment-directly.yaml")).unwrap();
    case.replacen("spec:\n", &format!("spec:\n{line}\n"), 1)
}

#[test]
fn files_that_are_too_much_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("case.yaml");
    let file = path.to_str().unwrap();
    let case = fs::read_to_string(root().join("cases/proposal/deployment-directly.yaml")).unwrap();
    let steps = |step: &str| case.replacen("  steps:\n", &format!("  steps:\n    - {step}\n"), 1);
    let long = "x".repeat(70_000);
    let scenario = |it| format!("    - {{name: s{it}, with: {{a: {}}}}}\n", "y".repeat(3000));
    let scenarios = (0..200).map(scenario).collect::<Vec<_>>().concat();
    let uses = "$(a)".repeat(400);
    let labels = format!("  labels: {{big: \"{uses}\"}}\n  scenarios:\n{scenarios}");
    for (text, words) in [
        (case_with(&format!("  {{\"{long}\": 1, wrong: 2}}: 3")), "error"),
        (
            case_with(&format!("  steps: [{}{{nonsense: 1}}]", " ".repeat(70_000))),
            "error",
        ),
        (steps("elapse: 18446744073709551615s"), "ten years at most"),
        (steps("elapse: 9999999h"), "ten years at most"),
        (case_with(&labels), "the scenarios are too large"),
    ] {
        fs::write(&path, text).unwrap();
        refused(&["lint", file], words);
    }
}

#[test]
fn reports_that_nest_too_deeply_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("report.yaml");
    let deep = [
        "[".repeat(50_000),
        "{a: ".repeat(12_000),
        "[".repeat(10_000) + &"]".repeat(10_000),
    ];
    for text in deep {
        fs::write(&path, text).unwrap();
        refused(
            &["report", "summary", path.to_str().unwrap()],
            "recursion limit exceeded",
        );
    }
}

#[test]
fn options_that_are_too_much_are_refused() {
    for factor in ["1e308", "inf", "nan", "10001", "0"] {
        refused(
            &["run", "--timeout-factor", factor, "deployment-directly"],
            "up to 10000",
        );
    }
    refused(
        &["run", "--max-case-time", "9999999999h", "deployment-directly"],
        "a duration",
    );
}

#[test]
fn a_token_with_a_newline_is_no_token() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("kubeconfig");
    let text = r#"{"apiVersion": "v1", "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}],
        "users": [{"name": "u", "user": {"token": "one\ntwo"}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}]}"#;
    fs::write(&file, text).unwrap();
    let file = file.to_str().unwrap();
    refused(
        &[
            "run",
            "--backend",
            "kubeconfig",
            "--kubeconfig",
            file,
            "--control",
            "c",
            "--member",
            "c",
            "deployment-directly",
        ],
        "has a character that no token has",
    );
}

#[test]
fn as_many_repetitions_as_can_be_counted_take_no_memory() {
    let output = baton(&[
        "run",
        "--repeat",
        "99999999999",
        "--fail-fast",
        "--target",
        &failing(),
        "--no-preflight",
        "--jobs",
        "1",
        "deployment-directly",
    ]);
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(3), "{told}");
    assert!(told.contains("not started"), "{told}");
}

/// The file of a target that cannot be started.
fn failing() -> String {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("failing.yaml");
    let text = "apiVersion: baton.dev/v1alpha1
kind: Target
metadata: {name: failing}
spec:
  implementation: {name: failing, version: '1'}
  features: [PurgeDirectly, StatePreservation, LabelInjection, NoExecuteEviction, Propagation]
  controller: {featureGates: {Failover: true, StatefulFailoverInjection: true}}
  run: {exec: {command: 'false'}}
";
    fs::write(&file, text).unwrap();
    file.display().to_string()
}

#[test]
fn nobody_who_reads_ends_no_command_with_a_panic() {
    for arguments in [
        &["list"][..],
        &["list", "--requirements"],
        &["schema", "case"],
        &["run", "deployment-directly"],
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_baton"));
        command.arg("--root").arg(root()).args(arguments);
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = command.stdout(writer).stderr(Stdio::piped()).output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {told}");
        assert!(!told.contains("panicked"), "{arguments:?}: {told}");
    }
}

//! Input that is too large, too long or of the wrong kind: an error names it, without a panic or a hang.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
};

use crate::common::{baton, printed, root};

/// Refused as invalid, with these words.
fn refused(arguments: &[&str], words: &str) {
    let output = baton(arguments).output().unwrap();
    let told = printed(&output);
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
    ])
    .output()
    .unwrap();
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
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = baton(arguments).stdout(writer).stderr(Stdio::piped()).output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {told}");
        assert!(!told.contains("panicked"), "{arguments:?}: {told}");
    }
}

#[test]
fn pipes_and_devices_are_refused_and_not_read() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let (folder, pipe) = (folder.path().to_str().unwrap(), pipe.to_str().unwrap());
    let output = format!("{folder}/page.html");
    let record = |file: &'static str| ["record", "--kubeconfig", file, "--control", "a", "--member", "b", "-o"];
    for file in [pipe, "/dev/zero"] {
        for command in [
            vec!["judge", file],
            vec!["judge", "--recording", file],
            vec!["report", "verify", file, "--timelines", folder],
            vec!["report", "summary", file],
            vec!["report", "html", file, "-o", &output],
            vec!["jsonpath", "{.a}", file],
        ] {
            refused(&command, "not a regular file");
        }
    }
    let recording = format!("{folder}/recording.jsonl");
    refused(
        &[&record("/dev/zero")[..], &[&recording]].concat(),
        "is not a regular file",
    );
}

/// A kubeconfig whose only context has this server.
fn kubeconfig(folder: &Path, server: &str) -> String {
    let file = folder.join("kubeconfig");
    let text = format!(
        "apiVersion: v1\nkind: Config\nclusters: [{{name: a, cluster: {{server: '{server}'}}}}]\n\
         users: [{{name: a, user: {{token: x}}}}]\ncontexts: [{{name: a, context: {{cluster: a, user: a}}}}]\n"
    );
    fs::write(&file, text).unwrap();
    file.to_str().unwrap().to_owned()
}

#[test]
fn servers_without_a_scheme_or_with_a_password_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    for (server, words) in [
        ("127.0.0.1:6443", "write https://HOST:PORT"),
        ("https://admin:hunter2@127.0.0.1:1", "write them below `users`"),
    ] {
        let file = kubeconfig(folder.path(), server);
        let clusters = ["--kubeconfig", &file, "--control", "a"];
        let run = [
            &["run", "deployment-directly", "--backend", "kubeconfig"],
            &clusters[..],
        ]
        .concat();
        let recording = folder.path().join("recording.jsonl");
        let record = [
            &["record", "--member", "a", "-o", recording.to_str().unwrap()],
            &clusters[..],
        ]
        .concat();
        for command in [run, record] {
            refused(&command, words);
            let output = baton(&command).output().unwrap();
            assert!(
                !String::from_utf8_lossy(&output.stderr).contains("hunter2"),
                "{command:?}"
            );
        }
    }
}

#[test]
fn a_limit_of_file_sizes_is_an_error_with_a_message() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("page.html");
    let recording = root().join("fixtures/recordings/origin-held-by-finalizer.jsonl");
    let script = "ulimit -f 8; exec \"$@\"";
    let output = Command::new("sh")
        .args([
            "-c",
            script,
            "sh",
            env!("CARGO_BIN_EXE_baton"),
            "report",
            "html",
            "--recording",
        ])
        .arg(&recording)
        .arg("-o")
        .arg(&page)
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(told.contains("page.html cannot be written"), "{told}");
}

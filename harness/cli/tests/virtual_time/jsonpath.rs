//! `baton jsonpath`: prints the text with exit code 0, or the error with exit code 2.

use std::{fs, io::Read as _, process::Stdio};

use crate::common::{outcome, program};

/// Runs the command with a path and the content of the file; returns its exit code, standard output and standard error.
fn jsonpath(path: &str, holds: &str) -> (Option<i32>, String, String) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("status");
    fs::write(&file, holds).unwrap();
    let output = program().args(["jsonpath", path]).arg(&file).output();
    outcome(&output.unwrap())
}

#[track_caller]
fn found(path: &str, holds: &str, text: &str) {
    assert_eq!(jsonpath(path, holds), (Some(0), format!("{text}\n"), String::new()));
}

/// Checks the text of a path that a label cannot have, and the reason in the warning.
#[track_caller]
fn found_with_warning(path: &str, holds: &str, text: &str, reason: &str) {
    let warning =
        format!("warning: this is not a valid label value: {reason}; an eviction that has to preserve it waits\n");
    assert_eq!(jsonpath(path, holds), (Some(0), format!("{text}\n"), warning));
}

const CHARACTERS: &str = "only letters, digits, '-', '_' and '.' are allowed";

#[track_caller]
fn refused(path: &str, holds: &str, error: &str) {
    assert_eq!(jsonpath(path, holds), (Some(2), String::new(), error.to_owned()));
}

const FLINK: &str = "jobStatus:\n  jobId: e6fd\n  startTime: 1734462491693\n";

#[test]
fn what_is_found_is_printed() {
    found("{.jobStatus.jobId}", FLINK, "e6fd");
    found("a-{.jobStatus.startTime}", FLINK, "a-1734462491693");
}

#[test]
fn a_text_that_no_label_can_have_is_printed_with_a_warning() {
    let text = r#"{"jobId":"e6fd","startTime":1734462491693}"#;
    found_with_warning("{.jobStatus}", FLINK, text, CHARACTERS);
    found_with_warning(
        "{.a}",
        "a: s3://bucket/savepoint\n",
        "s3://bucket/savepoint",
        CHARACTERS,
    );
    let edge = "it must begin and end with a letter or digit";
    found_with_warning("-{.jobStatus.startTime}", FLINK, "-1734462491693", edge);
    let long = "x".repeat(64);
    found_with_warning(
        "{.a}",
        &format!("a: {long}\n"),
        &long,
        "it is longer than 63 characters",
    );
}

#[test]
fn all_of_json_is_read() {
    found_with_warning("{.a}", r#"{"a": "\ud83d\ude00"}"#, "😀", CHARACTERS);
    found_with_warning("{.a}", r#"{"a": "\/"}"#, "/", CHARACTERS);
    let number = r#"{"a": 123456789012345678901234567890}"#;
    found_with_warning("{.a}", number, "1.2345678901234568e+29", CHARACTERS);
}

#[test]
fn what_is_wrong_is_said() {
    refused(
        "{.jobStatus.jobID}",
        FLINK,
        "error: jobID is not found (column 12)\nhelp: did you mean `jobId`?\n",
    );
    refused(
        "{.jobStatus",
        FLINK,
        "error: unclosed action at column 12: expected `}` before the end of the line\n",
    );
    refused(
        "{.jobStatus}",
        "apiVersion: v1\nkind: Foo\nstatus: {jobStatus: {}}\n",
        "error: jobStatus is not found (column 2)\n\
         help: paths start at the status: pass a file with the content of `status`\n",
    );
    let (code, text, error) = jsonpath("{.a}", "{\"a\": 1");
    assert_eq!((code, text.as_str()), (Some(2), ""));
    let help = "help: the file must hold one document of JSON or YAML, the content of `status`\n";
    assert!(error.contains("/status: ") && error.ends_with(help), "{error}");
}

#[test]
fn a_path_that_runs_away_is_ended() {
    let nested = format!("{}1{}", r#"{"a":"#.repeat(100), "}".repeat(100));
    let (code, text, told) = jsonpath(&format!("{{{}}}", "..a".repeat(2_000)), &nested);
    assert_eq!((code, text.as_str()), (Some(2), ""));
    assert!(told.starts_with("error: the path touches more than"), "{told}");
}

#[test]
fn whoever_reads_may_stop() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("status");
    fs::write(&file, format!("a: {}\n", "x".repeat(1_000_000))).unwrap();
    let mut command = program();
    command
        .args(["jsonpath", "{.a}"])
        .arg(&file)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdout.take().unwrap().read_exact(&mut [0; 1]).unwrap();
    let output = child.wait_with_output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{told}");
    assert!(
        told.starts_with("warning: this is not a valid label value") && told.lines().count() == 1,
        "{told}"
    );
}

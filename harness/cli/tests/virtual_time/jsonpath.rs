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

#[track_caller]
fn refused(path: &str, holds: &str, error: &str) {
    assert_eq!(jsonpath(path, holds), (Some(2), String::new(), error.to_owned()));
}

const FLINK: &str = "jobStatus:\n  jobId: e6fd\n  startTime: 1734462491693\n";

#[test]
fn what_is_found_is_printed() {
    found("{.jobStatus.jobId}", FLINK, "e6fd");
    found("-{.jobStatus.startTime}", FLINK, "-1734462491693");
    found("{.jobStatus}", FLINK, r#"{"jobId":"e6fd","startTime":1734462491693}"#);
}

#[test]
fn all_of_json_is_read() {
    found("{.a}", r#"{"a": "\ud83d\ude00"}"#, "😀");
    found("{.a}", r#"{"a": "\/"}"#, "/");
    found(
        "{.a}",
        r#"{"a": 123456789012345678901234567890}"#,
        "1.2345678901234568e+29",
    );
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
    assert!(error.ends_with("help: the file must hold JSON or YAML\n"), "{error}");
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
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &[][..]));
}

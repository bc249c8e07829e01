//! Files that cannot be written: a full disk, folders that are read-only or in use. Each ends with an error that names
//! the path, and nothing that could be written is lost.

use std::{
    fmt::Write as _,
    fs::{self, File},
    path::Path,
    process::{Command, Output, Stdio},
};

use crate::common::root;

/// Folder in which no user can create a file.
const READ_ONLY: &str = "/sys";

/// Returns the command, with its state in a folder of the test.
fn command(folder: &Path, program: &str, before: &[&str]) -> Command {
    let mut command = Command::new(program);
    command
        .args(before)
        .arg("--root")
        .arg(root())
        .env("XDG_STATE_HOME", folder.join("state"));
    command
}

fn baton(folder: &Path) -> Command {
    command(folder, env!("CARGO_BIN_EXE_baton"), &[])
}

/// Returns the command with a limit of eight blocks per file, as on a disk that is nearly full.
fn baton_on_a_full_disk(folder: &Path) -> Command {
    let script = "trap '' XFSZ; ulimit -f 8; exec \"$0\" \"$@\"";
    command(folder, "sh", &["-c", script, env!("CARGO_BIN_EXE_baton")])
}

/// Returns the exit code and the output, without parts that differ from run to run and from machine to machine.
fn told(folder: &Path, output: &Output) -> String {
    let text = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text).into_owned());
    let lines = text.iter().flat_map(|text| text.lines());
    let errors = lines.filter(|line| ["error", "help", "report"].iter().any(|it| line.starts_with(it)));
    let errors = errors.map(|line| {
        let line = line.replace(folder.to_str().unwrap(), "[FOLDER]");
        // The reason why a folder is read-only depends on the user and the folder.
        match line.rsplit_once(": ") {
            Some((what, _)) if what.contains(READ_ONLY) => format!("{what}: [REASON]"),
            _ => line,
        }
    });
    let errors = errors.collect::<Vec<_>>().join("\n");
    format!("{:?}\n{errors}", output.status.code().unwrap())
}

/// Writes a case of this name that expects what no implementation does.
fn failing_case(folder: &Path, name: &str) -> String {
    let good = fs::read_to_string(root().join("cases/proposal/deployment-directly.yaml")).unwrap();
    let bad = good
        .replace("name: deployment-directly", &format!("name: {name}"))
        .replace(
            "failover.karmada.io/readyReplicas: \"2\"",
            "failover.karmada.io/readyReplicas: \"7\"",
        );
    assert_ne!(good.replace("name: deployment-directly", &format!("name: {name}")), bad);
    let file = folder.join(format!("{name}.yaml"));
    fs::write(&file, bad).unwrap();
    file.to_str().unwrap().to_owned()
}

#[test]
fn results_that_nobody_can_read_are_an_error() {
    let folder = tempfile::tempdir().unwrap();
    for arguments in [&["list"][..], &["run", "deployment-directly"], &["schema", "case"]] {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let output = baton(folder.path()).args(arguments).stdout(full).output().unwrap();
        let told = told(folder.path(), &output);
        let expected = "3\nerror: cannot write to standard output: No space left on device (os error 28)";
        assert_eq!(told, expected, "{arguments:?}");
    }
}

#[test]
fn what_a_full_disk_takes_is_told_and_the_rest_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let reports = ["yaml", "junit", "summary", "html"].map(|format| {
        let file = folder.path().join(format!("report.{format}"));
        format!("--report={format}={}", file.display())
    });
    let mut command = baton_on_a_full_disk(folder.path());
    let command = command.args(["run", "deployment-directly", "--timelines"]);
    let output = command
        .arg(folder.path().join("timelines"))
        .args(reports)
        .output()
        .unwrap();
    insta::assert_snapshot!(told(folder.path(), &output), @"
    3
    report: [FOLDER]/report.junit
    report: [FOLDER]/report.summary
    error: the report [FOLDER]/report.yaml cannot be written: File too large (os error 27)
    error: the report [FOLDER]/report.html cannot be written: File too large (os error 27)
    ");
    let all = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(all.contains("the case itself: conforms"), "{all}");
    let mut left: Vec<_> = fs::read_dir(folder.path())
        .unwrap()
        .map(|it| it.unwrap().file_name().into_string().unwrap())
        .collect();
    left.sort();
    assert_eq!(left, ["report.junit", "report.summary", "timelines"]);
    let timelines = fs::read_dir(folder.path().join("timelines")).unwrap();
    assert_eq!(timelines.count(), 1, "the record of the run, and no half of a timeline");
}

#[test]
fn a_folder_that_is_read_only_is_told_before_anything_runs() {
    let folder = tempfile::tempdir().unwrap();
    let mut all = String::new();
    for arguments in [
        ["--timelines", "/sys/timelines"],
        ["--timelines", READ_ONLY],
        ["--report", "yaml=/sys/report.yaml"],
        ["--report", "jsonl=/sys/report.jsonl"],
    ] {
        let mut command = baton(folder.path());
        let output = command
            .args(["run", "deployment-directly"])
            .args(arguments)
            .output()
            .unwrap();
        writeln!(all, "{arguments:?}: {}", told(folder.path(), &output)).unwrap();
        assert!(!String::from_utf8_lossy(&output.stdout).contains("1 case on"));
    }
    insta::assert_snapshot!(all, @r#"
    ["--timelines", "/sys/timelines"]: 2
    error: cannot write timelines to /sys/timelines: [REASON]
    ["--timelines", "/sys"]: 2
    error: cannot write timelines to /sys: [REASON]
    ["--report", "yaml=/sys/report.yaml"]: 2
    error: the report /sys/report.yaml cannot be written: [REASON]
    help: the folder must exist and be writable
    ["--report", "jsonl=/sys/report.jsonl"]: 2
    error: the report /sys/report.jsonl cannot be written: [REASON]
    help: the folder must exist and be writable
    "#);
}

#[test]
fn a_folder_for_temporary_files_that_is_not_there_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let mut all = String::new();
    for arguments in [
        &[
            "run",
            "--target",
            "fixtures/targets/minimal.yaml",
            "deployment-directly",
        ][..],
        &["up", "--members", "1"],
    ] {
        let mut command = baton(folder.path());
        let nowhere = folder.path().join("nowhere");
        let output = command
            .args(arguments)
            .current_dir(root())
            .env("TMPDIR", nowhere)
            .output()
            .unwrap();
        writeln!(all, "{}: {}", arguments[0], told(folder.path(), &output)).unwrap();
    }
    insta::assert_snapshot!(all, @"
    run: 3
    error: cannot create certificates: [FOLDER]/nowhere: No such file or directory (os error 2)
    help: TMPDIR names the folder for temporary files
    up: 3
    error: making a temporary directory failed: [FOLDER]/nowhere: No such file or directory (os error 2)
    ");
}

/// The timeline of the failed case was not requested: the result is reported without it.
#[test]
fn a_failure_is_told_where_its_timeline_cannot_be_kept() {
    let folder = tempfile::tempdir().unwrap();
    let case = failing_case(folder.path(), "expects-too-much");
    fs::write(folder.path().join("state"), "no folder").unwrap();
    let output = baton(folder.path()).args(["run", &case]).output().unwrap();
    let all = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        all.contains("expects-too-much DEVIATES") && all.contains("1 deviates "),
        "{all}"
    );
    insta::assert_snapshot!(told(folder.path(), &output), @"
    1
    error: expects-too-much: cannot write the timeline to [FOLDER]/state/baton/timelines: Not a directory (os error 20)
    ");
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<_> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// Folders of old runs are removed from the default folder, and from no other folder.
#[test]
fn of_runs_that_left_timelines_the_latest_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let case = failing_case(folder.path(), "expects-too-much");
    let (own, named) = (folder.path().join("state/baton/timelines"), folder.path().join("named"));
    for parent in [&own, &named] {
        for minute in 0..25 {
            let earlier = parent.join(format!("2026-01-01T00-{minute:02}-00Z"));
            fs::create_dir_all(&earlier).unwrap();
            fs::write(earlier.join("case.jsonl"), "").unwrap();
        }
    }
    let output = baton(folder.path()).args(["run", &case]).output().unwrap();
    let kept = names(&own);
    // 20 earlier runs, this run, and the file for `--rerun-failed`.
    assert_eq!(kept.len(), 20 + 2, "{kept:?}");
    assert_eq!(kept.first().unwrap(), "2026-01-01T00-05-00Z");
    let timeline = own.join(&kept[20]).join("expects-too-much.jsonl");
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(told.contains(timeline.to_str().unwrap()), "{told}");
    assert!(timeline.is_file());
    let again = baton(folder.path())
        .args(["run", &case, "--timelines"])
        .arg(&named)
        .output();
    assert_eq!(again.unwrap().status.code(), Some(1));
    assert_eq!(names(&named).len(), 25 + 2, "{:?}", names(&named));
    assert_eq!(names(&own), kept);
}

#[test]
fn two_runs_at_once_in_one_folder_lose_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let cases = ["one", "other"].map(|name| failing_case(folder.path(), name));
    let timelines = folder.path().join("timelines");
    let run = |cases: &[&str]| {
        let mut command = baton(folder.path());
        command.arg("run").args(cases).arg("--timelines").arg(&timelines);
        command
    };
    let both = cases.each_ref().map(|case| {
        let mut command = run(&[case, "deployment-directly"]);
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    });
    for mut child in both {
        assert_eq!(child.wait().unwrap().code(), Some(1));
    }
    let mut kept: Vec<_> = fs::read_dir(&timelines)
        .unwrap()
        .map(|it| it.unwrap().file_name().into_string().unwrap())
        .collect();
    kept.sort();
    assert_eq!(
        kept,
        [
            "deployment-directly.2.jsonl",
            "deployment-directly.jsonl",
            "last-run.json",
            "one.jsonl",
            "other.jsonl"
        ]
    );
    let again = run(&[&cases[0], &cases[1]]).arg("--rerun-failed").output().unwrap();
    let all = String::from_utf8_lossy(&again.stdout).into_owned();
    assert!(
        all.contains("2 deviate"),
        "both have failed, in whichever order they ended: {all}"
    );
}

#[test]
fn two_runs_at_once_do_not_write_lines_into_one_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("events.jsonl");
    fs::write(&path, "somebody else's\n").unwrap();
    let used = File::open(&path).unwrap();
    used.lock().unwrap();
    let report = format!("--report=jsonl={}", path.display());
    let mut command = baton(folder.path());
    let output = command.args(["run", "deployment-directly", &report]).output().unwrap();
    insta::assert_snapshot!(told(folder.path(), &output), @"
    2
    error: another run is writing to [FOLDER]/events.jsonl
    help: give each report a different path
    ");
    assert_eq!(fs::read_to_string(&path).unwrap(), "somebody else's\n");
}

//! Signed reports, and the result of checking a signature after any edit.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::Path,
    process::{Command, Stdio},
};

use baton_core::digest::Digest;
use tempfile::TempDir;

use crate::common::{baton_in, printed, root};

/// Runs a command without a terminal; returns its exit code and output.
fn baton(arguments: &[&str]) -> (i32, String) {
    let output = Command::new("setsid")
        .arg("--wait")
        .arg(env!("CARGO_BIN_EXE_baton"))
        .arg("--root")
        .arg(root())
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let told = [output.stdout, output.stderr].concat();
    (output.status.code().unwrap(), String::from_utf8(told).unwrap())
}

/// A folder with a report, its timelines, and keys.
struct Desk(TempDir);

impl Desk {
    fn new() -> Self {
        let desk = Self(tempfile::tempdir().unwrap());
        let report = format!("yaml={}", desk.path("report.yaml"));
        let cases = ["flink-jobid-directly", "statefulset-directly"];
        let into = ["--timelines", &desk.path("timelines"), "--report", &report];
        let (code, told) = baton(&[&["run"], &cases[..], &into[..]].concat());
        assert_eq!(code, 0, "{told}");
        desk
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).display().to_string()
    }

    fn of_report(&self, what: &str, more: &[&str]) -> (i32, String) {
        let (report, timelines) = (self.path("report.yaml"), self.path("timelines"));
        baton(&[&["report", what, &report, "--timelines", &timelines], more].concat())
    }

    fn sign(&self, key: &str) -> (i32, String) {
        self.of_report("sign", &["--partial", "--key", &self.path(key)])
    }

    fn verify(&self, key: &str) -> (i32, String) {
        self.of_report("verify", &["--key", &self.path(key)])
    }

    fn keygen(&self, name: &str, more: &[&str]) -> (i32, String) {
        baton(&[&["report", "keygen", &self.path(name)], more].concat())
    }

    /// Creates a desk with a report that is signed by the key `ours`; the key `theirs` is another.
    fn signed() -> Self {
        let desk = Self::new();
        for name in ["ours", "theirs"] {
            let (code, told) = desk.keygen(name, &["--no-password"]);
            assert_eq!(code, 0, "{told}");
        }
        let (code, told) = desk.sign("ours.key");
        assert_eq!(code, 0, "{told}");
        desk
    }

    /// Edits a file; the edit must change it.
    fn edit(&self, file: &str, change: impl FnOnce(&str) -> String) {
        let before = fs::read_to_string(self.path(file)).unwrap();
        let after = change(&before);
        assert_ne!(before, after, "{file}");
        fs::write(self.path(file), after).unwrap();
    }
}

fn assert_told(came: &(i32, String), code: i32, words: &str) {
    assert_eq!(came.0, code, "{}", came.1);
    assert!(came.1.contains(words), "{words} is not in\n{}", came.1);
}

#[test]
fn a_partial_report_is_signed_only_if_that_is_wanted() {
    let desk = Desk::signed();
    fs::remove_file(desk.path("report.yaml.minisig")).unwrap();
    let without = desk.of_report("sign", &["--key", &desk.path("ours.key")]);
    assert_told(&without, 1, "because it is partial: 2 of ");
    assert_told(&without, 1, "--partial signs it all the same");
    assert!(!fs::exists(desk.path("report.yaml.minisig")).unwrap());
    assert_told(&desk.sign("ours.key"), 0, "report.yaml.minisig");
}

#[test]
fn judging_a_report_again_corrects_its_verdicts() {
    let desk = Desk::new();
    desk.edit("report.yaml", |text| {
        text.replacen("result: conforms", "result: deviates", 1)
    });
    assert_told(&desk.of_report("verify", &[]), 1, "REFUTED");
    let again = desk.path("again.yaml");
    let rejudge = || desk.of_report("rejudge", &["--output", &again]);
    assert_told(&rejudge(), 0, "again.yaml");
    let verify = ["report", "verify", &again, "--timelines", &desk.path("timelines")];
    assert_told(
        &baton(&verify),
        0,
        "confirmed: 2 of 2 cases follow from their timelines",
    );

    fs::remove_file(&again).unwrap();
    desk.edit("timelines/statefulset-directly.jsonl", |text| format!("{text}\n"));
    assert_told(&rejudge(), 1, "is not the timeline that was reported");
    assert_told(
        &rejudge(),
        1,
        "only the timelines that a report was made of can be judged again",
    );
    assert!(!fs::exists(&again).unwrap());
}

#[test]
fn files_beside_a_report_do_not_judge_it() {
    let folder = tempfile::tempdir().unwrap();
    let run_there = |arguments: &[&str]| {
        let output = baton_in(folder.path(), arguments).output().unwrap();
        (output.status.code().unwrap(), printed(&output))
    };
    let name = "cases/proposal/deployment-directly.yaml";
    let weaker = std::str::from_utf8(baton_suite::read(name).unwrap()).unwrap();
    let weaker = weaker.replacen("members: 2", "members: 3", 1);
    fs::create_dir_all(folder.path().join("cases/proposal")).unwrap();
    fs::write(folder.path().join(name), weaker).unwrap();
    let run = [
        "run",
        "deployment-directly",
        "--timelines",
        "evidence",
        "--report",
        "yaml=report.yaml",
    ];
    assert_told(
        &run_there(&run),
        0,
        "1 file replaces those of the built-in suite: cases/proposal/deployment-directly.yaml",
    );
    let verify = ["report", "verify", "report.yaml", "--timelines", "evidence"];
    assert_told(&run_there(&verify), 1, "the case here is not the one that was reported");
    assert_told(
        &run_there(&verify),
        1,
        "in the run of the report 1 file replaces those of the built-in suite",
    );
    let of_folder = [&["--root", "."], &verify[..]].concat();
    assert_told(
        &run_there(&of_folder),
        0,
        "in this verification 1 file replaces those of the built-in suite",
    );
    fs::copy(
        folder.path().join("evidence/deployment-directly.jsonl"),
        folder.path().join("evidence/copy.jsonl"),
    )
    .unwrap();
    assert_told(
        &run_there(&of_folder),
        0,
        "the report does not name 1 timeline in evidence: copy.jsonl",
    );
    assert_told(
        &run_there(&["report", "summary", "report.yaml"]),
        0,
        "these files were replaced",
    );
}

#[test]
fn a_signature_is_confirmed_by_its_key_alone() {
    let desk = Desk::signed();
    assert_told(&desk.verify("ours.pub"), 0, "signed by this key: timestamp:");
    assert_told(&desk.verify("theirs.pub"), 1, "the report is signed by another key");
    assert_told(&desk.of_report("verify", &[]), 0, "report.yaml.minisig was not checked");
}

#[test]
fn whatever_is_edited_the_signature_tells_it() {
    let desk = Desk::signed();
    let report = fs::read_to_string(desk.path("report.yaml")).unwrap();
    let signature = fs::read_to_string(desk.path("report.yaml.minisig")).unwrap();
    // The duration follows from no timeline.
    let wall = report.lines().find(|line| line.contains("wallSecs:")).unwrap();
    desk.edit("report.yaml", |text| text.replace(wall, &wall.replace(": ", ": 1")));
    assert_told(&desk.of_report("verify", &[]), 0, "confirmed");
    assert_told(&desk.verify("ours.pub"), 1, "was edited after it was signed");

    // A timeline alone, and with its digest.
    fs::write(desk.path("report.yaml"), &report).unwrap();
    let file = "timelines/flink-jobid-directly.jsonl";
    let before = Digest::of_bytes(&fs::read(desk.path(file)).unwrap()).to_string();
    desk.edit(file, |text| text.replacen("\"seed\":0", "\"seed\": 0", 1));
    assert_told(&desk.verify("ours.pub"), 1, "is not the timeline that was reported");
    let after = Digest::of_bytes(&fs::read(desk.path(file)).unwrap()).to_string();
    desk.edit("report.yaml", |text| text.replace(&before, &after));
    assert_told(&desk.of_report("verify", &[]), 0, "confirmed");
    assert_told(&desk.verify("ours.pub"), 1, "was edited after it was signed");

    // The signature itself: the trusted comment, and a part of the signature.
    desk.edit(file, |text| text.replacen("\"seed\": 0", "\"seed\":0", 1));
    fs::write(desk.path("report.yaml"), &report).unwrap();
    desk.edit("report.yaml.minisig", |text| text.replace("timestamp:", "timestamp:9"));
    assert_told(&desk.verify("ours.pub"), 1, "was edited after it was signed");
    let short = signature.lines().take(3).chain(["AAAA"]).collect::<Vec<_>>().join("\n");
    fs::write(desk.path("report.yaml.minisig"), short).unwrap();
    assert_told(&desk.verify("ours.pub"), 2, "is not a minisign signature");
    fs::write(desk.path("report.yaml.minisig"), signature).unwrap();
    assert_told(&desk.verify("ours.pub"), 0, "confirmed");
}

#[test]
fn what_is_missing_or_something_else_is_named() {
    let desk = Desk::signed();
    assert_told(&desk.verify("none.pub"), 2, "none.pub cannot be read: No such file");
    assert_told(
        &desk.verify("report.yaml"),
        2,
        "report.yaml is not a minisign public key",
    );
    assert_told(&desk.verify("ours.key"), 2, "ours.key is not a minisign public key");
    assert_told(&desk.sign("ours.pub"), 2, "ours.pub is not a minisign secret key");
    assert_told(&desk.sign("none.key"), 2, "none.key cannot be read: No such file");
    fs::remove_file(desk.path("report.yaml.minisig")).unwrap();
    assert_told(&desk.verify("ours.pub"), 2, "is not signed: there is no");
}

#[test]
fn a_report_that_is_refuted_is_not_signed() {
    let desk = Desk::new();
    assert_told(&desk.keygen("ours", &["--no-password"]), 0, "ours.pub");
    desk.edit("report.yaml", |text| {
        text.replacen("result: conforms", "result: deviates", 1)
    });
    assert_told(&desk.sign("ours.key"), 1, "is not signed, because it was not confirmed");
    assert!(!Path::new(&desk.path("report.yaml.minisig")).exists());
}

#[test]
fn a_password_protects_a_key_and_no_key_is_overwritten() {
    let desk = Desk::new();
    for (name, password) in [
        ("right", "three words long\n"),
        ("wrong", "three words"),
        ("empty", "\n"),
    ] {
        fs::write(desk.path(name), password).unwrap();
    }
    let with = |name: &str| desk.path(name);
    assert_told(
        &desk.keygen("ours", &["--password-file", &with("empty")]),
        2,
        "the password is empty",
    );
    assert_told(
        &desk.keygen("ours", &[]),
        2,
        "there is no terminal to ask for the password",
    );
    assert_told(
        &desk.keygen("ours", &["--password-file", &with("right")]),
        0,
        "ours.pub",
    );
    let mode = fs::metadata(desk.path("ours.key")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_told(&desk.keygen("ours", &["--no-password"]), 2, "ours.key already exists");

    let key = desk.path("ours.key");
    let sign = |password: &str| {
        desk.of_report(
            "sign",
            &["--partial", "--key", &key, "--password-file", &with(password)],
        )
    };
    assert_told(&sign("wrong"), 2, "the password is not that of");
    assert_told(&desk.sign("ours.key"), 2, "--password-file takes it from a file");
    assert_told(&sign("right"), 0, "report.yaml.minisig");
    assert_told(&desk.verify("ours.pub"), 0, "signed by this key");
}

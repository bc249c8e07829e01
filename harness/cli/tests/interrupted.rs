//! Runs on embedded clusters that somebody ends: what was judged is reported and verifies, and nothing is left.

use std::{
    fs::{self, File},
    io::{BufRead as _, BufReader, Read as _},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn whichever_signal_ends_a_run_its_report_verifies_and_no_folder_stays() {
    for signal in ["INT", "TERM", "HUP"] {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).display().to_string();
        fs::create_dir(path("tmp")).unwrap();
        let made = Command::new("mkfifo").arg(path("events")).status().unwrap();
        assert!(made.success());
        let mut run = Command::new(env!("CARGO_BIN_EXE_baton"))
            .arg("--root")
            .arg(root())
            .args(["run", "--jobs", "1", "--timelines", &path("timelines")])
            .args(["--report", &format!("yaml={}", path("report.yaml"))])
            .args(["--report", &format!("jsonl={}", path("events"))])
            .env("TMPDIR", path("tmp"))
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut events = BufReader::new(File::open(path("events")).unwrap()).lines();
        // The third case has ended, others are still to come.
        let ended = events
            .by_ref()
            .filter(|line| line.as_ref().unwrap().contains("\"caseEnded\""));
        assert_eq!(ended.take(3).count(), 3);
        let killed = Command::new("sh")
            .args(["-c", &format!("kill -s {signal} {}", run.id())])
            .status()
            .unwrap();
        assert!(killed.success());
        assert!(events.count() > 0);
        let mut said = String::new();
        run.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        assert_eq!(run.wait().unwrap().code(), Some(130), "{signal}: {said}");
        assert!(said.contains("interrupted"), "{signal}: {said}");
        let left: Vec<_> = fs::read_dir(path("tmp"))
            .unwrap()
            .map(|it| it.unwrap().path())
            .collect();
        assert!(left.is_empty(), "{signal}: {left:?}");
        let verified = Command::new(env!("CARGO_BIN_EXE_baton"))
            .arg("--root")
            .arg(root())
            .args([
                "report",
                "verify",
                &path("report.yaml"),
                "--timelines",
                &path("timelines"),
            ])
            .output()
            .unwrap();
        let told = String::from_utf8_lossy(&verified.stdout).into_owned();
        assert!(told.starts_with("confirmed: "), "{signal}: {told}");
        assert!(
            told.contains("missing because the run was interrupted"),
            "{signal}: {told}"
        );
    }
}

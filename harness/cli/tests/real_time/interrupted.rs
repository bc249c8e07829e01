//! Interrupted runs on embedded clusters: the finished cases are reported and verify, and nothing is left.

use std::{
    fs::{self, File},
    io::{BufRead as _, BufReader, Lines, Read as _},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use baton_core::scale::report::{End, ScaleReport};

use crate::common::baton;

/// A run of the suite whose third case has ended, with others still to come, and what it tells from then on. Its temporary
/// folders are below `tmp`.
fn begun(folder: &Path) -> (Child, Lines<BufReader<File>>) {
    let path = |name: &str| folder.join(name).display().to_string();
    fs::create_dir(path("tmp")).unwrap();
    let made = Command::new("mkfifo").arg(path("events")).status().unwrap();
    assert!(made.success());
    let run = baton(&["run", "--jobs", "1", "--timelines", &path("timelines")])
        .args(["--report", &format!("yaml={}", path("report.yaml"))])
        .args(["--report", &format!("jsonl={}", path("events"))])
        .env("TMPDIR", path("tmp"))
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut events = BufReader::new(File::open(path("events")).unwrap()).lines();
    let ended = events
        .by_ref()
        .filter(|line| line.as_ref().unwrap().contains("\"caseEnded\""));
    assert_eq!(ended.take(3).count(), 3);
    (run, events)
}

/// Sends a signal to a process.
pub(crate) fn send(signal: &str, run: &Child) {
    let command = format!("kill -s {signal} {}", run.id());
    assert!(Command::new("sh").args(["-c", &command]).status().unwrap().success());
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

fn inside(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap();
    entries.map(|it| it.unwrap().path()).collect()
}

#[test]
fn whichever_signal_ends_a_run_its_report_verifies_and_no_folder_stays() {
    for signal in ["INT", "TERM", "HUP"] {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).display().to_string();
        let (mut run, events) = begun(folder.path());
        send(signal, &run);
        assert!(events.count() > 0);
        let mut said = String::new();
        run.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        assert_eq!(run.wait().unwrap().code(), Some(130), "{signal}: {said}");
        assert!(said.contains("interrupted"), "{signal}: {said}");
        let left = inside(&folder.path().join("tmp"));
        assert!(left.is_empty(), "{signal}: {left:?}");
        let verified = baton(&["report", "verify", &path("report.yaml")])
            .args(["--timelines", &path("timelines")])
            .output()
            .unwrap();
        let told = String::from_utf8_lossy(&verified.stdout).into_owned();
        assert!(told.starts_with("confirmed: "), "{signal}: {told}");
        assert!(told.contains("missing from the report"), "{signal}: {told}");
    }
}

/// A target that tells when it runs, and then does nothing.
const IDLE: &str = r"apiVersion: baton.dev/v1alpha1
kind: Target
metadata: {name: idle}
spec:
  implementation: {name: idle, version: '1'}
  features: [PurgeDirectly, StatePreservation, LabelInjection, NoExecuteEviction, Propagation]
  controller: {featureGates: {Failover: true, StatefulFailoverInjection: true}}
  run: {exec: {command: sh, args: [-c, 'echo up > EVENTS; exec sleep 600']}}
";

/// The output of a target may be secret.
#[test]
fn what_a_killed_run_leaves_is_its_owners_alone_and_the_next_run_removes_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::create_dir(path("tmp")).unwrap();
    assert!(Command::new("mkfifo").arg(path("events")).status().unwrap().success());
    fs::write(
        path("target.yaml"),
        IDLE.replace("EVENTS", &path("events").display().to_string()),
    )
    .unwrap();
    let run = |arguments: &[&str]| {
        let mut run = baton(&["run", "deployment-directly", "--timelines"]);
        run.arg(path("timelines"))
            .args(arguments)
            .env("TMPDIR", path("tmp"))
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        run
    };
    let target = path("target.yaml").display().to_string();
    let mut killed = run(&["--target", &target, "--no-preflight"]).spawn().unwrap();
    assert_eq!(fs::read_to_string(path("events")).unwrap(), "up\n");
    killed.kill().unwrap();
    killed.wait().unwrap();
    let mut logs = 0;
    for left in inside(&path("tmp")) {
        assert_eq!(mode(&left), 0o700, "{}", left.display());
        logs += inside(&left)
            .iter()
            .filter(|it| it.to_string_lossy().ends_with(".target.log"))
            .count();
    }
    assert_eq!(logs, 1);
    let next = run(&[]).status().unwrap();
    assert!(next.success());
    assert_eq!(inside(&path("tmp")), Vec::<PathBuf>::new());
    let kept = inside(&path("timelines"));
    assert!(kept.len() > 1, "{kept:?}");
    for kept in kept {
        assert_eq!(mode(&kept), 0o600, "{}", kept.display());
    }
}

/// One workload moves at once, and the next one after more than a minute.
#[test]
fn an_interrupted_measurement_reports_the_figures_so_far() {
    let folder = tempfile::tempdir().unwrap();
    let result = folder.path().join("result.json");
    let mut run = baton(&["scale", "--real-time", "--workloads", "3", "--rate", "0.01", "--json"])
        .arg(&result)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(run.stderr.take().unwrap()).lines();
    let placed = said.find(|line| line.as_ref().unwrap().contains("3 workloads placed"));
    assert!(placed.is_some());
    send("INT", &run);
    let said: Vec<String> = said.map(|line| line.unwrap()).collect();
    let mut told = String::new();
    run.stdout.take().unwrap().read_to_string(&mut told).unwrap();
    assert_eq!(run.wait().unwrap().code(), Some(130), "{said:?}");
    assert!(told.contains("interrupted: 3 workloads placed"), "{told}");
    let report = ScaleReport::read(&fs::read_to_string(&result).unwrap()).unwrap();
    assert_eq!((report.end, report.workloads.placed), (End::Interrupted, 3));
    assert!(report.workloads.settled < 3, "{:?}", report.workloads);
    assert_eq!(report.violations, []);
}

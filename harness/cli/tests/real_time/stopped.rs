//! Processes that are stopped (SIGSTOP) while a case runs: the program itself, and the parent of a target.

use std::{
    fs::{self, File},
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Command, Stdio},
    thread,
    time::Duration,
};

use crate::common::{baton_in, printed, root};

/// Writes a target file for the minimal implementation, started by a shell script that runs these commands first.
/// Returns `false` without Python.
fn target(folder: &Path, before: &str) -> bool {
    if Command::new("python3").arg("--version").output().is_err() {
        println!("not tried: python3 is missing");
        return false;
    }
    let minimal = root()
        .join("fixtures/targets/minimal/minimal.py")
        .canonicalize()
        .unwrap();
    let script = format!("{before}; exec '{}' \"$@\"\n", minimal.display());
    fs::write(folder.join("target.sh"), script).unwrap();
    let text = format!(
        "apiVersion: baton.dev/v1alpha1
kind: Target
metadata: {{name: minimal}}
spec:
  implementation: {{name: minimal, version: '1'}}
  features: [Propagation, NoExecuteEviction, StatePreservation, PurgeDirectly, LabelInjection, FailoverGate, StatefulInjectionGate]
  settable: {{featureGates: [Failover, StatefulFailoverInjection]}}
  switches:
    - {{feature: FailoverGate, featureGate: Failover}}
    - {{feature: StatefulInjectionGate, featureGate: StatefulFailoverInjection}}
  run: {{exec: {{command: sh, args: ['{}'], featureGates: '--feature-gates={{{{gates}}}}'}}}}
",
        folder.join("target.sh").display()
    );
    fs::write(folder.join("target.yaml"), text).unwrap();
    true
}

const ARGUMENTS: [&str; 5] = [
    "run",
    "deployment-directly",
    "--target",
    "target.yaml",
    "--no-preflight",
];

fn signal(signal: &str, process: &str) {
    let sent = Command::new("kill").args(["-s", signal, process]).status().unwrap();
    assert!(sent.success(), "{signal} {process}");
}

/// The clock of waits goes on while the process is stopped, so that they are over when it goes on. The target is
/// stopped, too, from the taint on: otherwise it might be done before.
#[test]
fn a_run_that_was_stopped_in_a_wait_has_the_right_verdict() {
    let folder = tempfile::tempdir().unwrap();
    let (pid, events) = (folder.path().join("pid"), folder.path().join("events"));
    if !target(folder.path(), &format!("echo $$ >'{}'", pid.display())) {
        return;
    }
    assert!(Command::new("mkfifo").arg(&events).status().unwrap().success());
    let mut command = baton_in(folder.path(), &ARGUMENTS);
    command.args(["--timeout-factor", "0.25", "--report"]);
    command.arg(format!("jsonl={}", events.display()));
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let own = child.id().to_string();
    let mut started = BufReader::new(File::open(&events).unwrap())
        .lines()
        .map(|line| line.unwrap())
        .filter(|line| line.contains("\"stepStarted\""));
    assert!(started.any(|line| line.contains("taint")), "no taint");
    let target = fs::read_to_string(&pid).unwrap();
    signal("STOP", target.trim());
    assert!(started.next().is_some(), "the case ends at the taint");
    signal("STOP", &own);
    // Longer than the time limit of each wait, 15 s.
    thread::sleep(Duration::from_secs(17));
    signal("CONT", target.trim());
    signal("CONT", &own);
    // The pipe must be read to its end.
    let _rest = started.count();
    let output = child.wait_with_output().unwrap();
    let said = printed(&output);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("1 conform"), "{said}");
    assert!(said.contains("this program was stopped while the case ran"), "{said}");
}

#[test]
fn a_target_that_stops_its_parent_is_judged_all_the_same() {
    let folder = tempfile::tempdir().unwrap();
    if !target(folder.path(), "kill -s STOP $PPID") {
        return;
    }
    let baton = baton_in(folder.path(), &ARGUMENTS);
    // A run that hangs is killed, and its exit code is another one.
    let mut command = Command::new("timeout");
    command
        .args(["-k", "1", "120"])
        .arg(baton.get_program())
        .args(baton.get_args());
    for (name, value) in baton.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let output = command.current_dir(folder.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", printed(&output));
}

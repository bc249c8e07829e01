//! Programs that the harness starts end with it.

#![expect(clippy::unwrap_used, reason = "what fails here fails a test")]

use std::{
    fs,
    io::{BufRead as _, BufReader},
    os::unix::process::ExitStatusExt as _,
    path::Path,
    process::{Command, Stdio},
    time::Duration,
};

use baton_cluster::program::{Program, last_lines};

fn start(script: &str, output: &Path) -> Program {
    Program::start(
        Path::new("sh"),
        ["-c", script],
        [("WHO", "baton")],
        Path::new("/"),
        output,
    )
    .unwrap()
}

/// A pipe to which a script writes when it is ready; it ends when all its writers are gone.
fn fifo(folder: &Path) -> std::path::PathBuf {
    let path = folder.join("fifo");
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    path
}

#[tokio::test]
async fn what_it_writes_is_kept_and_how_it_ended_is_known() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("log");
    let mut program = start("echo hello $WHO; echo bye >&2; exit 5", &output);
    assert_eq!(program.ended().await.unwrap().code(), Some(5));
    assert_eq!(last_lines(&output, 1), ["bye"]);
    assert_eq!(last_lines(&output, 9), ["hello baton", "bye"]);
    program.stop(Duration::from_secs(60)).await.unwrap();
}

#[tokio::test]
async fn it_inherits_no_environment_and_stands_in_its_folder() {
    let folder = tempfile::tempdir().unwrap();
    let (output, own) = (folder.path().join("log"), folder.path().join("own"));
    fs::create_dir(&own).unwrap();
    let program = Path::new("sh");
    // Cargo has set many variables for this test.
    assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some());
    let script = "pwd; env | sed 's/=.*//' | sort";
    let mut program = Program::start(program, ["-c", script], [("WHO", "baton")], &own, &output).unwrap();
    program.ended().await.unwrap();
    let mut lines = last_lines(&output, 20);
    assert_eq!(lines.remove(0), own.canonicalize().unwrap().display().to_string());
    // The shell adds some variables.
    lines.retain(|name| !["PWD", "OLDPWD", "SHLVL", "_"].contains(&name.as_str()));
    assert_eq!(lines, ["HOME", "PATH", "TMPDIR", "WHO"]);
}

#[tokio::test]
async fn it_is_asked_to_end_before_it_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let (output, fifo) = (folder.path().join("log"), fifo(folder.path()));
    let script = "trap 'echo asked; exit 0' TERM; echo ready >\"$0\"; while :; do sleep 600 & wait; done";
    let args = ["-c", script, fifo.to_str().unwrap()];
    let program = Program::start(Path::new("sh"), args, [], folder.path(), &output).unwrap();
    assert_eq!(fs::read_to_string(&fifo).unwrap(), "ready\n");
    program.stop(Duration::from_secs(60)).await.unwrap();
    assert_eq!(last_lines(&output, 9), ["asked"]);
}

#[tokio::test]
async fn one_that_has_hardly_begun_can_be_ended() {
    let folder = tempfile::tempdir().unwrap();
    for grace in [Duration::ZERO, Duration::from_secs(60)] {
        let program = start("exec sleep 600", &folder.path().join("log"));
        // It has not reported its process group yet. A signal that is lost now is lost for good.
        let stopped = tokio::time::timeout(Duration::from_secs(120), program.stop(grace)).await;
        stopped.unwrap().unwrap();
    }
}

#[tokio::test]
async fn one_that_does_not_end_is_killed_with_all_that_it_started() {
    let folder = tempfile::tempdir().unwrap();
    let (output, fifo) = (folder.path().join("log"), fifo(folder.path()));
    // Both hold the pipe open: it ends only when both are gone.
    let script = "trap '' TERM; exec 3>\"$0\"; sleep 600 & echo ready >&3; while :; do wait; done";
    let args = ["-c", script, fifo.to_str().unwrap()];
    let mut program = Program::start(Path::new("sh"), args, [], folder.path(), &output).unwrap();
    let mut held = BufReader::new(fs::File::open(&fifo).unwrap());
    let mut line = String::new();
    held.read_line(&mut line).unwrap();
    assert!(
        tokio::time::timeout(Duration::ZERO, program.ended()).await.is_err(),
        "it goes on"
    );
    program.stop(Duration::from_millis(50)).await.unwrap();
    assert_eq!(held.read_line(&mut line).unwrap(), 0);
}

/// A program may stop its parent, out of malice or by mistake.
#[tokio::test]
async fn one_that_stops_its_parent_does_not_stop_the_harness() {
    let folder = tempfile::tempdir().unwrap();
    let (output, fifo) = (folder.path().join("log"), fifo(folder.path()));
    let script =
        "kill -s STOP $PPID; trap 'echo asked; exit 0' TERM; echo ready >\"$0\"; while :; do sleep 600 & wait; done";
    let args = ["-c", script, fifo.to_str().unwrap()];
    let program = Program::start(Path::new("sh"), args, [], folder.path(), &output).unwrap();
    let ready = tokio::task::spawn_blocking(move || fs::read_to_string(fifo));
    assert_eq!(ready.await.unwrap().unwrap(), "ready\n");
    program.stop(Duration::from_millis(500)).await.unwrap();
    assert_eq!(last_lines(&output, 9), ["asked"]);
}

#[tokio::test]
async fn the_signal_that_ends_it_is_known() {
    let folder = tempfile::tempdir().unwrap();
    for (signal, number) in [("KILL", 9), ("SEGV", 11), ("TERM", 15)] {
        let mut program = start(&format!("kill -s {signal} $$"), &folder.path().join("log"));
        assert_eq!(program.ended().await.unwrap().signal(), Some(number), "{signal}");
    }
    let mut missing = Program::start(
        Path::new("./missing"),
        [""; 0],
        [],
        folder.path(),
        &folder.path().join("log"),
    )
    .unwrap();
    assert_eq!(missing.ended().await.unwrap().code(), Some(127));
}

/// This test again, as a process that is killed while its program runs.
const CHILD: &str = "BATON_TEST_PROGRAM_FIFO";

#[tokio::test]
async fn it_is_gone_when_its_starter_was_killed() {
    if let Ok(fifo) = std::env::var(CHILD) {
        let output = Path::new(&fifo).with_extension("log");
        let args = ["-c", "exec 3>\"$0\"; echo ready >&3; sleep 600; sleep 600", &fifo];
        let _program = Program::start(Path::new("sh"), args, [], Path::new("/"), &output).unwrap();
        return std::future::pending().await;
    }
    let folder = tempfile::tempdir().unwrap();
    let fifo = fifo(folder.path());
    let mut starter = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "it_is_gone_when_its_starter_was_killed"])
        .env(CHILD, &fifo)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut held = BufReader::new(fs::File::open(&fifo).unwrap());
    let mut line = String::new();
    held.read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    starter.kill().unwrap();
    assert_eq!(starter.wait().unwrap().signal(), Some(9));
    assert_eq!(
        held.read_line(&mut line).unwrap(),
        0,
        "the program holds the pipe no more"
    );
}

//! Child processes that end with the harness, even if it is killed, and do not depend on an async runtime.

use std::{
    ffi::OsStr,
    fs::File,
    io,
    os::unix::process::CommandExt as _,
    path::Path,
    process::{Child, ChildStdin, Command, Stdio},
};

/// Runs a program until standard input closes: a pipe whose other end only the harness holds. The system closes it when
/// the harness ends, even by `kill -9`.
const GUARD: &str = r#"
exec 3<&0
"$@" </dev/null 3<&- &
program=$!
(wait_for_end() { read -r _ <&3; kill -s KILL "$1"; }; wait_for_end "$program") &
guard=$!
wait "$program"
kill -s KILL "$guard" 2>/dev/null
"#;

/// A program that runs until this is dropped.
#[derive(Debug)]
pub(super) struct Process {
    shell: Child,
    /// Closing it ends the program.
    lifeline: Option<ChildStdin>,
}

impl Process {
    /// Starts a program in its folder, with its output in a file.
    pub(super) fn start(
        program: &Path,
        args: impl IntoIterator<Item = impl AsRef<OsStr>>,
        output: &Path,
    ) -> io::Result<Self> {
        let output = File::create(output)?;
        let mut shell = Command::new("sh")
            .args(["-c", GUARD, "baton-guard"])
            .arg(program)
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::from(output.try_clone()?))
            .stderr(Stdio::from(output))
            // Ctrl-C must reach only the harness, which still needs the program to clean up.
            .process_group(0)
            .spawn()?;
        let lifeline = shell.stdin.take();
        Ok(Self { shell, lifeline })
    }

    /// Checks whether the program has ended.
    pub(super) fn has_ended(&mut self) -> io::Result<bool> {
        Ok(self.shell.try_wait()?.is_some())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.lifeline.take());
        // The shell ends with its program; nothing else can be done if waiting fails.
        let _ = self.shell.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_ends_when_nobody_holds_its_lifeline() {
        let folder = tempfile::tempdir().unwrap();
        let output = folder.path().join("output");
        let mut process = Process::start(Path::new("sleep"), ["1000"], &output).unwrap();
        assert!(!process.has_ended().unwrap());
        drop(process.lifeline.take());
        assert!(process.shell.wait().is_ok(), "the shell waits for its program");
    }

    #[test]
    fn it_is_known_when_a_program_has_ended_by_itself() {
        let folder = tempfile::tempdir().unwrap();
        let mut process = Process::start(Path::new("true"), [""; 0], &folder.path().join("output")).unwrap();
        assert!(process.shell.wait().is_ok());
        assert!(process.has_ended().unwrap());
    }
}

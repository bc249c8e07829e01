//! Child processes that end with the harness, even if it is killed.
//!
//! Each program has a watchdog, a shell that reads a pipe whose other end only the harness holds. When the harness
//! ends, even by `kill -9`, the watchdog reads the end of the pipe and kills the program's process group. It also
//! forwards signals, which Rust cannot send without unsafe code.

use std::{
    ffi::OsStr,
    fs::File,
    io::{self, PipeReader, PipeWriter, Read as _, Seek as _, SeekFrom, Write as _},
    path::Path,
    process::{ExitStatus, Stdio},
    time::Duration,
};

use baton_core::redact;
use tokio::process::{Child, Command};

/// Sends the process group to the watchdog, starts the program, and ends as the program does.
///
/// The program's parent is this shell, so that a program that stops its parent does not stop the harness. Signals go to
/// the process group, thus to both; the shell ignores those that programs handle.
const LAUNCH: &str = r#"
echo $$ >&0
exec </dev/null
trap : HUP INT TERM USR1 USR2
"$@" &
exec 2>/dev/null
while :; do
    wait $!
    status=$?
    kill -0 $! || break
done
trap - HUP INT TERM USR1 USR2
[ $status -le 128 ] || kill -$((status - 128)) $$
exit $status
"#;

/// Reads the process group and signals to forward, and kills the group at the end of the pipe. On a busy machine a
/// signal may arrive before the process group.
const WATCH: &str = r#"
group= early=
while read -r word; do
    case $word in
        [0-9]*) group=$word; for signal in $early; do kill -s "$signal" -- "-$group"; done ;;
        *) if [ "$group" ]; then kill -s "$word" -- "-$group"; else early="$early $word"; fi ;;
    esac
done
[ -z "$group" ] || kill -s KILL -- "-$group"
"#;

/// Variables that a program inherits from the harness's environment: the search path, and nothing that leads to files
/// of the suite or to clusters of the user.
const INHERITED: [&str; 1] = ["PATH"];

/// A running program.
#[derive(Debug)]
pub struct Program {
    child: Child,
    watchdog: Child,
    lifeline: PipeWriter,
}

impl Program {
    /// Starts a program in a working folder, which is also its `HOME` and `TMPDIR`. Its environment is `PATH` and
    /// `env`. Its output is appended to the file `output`.
    ///
    /// # Errors
    /// If the file cannot be written, or no process can be started. A missing program shows in the exit status, 127 or
    /// 126, as in a shell.
    pub fn start<'a>(
        program: &Path,
        args: impl IntoIterator<Item = impl AsRef<OsStr>>,
        env: impl IntoIterator<Item = (&'a str, &'a str)>,
        folder: &Path,
        output: &Path,
    ) -> io::Result<Self> {
        let output = File::options().create(true).append(true).open(output)?;
        Self::spawn(
            program,
            args,
            env,
            folder,
            (Stdio::from(output.try_clone()?), Stdio::from(output)),
        )
    }

    /// Starts a program whose output goes to a pipe. The program blocks if the pipe is not read.
    ///
    /// # Errors
    /// If no process can be started.
    pub fn start_to_hear<'a>(
        program: &Path,
        args: impl IntoIterator<Item = impl AsRef<OsStr>>,
        env: impl IntoIterator<Item = (&'a str, &'a str)>,
        folder: &Path,
    ) -> io::Result<(Self, PipeReader)> {
        let (heard, output) = io::pipe()?;
        let program = Self::spawn(
            program,
            args,
            env,
            folder,
            (Stdio::from(output.try_clone()?), Stdio::from(output)),
        )?;
        Ok((program, heard))
    }

    fn spawn<'a>(
        program: &Path,
        args: impl IntoIterator<Item = impl AsRef<OsStr>>,
        env: impl IntoIterator<Item = (&'a str, &'a str)>,
        folder: &Path,
        (stdout, stderr): (Stdio, Stdio),
    ) -> io::Result<Self> {
        let (reader, lifeline) = io::pipe()?;
        // The watchdog starts first, so that the program never runs without it.
        let watchdog = Command::new("sh")
            .args(["-c", WATCH, "baton-watchdog"])
            .stdin(Stdio::from(reader))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()?;
        let child = Command::new("sh")
            .args(["-c", LAUNCH, "baton-launch"])
            .arg(program)
            .args(args)
            .current_dir(folder)
            .env_clear()
            .envs(
                INHERITED
                    .iter()
                    .filter_map(|name| Some((name, std::env::var_os(name)?))),
            )
            .envs(["HOME", "TMPDIR"].map(|name| (name, folder)))
            .envs(env)
            .stdin(Stdio::from(lifeline.try_clone()?))
            .stdout(stdout)
            .stderr(stderr)
            .process_group(0)
            .spawn()?;
        Ok(Self {
            child,
            watchdog,
            lifeline,
        })
    }

    /// Waits until the program has ended. May be dropped while it waits.
    ///
    /// # Errors
    /// If the system does not report it.
    pub async fn ended(&mut self) -> io::Result<ExitStatus> {
        self.child.wait().await
    }

    /// Sends SIGTERM to the program, waits for up to `grace`, and kills the rest of its process group.
    ///
    /// # Errors
    /// If the system does not report its end.
    pub async fn stop(mut self, grace: Duration) -> io::Result<()> {
        // If the watchdog is gone, so is the program.
        let _ = self.lifeline.write_all(b"TERM\n");
        let _ = tokio::time::timeout(grace, self.child.wait()).await;
        self.kill().await
    }

    /// Kills the program's process group immediately.
    ///
    /// # Errors
    /// If the system does not report its end.
    pub async fn kill(self) -> io::Result<()> {
        let Self {
            mut child,
            mut watchdog,
            lifeline,
        } = self;
        drop(lifeline);
        watchdog.wait().await?;
        child.wait().await?;
        Ok(())
    }
}

/// The last lines of a program's output file; fewer if it has fewer, or very long ones.
pub fn last_lines(file: &Path, lines: usize) -> Vec<String> {
    /// As much as is read, from the end.
    const ENOUGH: u64 = 16 * 1024;
    let read = || -> io::Result<String> {
        let mut file = File::open(file)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(ENOUGH)))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    };
    // Callers report another error; a missing file must not replace it.
    let text = read().unwrap_or_default();
    // The output may contain credentials, and goes into errors and timelines.
    let text = redact::text(&text);
    let all: Vec<_> = text.lines().map(ToOwned::to_owned).collect();
    all[all.len().saturating_sub(lines)..].to_vec()
}

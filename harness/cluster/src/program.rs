//! Programs that the harness starts and that do not outlive it, however it ends.
//!
//! Beside each program runs a watchdog, a shell that reads a pipe. Its other end is held by the harness alone: when the
//! harness is gone, even by `kill -9`, the watchdog reads the end of the pipe and kills the program with all that it
//! started. It also passes on signals, which Rust cannot send without unsafe code.

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

/// Tells the watchdog the program's process group, then becomes the program.
const LAUNCH: &str = r#"echo $$ >&0; exec "$@" </dev/null"#;

/// Reads the process group, and signals to pass on; at the end of the pipe whatever is left is killed. On a busy machine
/// somebody may want an end before the program has told its group.
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

/// What of the harness's environment a program inherits: where programs are, and nothing that leads to files of the suite
/// or to clusters of the user.
const INHERITED: [&str; 1] = ["PATH"];

/// A program that runs.
#[derive(Debug)]
pub struct Program {
    child: Child,
    watchdog: Child,
    lifeline: PipeWriter,
}

impl Program {
    /// Starts a program in a working folder, which is its home and the place of its temporary files too. Of the
    /// environment it gets `PATH` and what it is given. What it writes is added to the file `output`.
    ///
    /// # Errors
    /// If the file cannot be written, or no process can be had. That there is no such program shows in its exit
    /// status, 127 or 126, as in a shell.
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

    /// The same, but what it writes comes out of a pipe; whoever does not read it lets the program wait.
    ///
    /// # Errors
    /// If no process can be had.
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
        // First the watchdog: there is no moment in which the program runs without it.
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

    /// Completes when it has ended, by itself or not. May be dropped while it waits.
    ///
    /// # Errors
    /// If the system does not say.
    pub async fn ended(&mut self) -> io::Result<ExitStatus> {
        self.child.wait().await
    }

    /// Asks it to end (SIGTERM), gives it some time for that, and kills what is left of it then, with all that it
    /// started.
    ///
    /// # Errors
    /// If the system does not say that it has ended.
    pub async fn stop(mut self, grace: Duration) -> io::Result<()> {
        // If the watchdog is gone, so is the program.
        let _ = self.lifeline.write_all(b"TERM\n");
        let _ = tokio::time::timeout(grace, self.child.wait()).await;
        self.kill().await
    }

    /// Kills it at once, with all that it started.
    ///
    /// # Errors
    /// If the system does not say that it has ended.
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

/// The last lines of a file that a program writes; fewer if it has not so many, or very long ones.
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
    // Whoever asks has worse to tell than that there is no such file.
    let text = read().unwrap_or_default();
    // What a program writes may hold anything, and goes into errors and timelines.
    let text = redact::text(&text);
    let all: Vec<_> = text.lines().map(ToOwned::to_owned).collect();
    all[all.len().saturating_sub(lines)..].to_vec()
}

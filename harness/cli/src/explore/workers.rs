//! Several processes for one exploration: each explores a part of the plans in its own folder, and the folders are merged.
//!
//! A worker that dies has lost nothing, because each line of its journal is written at once. It is started again and
//! continues. A worker ends once its standard input is closed, so none outlives the process that started it.

use std::{
    collections::BTreeSet,
    ffi::OsString,
    io,
    path::{Path, PathBuf},
    process::{ExitStatus, Stdio},
    sync::{Mutex, PoisonError},
};

use baton_core::event::Shard;
use futures::future::join_all;
use thiserror::Error;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncRead, BufReader},
    process::{Child, Command},
    runtime::Builder,
};

use super::folder::JOURNAL;
use crate::{
    interrupt::Interrupt,
    show::count,
    terminal::{errln, outln},
};

/// Number of times that a worker is started again.
const STARTED_AGAIN: usize = 3;

/// Exit codes of a worker that did not die: everything conforms, something deviates, invalid input, something is broken,
/// interrupted.
const ENDS: [i32; 5] = [0, 1, 2, 3, 130];

/// Words at the start of lines that are of interest from the first worker that prints them.
const TOLD: [&str; 5] = ["baseline", "search", "DEVIATES", "LEAD", "NO RESULT"];

/// Workers that cannot be run.
#[derive(Debug, Error)]
pub enum WorkersError {
    /// The program, or a pipe to it, cannot be used.
    #[error("cannot run worker {number}")]
    Io {
        /// Number of the worker, from 1.
        number: usize,
        /// Error from the system.
        source: io::Error,
    },
    /// The folder has another number of workers.
    #[error("{} was explored by {}, not by {}", folder.display(), by(*found), by(*asked))]
    Other {
        /// Path of the folder.
        folder: PathBuf,
        /// Number of folders of workers in it.
        found: usize,
        /// Number that is asked for.
        asked: usize,
    },
}

fn by(workers: usize) -> String {
    match workers {
        0 => "one process".to_owned(),
        _ => count(workers, "worker"),
    }
}

impl WorkersError {
    /// The remedy, for the user.
    pub fn help(&self) -> String {
        match self {
            Self::Io { .. } => String::new(),
            Self::Other { found: 0, .. } => "leave --workers out, or name another folder with --out".to_owned(),
            Self::Other { found, .. } => format!("use --workers {found}, or another folder with --out"),
        }
    }
}

/// A worker process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Worker {
    /// Its number, from 1.
    pub number: usize,
    /// Its part of the plans.
    pub shard: Shard,
    /// Largest number of plans of its part.
    pub plans: Option<usize>,
    /// Its folder.
    pub folder: PathBuf,
}

/// The workers that explore a part of the plans together.
pub fn workers(number: usize, shard: Shard, plans: Option<usize>, folder: &Path) -> Vec<Worker> {
    let worker = |index: usize| Worker {
        number: index + 1,
        // Every `number`-th plan of the part.
        shard: Shard {
            number: shard.number + shard.of * index,
            of: shard.of * number,
        },
        plans: plans.map(|plans| (plans + number - 1 - index) / number),
        folder: folder.join(format!("worker-{}", index + 1)),
    };
    (0..number).map(worker).collect()
}

/// Checks that a folder that is continued has the folders of this number of workers, which is 0 for an exploration in one
/// process.
///
/// # Errors
/// [`WorkersError::Other`] if it has those of more or fewer.
pub fn check(folder: &Path, workers: usize) -> Result<(), WorkersError> {
    let found = (1..=u16::MAX)
        .take_while(|number| folder.join(format!("worker-{number}")).exists())
        .count();
    if found == workers {
        return Ok(());
    }
    Err(WorkersError::Other {
        folder: folder.to_owned(),
        found,
        asked: workers,
    })
}

/// End of a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// It ended with an exit code.
    Code(i32),
    /// It died each time that it was started.
    Died,
}

/// Runs workers until all have ended. `arguments` are those of the exploration, without part, number of plans and folder.
///
/// # Errors
/// [`WorkersError`] if a worker cannot be started.
pub fn run(workers: &[Worker], arguments: &[OsString], interrupt: &Interrupt) -> Result<Vec<End>, WorkersError> {
    let failed = |number: usize| move |source| WorkersError::Io { number, source };
    let runtime = Builder::new_current_thread().enable_all().build().map_err(failed(1))?;
    let program = std::env::current_exe().map_err(failed(1))?;
    let told = Told::default();
    let supervise = |worker| supervise(worker, &program, arguments, interrupt, &told);
    let ends = runtime.block_on(join_all(workers.iter().map(supervise)));
    let ends = ends.into_iter().zip(workers);
    ends.map(|(end, worker)| end.map_err(failed(worker.number))).collect()
}

/// Lines that some worker has printed.
#[derive(Default)]
struct Told(Mutex<BTreeSet<String>>);

impl Told {
    fn is_new(&self, line: &str) -> bool {
        let mut told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        told.insert(line.to_owned())
    }
}

async fn supervise(
    worker: &Worker,
    program: &Path,
    arguments: &[OsString],
    interrupt: &Interrupt,
    told: &Told,
) -> io::Result<End> {
    for start in 0..=STARTED_AGAIN {
        let mut command = Command::new(program);
        command
            .arg("explore")
            .args(own_arguments(worker))
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let ended = until_end(command.spawn()?, worker, interrupt, told).await?;
        match ended.code() {
            Some(code) if ENDS.contains(&code) => return Ok(End::Code(code)),
            _ if interrupt.is_asked() => return Ok(End::Died),
            _ if start < STARTED_AGAIN => errln!("warning: worker {} ended: {ended}; it continues", worker.number),
            _ => errln!("error: worker {} ended each time: {ended}", worker.number),
        }
    }
    Ok(End::Died)
}

/// The arguments of a worker that others do not have.
fn own_arguments(worker: &Worker) -> Vec<OsString> {
    let folder = if worker.folder.join(JOURNAL).exists() {
        "--resume"
    } else {
        "--out"
    };
    let mut own: Vec<OsString> = vec!["--shard".into(), worker.shard.to_string().into()];
    own.extend([folder.into(), worker.folder.clone().into_os_string()]);
    if let Some(plans) = worker.plans {
        own.extend(["--plans".into(), plans.to_string().into()]);
    }
    own
}

async fn until_end(mut child: Child, worker: &Worker, interrupt: &Interrupt, told: &Told) -> io::Result<ExitStatus> {
    let (input, output, errors) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let ended = async {
        tokio::select! {
            biased;
            ended = child.wait() => return ended,
            () = interrupt.asked() => drop(input),
        }
        child.wait().await
    };
    let (ended, (), ()) = tokio::join!(
        ended,
        pass_on(output, told),
        pass_on_errors(errors, worker.number, told)
    );
    ended
}

/// Prints findings that no other worker has printed.
async fn pass_on(output: Option<impl AsyncRead + Unpin>, told: &Told) {
    let Some(output) = output else { return };
    let mut lines = BufReader::new(output).lines();
    let mut shows = false;
    while let Ok(Some(line)) = lines.next_line().await {
        if !line.starts_with(' ') {
            let is_told = TOLD.iter().any(|word| line.starts_with(word));
            shows = is_told && told.is_new(&line);
        }
        if shows {
            outln!("{line}");
        }
    }
}

/// Prints errors and progress. A warning that several workers print is printed once.
async fn pass_on_errors(errors: Option<impl AsyncRead + Unpin>, number: usize, told: &Told) {
    let Some(errors) = errors else { return };
    let mut lines = BufReader::new(errors).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        if line.starts_with("warning: ") {
            if told.is_new(&line) {
                errln!("{line}");
            }
        } else {
            errln!("worker {number}: {line}");
        }
    }
}

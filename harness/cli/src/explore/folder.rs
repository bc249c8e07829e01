//! The folder of an exploration: the journal, and each finding as a case with its timeline.

use std::{
    collections::BTreeMap,
    fs::{self, File, OpenOptions},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use baton_core::{
    explore::journal::{self, Head, JournalError, Line},
    timeline::Timeline,
};
use thiserror::Error;

use crate::{evidence, files};

/// Name of the journal.
const JOURNAL: &str = "journal.jsonl";

/// A folder that cannot be used.
#[derive(Debug, Error)]
pub enum FolderError {
    /// The journal belongs to another exploration, or is not a journal.
    #[error("cannot continue {}", path.display())]
    Journal {
        /// Path of the journal.
        path: PathBuf,
        /// Reason.
        source: JournalError,
    },
    /// A new exploration was to begin in a folder that has a journal.
    #[error("{} exists already", path.display())]
    Exists {
        /// Path of the journal.
        path: PathBuf,
    },
    /// A file cannot be read or written.
    #[error("cannot {what} {}", path.display())]
    Io {
        /// `read` or `write`.
        what: &'static str,
        /// Path of the file.
        path: PathBuf,
        /// Error from the system.
        source: io::Error,
    },
}

impl FolderError {
    /// The remedy, for the user.
    pub fn help(&self) -> &'static str {
        match self {
            Self::Journal { .. } => "use the options and cases of that exploration, or another folder with --out",
            Self::Exists { .. } => "--resume continues it; --out names another folder",
            Self::Io { .. } => "",
        }
    }

    /// Set if the arguments are wrong, not the disk.
    pub fn is_input(&self) -> bool {
        !matches!(self, Self::Io { .. })
    }
}

/// The folder of an exploration.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    resume: bool,
    journal: Option<File>,
    lines: BTreeMap<String, Line>,
}

impl Folder {
    /// A folder that need not exist. `resume` continues the journal in it.
    pub fn new(path: PathBuf, resume: bool) -> Self {
        Self {
            path,
            resume,
            journal: None,
            lines: BTreeMap::new(),
        }
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens the journal for an exploration.
    pub(super) fn begin(&mut self, head: &Head) -> Result<(), FolderError> {
        let path = self.path.join(JOURNAL);
        let io = |what: &'static str| {
            let path = path.clone();
            move |source| FolderError::Io { what, path, source }
        };
        evidence::create_folder(&self.path).map_err(io("write"))?;
        if self.resume {
            let text = files::read_text(&path).map_err(io("read"))?;
            let lines = journal::read(&text, head).map_err(|source| FolderError::Journal {
                path: path.clone(),
                source,
            })?;
            let done = journal::done(&lines);
            let with_result = lines.iter().filter(|line| done.contains(line.plan.as_str()));
            self.lines = with_result.map(|line| (line.plan.clone(), line.clone())).collect();
            let mut file = OpenOptions::new().append(true).open(&path).map_err(io("write"))?;
            if !text.ends_with('\n') {
                file.write_all(b"\n").map_err(io("write"))?;
            }
            self.journal = Some(file);
            return Ok(());
        }
        let new = OpenOptions::new().write(true).create_new(true).open(&path);
        let mut file = new.map_err(|source| match source.kind() {
            io::ErrorKind::AlreadyExists => FolderError::Exists { path: path.clone() },
            _ => io("write")(source),
        })?;
        write_line(&mut file, head).map_err(io("write"))?;
        self.journal = Some(file);
        Ok(())
    }

    /// The line of a plan that has a result already.
    pub(super) fn done(&self, plan: &str) -> Option<&Line> {
        self.lines.get(plan)
    }

    /// Adds the line of a plan. It is on the disk once this returns.
    pub(super) fn record(&mut self, line: &Line) -> Result<(), FolderError> {
        let path = self.path.join(JOURNAL);
        let Some(file) = &mut self.journal else { return Ok(()) };
        write_line(file, line).map_err(|source| FolderError::Io {
            what: "write",
            path,
            source,
        })
    }

    /// Writes a finding as a case, with its timeline; returns the path of the case.
    pub(super) fn keep(&self, name: &str, case: &str, timeline: &Timeline) -> Result<PathBuf, FolderError> {
        let path = self.path.join(format!("{name}.yaml"));
        let io = |path: &Path| {
            let path = path.to_owned();
            move |source| FolderError::Io {
                what: "write",
                path,
                source,
            }
        };
        fs::write(&path, case).map_err(io(&path))?;
        evidence::keep(timeline, &self.path, &format!("{name}.jsonl")).map_err(io(&self.path))?;
        Ok(path)
    }
}

fn write_line(file: &mut File, line: &impl serde::Serialize) -> io::Result<()> {
    let mut text = serde_json::to_string(line).map_err(io::Error::other)?;
    text.push('\n');
    // One write: a reader never sees a line that is cut off, unless the process is killed.
    file.write_all(text.as_bytes())
}

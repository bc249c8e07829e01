//! The folder of an exploration: the journal, a page, and each finding as a case with its timeline.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File, OpenOptions},
    io::{self, Write as _},
    iter,
    path::{Path, PathBuf},
};

use baton_core::{
    event::Shard,
    explore::{
        journal::{Entry, Head, Journal, JournalError, Line, Pair, Part},
        states::Transition,
    },
    timeline::Timeline,
};
use thiserror::Error;

use super::page;
use crate::{evidence, files};

/// Name of the journal.
pub const JOURNAL: &str = "journal.jsonl";
/// Name of the page.
pub const PAGE: &str = "explored.html";
/// Begin of the names of files with a deviation.
pub(super) const FOUND: &str = "found-";
/// Begin of the names of files with a lead.
pub(super) const LEAD: &str = "lead-";

/// A folder that cannot be used.
#[derive(Debug, Error)]
pub enum FolderError {
    /// The journal belongs to another exploration, or is not a journal.
    #[error("cannot use {}", path.display())]
    Journal {
        /// Path of the journal.
        path: PathBuf,
        /// Reason.
        source: JournalError,
    },
    /// The folder has no journal.
    #[error("there is no journal in {}", folder.display())]
    Missing {
        /// Path of the folder.
        folder: PathBuf,
    },
    /// A new exploration would begin in a folder that has a journal.
    #[error("{} exists already", path.display())]
    Exists {
        /// Path of the journal.
        path: PathBuf,
    },
    /// A file cannot be read or written.
    #[error("cannot {what} {}", path.display())]
    Io {
        /// `read`, `write` or `remove`.
        what: &'static str,
        /// Path of the file.
        path: PathBuf,
        /// Error from the system.
        source: io::Error,
    },
    /// The page cannot be rendered: a defect of Baton.
    #[error("cannot render the page")]
    Page(#[from] minijinja::Error),
}

impl FolderError {
    /// The remedy, for the user.
    pub fn help(&self) -> &'static str {
        match self {
            Self::Journal {
                source: JournalError::Other { .. },
                ..
            } => "use the options and cases of that exploration, or another folder with --out",
            Self::Journal { .. } => "the file is damaged or is not a journal; --out begins another exploration",
            Self::Exists { .. } => "--resume continues it; --out names another folder",
            Self::Missing { .. } => "name a folder that an exploration wrote, as with --out",
            Self::Io { .. } | Self::Page(_) => "",
        }
    }

    /// Set if the arguments are wrong, not the disk.
    pub fn is_input(&self) -> bool {
        !matches!(
            self,
            Self::Io {
                what: "write" | "remove",
                ..
            } | Self::Page(_)
        )
    }
}

/// Pairs of the cases, and transitions of the runs without faults.
type Known = (BTreeSet<Pair>, BTreeSet<Transition>);

/// The folder of an exploration.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    resume: bool,
    journal: Option<File>,
    known: Known,
    parts: BTreeMap<Shard, Part>,
    lines: BTreeMap<String, Line>,
}

impl Folder {
    /// A folder that need not exist. `resume` continues the journal in it.
    pub fn new(path: PathBuf, resume: bool) -> Self {
        Self {
            path,
            resume,
            journal: None,
            known: Known::default(),
            parts: BTreeMap::new(),
            lines: BTreeMap::new(),
        }
    }

    /// Creates a folder for the folders of workers.
    ///
    /// # Errors
    /// [`FolderError`] if it has a journal, or cannot be created.
    pub fn create(path: &Path) -> Result<(), FolderError> {
        let journal = path.join(JOURNAL);
        let of_workers = path.join("worker-1").join(JOURNAL);
        if let Some(path) = [journal, of_workers].into_iter().find(|it| it.exists()) {
            return Err(FolderError::Exists { path });
        }
        evidence::create_folder(path).map_err(|source| FolderError::Io {
            what: "write",
            path: path.to_owned(),
            source,
        })
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
        if self.resume {
            let (text, journal) = read(&self.path)?;
            journal.check(head).map_err(|source| FolderError::Journal {
                path: path.clone(),
                source,
            })?;
            // Plans without a result are tried again.
            let with_result = journal.plans().into_iter().filter(|it| it.outcome.is_result());
            self.lines = with_result.map(|line| (line.plan.clone(), line.clone())).collect();
            self.known = (journal.known, journal.baseline);
            self.parts = journal.parts;
            let mut file = OpenOptions::new().append(true).open(&path).map_err(io("write"))?;
            if !text.ends_with('\n') {
                file.write_all(b"\n").map_err(io("write"))?;
            }
            self.journal = Some(file);
            return Ok(());
        }
        evidence::create_folder(&self.path).map_err(io("write"))?;
        let new = OpenOptions::new().write(true).create_new(true).open(&path);
        let mut file = new.map_err(|source| match source.kind() {
            io::ErrorKind::AlreadyExists => FolderError::Exists { path: path.clone() },
            _ => io("write")(source),
        })?;
        write_line(&mut file, head).map_err(io("write"))?;
        self.journal = Some(file);
        Ok(())
    }

    /// Returns the line of a plan that already has a result.
    pub(super) fn done(&self, plan: &str) -> Option<&Line> {
        self.lines.get(plan)
    }

    /// Adds all pairs of the cases, and the transitions of the runs without faults, unless the journal has them already.
    pub(super) fn record_known(
        &mut self,
        known: &BTreeSet<Pair>,
        baseline: &BTreeSet<Transition>,
    ) -> Result<(), FolderError> {
        let all = (known.clone(), baseline.clone());
        if self.known == all {
            return Ok(());
        }
        self.known = all;
        self.record(&Entry::Known {
            known: known.clone(),
            baseline: baseline.clone(),
        })
    }

    /// Adds the number of plans of a part, unless the journal has it already.
    pub(super) fn record_part(&mut self, part: Part) -> Result<(), FolderError> {
        if self.parts.insert(part.shard, part.clone()).as_ref() == Some(&part) {
            return Ok(());
        }
        self.record(&Entry::Part(part))
    }

    /// Adds the line of a plan.
    pub(super) fn record_plan(&mut self, line: Line) -> Result<(), FolderError> {
        self.record(&Entry::Plan(line))
    }

    /// Adds a line. It is on the disk once this returns.
    fn record(&mut self, entry: &Entry) -> Result<(), FolderError> {
        let path = self.path.join(JOURNAL);
        let Some(file) = &mut self.journal else { return Ok(()) };
        write_line(file, entry).map_err(|source| FolderError::Io {
            what: "write",
            path,
            source,
        })
    }

    /// Writes the page of the whole journal.
    pub(super) fn write_page(&self) -> Result<(), FolderError> {
        let (_, journal) = read(&self.path)?;
        let path = self.path.join(PAGE);
        let io = |what| {
            let path = path.clone();
            move |source| FolderError::Io { what, path, source }
        };
        let mut cases = found_in(&self.path).map_err(io("read"))?;
        cases.retain(|name| name.starts_with(FOUND) && is_of_type(name, "yaml"));
        fs::write(&path, page::render(&journal, &cases)?).map_err(io("write"))
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

/// Reads the journal of a folder; returns its text, too.
fn read(folder: &Path) -> Result<(String, Journal), FolderError> {
    let path = folder.join(JOURNAL);
    let text = files::read_text(&path).map_err(|source| match source.kind() {
        io::ErrorKind::NotFound => FolderError::Missing {
            folder: folder.to_owned(),
        },
        _ => FolderError::Io {
            what: "read",
            path: path.clone(),
            source,
        },
    })?;
    match Journal::read(&text) {
        Ok(journal) => Ok((text, journal)),
        Err(source) => Err(FolderError::Journal { path, source }),
    }
}

/// Removes the journal of an earlier merge, so that the same folders can be merged again.
///
/// # Errors
/// [`FolderError`] if the journal cannot be removed.
pub fn forget(folder: &Path) -> Result<(), FolderError> {
    let path = folder.join(JOURNAL);
    match fs::remove_file(&path) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => Err(FolderError::Io {
            what: "remove",
            path,
            source,
        }),
        _ => Ok(()),
    }
}

/// Merges the folders of shards into a new folder: their journals, their findings, and a page of both.
///
/// # Errors
/// [`FolderError`] if the shards are of different explorations, or a file cannot be read or written.
pub fn merge(first: &PathBuf, others: &[PathBuf], out: &Path) -> Result<Journal, FolderError> {
    let (_, mut merged) = read(first)?;
    for shard in others {
        let (_, journal) = read(shard)?;
        merged.merge(journal).map_err(|source| FolderError::Journal {
            path: shard.join(JOURNAL),
            source,
        })?;
    }
    let io = |what: &'static str, path: &Path| {
        let path = path.to_owned();
        move |source| FolderError::Io { what, path, source }
    };
    let mut folder = Folder::new(out.to_owned(), false);
    folder.begin(&merged.head)?;
    folder.record_known(&merged.known, &merged.baseline)?;
    for part in merged.parts.values() {
        folder.record_part(part.clone())?;
    }
    for line in merged.plans() {
        folder.record_plan(line.clone())?;
    }
    for shard in iter::once(first).chain(others) {
        for name in found_in(shard).map_err(io("read", shard))? {
            let (from, to) = (shard.join(&name), out.join(&name));
            fs::copy(&from, &to).map_err(io("write", &to))?;
        }
    }
    folder.write_page()?;
    Ok(merged)
}

/// Names of the files of findings and leads in a folder, in order.
fn found_in(folder: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        let is_kept = name.starts_with(FOUND) || name.starts_with(LEAD);
        if is_kept && (is_of_type(&name, "yaml") || is_of_type(&name, "jsonl")) {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

fn is_of_type(name: &str, extension: &str) -> bool {
    Path::new(name).extension().is_some_and(|it| it == extension)
}

fn write_line(file: &mut File, line: &impl serde::Serialize) -> io::Result<()> {
    let mut text = serde_json::to_string(line).map_err(io::Error::other)?;
    text.push('\n');
    // One write: a reader never sees a line that is cut off, unless the process is killed.
    file.write_all(text.as_bytes())
}

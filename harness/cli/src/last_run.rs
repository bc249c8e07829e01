//! Results of the previous run, so that `--rerun-failed` can select the cases that failed.
//!
//! The file is in the folder of timelines, next to the evidence of the failures.

use std::{
    collections::BTreeSet,
    fs, io,
    path::{Path, PathBuf},
};

use baton_core::{event::CaseResult, names::CaseId};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::{evidence, files, report::file};

const FILE: &str = "last-run.json";

/// Error when the results of the previous run cannot be read.
#[derive(Debug, Error)]
pub enum LastRunError {
    /// There was no run, or its folder was removed.
    #[error("{} has no record of an earlier run", .0.display())]
    None(PathBuf),
    /// The file has another format.
    #[error("{} is not a valid record of a run", .0.display())]
    Format(PathBuf, #[source] serde_json::Error),
    /// The last run was of other cases.
    #[error("the earlier run in {} was of the cases in {}", folder.display(), root.display())]
    Other {
        /// The folder of timelines.
        folder: PathBuf,
        /// The folder of the other cases.
        root: PathBuf,
    },
}

/// The cases that failed when they were last run.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct LastRun {
    /// The folder with the cases.
    cases: PathBuf,
    /// Cases that failed.
    failed: BTreeSet<CaseId>,
    /// Cases that were run since this was read.
    #[serde(skip)]
    ended: BTreeSet<CaseId>,
    #[serde(skip)]
    failed_now: BTreeSet<CaseId>,
}

impl LastRun {
    /// Reads the results in a folder of timelines.
    ///
    /// [`LastRunError`] if the folder has no results of these cases.
    pub fn read(folder: &Path, cases: &Path) -> Result<Self, LastRunError> {
        let path = folder.join(FILE);
        let text = files::read_evidence(&path).map_err(|_| LastRunError::None(folder.to_owned()))?;
        let known: Self = serde_json::from_slice(&text).map_err(|error| LastRunError::Format(path, error))?;
        if known.cases == absolute(cases) {
            Ok(known)
        } else {
            Err(LastRunError::Other {
                folder: folder.to_owned(),
                root: known.cases,
            })
        }
    }

    /// Returns empty results for these cases.
    pub fn none(cases: &Path) -> Self {
        Self {
            cases: absolute(cases),
            ..Self::default()
        }
    }

    /// Cases that failed.
    pub fn failed(&self) -> &BTreeSet<CaseId> {
        &self.failed
    }

    /// Adds the result of a case.
    pub fn case_ended(&mut self, result: &CaseResult) {
        self.ended.insert(result.case.clone());
        if result.outcome.failed() {
            self.failed_now.insert(result.case.clone());
        }
    }

    /// Writes the results. A case that failed earlier and was not run again still counts as failed, also if another run
    /// wrote its results to this folder in between.
    ///
    /// If the folder cannot be written to.
    pub fn write(mut self, folder: &Path) -> io::Result<()> {
        evidence::create_folder(folder)?;
        // Excludes other runs from the file until this is dropped.
        let lock = fs::File::open(folder)?;
        lock.lock()?;
        if let Ok(now) = Self::read(folder, &self.cases) {
            self.failed = now.failed;
        }
        self.failed.retain(|case| !self.ended.contains(case));
        self.failed.append(&mut self.failed_now);
        file::write_private(&folder.join(FILE), &serde_json::to_vec(&self)?)
    }
}

fn absolute(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

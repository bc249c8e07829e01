//! What the run before came to, so that the cases that failed can be run again.
//!
//! It lies in the folder of timelines, beside the evidence of what failed.

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

/// Why nothing is known of an earlier run.
#[derive(Debug, Error)]
pub enum LastRunError {
    /// There was none, or its folder is gone.
    #[error("{} has no record of an earlier run", .0.display())]
    None(PathBuf),
    /// Its file is no such file.
    #[error("{} is not a valid record of a run", .0.display())]
    Format(PathBuf, #[source] serde_json::Error),
    /// It was a run of other cases.
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
    /// Those that failed.
    failed: BTreeSet<CaseId>,
    /// Those that were run since this was read.
    #[serde(skip)]
    ended: BTreeSet<CaseId>,
    #[serde(skip)]
    failed_now: BTreeSet<CaseId>,
}

impl LastRun {
    /// Reads what a folder of timelines knows.
    ///
    /// # Errors
    /// [`LastRunError`] if it knows nothing of runs of these cases.
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

    /// Nothing is known yet of runs of these cases.
    pub fn none(cases: &Path) -> Self {
        Self {
            cases: absolute(cases),
            ..Self::default()
        }
    }

    /// The cases that failed.
    pub fn failed(&self) -> &BTreeSet<CaseId> {
        &self.failed
    }

    /// Takes in a result.
    pub fn case_ended(&mut self, result: &CaseResult) {
        self.ended.insert(result.case.clone());
        if result.outcome.failed() {
            self.failed_now.insert(result.case.clone());
        }
    }

    /// Writes what is known now. What failed earlier and was not run again has still failed, also in a run that has ended
    /// in this folder meanwhile.
    ///
    /// # Errors
    /// If the folder cannot be written to.
    pub fn write(mut self, folder: &Path) -> io::Result<()> {
        evidence::create_folder(folder)?;
        // Nobody else reads what is going to be changed until this is dropped.
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

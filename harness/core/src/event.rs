//! What a run tells while it goes on, and what it came to. Every output, live or written, consumes these events and
//! nothing else.

use std::{path::PathBuf, time::Duration};

use crate::{
    judge::Verdict,
    measure::Migration,
    names::{CaseId, RequirementId},
};

/// Something that a run tells.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// The run begins.
    RunStarted {
        /// How many cases there are.
        cases: usize,
        /// The backend that fleets are of.
        backend: String,
        /// The implementation under test.
        target: String,
    },
    /// A case begins.
    CaseStarted {
        /// Which.
        case: CaseId,
        /// How many steps its plan has.
        steps: usize,
    },
    /// A step of a case begins.
    StepStarted {
        /// The case.
        case: CaseId,
        /// Its number in the plan, from 0.
        step: usize,
        /// What it does, in words.
        text: String,
    },
    /// A case is over.
    CaseEnded(Box<CaseResult>),
    /// The run is over.
    RunEnded(Summary),
}

/// What a case came to.
#[derive(Debug, Clone, PartialEq)]
pub struct CaseResult {
    /// The case.
    pub case: CaseId,
    /// What it shows.
    pub title: String,
    /// What it is about.
    pub requirements: Vec<RequirementId>,
    /// How it came out.
    pub outcome: CaseOutcome,
    /// How long it took, on the wall.
    pub wall: Duration,
    /// How long it took by the clusters' clock.
    pub virtual_time: Duration,
    /// What its first migration cost, if there was one.
    pub migration: Option<Migration>,
    /// Where its timeline was written, if it was.
    pub timeline: Option<PathBuf>,
}

/// How a case came out.
#[derive(Debug, Clone, PartialEq)]
pub enum CaseOutcome {
    /// Everything is as the case says.
    Conforms(Verdict),
    /// Something is not.
    Deviates {
        /// What the judge says.
        verdict: Verdict,
        /// Snapshots that are not as their files.
        snapshots: Vec<SnapshotDifference>,
        /// The timeline around the first finding, a line an entry.
        around: Vec<String>,
    },
    /// The target or the clusters have not what the case needs; it was not run.
    Unsupported {
        /// What is missing, in words; at least one.
        reasons: Vec<String>,
    },
    /// Neither the case nor the target is to blame.
    Broken {
        /// What went wrong, and what to do.
        reason: String,
    },
}

/// A snapshot that is not as its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotDifference {
    /// The snapshot's name.
    pub name: String,
    /// Its file.
    pub file: PathBuf,
    /// A unified diff from the file to what was seen; none if there is no file yet.
    pub diff: Option<String>,
}

/// The numbers of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Summary {
    /// Cases that conform.
    pub conforming: usize,
    /// Cases that do not.
    pub deviating: usize,
    /// Cases that need what the target or the clusters do not have.
    pub unsupported: usize,
    /// Cases that could not be run.
    pub broken: usize,
    /// How long all of it took, on the wall.
    pub wall: Duration,
}

impl Summary {
    /// Counts a result.
    pub fn count(&mut self, outcome: &CaseOutcome) {
        match outcome {
            CaseOutcome::Conforms(_) => self.conforming += 1,
            CaseOutcome::Deviates { .. } => self.deviating += 1,
            CaseOutcome::Unsupported { .. } => self.unsupported += 1,
            CaseOutcome::Broken { .. } => self.broken += 1,
        }
    }
}

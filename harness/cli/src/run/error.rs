//! Errors of a case that has no verdict.

use std::io;

use baton_cluster::{error_chain::error_chain, fleet::FleetError, runner::RunError};
use baton_core::case::model::Case;
use thiserror::Error;

use crate::{files::Roots, lint, watchdog::GivenUp};

/// A case that could not be run to a verdict, for another reason than the implementation.
#[derive(Debug, Error)]
pub enum CaseError {
    /// No async runtime can be created.
    #[error("cannot start the async runtime")]
    Runtime(#[source] io::Error),
    /// The fleet cannot be started or removed.
    #[error(transparent)]
    Fleet(#[from] FleetError),
    /// The run has no timeline.
    #[error(transparent)]
    Run(#[from] RunError),
    /// Clusters stopped answering.
    #[error("clusters were lost during the run: {}", .0.join("; "))]
    Lost(Vec<String>),
    /// Rules of the workload simulator failed.
    #[error("the workload simulator failed: {}", .0.join("; "))]
    Simulator(Vec<String>),
    /// An object of one case was found in another that ran at the same time.
    #[error("objects of cases on one control plane were mixed up: {0}")]
    MixedUp(String),
    /// The process was stopped while the case waited for real time, in each attempt.
    #[error(
        "this program was stopped (SIGSTOP, Ctrl-Z) and went on while the case ran, {attempts} times: its waits ended too \
         early; run the case again"
    )]
    Stopped {
        /// Number of attempts.
        attempts: usize,
    },
    /// The user has ended the run.
    #[error("interrupted")]
    Interrupted,
    /// An accepted snapshot cannot be written.
    #[error("cannot write a snapshot")]
    Snapshot(#[source] io::Error),
    /// The case blocked its thread, or panicked.
    #[error(transparent)]
    GivenUp(#[from] GivenUp),
}

impl CaseError {
    /// Returns the error as a text. An error in the case begins with its file and line.
    pub(super) fn reason(&self, case: &Case, roots: &Roots) -> String {
        match self {
            Self::Run(RunError::Case {
                step,
                line,
                text,
                refused,
            }) => {
                let place = lint::place_of_refused(roots, case, *line, refused);
                let message = &refused.refusal.message;
                format!("error in the case: {place}: step {step}, {text}: {message}")
            }
            _ => error_chain(self),
        }
    }
}

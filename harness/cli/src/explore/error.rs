//! Errors of a case that cannot be explored.

use thiserror::Error;

use crate::{load::LoadError, run::CaseError, watchdog::GivenUp};

/// A case that cannot be explored, or a variant of it that cannot be run.
#[derive(Debug, Error)]
pub(super) enum ExploreError {
    /// The case has steps or settings that faults do not fit.
    #[error("{}", .0.join("; "))]
    Obstacles(Vec<&'static str>),
    #[error("it is not supported: {0}")]
    Unsupported(String),
    #[error("it does not conform without faults; `baton run` shows why")]
    NotConforming,
    #[error("its file has no such case any more")]
    Gone,
    #[error("two runs without faults differ, so that no plan could be repeated")]
    NotRepeatable,
    #[error("it deviates without faults once its assertions are left out: {0}")]
    Deviates(String),
    #[error(transparent)]
    Load(#[from] LoadError),
    #[error("the variant cannot be read: {}", .0.join("; "))]
    Unreadable(Vec<String>),
    #[error("the variant has no case")]
    Empty,
    #[error(transparent)]
    Case(#[from] CaseError),
}

impl ExploreError {
    /// True if a run had not ended at its time limit.
    pub(super) fn is_of_time_limit(&self) -> bool {
        matches!(self, Self::Case(CaseError::GivenUp(GivenUp::Endless { .. })))
    }
}

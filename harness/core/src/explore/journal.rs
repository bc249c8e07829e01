//! The journal of an exploration: a first line that says what was explored, then a line for each plan.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::digest::Digest;

/// Version of the format.
const FORMAT: u32 = 1;

/// The first line. An exploration goes on only with a journal whose first line is the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Head {
    /// Version of the format.
    pub format: u32,
    /// Version of Baton.
    pub baton: String,
    /// Implementation and version.
    pub target: String,
    /// Backend of the clusters.
    pub backend: String,
    /// Seed of all runs.
    pub seed: u64,
    /// Digest of each case.
    pub cases: BTreeMap<String, Digest>,
}

impl Head {
    /// The first line of a new journal.
    pub fn new(target: String, backend: String, seed: u64, cases: BTreeMap<String, Digest>) -> Self {
        Self {
            format: FORMAT,
            baton: env!("CARGO_PKG_VERSION").to_owned(),
            target,
            backend,
            seed,
            cases,
        }
    }
}

/// Outcome of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Outcome {
    /// Nothing was found.
    Conforms,
    /// An invariant is broken.
    Deviates,
    /// Something is odd.
    Lead,
    /// A move did not happen.
    NotHappened,
    /// The run has no result.
    Broken,
}

/// The line of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Line {
    /// Identity of the plan.
    pub plan: String,
    /// Case.
    pub case: String,
    /// Moves, as text.
    pub moves: Vec<String>,
    /// Outcome.
    pub outcome: Outcome,
    /// Findings as text, or the reason for a missing result.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub found: Vec<String>,
}

/// A journal that cannot be continued.
#[derive(Debug, Error)]
pub enum JournalError {
    /// The first line is missing or invalid.
    #[error("line 1 is not the beginning of a journal")]
    Head(#[source] serde_json::Error),
    /// The journal is of another exploration.
    #[error("the journal is of another exploration: its {field} differs")]
    Other {
        /// Name of the first field that differs.
        field: &'static str,
    },
}

/// Reads a journal and checks that it is of this exploration. An incomplete last line is left out: the exploration was
/// killed while it wrote it.
///
/// # Errors
/// [`JournalError`] if the journal is not of this exploration.
pub fn read(text: &str, expected: &Head) -> Result<Vec<Line>, JournalError> {
    let mut lines = text.lines();
    let head: Head = serde_json::from_str(lines.next().unwrap_or_default()).map_err(JournalError::Head)?;
    let differs = [
        ("format", head.format != expected.format),
        ("version of Baton", head.baton != expected.baton),
        ("target", head.target != expected.target),
        ("backend", head.backend != expected.backend),
        ("seed", head.seed != expected.seed),
        ("set of cases", head.cases != expected.cases),
    ];
    if let Some((field, _)) = differs.into_iter().find(|(_, differs)| *differs) {
        return Err(JournalError::Other { field });
    }
    Ok(lines.filter_map(|line| serde_json::from_str(line).ok()).collect())
}

/// Plans that a journal has a result for. Those without one are tried again.
pub fn done(lines: &[Line]) -> BTreeSet<&str> {
    let has_result = |line: &&Line| line.outcome != Outcome::Broken;
    lines.iter().filter(has_result).map(|line| line.plan.as_str()).collect()
}

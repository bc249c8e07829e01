//! The journal of an exploration: a first line that says what was explored, then a line for each plan, a line with the pairs
//! of a class of writes and a fault that the cases have, and a line with the number of plans of each shard.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use thiserror::Error;

use super::{shrink::Shrunk, states::Transition};
use crate::{case::model::MoveFault, digest::Digest, event::Shard, yaml::without_byte_order_mark};

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
    /// The run had not ended at its time limit.
    Inconclusive,
    /// The run has no result.
    Broken,
}

impl Outcome {
    /// False if the run has no result, so that the plan is tried again.
    pub fn is_result(self) -> bool {
        match self {
            Self::Conforms | Self::Deviates | Self::Lead | Self::NotHappened => true,
            Self::Inconclusive | Self::Broken => false,
        }
    }
}

/// A class of writes and a fault that can be injected at them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Pair {
    /// Class of writes, as [`super::points::Point::class`] has it.
    pub class: String,
    /// Fault.
    #[serde(serialize_with = "fault_to_name", deserialize_with = "fault_of_name")]
    pub fault: MoveFault,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn fault_to_name<S: Serializer>(fault: &MoveFault, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(fault.name())
}

fn fault_of_name<'de, D: Deserializer<'de>>(deserializer: D) -> Result<MoveFault, D::Error> {
    let name = String::deserialize(deserializer)?;
    let found = MoveFault::ALL.into_iter().find(|fault| fault.name() == name);
    found.ok_or_else(|| D::Error::custom(format!("{name} is not a fault")))
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
    /// The pair of each move.
    pub covers: Vec<Pair>,
    /// Outcome.
    pub outcome: Outcome,
    /// Findings as text, or the reason for a missing result.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub found: Vec<String>,
    /// The result of shrinking the plan, for each finding that is written as a case.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shrunk: Vec<Shrunk>,
    /// Transitions of workloads that no run without faults had.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub reached: BTreeSet<Transition>,
}

/// A line after the first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Entry {
    /// A plan and its outcome.
    Plan(Line),
    /// All pairs of the cases. Written once the baseline is known, again when an exploration is continued.
    Known {
        /// The pairs.
        known: BTreeSet<Pair>,
        /// Transitions of workloads in the runs without faults.
        #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
        baseline: BTreeSet<Transition>,
    },
    /// The part of all plans that an exploration runs. Written once the plans are known.
    Part(Part),
}

/// A part of the plans of an exploration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Part {
    /// The shard.
    pub shard: Shard,
    /// Digest of all plans that the shards divide: shards of other plans do not add up to a whole. Older journals lack it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<Digest>,
    /// Number of its plans, also of those that are not run.
    pub plans: usize,
}

/// A journal that cannot be continued or merged.
#[derive(Debug, Error)]
pub enum JournalError {
    /// The first line is missing or invalid.
    #[error("line 1 is not the beginning of a journal")]
    Head(#[source] serde_json::Error),
    /// A line after the first is invalid.
    #[error("line {number} is invalid")]
    Line {
        /// Number of the line, from 1.
        number: usize,
        /// Reason.
        source: serde_json::Error,
    },
    /// The journal is of another exploration.
    #[error("the journal is of another exploration: its {field} differs")]
    Other {
        /// Name of the first field that differs.
        field: &'static str,
    },
}

/// A journal that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Journal {
    /// The first line.
    pub head: Head,
    /// Pairs of a class of writes and a fault, of all cases.
    pub known: BTreeSet<Pair>,
    /// Transitions of workloads in the runs without faults.
    pub baseline: BTreeSet<Transition>,
    /// Parts by shard; the last of each.
    pub parts: BTreeMap<Shard, Part>,
    /// Lines of plans, in order.
    pub lines: Vec<Line>,
}

impl Journal {
    /// Reads a journal. An incomplete last line is left out: the exploration was killed while it wrote it.
    ///
    /// # Errors
    /// [`JournalError`] if the text is not a journal.
    pub fn read(text: &str) -> Result<Self, JournalError> {
        let mut lines = without_byte_order_mark(text).lines();
        let head = serde_json::from_str(lines.next().unwrap_or_default()).map_err(JournalError::Head)?;
        let mut journal = Self {
            head,
            known: BTreeSet::new(),
            baseline: BTreeSet::new(),
            parts: BTreeMap::new(),
            lines: Vec::new(),
        };
        for (index, line) in lines.enumerate() {
            match serde_json::from_str(line) {
                Ok(Entry::Plan(line)) => journal.lines.push(line),
                Ok(Entry::Known { known, baseline }) => {
                    journal.known.extend(known);
                    journal.baseline.extend(baseline);
                }
                Ok(Entry::Part(part)) if part.shard.exists() => {
                    journal.parts.insert(part.shard, part);
                }
                Ok(Entry::Part(_)) => {}
                // A process that was killed leaves a line without an end, and one that continues ends it.
                Err(error) if error.is_eof() => {}
                Err(source) => {
                    return Err(JournalError::Line {
                        number: index + 2,
                        source,
                    });
                }
            }
        }
        Ok(journal)
    }

    /// Checks that the journal is of this exploration.
    ///
    /// # Errors
    /// [`JournalError::Other`] if it is of another.
    pub fn check(&self, expected: &Head) -> Result<(), JournalError> {
        let differs = [
            ("format", self.head.format != expected.format),
            ("version of Baton", self.head.baton != expected.baton),
            ("target", self.head.target != expected.target),
            ("backend", self.head.backend != expected.backend),
            ("seed", self.head.seed != expected.seed),
            ("set of cases", self.head.cases != expected.cases),
        ];
        match differs.into_iter().find(|(_, differs)| *differs) {
            Some((field, _)) => Err(JournalError::Other { field }),
            None => Ok(()),
        }
    }

    /// Adds the plans of another shard of the same exploration. A plan of both keeps its first result.
    ///
    /// # Errors
    /// [`JournalError::Other`] if it is of another exploration, or its shard is one of other plans.
    pub fn merge(&mut self, other: Self) -> Result<(), JournalError> {
        other.check(&self.head)?;
        let pairs = self
            .parts
            .values()
            .flat_map(|one| other.parts.values().map(move |it| (one, it)));
        let mut of_one_split = pairs.filter(|(one, it)| one.shard.of == it.shard.of);
        if of_one_split.any(|(one, it)| one.of != it.of) {
            let field = "set of plans (--moves, --depth, --random)";
            return Err(JournalError::Other { field });
        }
        self.known.extend(other.known);
        self.baseline.extend(other.baseline);
        self.parts.extend(other.parts);
        self.lines.extend(other.lines);
        Ok(())
    }

    /// One line for each plan, in order: its first result, or a line without a result if there is none.
    pub fn plans(&self) -> Vec<&Line> {
        let mut places = BTreeMap::new();
        let mut plans: Vec<&Line> = Vec::new();
        for line in &self.lines {
            match places.get(&line.plan) {
                None => {
                    places.insert(&line.plan, plans.len());
                    plans.push(line);
                }
                Some(place) if !plans[*place].outcome.is_result() => plans[*place] = line,
                Some(_) => {}
            }
        }
        plans
    }

    /// Number of plans that have no line: the parts have them, but they were not run.
    pub fn not_run(&self) -> usize {
        let of = self.split();
        let of_split = self.parts.iter().filter(|(shard, _)| Some(shard.of) == of);
        let plans = of_split.fold(0, |sum: usize, (_, part)| sum.saturating_add(part.plans));
        plans.saturating_sub(self.plans().len())
    }

    /// Parts whose journals were not merged into this one, the first hundred of them.
    pub fn missing(&self) -> Vec<Shard> {
        const MOST: usize = 100;
        let of = self.split().unwrap_or(0);
        let all = (1..=of).map(|number| Shard { number, of });
        all.filter(|shard| !self.parts.contains_key(shard)).take(MOST).collect()
    }

    /// Number of parts in the split of which least is missing. Journals of several splits can be merged.
    fn split(&self) -> Option<usize> {
        let present = |of: usize| self.parts.keys().filter(|shard| shard.of == of).count();
        let splits: BTreeSet<usize> = self.parts.keys().map(|shard| shard.of).collect();
        splits.into_iter().min_by_key(|of| of.saturating_sub(present(*of)))
    }
}

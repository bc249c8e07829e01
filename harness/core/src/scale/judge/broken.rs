//! Violations.

use std::{collections::BTreeMap, time::Duration};

use serde::{Deserialize, Serialize};

use super::workload::{Told, Workload};
use crate::{names::RequirementId, scale::workloads};

/// Number of violations of a kind that are kept with their story; the others are counted.
const MOST_KEPT: usize = 10;

/// Kinds of violations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Broken {
    /// Under Directly, a new copy was created while the old one was there.
    TwoCopies,
    /// A new copy lacks a label with preserved state in its first revision.
    LabelMissing,
    /// A label has a value that was never collected.
    LabelWrong,
    /// A failing cluster left the scheduling result without an eviction task.
    MovedWithoutTask,
    /// Under Gracefully, the old copy was removed before another one was ready.
    GoneTooEarly,
    /// More evictions than the rate allows.
    RateExceeded,
    /// A workload that had to move has not.
    NeverMoved,
    /// An old copy is left.
    CopyLeft,
    /// An eviction task is left.
    TaskLeft,
    /// The replicas of a divided workload do not add up.
    ReplicasLost,
    /// A workload moved though none of its clusters failed.
    MovedWithoutNeed,
}

impl Broken {
    /// The requirement that says so; `None` if no document does: then it is a remark.
    pub fn requirement(self) -> Option<RequirementId> {
        let id = match self {
            Self::TwoCopies => "PRG-03",
            Self::LabelMissing => "REC-01",
            Self::LabelWrong => "REC-02",
            Self::MovedWithoutTask => "TNT-11",
            Self::GoneTooEarly => "PRG-05",
            Self::RateExceeded => "RAT-01",
            Self::NeverMoved | Self::CopyLeft => "TNT-01",
            Self::TaskLeft => "GRE-01",
            Self::ReplicasLost => "POL-11",
            Self::MovedWithoutNeed => return None,
        };
        Some(RequirementId::new(id))
    }

    /// Its description for people.
    pub fn words(self) -> &'static str {
        match self {
            Self::TwoCopies => "two copies at the same time",
            Self::LabelMissing => "a new copy without preserved state",
            Self::LabelWrong => "a new copy with wrong state",
            Self::MovedWithoutTask => "a move without an eviction task",
            Self::GoneTooEarly => "the old copy removed too early",
            Self::RateExceeded => "evictions above the rate",
            Self::NeverMoved => "a workload that never moved",
            Self::CopyLeft => "an old copy left behind",
            Self::TaskLeft => "an eviction task left behind",
            Self::ReplicasLost => "replicas that do not add up",
            Self::MovedWithoutNeed => "a move without need",
        }
    }
}

/// One violation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Violation {
    /// The workload.
    pub workload: String,
    /// Seconds from the begin of the run.
    pub at: f64,
    /// Description of the event.
    pub seen: String,
    /// Events of the workload until then.
    pub story: Vec<Told>,
}

/// All violations, by kind. Of each kind the first ones are kept.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Violations(BTreeMap<Broken, (usize, Vec<Violation>)>);

impl Violations {
    pub(super) fn add(&mut self, broken: Broken, number: usize, at: Duration, workload: &Workload, seen: String) {
        let (count, kept) = self.0.entry(broken).or_default();
        *count += 1;
        if kept.len() < MOST_KEPT {
            kept.push(Violation {
                workload: workloads::name(number),
                at: at.as_secs_f64(),
                seen,
                story: workload.story(),
            });
        }
    }

    /// Each kind with the number of violations and the first of them.
    pub fn iter(&self) -> impl Iterator<Item = (Broken, usize, &[Violation])> {
        self.0
            .iter()
            .map(|(broken, (count, kept))| (*broken, *count, kept.as_slice()))
    }

    /// Number of violations of a kind.
    pub fn count(&self, broken: Broken) -> usize {
        self.0.get(&broken).map_or(0, |(count, _)| *count)
    }

    /// Returns true if there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

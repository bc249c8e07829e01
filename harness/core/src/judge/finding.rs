//! One thing that was not as it should be.

use std::{collections::BTreeSet, fmt, time::Duration};

use crate::{
    names::RequirementId,
    pattern::{Mismatch, path},
    timeline::ObjectId,
    watch::Known,
};

pub use crate::pattern::DifferenceKind;

/// One thing that was not as it should be: what, expected, seen, where and when.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// The requirements that it refutes; empty if a step failed that proves none.
    pub requirements: BTreeSet<RequirementId>,
    /// The field that differs, written the same way for every case, such as `spec.gracefulEvictionTasks[].purgeMode`;
    /// none if it is about no field, or about several.
    pub field: Option<String>,
    /// How it differs. Findings with the same requirement, field and kind show one defect.
    pub kind: DifferenceKind,
    /// The subject of the check, as a phrase.
    pub title: String,
    /// The step of the plan that it belongs to, from 0; none for invariants.
    pub step: Option<usize>,
    /// The expected result.
    pub expected: String,
    /// The result that was seen.
    pub seen: String,
    /// The object that it was seen on.
    pub object: Option<ObjectId>,
    /// The entry of the timeline where it was seen.
    pub seq: u64,
    /// The time of that entry.
    pub at: Duration,
    /// The places where the object is not as expected.
    pub mismatches: Vec<Mismatch>,
    /// The step, from 0, whose finding explains this one: a label does not have the expected value because the value in
    /// the task was wrong. Such a finding refutes nothing and does not count as a second defect.
    pub follows: Option<usize>,
}

impl Finding {
    /// Returns `true` if the finding is about the subject of a case that tests the requirements `about`: a step found it, or
    /// it refutes one of them. A finding of no step that refutes no requirement makes the run untrustworthy, for every
    /// case.
    pub fn is_about<'a>(&self, about: impl IntoIterator<Item = &'a RequirementId>) -> bool {
        is_about(self.step, &self.requirements, about)
    }
}

/// Returns `true` if a finding of this step that refutes these requirements is about the subject of a case.
pub(crate) fn is_about<'a>(
    step: Option<usize>,
    refuted: &BTreeSet<RequirementId>,
    about: impl IntoIterator<Item = &'a RequirementId>,
) -> bool {
    step.is_some() || refuted.is_empty() || about.into_iter().any(|id| refuted.contains(id))
}

/// Field and kind of the first place where an object differs.
pub(super) fn difference(mismatches: &[Mismatch], known: &Known) -> Option<(Option<String>, DifferenceKind)> {
    let first = mismatches.first()?;
    let is_name = |key: &str| known.members.iter().any(|it| it.as_str() == key);
    Some((Some(path::field(&first.path, &is_name)), first.kind))
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ids = self
            .requirements
            .iter()
            .map(RequirementId::as_str)
            .collect::<Vec<_>>()
            .join(", ");
        if ids.is_empty() {
            writeln!(f, "{}", self.title)?;
        } else {
            writeln!(f, "{ids}: {}", self.title)?;
        }
        // What clusters say may have several lines; they stay under the first.
        let below = |text: &str| text.replace('\n', "\n            ");
        writeln!(f, "  expected  {}", below(&self.expected))?;
        writeln!(f, "  seen      {}", below(&self.seen))?;
        for mismatch in &self.mismatches {
            writeln!(f, "            {}", below(&mismatch.to_string()))?;
        }
        if let Some(object) = &self.object {
            writeln!(f, "  object    {object}")?;
        }
        if let Some(step) = self.step {
            writeln!(f, "  step      {}", step + 1)?;
        }
        write!(f, "  moment    {:.3} s, entry {}", self.at.as_secs_f64(), self.seq)
    }
}

//! The judge: what a closed timeline says about an implementation. Pure; the same timeline gives the same verdict.
//!
//! - [`judge`] walks through the steps of a plan along the marks of its timeline and checks the invariants;
//! - [`judge_recording`] checks the invariants alone, on a timeline that no case belongs to;
//! - [`failovers`] finds the eviction tasks in a timeline, [`invariants`] judges them;
//! - [`snapshots`] makes the texts that are compared with files under `snapshots/`.

pub mod failovers;
pub mod finding;
pub mod invariants;
pub mod snapshots;
mod steps;

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    case::model::{Case, Invariant},
    names::{CaseId, RequirementId},
    plan::Plan,
    timeline::Timeline,
};

pub use finding::Finding;
pub use snapshots::SnapshotText;

/// What the judge says of one run of one case.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    /// The case.
    pub case: CaseId,
    /// Everything that was not as the case or an invariant says, in the order of the timeline. None: it conforms,
    /// as far as snapshots do not say otherwise.
    pub findings: Vec<Finding>,
    /// The requirements that some assertion or invariant proved, and none refuted.
    pub shown: BTreeSet<RequirementId>,
    /// The texts to compare with the files under `snapshots/`.
    pub snapshots: Vec<SnapshotText>,
}

impl Verdict {
    /// Whether there is nothing to object to.
    pub fn conforms(&self) -> bool {
        self.findings.is_empty()
    }

    /// The requirements that findings refute.
    pub fn broken(&self) -> BTreeSet<RequirementId> {
        self.findings
            .iter()
            .flat_map(|finding| finding.requirements.iter().cloned())
            .collect()
    }
}

/// Judges a closed timeline by its case.
pub fn judge(case: &Case, timeline: &Timeline) -> Verdict {
    let plan = Plan::of(case);
    let mut steps = steps::judge(&plan, timeline);
    let invariants = invariants::judge(timeline, &case.exempt.keys().copied().collect());
    let mut proved: BTreeSet<RequirementId> = std::mem::take(&mut steps.proved);
    // An invariant proves something only for the case that counts on it; everywhere else it can only refute.
    for invariant in &case.invariants {
        if invariants.judged.get(invariant).is_some_and(|count| *count > 0) {
            proved.extend(invariant.proves());
        }
    }
    let mut findings = steps.findings;
    findings.extend(invariants.findings);
    findings.sort_by_key(|finding| (finding.seq, finding.step));
    if findings.is_empty() {
        findings.extend(vacuous(case, &invariants.judged, timeline));
    }
    let broken: BTreeSet<_> = findings
        .iter()
        .flat_map(|finding| finding.requirements.iter().cloned())
        .collect();
    let shown = proved.difference(&broken).cloned().collect();
    Verdict {
        case: case.id.clone(),
        findings,
        shown,
        snapshots: steps.snapshots,
    }
}

/// Judges a timeline that no case belongs to, such as a recording, by the invariants alone.
pub fn judge_recording(timeline: &Timeline) -> Vec<Finding> {
    invariants::judge(timeline, &BTreeSet::new()).findings
}

/// An invariant that a case names must have had something to judge: a run in which nothing moved proves nothing.
fn vacuous<'a>(
    case: &'a Case,
    judged: &'a BTreeMap<Invariant, usize>,
    timeline: &Timeline,
) -> impl Iterator<Item = Finding> + 'a {
    let end = timeline
        .entries()
        .last()
        .map(|entry| (entry.seq, entry.at))
        .unwrap_or_default();
    case.invariants
        .iter()
        .filter(|invariant| judged.get(invariant).copied().unwrap_or_default() == 0)
        .map(move |invariant| Finding {
            requirements: invariant.proves(),
            title: format!("the invariant {} had nothing to judge", invariant.name()),
            step: None,
            expected: "an eviction that it applies to".to_owned(),
            seen: "none in the whole run".to_owned(),
            object: None,
            seq: end.0,
            at: end.1,
            mismatches: Vec::new(),
        })
}

//! Deviations and leads in the verdict on a run with moves.

use std::collections::BTreeSet;

use crate::{
    case::model::{Invariant, Move},
    judge::{DifferenceKind, Finding, Verdict, invariants::title},
    names::RequirementId,
};

/// Invariants whose findings under faults are leads: they depend on time, have no requirement, or check the harness.
const LEADS: [Invariant; 7] = [
    Invariant::LateEvictionIsExplained,
    Invariant::NoWriteChangesNothing,
    Invariant::ComesToRest,
    Invariant::OnlyTheTargetWritesBindings,
    Invariant::ReplicasAddUp,
    Invariant::TaskEndsWell,
    Invariant::NothingLeftAfterCleanUp,
];

/// Identity of a finding within an exploration.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Signature {
    /// Requirements.
    pub requirements: BTreeSet<RequirementId>,
    /// Title, such as `invariant settles`.
    pub title: String,
    /// Field.
    pub field: Option<String>,
    /// Kind of the difference.
    pub kind: DifferenceKind,
}

impl Signature {
    /// Identity of a finding.
    pub fn of(finding: &Finding) -> Self {
        Self {
            requirements: finding.requirements.clone(),
            title: finding.title.clone(),
            field: finding.field.clone(),
            kind: finding.kind,
        }
    }

    /// The invariant, if the finding is of one.
    pub fn invariant(&self) -> Option<Invariant> {
        Invariant::ALL.into_iter().find(|it| title(*it) == self.title)
    }
}

/// Findings of a run.
#[derive(Debug, Clone, Default)]
pub struct Shown {
    /// Findings that refute the implementation: an invariant that holds under every fair fault is broken.
    pub deviations: Vec<Finding>,
    /// All other findings. No document forbids them, or the delay that the fault caused may explain them.
    pub leads: Vec<Finding>,
    /// Set if a move did not happen.
    pub incomplete: bool,
}

/// Sorts what the judge found. All moves that cases can make are fair: Kubernetes or the documents allow them.
pub fn shown(verdict: &Verdict, moves: &[&Move]) -> Shown {
    let mut shown = Shown::default();
    let news_late = moves.iter().any(|it| it.fault.delays_news());
    let refutes = |finding: &Finding| match Signature::of(finding).invariant() {
        Some(Invariant::DestinationFits) => !news_late && !finding.requirements.is_empty(),
        Some(invariant) => !LEADS.contains(&invariant) && !finding.requirements.is_empty(),
        None => false,
    };
    for finding in verdict.findings.iter().chain(&verdict.elsewhere) {
        if refutes(finding) {
            shown.deviations.push(finding.clone());
        } else {
            shown.leads.push(finding.clone());
        }
    }
    let odd = verdict.remarks.iter().chain(&verdict.proposed);
    shown.leads.extend(odd.cloned());
    let not_happened = |finding: &&Finding| finding.title == "a move did not happen";
    shown.incomplete = verdict.inconclusive.iter().any(|it| not_happened(&it));
    shown
}

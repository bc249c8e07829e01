//! The judge: what a closed timeline says about an implementation. Pure; the same timeline gives the same verdict.
//!
//! - [`judge`] walks through the steps of a plan along the marks of its timeline and checks the invariants;
//! - [`judge_recording`] checks the invariants alone, on a timeline that no case belongs to; [`recorded`] also looks
//!   for the steps of a case in it;
//! - `step_runs` finds the steps of a run in its timeline, `steps` checks them;
//! - `defects` leaves out and joins findings that show one defect;
//! - [`Weighed`] sorts findings by their consequence for the implementation;
//! - [`failovers`] finds the eviction tasks in a timeline, [`invariants`] judges them; `order` knows which of two events came
//!   first, as far as the timeline's order goes;
//! - `allowances` lists the times for which an implementation is not answerable;
//! - [`snapshots`] makes the texts that are compared with files under `snapshots/`.

mod allowances;
mod defects;
pub mod failovers;
pub mod finding;
pub mod invariants;
mod order;
pub mod recorded;
pub mod settled;
mod several;
mod situations;
pub mod snapshots;
mod step_runs;
mod steps;
mod weighed;

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    case::model::Invariant,
    catalogue::Consequence,
    names::{CaseId, RequirementId},
    plan::Plan,
    timeline::{Mark, Timeline},
};

pub use finding::{DifferenceKind, Finding};
pub use invariants::Judged;
pub use snapshots::SnapshotText;
pub use weighed::Weighed;

/// Verdict on one run of one case.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    /// The case.
    pub case: CaseId,
    /// Findings that make the case deviate, in the order of the timeline.
    pub findings: Vec<Finding>,
    /// Deviations that invariants found and that the case is not about: they count for their requirements, and do not
    /// make the case deviate.
    pub elsewhere: Vec<Finding>,
    /// Findings that break nothing graver than a SHOULD or an ADVICE: the case conforms with remarks.
    pub remarks: Vec<Finding>,
    /// Findings about proposals that the target does not claim: they have no effect on the case.
    pub proposed: Vec<Finding>,
    /// Checks without a result: events that are too close to each other on a timeline without an exact order, and
    /// invariants that the case relies on and that never applied. Their requirements are not shown.
    pub inconclusive: Vec<Finding>,
    /// Set if a check has no result because events came too close to each other: another run may have one.
    pub too_close: bool,
    /// The requirements that some assertion or invariant proved, and none refuted or left open.
    pub shown: BTreeSet<RequirementId>,
    /// The requirements that the case was to show and that are neither shown nor refuted, each with the reason: an
    /// earlier step failed, or a situation did not last.
    pub not_judged: BTreeMap<RequirementId, String>,
    /// Harmless oddities: an implementation other than the reference may make writes that change nothing.
    pub warnings: Vec<Finding>,
    /// The feature that the implementation lacks, if the case does not apply to it; all other fields are empty then.
    pub unsupported: Option<String>,
    /// The texts to compare with the files under `snapshots/`: they hold what the reference does, letter by letter, so
    /// that no other implementation is compared with them.
    pub snapshots: Vec<SnapshotText>,
}

/// The user agent of the reference controller.
const REFERENCE: &str = "baton-controller";

/// Returns `true` if a timeline is of the built-in reference controller.
fn is_of_reference(timeline: &Timeline) -> bool {
    timeline.marks().any(|(_, mark)| match mark {
        Mark::Writers(writers) => writers.contains(REFERENCE),
        _ => false,
    })
}

impl Verdict {
    fn unsupported(case: CaseId, reason: String) -> Self {
        Self {
            case,
            findings: Vec::new(),
            elsewhere: Vec::new(),
            remarks: Vec::new(),
            proposed: Vec::new(),
            inconclusive: Vec::new(),
            too_close: false,
            shown: BTreeSet::new(),
            not_judged: BTreeMap::new(),
            warnings: Vec::new(),
            unsupported: Some(reason),
            snapshots: Vec::new(),
        }
    }

    /// Returns `true` if there are no findings, and every check has a result.
    pub fn conforms(&self) -> bool {
        self.findings.is_empty() && self.inconclusive.is_empty()
    }

    /// All findings that refute something, the gravest first.
    pub fn all_findings(&self) -> impl Iterator<Item = &Finding> {
        let deviations = self.findings.iter().chain(&self.elsewhere);
        deviations.chain(&self.remarks).chain(&self.proposed)
    }

    /// Returns true if it conforms and nothing at all was found.
    pub fn is_clean(&self) -> bool {
        self.conforms() && self.all_findings().next().is_none()
    }

    /// The requirements that findings refute.
    pub fn broken(&self) -> BTreeSet<RequirementId> {
        requirements(self.all_findings())
    }

    /// Returns the requirements with a check that has no result.
    pub fn open(&self) -> BTreeSet<RequirementId> {
        requirements(&self.inconclusive)
    }
}

fn requirements<'a>(findings: impl IntoIterator<Item = &'a Finding>) -> BTreeSet<RequirementId> {
    let ids = findings
        .into_iter()
        .flat_map(|finding| finding.requirements.iter().cloned());
    ids.collect()
}

/// Judges a closed timeline by the plan of its case.
///
/// A run on shared clusters has its own namespace, and a fast run has shorter periods; the plan is judged as if it named
/// those.
pub fn judge(plan: &Plan, timeline: &Timeline) -> Verdict {
    let as_run = timeline.begin().map(|begin| plan.as_run(begin));
    let plan = as_run.as_deref().unwrap_or(plan);
    let mut steps = steps::judge(plan, timeline);
    let mut invariants = invariants::judge(timeline, &plan.exempt, Some(plan));
    if steps.ended_early {
        // A run that ended early had not the time that invariants allow for.
        invariants.findings.clear();
        invariants.inconclusive.clear();
    }
    let broken_checks = invariants.titles();
    defects::each_once(&mut steps, &mut invariants, timeline);
    let mut proved: BTreeSet<RequirementId> = std::mem::take(&mut steps.proved);
    // An invariant proves something only for the case that counts on it; everywhere else it can only refute.
    for invariant in &plan.invariants {
        let judged = invariants.judged.get(invariant).is_some_and(|count| *count > 0);
        let is_broken = broken_checks.contains(&invariants::title(*invariant));
        match steps.incomplete.clone() {
            Some(reason) => steps.leave_open(invariant.proves(), &reason),
            // A finding may blame one of several requirements; it shows none of the others.
            None if is_broken => {
                steps.leave_open(invariant.proves(), "another requirement of the same check is broken");
            }
            None if judged => proved.extend(invariant.proves()),
            None => steps.leave_open(invariant.proves(), "nothing happened that it applies to"),
        }
    }
    if let Some(reason) = steps.unsupported {
        return Verdict::unsupported(plan.case.clone(), reason);
    }
    let of_reference = is_of_reference(timeline);
    let is_warning = |finding: &Finding| {
        let is_of = |invariant| finding.title == invariants::title(invariant);
        !of_reference && is_of(Invariant::NoWriteChangesNothing) || is_of(Invariant::ComesToRest)
    };
    let (warnings, broken): (Vec<_>, Vec<_>) = invariants.findings.into_iter().partition(is_warning);
    // A step that proves nothing stands in the way of all that the case is about.
    let of_case = plan.asked.gravest(&plan.about).unwrap_or(Consequence::Deviation);
    let weigh = |findings: Vec<Finding>| Weighed::of(findings, &plan.asked, of_case);
    let found = weigh(steps.findings.into_iter().chain(broken).collect());
    let open = weigh(steps.inconclusive.into_iter().chain(invariants.inconclusive).collect());
    // What cannot be decided makes the case inconclusive only if it could make it deviate.
    let mut inconclusive = open.deviations;
    let ended_early = steps.ended_early;
    inconclusive.extend(steps.given_up);
    for finding in open.remarks.iter().chain(&open.proposed) {
        steps.left_open.extend(undecided(finding));
    }
    if found.deviations.is_empty() && !ended_early {
        inconclusive.extend(vacuous(plan, &invariants.judged, timeline));
    }
    let mut told = requirements(found.deviations.iter().chain(&found.remarks).chain(&found.proposed));
    let (findings, elsewhere) = found
        .deviations
        .into_iter()
        .partition(|finding| finding.is_about(&plan.about));
    told.extend(requirements(&inconclusive));
    let mut not_judged = steps.left_open;
    not_judged.retain(|id, _| !told.contains(id));
    proved.retain(|id| !told.contains(id) && !not_judged.contains_key(id) && !found.allowed.contains(id));
    Verdict {
        case: plan.case.clone(),
        findings,
        elsewhere,
        remarks: found.remarks,
        proposed: found.proposed,
        inconclusive,
        too_close: invariants.too_close,
        shown: proved,
        not_judged,
        warnings,
        unsupported: None,
        snapshots: if of_reference { steps.snapshots } else { Vec::new() },
    }
}

/// The requirements of a finding that is undecided, with the reason.
fn undecided(finding: &Finding) -> impl Iterator<Item = (RequirementId, String)> {
    let reason = format!("{}: {}", finding.title, finding.seen);
    finding.requirements.iter().map(move |id| (id.clone(), reason.clone()))
}

/// Judges a timeline that no case belongs to, such as a recording, by the invariants alone.
pub fn judge_recording(timeline: &Timeline) -> Judged {
    invariants::judge(timeline, &BTreeSet::new(), None)
}

/// An invariant that a case names must have had something to judge: a run in which nothing moved proves nothing, and
/// refutes nothing either, so that no requirement is to blame.
fn vacuous<'a>(
    plan: &'a Plan,
    judged: &'a BTreeMap<Invariant, usize>,
    timeline: &Timeline,
) -> impl Iterator<Item = Finding> + 'a {
    let end = timeline
        .entries()
        .last()
        .map(|entry| (entry.seq, entry.at))
        .unwrap_or_default();
    plan.invariants
        .iter()
        .filter(|invariant| judged.get(invariant).copied().unwrap_or_default() == 0)
        .map(move |invariant| Finding {
            requirements: BTreeSet::new(),
            field: None,
            kind: DifferenceKind::Never,
            title: format!("the invariant {} had nothing to judge", invariant.name()),
            step: None,
            expected: "an eviction that it applies to".to_owned(),
            seen: "none in the whole run".to_owned(),
            object: None,
            seq: end.0,
            at: end.1,
            mismatches: Vec::new(),
            follows: None,
        })
}

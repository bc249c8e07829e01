//! Distributes cases: on one shared control plane at once, or each on separate clusters.

use std::{cmp::Reverse, collections::BTreeSet};

use baton_cluster::fleet::TimeMode;
use baton_core::{
    case::model::Case,
    event::{CaseOutcome, CaseResult},
    names::RequirementId,
};

use super::planned::PlannedCase;
use crate::{context::CaseContext, options::RunOptions, show::count};

/// Order of the cases of a run.
#[derive(Debug)]
pub struct Layout<'p> {
    /// Cases that share a control plane, run before the others.
    pub beside_each_other: Vec<&'p PlannedCase<'p>>,
    /// Number of them that run at once.
    pub at_once: usize,
    /// All other cases.
    pub rest: Vec<&'p PlannedCase<'p>>,
    /// Number of them that run at once: one, unless each has separate clusters.
    pub rest_at_once: usize,
}

impl<'p> Layout<'p> {
    /// Creates the layout of a run with these options.
    pub fn new(planned: &'p [PlannedCase<'p>], options: &RunOptions) -> Self {
        let mut order: Vec<&PlannedCase<'_>> = planned.iter().collect();
        if options.backend.time_mode() == TimeMode::Real {
            // Cases that wait longest begin first, so that none of them runs alone at the end.
            order.sort_by_cached_key(|planned| Reverse(planned.plan.waits()));
        }
        let runs = |cases: &[&PlannedCase<'_>]| {
            usize::try_from(options.repeat)
                .unwrap_or(usize::MAX)
                .saturating_mul(cases.len())
        };
        let members = |cases: &[&PlannedCase<'_>]| cases.iter().map(|it| it.case.members).max().unwrap_or(1);
        let cases: Vec<&Case> = order.iter().map(|planned| planned.case).collect();
        let possible = options.backend.beside_each_other(&cases, options.target.location());
        let shared = possible.is_some();
        let possible = &possible.unwrap_or_default();
        let of = |wanted| {
            let numbered = order.iter().enumerate();
            let those = numbered.filter(move |(number, _)| possible.contains(number) == wanted);
            those.map(|(_, planned)| *planned).collect::<Vec<_>>()
        };
        let (beside, rest) = (of(true), of(false));
        let at_once = options.jobs(runs(&beside), members(&beside));
        if at_once == 1 {
            let rest_at_once = if shared {
                1
            } else {
                options.jobs(runs(&order), members(&order))
            };
            return Self {
                beside_each_other: Vec::new(),
                at_once,
                rest: order,
                rest_at_once,
            };
        }
        Self {
            beside_each_other: beside,
            at_once,
            rest,
            rest_at_once: 1,
        }
    }

    /// Returns a description of the layout, if cases share a control plane.
    pub fn words(&self) -> Option<String> {
        let beside = self.beside_each_other.len();
        (beside > 0).then(|| {
            format!(
                "{} on one control plane, {} at once; {} alone",
                count(beside, "case"),
                self.at_once,
                self.rest.len()
            )
        })
    }
}

/// Weight of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weight {
    /// The result counts.
    Counts,
    /// The result counts if a case that ran alone has broken the same requirements.
    IfAlsoAlone,
    /// The result does not count: the case is run again, alone.
    Nothing,
}

/// Returns the weight of a result. Next to other cases only results that conform or are unsupported count, because the
/// other cases might have caused a deviation. A deviation that the baseline knows counts once a case that ran alone has
/// shown it.
pub fn weight(result: &CaseResult, context: &CaseContext) -> Weight {
    if !context.beside_others || context.options().interrupt.is_asked() {
        return Weight::Counts;
    }
    match &result.outcome {
        CaseOutcome::Conforms(_) | CaseOutcome::Unsupported { .. } => Weight::Counts,
        CaseOutcome::Deviates { verdict, snapshots, .. } if result.known => {
            let all_named = verdict.findings.iter().all(|finding| !finding.requirements.is_empty());
            if all_named && snapshots.is_empty() {
                Weight::IfAlsoAlone
            } else {
                Weight::Nothing
            }
        }
        CaseOutcome::Deviates { .. } | CaseOutcome::Inconclusive { .. } | CaseOutcome::Broken { .. } => Weight::Nothing,
    }
}

/// The requirements that a result breaks.
fn broken(result: &CaseResult) -> BTreeSet<RequirementId> {
    match &result.outcome {
        CaseOutcome::Deviates { verdict, .. } => verdict.broken(),
        CaseOutcome::Conforms(_)
        | CaseOutcome::Inconclusive { .. }
        | CaseOutcome::Unsupported { .. }
        | CaseOutcome::Broken { .. } => BTreeSet::new(),
    }
}

/// Requirements that cases have broken that ran alone.
#[derive(Debug, Default)]
pub struct Confirmed(BTreeSet<RequirementId>);

impl Confirmed {
    /// Adds the result of a case that ran alone.
    pub fn add(&mut self, result: &CaseResult) {
        self.0.extend(broken(result));
    }

    /// Returns `true` if a case that ran alone has broken every requirement that this result breaks.
    pub fn covers(&self, result: &CaseResult) -> bool {
        broken(result).is_subset(&self.0)
    }
}

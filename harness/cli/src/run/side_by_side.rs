//! Which cases are run at once: beside each other on one control plane, or each on clusters of its own.

use std::{cmp::Reverse, collections::BTreeSet};

use baton_cluster::fleet::TimeMode;
use baton_core::{
    case::model::Case,
    event::{CaseOutcome, CaseResult},
    names::RequirementId,
};

use super::planned;
use crate::{settings::Settings, show::count};

/// The cases of a run, those that take longest first.
#[derive(Debug)]
pub struct Layout<'c> {
    /// Those that are run beside each other on one control plane, before the others.
    pub beside_each_other: Vec<&'c Case>,
    /// How many of them at once.
    pub at_once: usize,
    /// All others.
    pub rest: Vec<&'c Case>,
    /// How many of them at once: one, unless each has clusters of its own.
    pub rest_at_once: usize,
}

impl<'c> Layout<'c> {
    /// Of a run with these settings.
    pub fn of(cases: &'c [Case], settings: &Settings) -> Self {
        let mut order: Vec<&Case> = cases.iter().collect();
        if settings.backend.time_mode() == TimeMode::Real {
            // What lets most time pass begins first, so that nobody waits for it alone at the end.
            order.sort_by_cached_key(|case| Reverse(planned(case, settings).waits()));
        }
        let runs = |cases: &[&Case]| {
            usize::try_from(settings.repeat)
                .unwrap_or(usize::MAX)
                .saturating_mul(cases.len())
        };
        let members = |cases: &[&Case]| cases.iter().map(|case| case.members).max().unwrap_or(1);
        let possible = settings.backend.beside_each_other(&order, settings.target.location());
        let shared = possible.is_some();
        let possible = &possible.unwrap_or_default();
        let of = |wanted| {
            let numbered = order.iter().enumerate();
            let those = numbered.filter(move |(number, _)| possible.contains(number) == wanted);
            those.map(|(_, case)| *case).collect::<Vec<_>>()
        };
        let (beside, rest) = (of(true), of(false));
        let at_once = settings.jobs(runs(&beside), members(&beside));
        if at_once == 1 {
            let rest_at_once = if shared {
                1
            } else {
                settings.jobs(runs(&order), members(&order))
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

    /// What there is to say of it, if cases share a control plane.
    pub fn words(&self) -> Option<String> {
        let beside = self.beside_each_other.len();
        (beside > 0).then(|| {
            format!(
                "{} beside each other on one control plane, {} at once; {} alone",
                count(beside, "case"),
                self.at_once,
                self.rest.len()
            )
        })
    }
}

/// What a result is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weight {
    /// It counts.
    Counts,
    /// It counts if a case that was alone has broken the same.
    IfAlsoAlone,
    /// It does not count: the case is run again, alone.
    Nothing,
}

/// What the result of a case is worth. Beside others only what is as it should be counts: whatever is wrong might be so
/// because of them. What the baseline says of the target is as it should be once it was seen of a case that was alone.
pub fn weight(result: &CaseResult, settings: &Settings) -> Weight {
    if !settings.beside_others || settings.interrupt.is_asked() {
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

/// What cases have broken that were alone.
#[derive(Debug, Default)]
pub struct Confirmed(BTreeSet<RequirementId>);

impl Confirmed {
    /// Takes in the result of a case that was alone.
    pub fn add(&mut self, result: &CaseResult) {
        self.0.extend(broken(result));
    }

    /// Whether all that a case has broken beside others has also been broken by a case that was alone.
    pub fn covers(&self, result: &CaseResult) -> bool {
        broken(result).is_subset(&self.0)
    }
}

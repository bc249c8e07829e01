//! Retries a case that failed, or whose events came too close to each other.

use super::{case::try_case, planned::PlannedCase};
use crate::{
    context::{CaseContext, RunState},
    options::RunOptions,
};
use baton_core::{
    case::model::Case,
    event::{CaseOutcome, CaseResult, Event},
};

/// Plans one case and runs it to its result, alone.
pub fn run_case(case: &Case, options: &RunOptions, emit: &(dyn Fn(Event) + Sync)) -> CaseResult {
    let context = CaseContext::new(RunState::new(options.clone(), [case]));
    run_planned_case(&PlannedCase::new(case, options), &context, emit)
}

/// Runs one case to its result. A failed case is retried as often as the options allow; if its events
/// came too close to each other to tell their order, it is retried up to twice even if the options allow no retry.
pub(super) fn run_planned_case(
    planned: &PlannedCase<'_>,
    context: &CaseContext,
    emit: &(dyn Fn(Event) + Sync),
) -> CaseResult {
    let mut tries = Tries::of(context.retries());
    let mut failed = Vec::new();
    let mut context = context.clone();
    loop {
        let result = try_case(planned, &context, emit);
        if context.run.is_stopped() || !tries.again(&result.outcome) {
            return CaseResult {
                failed_tries: failed,
                ..result
            };
        }
        failed.push(result.outcome.headline());
        context.attempt += 1;
    }
}

/// Number of retries that are left.
#[derive(Debug)]
struct Tries {
    /// For failures.
    failed: u32,
    /// For events that came too close to each other.
    too_close: u32,
}

impl Tries {
    fn of(retries: u32) -> Self {
        Self {
            failed: retries,
            too_close: retries.max(2),
        }
    }

    /// Returns `true` if a case with this outcome is retried, and counts the retry.
    fn again(&mut self, outcome: &CaseOutcome) -> bool {
        let left = match outcome {
            CaseOutcome::Conforms(_) | CaseOutcome::Unsupported { .. } => return false,
            CaseOutcome::Inconclusive { verdict, .. } if verdict.too_close => &mut self.too_close,
            CaseOutcome::Inconclusive { .. } | CaseOutcome::Deviates { .. } | CaseOutcome::Broken { .. } => {
                &mut self.failed
            }
        };
        let again = *left > 0;
        *left = left.saturating_sub(1);
        again
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;
    use baton_core::judge::Verdict;

    fn inconclusive(too_close: bool) -> CaseOutcome {
        CaseOutcome::Inconclusive {
            verdict: Verdict {
                case: "a-case".into(),
                findings: Vec::new(),
                elsewhere: Vec::new(),
                remarks: Vec::new(),
                proposed: Vec::new(),
                inconclusive: Vec::new(),
                too_close,
                shown: BTreeSet::new(),
                not_judged: BTreeMap::new(),
                warnings: Vec::new(),
                unsupported: None,
                snapshots: Vec::new(),
            },
            excerpt: Vec::new(),
            likely_cause: None,
        }
    }

    fn times(retries: u32, outcome: &CaseOutcome) -> usize {
        let mut tries = Tries::of(retries);
        std::iter::from_fn(|| tries.again(outcome).then_some(())).count()
    }

    #[test]
    fn what_came_too_close_is_tried_twice_more_without_being_asked() {
        assert_eq!(times(0, &inconclusive(true)), 2);
        assert_eq!(times(5, &inconclusive(true)), 5);
        assert_eq!(times(0, &inconclusive(false)), 0);
        let broken = CaseOutcome::Broken {
            reason: "not now".to_owned(),
        };
        assert_eq!(times(0, &broken), 0);
        assert_eq!(times(3, &broken), 3);
    }

    #[test]
    fn what_came_too_close_does_not_use_up_what_was_asked_for() {
        let mut tries = Tries::of(1);
        let broken = CaseOutcome::Broken {
            reason: "not now".to_owned(),
        };
        assert!(tries.again(&inconclusive(true)));
        assert!(tries.again(&broken));
        assert!(!tries.again(&broken));
    }
}

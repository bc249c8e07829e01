//! The part of the suite that a report covers: reports must mention cases that did not run.

use std::collections::BTreeSet;

use super::{
    described::count,
    model::{CaseOutcome, ConformanceReport},
};

impl ConformanceReport {
    /// Returns the number of selected cases in the shard of the report.
    pub fn selected_cases(&self) -> usize {
        let suite = &self.suite;
        match suite.shard {
            None => suite.cases,
            Some(shard) if !shard.exists() => 0,
            Some(shard) => suite.cases / shard.of + usize::from(shard.number <= suite.cases % shard.of),
        }
    }

    /// Returns the number of runs that the report should have: one for each selected case and seed.
    pub fn selected_runs(&self) -> usize {
        let seeds = usize::try_from(self.suite.seeds).unwrap_or(usize::MAX);
        self.selected_cases().saturating_mul(seeds)
    }

    /// Returns the number of selected runs that the report does not have.
    pub fn missing_runs(&self) -> usize {
        self.selected_runs().saturating_sub(self.cases.len())
    }

    /// Returns `28 of 607 cases run, 579 not run`; `None` if the report has every case of the suite. A case that the
    /// implementation does not support is in the report, so it counts as run; one that could not be run does not.
    pub fn partly(&self) -> Option<String> {
        let ran = self.cases.iter().filter(|case| case.result != CaseOutcome::Broken);
        let run: BTreeSet<_> = ran.map(|case| &case.name).collect();
        let whole = self.suite.whole.unwrap_or_default().max(self.suite.cases);
        let not_run = whole.saturating_sub(run.len());
        let missing = self.missing_runs();
        if not_run == 0 && missing == 0 {
            return None;
        }
        let mut words = format!("{} of {} run, {not_run} not run", run.len(), count(whole, "case"));
        if missing > 0 {
            let selected = count(self.selected_runs(), "selected run");
            words = format!("{words}; incomplete: {missing} of {selected} missing");
        }
        Some(words)
    }
}

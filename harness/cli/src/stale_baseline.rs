//! Which entries of a target's baseline no longer fail: a consumer of a run's events.

use std::collections::{BTreeMap, BTreeSet};

use baton_core::{
    case::model::Case,
    event::{CaseOutcome, CaseResult, Event},
    implementation::baseline::{Baseline, Shown},
    names::{CaseId, RequirementId},
};

/// Takes in events, and says what is outdated after what it has taken in.
#[derive(Debug)]
pub struct StaleBaseline {
    about: BTreeMap<RequirementId, BTreeSet<CaseId>>,
    shown: BTreeMap<CaseId, Shown>,
}

impl StaleBaseline {
    /// For a run of some of these cases, which are all that there are.
    pub fn new(all: &[Case]) -> Self {
        let mut about: BTreeMap<RequirementId, BTreeSet<CaseId>> = BTreeMap::new();
        for case in all {
            for id in &case.requirements {
                about.entry(id.clone()).or_default().insert(case.id.clone());
            }
        }
        Self {
            about,
            shown: BTreeMap::new(),
        }
    }

    /// Takes in an event.
    pub fn on_event(&mut self, event: &Event) {
        if let Event::CaseEnded(result) = event {
            self.case_ended(result);
        }
    }

    fn case_ended(&mut self, result: &CaseResult) {
        let (conforms, broken) = match &result.outcome {
            CaseOutcome::Conforms(_) => (true, BTreeSet::new()),
            CaseOutcome::Deviates { verdict, .. } => (false, verdict.broken()),
            // It cannot show anything, now or later.
            CaseOutcome::Unsupported { .. } => {
                for cases in self.about.values_mut() {
                    cases.remove(&result.case);
                }
                return;
            }
            CaseOutcome::Inconclusive { .. } | CaseOutcome::Broken { .. } => return,
        };
        // Of several runs of a case, one that fails is enough.
        let shown = self.shown.entry(result.case.clone()).or_insert(Shown {
            conforms: true,
            broken: BTreeSet::new(),
        });
        shown.conforms &= conforms;
        shown.broken.extend(broken);
    }

    /// What there is to say of a baseline, an error a line.
    pub fn of(&self, baseline: &Baseline) -> Vec<String> {
        let outdated = baseline.outdated(&self.about, &self.shown);
        let told = outdated.into_iter().map(|entry| {
            let (file, line, id) = (baseline.file.display(), entry.line, &entry.requirement);
            format!("{file}:{line}: {id} is in the baseline, but no case breaks it any more; remove the entry")
        });
        told.collect()
    }
}

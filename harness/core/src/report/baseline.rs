//! The baseline of a target in its report: which entries there are, and whether they still hold.

use std::collections::{BTreeMap, BTreeSet};

use super::model::{BaselineEntry, CaseOutcome, CaseReport};
use crate::{
    case::model::Case,
    implementation::baseline::{Baseline, KnownDeviation},
    names::{CaseId, RequirementId},
};

/// Which cases are about a requirement.
pub type About = BTreeMap<RequirementId, BTreeSet<CaseId>>;

/// The cases that are about each requirement.
pub fn about<'a>(cases: impl IntoIterator<Item = &'a Case>) -> About {
    let mut about = About::new();
    for case in cases {
        for id in &case.requirements {
            about.entry(id.clone()).or_default().insert(case.id.clone());
        }
    }
    about
}

/// The entries of a target's baseline as a report has them, before any case has told of them.
pub fn entries(baseline: &Baseline, about: &About) -> Vec<BaselineEntry> {
    let told_by = |entry: &KnownDeviation| {
        let cases = about.get(&entry.requirement).into_iter().flatten();
        let spoken_of = |case: &&CaseId| entry.cases.is_empty() || entry.cases.contains(*case);
        cases.filter(spoken_of).cloned().collect()
    };
    let of = |entry: &KnownDeviation| BaselineEntry {
        requirement: entry.requirement.clone(),
        reason: entry.reason.clone(),
        link: entry.link.clone(),
        cases: entry.cases.clone(),
        sometimes: entry.sometimes,
        told_by: told_by(entry),
        outdated: false,
    };
    baseline.entries.iter().map(of).collect()
}

/// The entries after what cases have shown; what they said before of being outdated does not matter.
pub fn judged(entries: &[BaselineEntry], cases: &[CaseReport]) -> Vec<BaselineEntry> {
    let judge = |entry: &BaselineEntry| BaselineEntry {
        outdated: !entry.sometimes && is_outdated(entry, cases),
        ..entry.clone()
    };
    entries.iter().map(judge).collect()
}

/// Every case that could show it was run, as far as the target supports it, and none did.
fn is_outdated(entry: &BaselineEntry, cases: &[CaseReport]) -> bool {
    let runs = |case: &CaseId| -> Vec<&CaseReport> { cases.iter().filter(|run| run.name == *case).collect() };
    let unsupported = |case: &CaseId| {
        let all = runs(case);
        !all.is_empty() && all.iter().all(|run| run.result == CaseOutcome::Unsupported)
    };
    let still_fails = |case: &CaseId| {
        let judged: Vec<_> = runs(case).into_iter().filter(|run| is_judged(run)).collect();
        let named = entry.cases.contains(case);
        let fails = |run: &CaseReport| {
            if named {
                run.result != CaseOutcome::Conforms
            } else {
                run.broken.contains(&entry.requirement)
            }
        };
        // If it was not run: perhaps it would.
        judged.is_empty() || judged.into_iter().any(fails)
    };
    let mut left = entry.told_by.iter().filter(|case| !unsupported(case)).peekable();
    left.peek().is_some() && !left.any(still_fails)
}

fn is_judged(run: &CaseReport) -> bool {
    match run.result {
        CaseOutcome::Conforms | CaseOutcome::Deviates | CaseOutcome::KnownDeviation => true,
        CaseOutcome::Inconclusive | CaseOutcome::Unsupported | CaseOutcome::Broken => false,
    }
}

/// The baseline that a report's entries are.
pub fn of_report(entries: &[BaselineEntry]) -> Baseline {
    let of = |entry: &BaselineEntry| KnownDeviation {
        requirement: entry.requirement.clone(),
        reason: entry.reason.clone(),
        link: entry.link.clone(),
        cases: entry.cases.clone(),
        sometimes: entry.sometimes,
        line: 0,
    };
    Baseline {
        entries: entries.iter().map(of).collect(),
        ..Baseline::default()
    }
}

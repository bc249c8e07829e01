//! The baseline of a target in its report: its entries, and whether each still holds.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    defects,
    model::{BaselineEntry, CaseOutcome, CaseReport, ConformanceReport, Defect},
};
use crate::{
    case::model::Case,
    implementation::{
        baseline::{Baseline, KnownDefect, Subject},
        versions,
    },
    names::{CaseId, RequirementId},
};

/// The cases that are about each requirement.
pub type About = BTreeMap<RequirementId, BTreeSet<CaseId>>;

/// Finds the cases that are about each requirement.
pub fn about<'a>(cases: impl IntoIterator<Item = &'a Case>) -> About {
    let mut about = About::new();
    for case in cases {
        for id in &case.requirements {
            about.entry(id.clone()).or_default().insert(case.id.clone());
        }
    }
    about
}

/// The entries of a target's baseline that hold for its version, before any case was judged.
pub fn entries(baseline: &Baseline, about: &About) -> Vec<BaselineEntry> {
    let told_by = |entry: &KnownDefect| match &entry.of {
        Subject::Requirement(id) if entry.cases.is_empty() => about.get(id).cloned().unwrap_or_default(),
        Subject::Requirement(_) | Subject::Step(_) => entry.cases.clone(),
    };
    let of = |entry: &KnownDefect| {
        let (requirement, step) = match &entry.of {
            Subject::Requirement(id) => (Some(id.clone()), None),
            Subject::Step(title) => (None, Some(title.clone())),
        };
        BaselineEntry {
            requirement,
            step,
            field: entry.field.clone(),
            difference: entry.difference,
            reason: entry.reason.clone(),
            link: entry.link.clone(),
            versions: entry.versions.clone(),
            cases: entry.cases.clone(),
            sometimes: entry.sometimes,
            told_by: told_by(entry),
            outdated: false,
        }
    };
    baseline.holding().map(of).collect()
}

/// The entries after the cases were judged: `outdated` is set anew.
pub fn judged(entries: &[BaselineEntry], cases: &[CaseReport]) -> Vec<BaselineEntry> {
    let judge = |entry: &BaselineEntry| BaselineEntry {
        outdated: !entry.sometimes && is_outdated(entry, cases),
        ..entry.clone()
    };
    entries.iter().map(judge).collect()
}

/// Returns true if every case that could show the defect was judged, as far as the target supports it, and no case shows it.
fn is_outdated(entry: &BaselineEntry, cases: &[CaseReport]) -> bool {
    let runs = |case: &CaseId| cases.iter().filter(|run| run.name == *case).collect::<Vec<_>>();
    let of = subject(entry);
    let is_judged = |run: &CaseReport| match &of {
        Subject::Requirement(id) => run.result.is_judged() && !run.not_judged.contains_key(id),
        Subject::Step(_) => run.result.is_judged(),
    };
    let is_supported = |runs: &[&CaseReport]| runs.iter().any(|run| run.result != CaseOutcome::Unsupported);
    let can_show: Vec<_> = entry
        .told_by
        .iter()
        .map(runs)
        .filter(|runs| runs.is_empty() || is_supported(runs))
        .collect();
    let all_judged = can_show.iter().all(|runs| runs.iter().any(|run| is_judged(run)));
    let shows = |case: &CaseReport| {
        let is_meant = entry.cases.is_empty() || entry.cases.contains(&case.name);
        is_meant && defects::shows(case, &of, entry.field.as_deref(), entry.difference)
    };
    !can_show.is_empty() && all_judged && !cases.iter().any(shows)
}

fn subject(entry: &BaselineEntry) -> Subject {
    match (&entry.requirement, &entry.step) {
        (Some(id), _) => Subject::Requirement(id.clone()),
        (None, step) => Subject::Step(step.clone().unwrap_or_default()),
    }
}

impl BaselineEntry {
    /// Subject of the entry: its requirement, or the step that fails.
    pub fn about(&self) -> &str {
        match (&self.requirement, &self.step) {
            (Some(id), _) => id.as_str(),
            (None, step) => step.as_deref().unwrap_or_default(),
        }
    }
}

/// The baseline that a report's entries make up.
pub fn of_report(report: &ConformanceReport) -> Baseline {
    let of = |entry: &BaselineEntry| KnownDefect {
        of: subject(entry),
        field: entry.field.clone(),
        difference: entry.difference,
        reason: entry.reason.clone(),
        link: entry.link.clone(),
        versions: entry.versions.clone(),
        cases: entry.cases.clone(),
        sometimes: entry.sometimes,
        line: 0,
    };
    Baseline {
        version: report.implementation.version.as_deref().and_then(versions::parse),
        entries: report.baseline.iter().map(of).collect(),
        ..Baseline::default()
    }
}

/// A baseline with all defects of a report, to be written into a target file. Entries of the report's baseline that still
/// hold keep their words.
pub fn of_defects(report: &ConformanceReport) -> Vec<BaselineEntry> {
    let new = |defect: &Defect| {
        defects::subjects(&defect.finding)
            .into_iter()
            .map(|of| {
                let (requirement, step) = match of {
                    Subject::Requirement(id) => (Some(id), None),
                    Subject::Step(title) => (None, Some(title)),
                };
                let is_same = |entry: &&BaselineEntry| {
                    entry.requirement == requirement
                        && entry.step == step
                        && entry.field == defect.field
                        && entry.difference == defect.difference
                };
                let cases = if step.is_some() {
                    defect.cases.iter().cloned().collect()
                } else {
                    BTreeSet::new()
                };
                report
                    .baseline
                    .iter()
                    .find(is_same)
                    .cloned()
                    .unwrap_or_else(|| BaselineEntry {
                        requirement,
                        step,
                        field: defect.field.clone(),
                        difference: defect.difference,
                        reason: format!("{}: seen {}", defect.finding.title, defect.finding.seen),
                        link: None,
                        versions: Default::default(),
                        cases,
                        sometimes: false,
                        told_by: BTreeSet::new(),
                        outdated: false,
                    })
            })
            .collect::<Vec<_>>()
    };
    let races = report.baseline.iter().filter(|entry| entry.sometimes).cloned();
    let mut entries: Vec<BaselineEntry> = report.defects.iter().flat_map(new).chain(races).collect();
    entries.sort_by(|one, other| {
        (one.about(), &one.field, one.difference).cmp(&(other.about(), &other.field, other.difference))
    });
    entries.dedup_by(|one, other| {
        (one.about(), &one.field, one.difference) == (other.about(), &other.field, other.difference)
    });
    entries
}

//! The baseline of a target in its report: its entries, and whether each still applies.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    defects, described,
    model::{BaselineEntry, CaseOutcome, CaseReport, ConformanceReport, Defect, ReportError, RequirementReport},
};
use crate::{
    case::model::Case,
    catalogue::{Asked, Consequence},
    implementation::{
        baseline::{Baseline, KnownDefect, Subject},
        versions::{self, VersionRange},
    },
    names::{CaseId, RequirementId},
    yaml::plain,
};

/// The cases that test each requirement.
pub type About = BTreeMap<RequirementId, BTreeSet<CaseId>>;

/// Returns the consequences that the requirements of a report list.
pub fn asked_of(requirements: &[RequirementReport]) -> Asked {
    let of = |requirement: &RequirementReport| (requirement.id.clone(), requirement.consequence);
    requirements.iter().map(of).collect()
}

/// Returns the cases that test each requirement.
pub fn about<'a>(cases: impl IntoIterator<Item = &'a Case>) -> About {
    let mut about = About::new();
    for case in cases {
        for id in &case.requirements {
            about.entry(id.clone()).or_default().insert(case.id.clone());
        }
    }
    about
}

/// Returns the baseline entries that apply to the version of the target, before any case is judged.
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

/// Returns the entries with `outdated` set according to the cases of a report. If its timelines were judged again, none is:
/// the entries are those of the run, and the later judge may name the same defect in another way.
pub fn judged(entries: &[BaselineEntry], report: &ConformanceReport) -> Vec<BaselineEntry> {
    let judge = |entry: &BaselineEntry| BaselineEntry {
        outdated: report.judged_by.is_none() && !entry.sometimes && is_outdated(entry, &report.cases),
        ..entry.clone()
    };
    entries.iter().map(judge).collect()
}

/// Returns `true` if every case that could show the defect was judged, as far as the target supports it, and no case
/// shows it.
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
    /// Returns the subject of the entry: its requirement, or the step that fails.
    pub fn about(&self) -> &str {
        match (&self.requirement, &self.step) {
            (Some(id), _) => id.as_str(),
            (None, step) => step.as_deref().unwrap_or_default(),
        }
    }
}

/// Returns the baseline that consists of a report's entries.
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

/// Returns the baseline entries that cover all defects of a report: the entries that still apply, unchanged, and a new
/// one for each defect without an entry. Defects of a lesser consequence than `least` get no entry.
pub fn of_defects(report: &ConformanceReport, least: Consequence) -> Vec<BaselineEntry> {
    let as_written = |entry: &BaselineEntry| BaselineEntry {
        told_by: BTreeSet::new(),
        ..entry.clone()
    };
    let kept = report.baseline.iter().filter(|entry| !entry.outdated).map(as_written);
    let grave = report.defects.iter().filter(|defect| defect.consequence >= least);
    let mut entries: Vec<BaselineEntry> = kept.chain(grave.flat_map(|defect| missing(report, defect))).collect();
    entries.sort_by(|one, other| {
        (one.about(), &one.field, one.difference).cmp(&(other.about(), &other.field, other.difference))
    });
    entries
}

/// Returns the entries as a YAML list, indented for `baseline:` in the `spec` of a target file.
///
/// # Errors
/// If the entries have no YAML form.
pub fn to_yaml(entries: &[BaselineEntry]) -> Result<String, ReportError> {
    let list = plain::write(&entries).map_err(ReportError::Write)?;
    let indented = list.lines().map(|line| match line {
        "" => "\n".to_owned(),
        line => format!("  {line}\n"),
    });
    Ok(indented.collect())
}

/// Returns the missing entries for a defect: one for each requirement with the consequence of the defect.
fn missing(report: &ConformanceReport, defect: &Defect) -> Vec<BaselineEntry> {
    let asked = asked_of(&report.requirements);
    let mut subjects: Vec<Subject> = defect
        .requirements
        .iter()
        .filter(|id| asked.consequence(id) == defect.consequence)
        .cloned()
        .map(Subject::Requirement)
        .collect();
    if defect.requirements.is_empty() {
        subjects.push(Subject::Step(defect.finding.title.clone()));
    }
    subjects
        .into_iter()
        .filter_map(|of| entry_of(report, defect, of))
        .collect()
}

/// Returns the entry for one subject of a defect; `None` if the baseline covers all of its cases.
fn entry_of(report: &ConformanceReport, defect: &Defect, of: Subject) -> Option<BaselineEntry> {
    let is_same = |entry: &&BaselineEntry| {
        subject(entry) == of && entry.field == defect.field && entry.difference == defect.difference
    };
    let same: Vec<&BaselineEntry> = report.baseline.iter().filter(is_same).collect();
    let covers = |case: &CaseId| same.iter().any(|it| it.cases.is_empty() || it.cases.contains(case));
    let uncovered: BTreeSet<CaseId> = defect.cases.iter().filter(|case| !covers(case)).cloned().collect();
    if uncovered.is_empty() {
        return None;
    }
    // Entries for other cases may have another reason, so the new one names its cases.
    let is_narrow = matches!(of, Subject::Step(_)) || !same.is_empty();
    let (requirement, step) = match of {
        Subject::Requirement(id) => (Some(id), None),
        Subject::Step(title) => (None, Some(title)),
    };
    Some(BaselineEntry {
        requirement,
        step,
        field: defect.field.clone(),
        difference: defect.difference,
        reason: described::seen(&defect.finding),
        link: None,
        versions: VersionRange::default(),
        cases: if is_narrow { uncovered } else { BTreeSet::new() },
        sometimes: false,
        told_by: BTreeSet::new(),
        outdated: false,
    })
}

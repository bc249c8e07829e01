//! Likely causes: the failed cases of a report, grouped by what probably makes them fail.

use std::collections::BTreeMap;

use super::{
    described,
    model::{CaseOutcome, CaseReport, ConformanceReport, Defect, FindingReport},
};
use crate::{cause::Cause, names::CaseId};

/// Failed cases with the same likely cause.
#[derive(Debug, Clone, PartialEq)]
pub struct CauseGroup<'r> {
    /// Cause in the first of the cases.
    pub cause: &'r Cause,
    /// Names of the cases; the first one shows a defect most clearly, if any does.
    pub cases: Vec<&'r CaseId>,
    /// Deviations whose clearest case has this cause.
    pub defects: Vec<&'r Defect>,
}

/// Returns the likely causes of the failed cases of a report, that of most cases first. Deviations that the baseline
/// covers are left out.
pub fn of(report: &ConformanceReport) -> Vec<CauseGroup<'_>> {
    let mut groups: BTreeMap<&str, CauseGroup<'_>> = BTreeMap::new();
    // Defects list their clearest cases first.
    for defect in described::new_deviations(report) {
        if let Some((case, cause)) = of_defect(report, defect) {
            let group = groups.entry(&cause.group).or_insert_with(|| CauseGroup::new(cause));
            group.add(case);
            group.defects.push(defect);
        }
    }
    for case in &report.cases {
        let failed = matches!(case.result, CaseOutcome::Deviates | CaseOutcome::Inconclusive);
        if let Some(cause) = case.likely_cause.as_ref().filter(|_| failed) {
            let group = groups.entry(&cause.group).or_insert_with(|| CauseGroup::new(cause));
            group.add(&case.name);
        }
    }
    let mut groups: Vec<CauseGroup<'_>> = groups.into_values().collect();
    groups.sort_by_key(|group| std::cmp::Reverse(group.cases.len()));
    groups
}

impl<'r> CauseGroup<'r> {
    fn new(cause: &'r Cause) -> Self {
        Self {
            cause,
            cases: Vec::new(),
            defects: Vec::new(),
        }
    }

    fn add(&mut self, case: &'r CaseId) {
        if !self.cases.contains(&case) {
            self.cases.push(case);
        }
    }

    /// Returns the number of cases and the cause: `28 cases: no binding refers to a Job`.
    pub fn headline(&self) -> String {
        let cases = described::count(self.cases.len(), "case");
        format!("{cases}: {}", described::one_line(&self.cause.group))
    }

    /// Returns `true` if the cause explains more than one case or defect.
    pub fn is_shared(&self) -> bool {
        self.cases.len() > 1 || self.defects.len() > 1
    }
}

/// Returns the clearest case of a defect, and its likely cause if that explains the defect.
fn of_defect<'r>(report: &'r ConformanceReport, defect: &'r Defect) -> Option<(&'r CaseId, &'r Cause)> {
    let clearest = defect.cases.first()?;
    let mut runs = report.cases.iter().filter(|case| case.name == *clearest);
    let case = runs.find(|case| case.findings.contains(&defect.finding))?;
    Some((&case.name, of_finding(case, &defect.finding)?))
}

/// Returns the likely cause of a case if it explains this finding: the first one of the case.
pub(super) fn of_finding<'c>(case: &'c CaseReport, finding: &FindingReport) -> Option<&'c Cause> {
    let is_first = case.findings.first() == Some(finding);
    case.likely_cause.as_ref().filter(|_| is_first)
}

//! Defects: the findings of all cases, each difference once.

use std::{cmp::Reverse, collections::BTreeMap};

use super::{
    causes,
    model::{CaseReport, Defect, FindingReport},
};
use crate::{
    catalogue::{Asked, Consequence},
    implementation::baseline::{Baseline, Subject},
    judge::finding::DifferenceKind,
    names::CaseId,
};

/// A finding and its case.
#[derive(Clone, Copy)]
struct Found<'a> {
    case: &'a CaseReport,
    finding: &'a FindingReport,
    /// `true` if the case does not test the difference.
    is_elsewhere: bool,
}

/// The difference that findings share: subject, field and kind of difference.
type Difference<'a> = (Subject, Option<&'a str>, DifferenceKind);

impl<'a> Found<'a> {
    /// Returns the differences that a finding shows, one for each requirement that it refutes.
    fn differences(&self) -> Vec<Difference<'a>> {
        let finding = self.finding;
        let of = subjects(finding);
        let differences = of
            .into_iter()
            .map(|of| (of, finding.field.as_deref(), finding.difference));
        differences.collect()
    }

    /// Returns the rank by clarity: the case tests the difference, it shows early in the plan, and early in the run.
    fn clarity(&self) -> impl Ord + use<'a> {
        let step = self.finding.step.unwrap_or(usize::MAX);
        (self.is_elsewhere, step, self.millis(), &self.case.name, self.case.seed)
    }

    fn millis(&self) -> u64 {
        std::time::Duration::try_from_secs_f64(self.finding.at_secs)
            .map_or(u64::MAX, |at| u64::try_from(at.as_millis()).unwrap_or(u64::MAX))
    }

    fn is(&self, other: &Found<'_>) -> bool {
        std::ptr::eq(self.finding, other.finding)
    }
}

/// Returns the subjects of a finding: the requirements that it refutes, or the step that failed.
pub fn subjects(finding: &FindingReport) -> Vec<Subject> {
    if finding.requirements.is_empty() {
        return vec![Subject::Step(finding.title.clone())];
    }
    finding.requirements.iter().cloned().map(Subject::Requirement).collect()
}

/// Returns all findings that refute something and do not follow from another one.
fn all(cases: &[CaseReport]) -> impl Iterator<Item = Found<'_>> {
    cases.iter().filter(|case| case.result.is_judged()).flat_map(|case| {
        let deviations = case.findings.iter().chain(&case.elsewhere);
        let all = deviations.chain(&case.remarks).chain(&case.proposed);
        let unexplained = all.filter(|finding| finding.follows.is_none());
        unexplained.map(move |finding| Found {
            case,
            finding,
            is_elsewhere: !finding.is_about(case),
        })
    })
}

/// Groups the findings of all cases: findings with the same requirement, field and kind of difference are one defect.
/// Requirements that one finding shows most clearly share a defect. Steps that failed with different likely causes are
/// different defects.
pub fn of(cases: &[CaseReport], baseline: &Baseline, asked: &Asked) -> Vec<Defect> {
    let mut groups: BTreeMap<(Difference<'_>, Option<&str>), Vec<Found<'_>>> = BTreeMap::new();
    for found in all(cases) {
        for difference in found.differences() {
            let cause = match &difference.0 {
                Subject::Step(_) => causes::of_finding(found.case, found.finding),
                Subject::Requirement(_) => None,
            };
            let cause = cause.map(|cause| cause.group.as_str());
            groups.entry((difference, cause)).or_default().push(found);
        }
    }
    let mut merged: Vec<(Vec<Difference<'_>>, Vec<Found<'_>>)> = Vec::new();
    for ((difference, _), mut group) in groups {
        group.sort_by_key(Found::clarity);
        let same = |(_, others): &&mut (_, Vec<Found<'_>>)| {
            group
                .first()
                .zip(others.first())
                .is_some_and(|(one, other)| one.is(other))
        };
        match merged.iter_mut().find(same) {
            Some((differences, others)) => {
                differences.push(difference);
                others.extend(group);
                others.sort_by_key(Found::clarity);
            }
            None => merged.push((vec![difference], group)),
        }
    }
    let defects = merged
        .into_iter()
        .filter_map(|(differences, group)| defect(&differences, &group, baseline, asked));
    let mut defects: Vec<Defect> = defects.collect();
    defects.sort_by_key(|defect| (Reverse(defect.consequence), defect.known, Reverse(defect.cases.len())));
    defects
}

fn defect(differences: &[Difference<'_>], group: &[Found<'_>], baseline: &Baseline, asked: &Asked) -> Option<Defect> {
    let clearest = group.first()?;
    let requirements = differences.iter().filter_map(|(of, ..)| match of {
        Subject::Requirement(id) => Some(id.clone()),
        Subject::Step(_) => None,
    });
    let requirements: std::collections::BTreeSet<_> = requirements.collect();
    let mut cases: Vec<CaseId> = Vec::new();
    for found in group {
        if !cases.contains(&found.case.name) {
            cases.push(found.case.name.clone());
        }
    }
    let of_step = if clearest
        .case
        .findings
        .iter()
        .any(|it| std::ptr::eq(it, clearest.finding))
    {
        Consequence::Deviation
    } else {
        Consequence::Remark
    };
    let consequence = asked.gravest(&requirements).unwrap_or(of_step);
    let grave = differences.iter().filter(|(of, ..)| match of {
        Subject::Requirement(id) => asked.consequence(id) == consequence,
        Subject::Step(_) => true,
    });
    let is_known = |difference: &Difference<'_>, case: &CaseId| {
        let (of, field, kind) = difference;
        baseline.knows(case, of, *field, *kind)
    };
    let grave: Vec<_> = grave.collect();
    let known = cases
        .iter()
        .all(|case| grave.iter().all(|difference| is_known(difference, case)));
    Some(Defect {
        requirements,
        consequence,
        field: clearest.finding.field.clone(),
        difference: clearest.finding.difference,
        known,
        finding: clearest.finding.clone(),
        cases,
    })
}

/// Returns `true` if a case shows this difference.
pub fn shows(case: &CaseReport, of: &Subject, field: Option<&str>, difference: DifferenceKind) -> bool {
    all(std::slice::from_ref(case)).any(|found| found.differences().contains(&(of.clone(), field, difference)))
}

/// Returns `true` if another case tests the difference that a finding shows, and shows it too.
pub fn is_shown_more_clearly(cases: &[CaseReport], finding: &FindingReport) -> bool {
    let found: Vec<Found<'_>> = all(cases).filter(|found| !found.is_elsewhere).collect();
    let shows = |of: &Subject| {
        let difference = (of.clone(), finding.field.as_deref(), finding.difference);
        found.iter().any(|found| found.differences().contains(&difference))
    };
    subjects(finding).iter().all(shows)
}

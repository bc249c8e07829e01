//! Descriptions of defects, the same in all forms of a report.

use std::collections::BTreeSet;

use super::model::{CaseOutcome, CaseReport, ConformanceReport, Defect, FindingReport, RequirementReport};
use crate::{
    catalogue::{Consequence, Source},
    judge::finding::DifferenceKind,
    names::{CaseId, RequirementId},
};

/// Maximum length of an observation in one line; the report has the whole text.
const LONGEST: usize = 300;

/// Returns the deviations that no baseline covers.
pub fn new_deviations(report: &ConformanceReport) -> impl Iterator<Item = &Defect> {
    with(report, Consequence::Deviation).filter(|defect| !defect.known)
}

/// Returns the deviations that the baseline covers.
pub fn known_deviations(report: &ConformanceReport) -> impl Iterator<Item = &Defect> {
    with(report, Consequence::Deviation).filter(|defect| defect.known)
}

/// Returns the defects with a consequence.
pub fn with(report: &ConformanceReport, consequence: Consequence) -> impl Iterator<Item = &Defect> {
    let has_it = move |defect: &&Defect| defect.consequence == consequence;
    report.defects.iter().filter(has_it)
}

/// Returns the number of defects and cases: `19 defects in 131 cases`.
pub fn counted<'a>(defects: impl Iterator<Item = &'a Defect>) -> String {
    let mut number = 0;
    let mut cases: BTreeSet<&CaseId> = BTreeSet::new();
    for defect in defects {
        number += 1;
        cases.extend(&defect.cases);
    }
    match number {
        0 => "no defect".to_owned(),
        _ => format!("{} in {}", count(number, "defect"), count(cases.len(), "case")),
    }
}

/// Returns the number of new defects and of those in the baseline: `1 defect in 2 cases, 20 known defects`.
pub fn all_counted(report: &ConformanceReport) -> String {
    let (new, known) = (new_deviations(report).count(), known_deviations(report).count());
    let known_only = count(known, "known defect");
    match (new, known) {
        (_, 0) => counted(new_deviations(report)),
        (0, _) => known_only,
        (_, _) => format!("{}, {known_only}", counted(new_deviations(report))),
    }
}

/// Returns how many conforming cases contain a defect that they do not test:
/// `3 conforming cases contain a defect that another case tests`. `None` if there are none.
pub fn conforming_with_defects(report: &ConformanceReport) -> Option<String> {
    let conforms = |case: &&CaseReport| matches!(case.result, CaseOutcome::Conforms | CaseOutcome::Remarks);
    let cases = report.cases.iter().filter(conforms);
    match cases.filter(|case| !case.elsewhere.is_empty()).count() {
        0 => None,
        1 => Some("1 conforming case contains a defect that another case tests".to_owned()),
        more => Some(format!(
            "{more} conforming cases contain a defect that another case tests"
        )),
    }
}

/// Returns a number with its noun: `1 case`, `2 cases`.
pub fn count(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

/// Returns a sentence that lists the replaced files of the built-in suite. Such a run used other cases than the
/// published ones.
pub fn replaced(report: &ConformanceReport) -> String {
    let files: Vec<&str> = report.suite.replaced.iter().map(String::as_str).collect();
    format!(
        "Not the built-in suite: these files were replaced: {}",
        files.join(", ")
    )
}

/// Returns the ids of the requirements that a defect breaks, with commas; empty if a step failed.
pub fn ids(defect: &Defect) -> String {
    let ids: Vec<&str> = defect.requirements.iter().map(RequirementId::as_str).collect();
    ids.join(", ")
}

/// Returns the difference: `metadata.labels[] is missing`, or the title of the finding if no field differs.
pub fn what(defect: &Defect) -> String {
    match &defect.field {
        Some(field) => differs(field, defect.difference),
        None => defect.finding.title.clone(),
    }
}

/// Returns the difference of a field: `metadata.labels[] is missing`.
pub fn differs(field: &str, difference: DifferenceKind) -> String {
    match difference {
        DifferenceKind::Missing
        | DifferenceKind::Unexpected
        | DifferenceKind::Different
        | DifferenceKind::TooEarly
        | DifferenceKind::TooLate
        | DifferenceKind::Order => format!("{field} is {difference}"),
        DifferenceKind::Never => format!("{field} was never as expected"),
        DifferenceKind::Other => format!("{field} is not as expected"),
    }
}

/// Returns a defect in one line: requirements and difference.
pub fn headline(defect: &Defect) -> String {
    let (ids, what) = (ids(defect), what(defect));
    if ids.is_empty() { what } else { format!("{ids}: {what}") }
}

/// Returns the observation in one line.
pub fn seen(finding: &FindingReport) -> String {
    let seen = first_difference(finding).unwrap_or(&finding.seen);
    one_line(&format!("{}: seen {seen}", finding.title))
}

/// Returns the first place where an object differs from the expected one; `None` if the finding is not about the
/// content of an object.
pub fn first_difference(finding: &FindingReport) -> Option<&str> {
    finding.differences.first().map(String::as_str)
}

/// Returns the requirements that a defect breaks, in the form of the report.
pub fn requirements<'r>(defect: &Defect, report: &'r ConformanceReport) -> Vec<&'r RequirementReport> {
    let of_defect = |it: &&RequirementReport| defect.requirements.contains(&it.id);
    report.requirements.iter().filter(of_defect).collect()
}

/// Returns a source in one line, with an address for browsers.
pub fn ground(source: &Source, report: &ConformanceReport) -> String {
    let link = report.link(source).map(|link| format!(": {link}"));
    format!("{source}{}", link.unwrap_or_default())
}

/// Returns the name of the clearest case and the number of others: `deployment-directly and 3 more`.
pub fn cases(defect: &Defect) -> String {
    match defect.cases.split_first() {
        None => "no case".to_owned(),
        Some((clearest, [])) => clearest.to_string(),
        Some((clearest, others)) => format!("{clearest} and {} more", others.len()),
    }
}

/// Returns the command that runs the clearest case.
pub fn command(defect: &Defect) -> Option<String> {
    defect.cases.first().map(|case| format!("baton run {case}"))
}

/// Returns a text in one line, cut off after the maximum length.
pub fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let line = words.join(" ");
    match line.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

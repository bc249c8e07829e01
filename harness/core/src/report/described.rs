//! Defects in words: the same in all forms of a report.

use std::collections::BTreeSet;

use super::model::{ConformanceReport, Defect, FindingReport, RequirementReport};
use crate::{
    catalogue::{Consequence, Source},
    judge::finding::DifferenceKind,
    names::{CaseId, RequirementId},
};

/// Longest text of an observation in one line; the rest is in the report.
const LONGEST: usize = 300;

/// The deviations that no baseline covers.
pub fn new_deviations(report: &ConformanceReport) -> impl Iterator<Item = &Defect> {
    with(report, Consequence::Deviation).filter(|defect| !defect.known)
}

/// The deviations that the baseline covers.
pub fn known_deviations(report: &ConformanceReport) -> impl Iterator<Item = &Defect> {
    with(report, Consequence::Deviation).filter(|defect| defect.known)
}

/// The defects with a consequence.
pub fn with(report: &ConformanceReport, consequence: Consequence) -> impl Iterator<Item = &Defect> {
    let has_it = move |defect: &&Defect| defect.consequence == consequence;
    report.defects.iter().filter(has_it)
}

/// `19 defects in 131 cases`.
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

/// `1 case`, `2 cases`.
pub fn count(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

/// The files of the built-in suite that were replaced in a run: then other cases were asked than those that everybody has.
pub fn replaced(report: &ConformanceReport) -> String {
    let files: Vec<&str> = report.suite.replaced.iter().map(String::as_str).collect();
    format!(
        "Not the built-in suite: these files were replaced: {}",
        files.join(", ")
    )
}

/// Ids of the requirements that a defect breaks, with commas; empty if a step failed.
pub fn ids(defect: &Defect) -> String {
    let ids: Vec<&str> = defect.requirements.iter().map(RequirementId::as_str).collect();
    ids.join(", ")
}

/// The difference: `metadata.labels[] is missing`, or the title of the finding if no field differs.
pub fn what(defect: &Defect) -> String {
    match &defect.field {
        Some(field) => differs(field, defect.difference),
        None => defect.finding.title.clone(),
    }
}

/// The difference of a field: `metadata.labels[] is missing`.
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

/// A defect in one line: requirements and what differs.
pub fn headline(defect: &Defect) -> String {
    let (ids, what) = (ids(defect), what(defect));
    if ids.is_empty() { what } else { format!("{ids}: {what}") }
}

/// The observation in one line.
pub fn seen(finding: &FindingReport) -> String {
    let seen = first_difference(finding).unwrap_or(&finding.seen);
    one_line(&format!("{}: seen {seen}", finding.title))
}

/// The first place where an object is not as expected; none if the finding is not about the content of an object.
pub fn first_difference(finding: &FindingReport) -> Option<&str> {
    finding.differences.first().map(String::as_str)
}

/// The requirements that a defect breaks, as the report lists them.
pub fn requirements<'r>(defect: &Defect, report: &'r ConformanceReport) -> Vec<&'r RequirementReport> {
    let of_defect = |it: &&RequirementReport| defect.requirements.contains(&it.id);
    report.requirements.iter().filter(of_defect).collect()
}

/// A source in one line, with the address that a browser opens.
pub fn ground(source: &Source, report: &ConformanceReport) -> String {
    let link = report.link(source).map(|link| format!(": {link}"));
    format!("{source}{}", link.unwrap_or_default())
}

/// `deployment-directly and 3 more`; only the clearest case is named.
pub fn cases(defect: &Defect) -> String {
    match defect.cases.split_first() {
        None => "no case".to_owned(),
        Some((clearest, [])) => clearest.to_string(),
        Some((clearest, others)) => format!("{clearest} and {} more", others.len()),
    }
}

/// The command that runs the clearest case.
pub fn command(defect: &Defect) -> Option<String> {
    defect.cases.first().map(|case| format!("baton run {case}"))
}

/// A text in one line, cut off where it is longer than people read.
pub fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let line = words.join(" ");
    match line.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

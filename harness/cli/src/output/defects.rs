//! The defects at the end of a run: each once, with its requirement, its ground and the case that shows it most clearly.

use std::fmt::Write as _;

use baton_core::{
    catalogue::{Consequence, Source},
    report::{
        ConformanceReport,
        model::{Defect, RequirementReport},
    },
};

use crate::show::count;

/// Names of cases that are listed; the others are counted.
const LISTED: usize = 5;

/// The defects that no baseline covers and that make the run deviate.
pub fn new_deviations(report: &ConformanceReport) -> impl Iterator<Item = &Defect> {
    with(report, Consequence::Deviation).filter(|defect| !defect.known)
}

/// The defects with a consequence.
pub fn with(report: &ConformanceReport, consequence: Consequence) -> impl Iterator<Item = &Defect> {
    report
        .defects
        .iter()
        .filter(move |defect| defect.consequence == consequence)
}

/// A defect in one line: requirements, what differs, and how many cases show it.
pub fn headline(defect: &Defect) -> String {
    let ids: Vec<&str> = defect
        .requirements
        .iter()
        .map(baton_core::names::RequirementId::as_str)
        .collect();
    let what = match &defect.field {
        Some(field) => format!("{field} is {}", defect.difference),
        None => defect.finding.title.clone(),
    };
    let of = if ids.is_empty() {
        String::new()
    } else {
        format!("{}: ", ids.join(", "))
    };
    format!("{of}{what} ({})", count(defect.cases.len(), "case"))
}

/// A defect for a reader who has never seen it: the requirement and its ground, what was expected and seen.
pub fn details(defect: &Defect, report: &ConformanceReport) -> String {
    let mut text = String::new();
    // Writing into a text cannot fail.
    for requirement in requirements(defect, report) {
        let _ = writeln!(
            text,
            "  {} {}: {}",
            requirement.level.word(),
            requirement.id,
            requirement.text
        );
        if let Some(ground) = requirement.sources.first() {
            let _ = writeln!(text, "       {}", self::ground(ground, report));
        }
    }
    let finding = &defect.finding;
    let below = |text: &str| text.replace('\n', "\n            ");
    let _ = writeln!(text, "  looked at {}", finding.title);
    let _ = writeln!(text, "  expected  {}", below(&finding.expected));
    let _ = writeln!(text, "  seen      {}", below(&finding.seen));
    for difference in &finding.differences {
        let _ = writeln!(text, "            {}", below(difference));
    }
    if let Some(object) = &finding.object {
        let _ = writeln!(text, "  object    {object}");
    }
    let _ = writeln!(text, "  moment    {:.3} s, entry {}", finding.at_secs, finding.entry);
    let _ = writeln!(text, "  cases     {}", cases(defect));
    text
}

/// The cases that show a defect, the clearest first.
fn cases(defect: &Defect) -> String {
    let names: Vec<&str> = defect
        .cases
        .iter()
        .take(LISTED)
        .map(baton_core::names::CaseId::as_str)
        .collect();
    match defect.cases.len().saturating_sub(LISTED) {
        0 => names.join(", "),
        more => format!("{} and {more} more", names.join(", ")),
    }
}

/// The requirements of a defect, as the report lists them.
pub fn requirements<'r>(defect: &Defect, report: &'r ConformanceReport) -> Vec<&'r RequirementReport> {
    let of_defect = |it: &&RequirementReport| defect.requirements.contains(&it.id);
    report.requirements.iter().filter(of_defect).collect()
}

/// A source in one line, with its address.
pub fn ground(source: &Source, report: &ConformanceReport) -> String {
    let link = report.link(source).map(|link| format!(": {link}")).unwrap_or_default();
    format!("{source}{link}")
}

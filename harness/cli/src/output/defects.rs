//! The defects at the end of a run: each once, with its requirement, its ground and the case that shows it most clearly.

use std::fmt::Write as _;

use baton_core::report::{
    ConformanceReport,
    described::{self, ground, requirements},
    model::Defect,
};

use crate::show::count;

/// Names of cases that are listed; the others are counted.
const LISTED: usize = 5;

/// A defect in one line, with the number of cases that show it.
pub fn headline(defect: &Defect) -> String {
    format!(
        "{} ({})",
        described::headline(defect),
        count(defect.cases.len(), "case")
    )
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
        if let Some(source) = requirement.sources.first() {
            let _ = writeln!(text, "       {}", ground(source, report));
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
pub fn cases(defect: &Defect) -> String {
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

//! Defects on the page, grouped by their meaning for the implementation, each with its requirements and its cases.

use baton_core::{
    catalogue::{Consequence, Source},
    report::{
        ConformanceReport, described,
        model::{BaselineEntry, CaseOutcome, Defect, FindingReport, RequirementReport},
    },
};
use serde::Serialize;

/// Defects with the same meaning for the implementation.
#[derive(Serialize)]
pub(super) struct DefectGroup<'a> {
    /// Class of its colours.
    state: &'static str,
    heading: &'static str,
    note: &'static str,
    defects: Vec<DefectView<'a>>,
}

/// Defect in the template.
#[derive(Serialize)]
struct DefectView<'a> {
    key: String,
    headline: String,
    requirements: Vec<Statement<'a>>,
    finding: &'a FindingReport,
    cases: Vec<&'a str>,
    command: Option<String>,
    /// Entries of the baseline that name the defect.
    known: Vec<&'a BaselineEntry>,
}

/// Requirement that a defect breaks.
#[derive(Serialize)]
struct Statement<'a> {
    id: &'a str,
    level: &'static str,
    text: &'a str,
    grounds: Vec<SourceView>,
}

/// Source of a requirement.
#[derive(Serialize)]
pub(super) struct SourceView {
    words: String,
    /// Address; `None` if it is unsafe for a browser to follow.
    link: Option<String>,
}

/// Defect or failed case, as the head of the page links it.
#[derive(Serialize)]
pub(super) struct Failing {
    pub(super) key: String,
    pub(super) state: CaseOutcome,
    pub(super) name: String,
    pub(super) headline: String,
}

/// Returns the identifier of a defect in its page. Its number is its position in the report, from 0.
pub fn key(number: usize) -> String {
    format!("defect-{}", number + 1)
}

/// Returns the groups that have a defect.
pub(super) fn groups(report: &ConformanceReport) -> Vec<DefectGroup<'_>> {
    let all = [
        (
            "broken",
            "Deviations",
            "A MUST of a document that the implementation claims is broken.",
            Consequence::Deviation,
            false,
        ),
        (
            "knownDeviation",
            "Known deviations",
            "The target file lists these with a reason.",
            Consequence::Deviation,
            true,
        ),
        (
            "remark",
            "Remarks",
            "A SHOULD or an ADVICE is broken; the cases conform.",
            Consequence::Remark,
            false,
        ),
        (
            "proposed",
            "Proposed",
            "Only documents that the implementation does not claim demand this; the cases conform.",
            Consequence::Proposed,
            false,
        ),
    ];
    let of = |consequence, known| {
        let is_meant = move |defect: &Defect| {
            defect.consequence == consequence && (consequence != Consequence::Deviation || defect.known == known)
        };
        let all = report.defects.iter().enumerate();
        let meant = all.filter(move |(_, defect)| is_meant(defect));
        meant.map(|(number, defect)| view(report, number, defect)).collect()
    };
    let groups = all.map(|(state, heading, note, consequence, known)| DefectGroup {
        state,
        heading,
        note,
        defects: of(consequence, known),
    });
    groups.into_iter().filter(|group| !group.defects.is_empty()).collect()
}

fn view<'a>(report: &'a ConformanceReport, number: usize, defect: &'a Defect) -> DefectView<'a> {
    let names = |entry: &&BaselineEntry| {
        let is_about = entry
            .requirement
            .as_ref()
            .is_some_and(|id| defect.requirements.contains(id))
            || entry.step.as_ref() == Some(&defect.finding.title);
        is_about && entry.field == defect.field && entry.difference == defect.difference
    };
    let statement = |it: &'a RequirementReport| Statement {
        id: it.id.as_str(),
        level: it.level.word(),
        text: &it.text,
        grounds: grounds(report, it),
    };
    DefectView {
        key: key(number),
        headline: described::headline(defect),
        requirements: described::requirements(defect, report)
            .into_iter()
            .map(statement)
            .collect(),
        finding: &defect.finding,
        cases: defect.cases.iter().map(baton_core::names::CaseId::as_str).collect(),
        command: described::command(defect),
        known: report.baseline.iter().filter(names).collect(),
    }
}

/// Returns the sources of a requirement.
pub(super) fn grounds(report: &ConformanceReport, requirement: &RequirementReport) -> Vec<SourceView> {
    let of = |source: &Source| SourceView {
        words: source.to_string(),
        link: link(report, source),
    };
    requirement.sources.iter().map(of).collect()
}

/// Returns the address of a source. A report can come from anyone, and only these addresses are harmless in a page.
pub fn link(report: &ConformanceReport, source: &Source) -> Option<String> {
    let link = report.link(source)?;
    link.starts_with("https://").then_some(link)
}

/// Returns links to the defects that make the run fail.
pub(super) fn links(report: &ConformanceReport) -> impl Iterator<Item = Failing> {
    let all = report.defects.iter().enumerate();
    let failing = all.filter(|(_, defect)| defect.consequence == Consequence::Deviation && !defect.known);
    failing.map(|(number, defect)| Failing {
        key: key(number),
        state: CaseOutcome::Deviates,
        name: described::headline(defect),
        headline: described::cases(defect),
    })
}

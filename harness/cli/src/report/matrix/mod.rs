//! The matrix: static pages that compare reports. `index.html` has a row for each requirement and a column for each report;
//! each report has its own page, to whose defects the cells link.
//!
//! Template, styles and script are the files of this folder; the styles of the reports' pages come first.

use std::collections::{BTreeMap, BTreeSet};

use baton_core::{
    catalogue::{Consequence, Source, source::Passage},
    report::{
        ConformanceReport, described,
        model::{RequirementReport, RequirementResult},
    },
};
use minijinja::{AutoEscape, Environment, Value, value::Serde};
use serde::Serialize;

use super::page::{self, TimelineViews, defects};

const TEMPLATE: &str = include_str!("matrix.html");
const STYLES: &str = concat!(include_str!("../page/page.css"), include_str!("matrix.css"));
const SCRIPT: &str = include_str!("matrix.js");

/// Name of the page with the matrix.
const INDEX: &str = "index.html";

/// Data of the template.
#[derive(Serialize)]
struct View<'a> {
    css: &'static str,
    js: &'static str,
    columns: Vec<Column>,
    documents: Vec<&'a str>,
    levels: Vec<&'static str>,
    sections: Vec<Section<'a>>,
    /// Number of requirements.
    rows: usize,
}

/// A report.
#[derive(Serialize)]
struct Column {
    page: String,
    name: String,
    version: String,
    date: String,
    clusters: String,
    defects: String,
}

/// The requirements of a section of a document.
#[derive(Serialize)]
struct Section<'a> {
    heading: String,
    rows: Vec<Row<'a>>,
}

/// A requirement.
#[derive(Serialize)]
struct Row<'a> {
    id: &'a str,
    /// The id as a fragment of an address.
    fragment: String,
    level: &'static str,
    document: &'a str,
    feature: &'a str,
    text: &'a str,
    ground: String,
    link: Option<String>,
    /// True if the reports do not agree.
    differs: bool,
    cells: Vec<Cell>,
}

/// The result of a requirement in a report.
#[derive(Serialize)]
struct Cell {
    state: State,
    words: &'static str,
    link: String,
    column: String,
    /// The result in the version before, if it differs.
    before: Option<&'static str>,
}

/// The state of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
enum State {
    Shown,
    Broken,
    KnownDeviation,
    Remark,
    Proposed,
    NotJudged,
    NotShown,
    Unsupported,
    /// The report does not list the requirement.
    Absent,
}

impl State {
    fn of(requirement: &RequirementReport) -> Self {
        let is_proposed = requirement.consequence == Consequence::Proposed;
        match requirement.result {
            RequirementResult::Broken | RequirementResult::KnownDeviation | RequirementResult::Remark
                if is_proposed =>
            {
                Self::Proposed
            }
            RequirementResult::Shown => Self::Shown,
            RequirementResult::Broken => Self::Broken,
            RequirementResult::KnownDeviation => Self::KnownDeviation,
            RequirementResult::Remark => Self::Remark,
            RequirementResult::NotJudged => Self::NotJudged,
            RequirementResult::NotShown => Self::NotShown,
            RequirementResult::Unsupported => Self::Unsupported,
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Shown => "shown",
            Self::Broken => "broken",
            Self::KnownDeviation => "known",
            Self::Remark => "remark",
            Self::Proposed => "proposed",
            Self::NotJudged => "not judged",
            Self::NotShown => "not shown",
            Self::Unsupported => "unsupported",
            Self::Absent => "not listed",
        }
    }
}

/// Renders the pages, each with the name of its file.
///
/// If a template does not fit its data.
pub fn pages(reports: &[ConformanceReport]) -> Result<Vec<(String, String)>, minijinja::Error> {
    let mut pages = vec![(INDEX.to_owned(), index(reports)?)];
    for (number, report) in reports.iter().enumerate() {
        pages.push((page_name(number), page::of_report(report, &TimelineViews::new())?));
    }
    Ok(pages)
}

fn page_name(number: usize) -> String {
    format!("report-{}.html", number + 1)
}

fn index(reports: &[ConformanceReport]) -> Result<String, minijinja::Error> {
    // The last report that lists a requirement describes it.
    let mut requirements: BTreeMap<&str, (&ConformanceReport, &RequirementReport)> = BTreeMap::new();
    for report in reports {
        requirements.extend(report.requirements.iter().map(|it| (it.id.as_str(), (report, it))));
    }
    let mut ordered: Vec<_> = requirements.into_values().collect();
    ordered.sort_by_key(|(_, it)| place(it));
    let mut sections: Vec<Section<'_>> = Vec::new();
    for (report, requirement) in &ordered {
        let (heading, row) = (heading(report, requirement), row(reports, report, requirement));
        match sections.last_mut() {
            Some(section) if section.heading == heading => section.rows.push(row),
            Some(_) | None => sections.push(Section {
                heading,
                rows: vec![row],
            }),
        }
    }
    let documents: BTreeSet<&str> = ordered.iter().map(|(_, it)| document(it)).collect();
    let levels: BTreeSet<_> = ordered.iter().map(|(_, it)| it.level).collect();
    let view = View {
        css: STYLES,
        js: SCRIPT,
        columns: reports
            .iter()
            .enumerate()
            .map(|(number, report)| column(number, report))
            .collect(),
        documents: documents.into_iter().filter(|document| !document.is_empty()).collect(),
        levels: levels.into_iter().map(baton_core::catalogue::Level::word).collect(),
        sections,
        rows: ordered.len(),
    };
    let mut environment = Environment::new();
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    environment.add_template("matrix", TEMPLATE)?;
    environment.get_template("matrix")?.render(Value::from(Serde(&view)))
}

/// Returns the first passage that a requirement cites; `None` if it cites issues alone.
fn passage(requirement: &RequirementReport) -> Option<&Passage> {
    requirement.sources.iter().find_map(|source| match source {
        Source::Passage(passage) => Some(passage),
        Source::Fixed(_) | Source::Issue(_) => None,
    })
}

/// Returns the sort key of a row: the order of the documents, with requirements that no document has at the end.
fn place(requirement: &RequirementReport) -> impl Ord + use<'_> {
    let passage = passage(requirement);
    let place = passage.map(|it| (&it.document, it.lines, requirement.id.as_str()));
    (passage.is_none(), place, requirement.id.as_str())
}

fn document(requirement: &RequirementReport) -> &str {
    passage(requirement).map_or("", |passage| passage.document.as_str())
}

fn heading(report: &ConformanceReport, requirement: &RequirementReport) -> String {
    match passage(requirement) {
        None => "Without a document: accepted fixes and practice".to_owned(),
        Some(passage) => {
            let document = report.documents.get(&passage.document);
            let title = document
                .map(|it| format!(" ({}, {})", it.title, it.standing))
                .unwrap_or_default();
            format!("{}{title}: {}", passage.document, passage.section)
        }
    }
}

fn row<'a>(reports: &[ConformanceReport], report: &ConformanceReport, requirement: &'a RequirementReport) -> Row<'a> {
    let states: Vec<State> = reports.iter().map(|report| state(report, requirement)).collect();
    let listed: Vec<State> = states.iter().copied().filter(|state| *state != State::Absent).collect();
    let source = requirement.sources.first();
    let cells = reports
        .iter()
        .zip(&states)
        .enumerate()
        .map(|(number, (report, state))| Cell {
            state: *state,
            words: state.words(),
            link: link(number, report, requirement.id.as_str()),
            column: version(report),
            before: before(reports, &states, number).map(State::words),
        });
    Row {
        id: requirement.id.as_str(),
        fragment: encoded(requirement.id.as_str()),
        level: requirement.level.word(),
        document: document(requirement),
        feature: requirement.feature.as_str(),
        text: &requirement.text,
        ground: source.map(ToString::to_string).unwrap_or_default(),
        link: source.and_then(|source| defects::link(report, source)),
        differs: listed.windows(2).any(|pair| pair[0] != pair[1]),
        cells: cells.collect(),
    }
}

fn state(report: &ConformanceReport, requirement: &RequirementReport) -> State {
    let same = report.requirements.iter().find(|it| it.id == requirement.id);
    same.map_or(State::Absent, State::of)
}

/// Returns the state in the previous report of the same implementation, if it differs.
fn before(reports: &[ConformanceReport], states: &[State], number: usize) -> Option<State> {
    let name = |report: &ConformanceReport| report.implementation.name.clone();
    let earlier = (0..number)
        .rev()
        .find(|it| name(&reports[*it]) == name(&reports[number]))?;
    let (then, now) = (states[earlier], states[number]);
    (then != now && then != State::Absent && now != State::Absent).then_some(then)
}

/// Returns a link to a report's page: to the first defect of a requirement, or else to its row.
fn link(number: usize, report: &ConformanceReport, id: &str) -> String {
    let breaks = report
        .defects
        .iter()
        .position(|defect| defect.requirements.iter().any(|it| it.as_str() == id));
    let fragment = breaks.map_or_else(|| encoded(id), defects::key);
    format!("{}#{fragment}", page_name(number))
}

/// Encodes a fragment of an address: everything but letters, digits and `-`.
fn encoded(text: &str) -> String {
    let byte = |byte: u8| {
        let c = char::from(byte);
        if c.is_ascii_alphanumeric() || c == '-' {
            c.to_string()
        } else {
            format!("%{byte:02X}")
        }
    };
    text.bytes().map(byte).collect()
}

fn version(report: &ConformanceReport) -> String {
    let version = report.implementation.version.as_deref().unwrap_or_default();
    format!("{} {version}", report.implementation.name)
        .trim_end()
        .to_owned()
}

fn column(number: usize, report: &ConformanceReport) -> Column {
    Column {
        page: page_name(number),
        name: report.implementation.name.clone(),
        version: report.implementation.version.clone().unwrap_or_default(),
        date: report.date.strftime("%Y-%m-%d").to_string(),
        clusters: report.backend.name.clone(),
        defects: described::all_counted(report),
    }
}

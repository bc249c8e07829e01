//! Formats cases, requirements and errors for users.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    time::Duration,
};

use crate::{files, terminal};
use baton_core::{
    case::model::{Action, Case},
    catalogue::{Catalogue, Level, Requirement, Source},
    names::RequirementId,
    yaml::{Diagnostic, plain},
};
use comfy_table::{Cell, ContentArrangement, Table, presets};
use miette::{GraphicalReportHandler, LabeledSpan, MietteDiagnostic, NamedSource, Report, Severity};

/// A table without lines. On a terminal it fits its width; elsewhere no line is wrapped, so that `grep` finds rows.
pub fn table(head: &[&str]) -> Table {
    let mut table = Table::new();
    let arrangement = if table.is_tty() {
        ContentArrangement::Dynamic
    } else {
        ContentArrangement::Disabled
    };
    table.load_style(presets::NOTHING).set_content_arrangement(arrangement);
    table.set_header(
        head.iter()
            .map(|text| Cell::new(text).add_attribute(comfy_table::Attribute::Bold)),
    );
    table
}

/// Returns a table of cases.
pub fn cases(cases: &[Case]) -> String {
    let mut table = table(&["CASE", "TITLE", "REQUIREMENTS", "LABELS"]);
    for case in cases {
        let labels = case.labels.iter().map(|(key, value)| format!("{key}={value}"));
        table.add_row([
            case.id.to_string(),
            case.title.clone(),
            ids(case.requirements.iter()),
            labels.collect::<Vec<_>>().join(" "),
        ]);
    }
    table.trim_fmt()
}

/// Lists what a case needs from a target, and the criteria of its verdict other than steps, one per line.
pub fn needs(case: &Case) -> String {
    let setup = &case.controller;
    let gates = setup.feature_gates.iter().map(|(gate, on)| format!("{gate}={on}"));
    let options = setup.options.iter().map(|(option, value)| format!("{option}={value}"));
    let rows: [(&str, Vec<String>); 4] = [
        ("features", case.features.iter().map(ToString::to_string).collect()),
        ("feature gates", gates.collect()),
        ("options", options.collect()),
        (
            "invariants that must have something to judge",
            case.invariants.iter().map(|it| it.name().to_owned()).collect(),
        ),
    ];
    let mut lines = Vec::new();
    for (what, values) in rows.into_iter().filter(|(_, values)| !values.is_empty()) {
        lines.push(format!("  {what}: {}\n", values.join(", ")));
    }
    lines.concat()
}

/// Returns the objects that a case applies as YAML, each with its step.
pub fn objects(case: &Case) -> String {
    let mut documents = Vec::new();
    for (number, step) in (1..).zip(&case.steps) {
        let Action::Apply { on, objects, .. } = &step.action else {
            continue;
        };
        let on: Vec<String> = on.iter().map(ToString::to_string).collect();
        for object in objects {
            let object = plain::write(object).unwrap_or_default();
            documents.push(format!("---\n# step {number}, on {}\n{object}", on.join(" and ")));
        }
    }
    documents.concat()
}

/// Describes whether a case can share a control plane with others.
pub fn sharing(case: &Case) -> String {
    match case.alone() {
        None => "on existing clusters: can share a control plane with other cases".to_owned(),
        Some(reason) => format!("on existing clusters: is run alone: {reason}"),
    }
}

/// Returns a table of the requirements with the cases that prove them.
pub fn requirements(catalogue: &Catalogue, cases: &[Case]) -> String {
    let mut by_requirement: BTreeMap<&RequirementId, Vec<&str>> = BTreeMap::new();
    for case in cases {
        for id in &case.requirements {
            by_requirement.entry(id).or_default().push(case.id.as_str());
        }
    }
    let mut table = table(&["REQUIREMENT", "LEVEL", "FEATURE", "CASES"]);
    for requirement in catalogue.iter() {
        let cases = by_requirement
            .get(&requirement.id)
            .map_or_else(|| "-".to_owned(), |cases| cases.join(", "));
        table.add_row([
            requirement.id.as_str(),
            requirement.level.word(),
            requirement.feature.as_str(),
            &cases,
        ]);
    }
    let shown = by_requirement.len();
    let all = catalogue.iter().count();
    format!("{}\n\n{shown} of {all} requirements have a case", table.trim_fmt())
}

/// Describes a requirement: its statement, its sources, our reading and others, and the cases that prove it.
pub fn requirement(requirement: &Requirement, catalogue: &Catalogue, all: &[Case]) -> String {
    let Requirement {
        id,
        level,
        feature,
        text,
        sources,
        reading,
        others,
    } = requirement;
    let mut lines = vec![
        format!(
            "{id}\n\nlevel    {}: {}\nfeature  {feature}",
            level.word(),
            consequence(*level)
        ),
        text.clone(),
        "grounds".to_owned(),
    ];
    lines.extend(sources.iter().map(|source| ground(source, catalogue)));
    lines.extend(reading.iter().map(|reading| format!("our reading\n  {reading}")));
    if !others.is_empty() {
        lines.push(format!("other readings\n  {}", others.join("\n  ")));
    }
    let proving = all.iter().filter(|case| case.requirements.contains(id));
    let mut table = table(&["CASE", "TITLE"]);
    for case in proving {
        table.add_row([format!("{}/{}", case.area, case.id), case.title.clone()]);
    }
    lines.push(match table.row_count() {
        0 => "no case proves it".to_owned(),
        count => format!(
            "{}\n\nproved by {}; run with `baton run --requirement {id}`",
            table.trim_fmt(),
            self::count(count, "case")
        ),
    });
    lines.join("\n\n")
}

/// Describes a source in a few lines: its document with title and status, the passage, and its address.
fn ground(source: &Source, catalogue: &Catalogue) -> String {
    let mut lines = vec![format!("  {source}")];
    if let Source::Passage(passage) = source
        && let Some(document) = catalogue.documents().get(&passage.document)
    {
        let (id, title, standing) = (&passage.document, &document.title, document.standing);
        lines.push(format!("  {id} is “{title}”, {standing}. {}", document.note));
    }
    lines.extend(catalogue.link(source).map(|link| format!("  {link}")));
    lines.join("\n")
}

/// The consequence of breaking a requirement of a level.
fn consequence(level: Level) -> &'static str {
    match level {
        Level::Must => "a case that breaks it deviates",
        Level::Should | Level::Advice => "a case that breaks it conforms with a remark",
        Level::May => "it is never broken",
    }
}

/// Joins requirement ids.
pub fn ids<'a>(ids: impl Iterator<Item = &'a RequirementId>) -> String {
    ids.map(RequirementId::as_str).collect::<Vec<_>>().join(" ")
}

/// Formats errors in files, each with the part of the file that it is about.
pub fn diagnostics(found: &[Diagnostic]) -> String {
    rendered(found, Severity::Error)
}

/// Formats warnings about files in the same form.
pub fn warnings(found: &[Diagnostic]) -> String {
    rendered(found, Severity::Warning)
}

fn rendered(found: &[Diagnostic], severity: Severity) -> String {
    let handler = GraphicalReportHandler::new();
    let mut text = String::new();
    for diagnostic in found {
        let message = terminal::line(&diagnostic.message);
        let mut report = MietteDiagnostic::new(message).with_severity(severity);
        report.help = diagnostic.help.as_deref().map(terminal::line);
        let source = files::read_text(&diagnostic.file).unwrap_or_default();
        let meant = source.get(diagnostic.span.clone()).filter(|it| !it.is_empty());
        let fits = meant.is_some() && lines_around(&source, diagnostic.span.start).all(|it| it.len() <= LONGEST_LINE);
        if let Some(meant) = meant.filter(|_| fits) {
            // A label over several lines hides the text that it points to; the first line is enough.
            let first = meant.lines().next().unwrap_or_default();
            let end = diagnostic.span.start + first.trim_end().len();
            report = report.with_label(LabeledSpan::underline(diagnostic.span.start..end));
        }
        let file = terminal::line(&diagnostic.file.display().to_string());
        let place = format!("{file}:{}:{}", diagnostic.line, diagnostic.column);
        let report = if fits {
            Report::from(report).with_source_code(NamedSource::new(file, source))
        } else {
            Report::from(report)
        };
        // Writing into a text cannot fail.
        let _ = handler.render_report(&mut text, report.as_ref());
        let _ = writeln!(text, "  at {place}\n");
    }
    text
}

/// Longest line that is shown: in a longer one, the place could not be found.
const LONGEST_LINE: usize = 4096;

/// Returns the line at a position of a text, with those before and after it.
fn lines_around(text: &str, at: usize) -> impl Iterator<Item = &str> {
    let number = text[..at].matches('\n').count();
    text.lines().skip(number.saturating_sub(1)).take(3)
}

/// Formats a number of things: `1 case`, `2 cases`.
pub fn count(number: usize, of: &str) -> String {
    let s = if number == 1 { "" } else { "s" };
    format!("{number} {of}{s}")
}

/// Formats names, the first five of many: `a, b and 3 more`.
pub(crate) fn some<'a>(names: impl ExactSizeIterator<Item = &'a str>) -> String {
    const MOST: usize = 5;
    let more = names.len().saturating_sub(MOST);
    let first: Vec<&str> = names.take(MOST).collect();
    let first = first.join(", ");
    if more > 0 {
        format!("{first} and {more} more")
    } else {
        first
    }
}

/// Message that files of the user replace files of the built-in suite.
pub(crate) fn replaced(files: &BTreeSet<String>) -> String {
    let verb = if files.len() == 1 { "replaces" } else { "replace" };
    format!(
        "{} {verb} those of the built-in suite: {}",
        count(files.len(), "file"),
        some(files.iter().map(String::as_str))
    )
}

/// Formats a duration in seconds.
pub fn seconds(time: Duration) -> String {
    format!("{:.2} s", time.as_secs_f64())
}

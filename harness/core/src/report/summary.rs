//! A short report in Markdown, as CI systems show it next to a job.

use std::fmt::Write as _;

use super::{
    causes::{self, CauseGroup},
    described,
    model::{CaseOutcome, CaseReport, ConformanceReport, Defect},
};
use crate::catalogue::{Consequence, Source};

/// Maximum number of listed cases of a kind; the others are counted.
const MOST: usize = 50;

/// Returns a report as Markdown: the defects, each once; remarks and proposals, one line each; cases that could not be
/// judged; and at the end the known defects with their reasons.
pub fn markdown(report: &ConformanceReport) -> String {
    let mut text = String::new();
    // Writing into a text cannot fail.
    let version = report.implementation.version.as_deref().unwrap_or_default();
    let name = format!("{} {version}", report.implementation.name);
    let _ = writeln!(text, "## Stateful cluster failover: {}\n", plain(name.trim_end()));
    let _ = writeln!(
        text,
        "**{}**{}\n",
        described::counted(described::new_deviations(report)),
        others(report)
    );
    if let Some(words) = report.partly() {
        let _ = writeln!(text, "**Partial: {words}**\n");
    }
    if !report.suite.replaced.is_empty() {
        let _ = writeln!(text, "**{}**\n", plain(&described::replaced(report)));
    }
    let of = |result| report.cases.iter().filter(move |case| case.result == result);
    let counts = CaseOutcome::ALL.map(|result| (of(result).count(), result.words()));
    let counts = counts.iter().filter(|(count, _)| *count > 0);
    let counts: Vec<_> = counts.map(|(count, words)| counted(*count, words)).collect();
    let counts = if counts.is_empty() {
        "no case was run".to_owned()
    } else {
        counts.join(", ")
    };
    let _ = writeln!(
        text,
        "{} on {}: {counts}",
        counted(report.cases.len(), "case"),
        plain(&report.backend.name)
    );
    if let Some(words) = described::conforming_with_defects(report) {
        let _ = writeln!(text, "\n{words}");
    }
    for profile in &report.profiles {
        let _ = writeln!(
            text,
            "\n{}: **{}** ({} of {} MUST requirements shown)",
            profile.name.words(),
            profile.result.words(),
            profile.musts.shown,
            profile.musts.all()
        );
    }
    likely_causes(&mut text, report);
    let new: Vec<&Defect> = described::new_deviations(report).collect();
    if !new.is_empty() {
        text.push_str("\n### Defects\n");
        for (number, defect) in (1..).zip(new.iter().take(MOST)) {
            described_defect(&mut text, number, defect, report);
        }
        more(&mut text, new.len());
    }
    for (heading, consequence) in [("Remarks", Consequence::Remark), ("Proposed", Consequence::Proposed)] {
        brief(&mut text, heading, described::with(report, consequence), report);
    }
    let unexplained = of(CaseOutcome::Deviates).filter(|case| !new.iter().any(|it| it.cases.contains(&case.name)));
    table(
        &mut text,
        "Failed without a defect",
        unexplained.chain(of(CaseOutcome::Broken)),
    );
    // Cases that ended early are counted with their cause.
    let undecided = of(CaseOutcome::Inconclusive).filter(|case| case.likely_cause.is_none());
    table(&mut text, "Inconclusive", undecided);
    known(&mut text, report);
    text
}

/// Returns the numbers of defects that fail no run: `; 1 known, 4 remarks`.
fn others(report: &ConformanceReport) -> String {
    let numbers = [
        (described::known_deviations(report).count(), "known defect"),
        (described::with(report, Consequence::Remark).count(), "remark"),
        (
            described::with(report, Consequence::Proposed).count(),
            "broken proposal",
        ),
    ];
    let numbers = numbers.into_iter().filter(|(number, _)| *number > 0);
    let numbers: Vec<_> = numbers.map(|(number, noun)| described::count(number, noun)).collect();
    if numbers.is_empty() {
        String::new()
    } else {
        format!("; {}", numbers.join(", "))
    }
}

/// Writes the likely causes that explain several cases or defects.
fn likely_causes(text: &mut String, report: &ConformanceReport) {
    let causes = causes::of(report);
    let shared: Vec<&CauseGroup<'_>> = causes.iter().filter(|group| group.is_shared()).collect();
    if shared.is_empty() {
        return;
    }
    text.push_str("\n### Likely causes\n\n| cases | cause | first case |\n|---|---|---|\n");
    for group in shared.iter().take(MOST) {
        let cause = described::one_line(&group.cause.group);
        let first = group.cases.first().map(|case| plain(case.as_str()));
        let (number, first) = (group.cases.len(), first.unwrap_or_default());
        let _ = writeln!(text, "| {number} | {} | {first} |", plain(&cause));
    }
    more(text, shared.len());
}

/// Writes a defect that makes the run fail, for a reader who has not seen the report.
fn described_defect(text: &mut String, number: usize, defect: &Defect, report: &ConformanceReport) {
    let _ = writeln!(text, "\n#### {number}. {}\n", plain(&described::headline(defect)));
    for requirement in described::requirements(defect, report) {
        let (level, id) = (requirement.level.word(), &requirement.id);
        let source = requirement.sources.first().map(|source| ground(source, report));
        let source = source.map(|source| format!(" ({source})")).unwrap_or_default();
        let _ = writeln!(
            text,
            "- {level} {}: {}{source}",
            plain(id.as_str()),
            plain(&requirement.text)
        );
    }
    let finding = &defect.finding;
    let line = |text: &str| plain(&described::one_line(text));
    let _ = writeln!(text, "- looked at: {}", line(&finding.title));
    let _ = writeln!(text, "- expected: {}", line(&finding.expected));
    let difference = described::first_difference(finding);
    let difference = difference.map(|it| format!("; {}", line(it))).unwrap_or_default();
    let _ = writeln!(text, "- seen: {}{difference}", line(&finding.seen));
    let _ = writeln!(text, "- cases: {}", plain(&described::cases(defect)));
    if let Some(command) = described::command(defect) {
        let _ = writeln!(text, "- run it: `{command}`");
    }
}

/// Returns a source with a link.
fn ground(source: &Source, report: &ConformanceReport) -> String {
    let words = plain(&source.to_string());
    match report.link(source).filter(|link| is_address(link)) {
        Some(link) => format!("[{words}]({link})"),
        None => words,
    }
}

/// Returns `true` if Markdown reads the whole text as an address.
fn is_address(link: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_graphic() && !matches!(c, '(' | ')' | '<' | '>' | '[' | ']' | '\\');
    link.starts_with("https://") && link.chars().all(is_plain)
}

/// Writes defects that do not make the run fail, one line for each statement that they break.
fn brief<'a>(text: &mut String, heading: &str, defects: impl Iterator<Item = &'a Defect>, report: &ConformanceReport) {
    let mut statements: Vec<Vec<&Defect>> = Vec::new();
    for defect in defects {
        let same = |of: &&mut Vec<&Defect>| of.first().is_some_and(|it| it.requirements == defect.requirements);
        match statements.iter_mut().find(same) {
            Some(of) => of.push(defect),
            None => statements.push(vec![defect]),
        }
    }
    if statements.is_empty() {
        return;
    }
    let _ = writeln!(
        text,
        "\n### {heading}\n\n| requirements | statement | what | cases |\n|---|---|---|---|"
    );
    for defects in statements.iter().take(MOST) {
        let Some(first) = defects.first() else { continue };
        let texts = described::requirements(first, report)
            .into_iter()
            .map(|it| it.text.as_str());
        let what = defects.iter().map(|it| described::what(it));
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} |",
            plain(&described::ids(first)),
            plain(&texts.collect::<Vec<_>>().join(" ")),
            plain(&what.collect::<Vec<_>>().join("; ")),
            plain(&described::cases(first))
        );
    }
    more(text, statements.len());
}

/// Writes the known defects with their reasons.
fn known(text: &mut String, report: &ConformanceReport) {
    if report.baseline.is_empty() {
        return;
    }
    text.push_str("\n### Known defects\n\n| requirement | what | reason |\n|---|---|---|\n");
    for entry in report.baseline.iter().take(MOST) {
        let field = entry.field.as_deref();
        let what = field.map_or_else(
            || entry.difference.to_string(),
            |field| described::differs(field, entry.difference),
        );
        let stale = if entry.outdated {
            "no case shows it any more: "
        } else {
            ""
        };
        let _ = writeln!(
            text,
            "| {} | {} | {stale}{} |",
            plain(entry.about()),
            plain(&what),
            plain(&entry.reason)
        );
    }
    more(text, report.baseline.len());
}

/// Writes the number of entries that are not listed.
fn more(text: &mut String, number: usize) {
    if number > MOST {
        let _ = writeln!(text, "\nand {} more", number - MOST);
    }
}

fn table<'a>(text: &mut String, heading: &str, cases: impl Iterator<Item = &'a CaseReport>) {
    let cases: Vec<_> = cases.collect();
    if cases.is_empty() {
        return;
    }
    let _ = writeln!(text, "\n### {heading}\n\n| case | requirements | what |\n|---|---|---|");
    for case in cases.iter().take(MOST) {
        let finding = case.findings.first();
        let ids: Vec<_> = case
            .broken
            .iter()
            .map(super::super::names::RequirementId::as_str)
            .collect();
        let what = finding
            .map(|it| format!("{}: seen {}", it.title, it.seen))
            .or_else(|| case.reasons.first().cloned())
            .or_else(|| {
                case.snapshots
                    .first()
                    .map(|name| format!("the snapshot {name} differs from its file"))
            });
        let _ = writeln!(
            text,
            "| `{}` | {} | {} |",
            case.name,
            ids.join(" "),
            plain(&what.unwrap_or_default())
        );
    }
    more(text, cases.len());
}

/// Returns a number with its words: `1 deviates`, `2 deviate`; `1 case`, `2 cases`. Adjectives stay unchanged.
fn counted(count: usize, words: &str) -> String {
    let plural = match words {
        "case" => "cases",
        "conforms" => "conform",
        "deviates" => "deviate",
        other => other,
    };
    format!("{count} {}", if count == 1 { words } else { plural })
}

/// Returns a text for a table cell: one line, without markup.
fn plain(text: &str) -> String {
    let mut plain = String::new();
    for c in text.chars() {
        match c {
            '\n' | '\r' => plain.push(' '),
            '<' => plain.push_str("&lt;"),
            '&' => plain.push_str("&amp;"),
            '|' | '*' | '_' | '`' | '[' | ']' | '\\' | '#' | '!' | '@' => {
                plain.push('\\');
                plain.push(c);
            }
            c if c.is_control() => {}
            c => plain.push(c),
        }
    }
    plain
}

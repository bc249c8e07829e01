//! A report in a few lines of Markdown, as CI systems show it beside a job.

use std::fmt::Write as _;

use super::model::{CaseOutcome, CaseReport, ConformanceReport, RequirementResult};

/// So many cases of a kind are listed; the rest is counted.
const MOST: usize = 50;

/// A report as Markdown: what came of it, the cases that failed with their first finding, the requirements that are
/// broken, known deviations.
pub fn markdown(report: &ConformanceReport) -> String {
    let mut text = String::new();
    let of = |result| report.cases.iter().filter(move |case| case.result == result);
    let counts = CaseOutcome::ALL.map(|result| (of(result).count(), result.words()));
    let counts = counts.iter().filter(|(count, _)| *count > 0);
    let counts: Vec<_> = counts.map(|(count, words)| counted(*count, words)).collect();
    let version = report.implementation.version.as_deref().unwrap_or_default();
    let name = format!("{} {version}", report.implementation.name);
    // Writing into a text cannot fail.
    let _ = writeln!(text, "## Stateful cluster failover: {}\n", plain(name.trim_end()));
    let counts = if counts.is_empty() {
        "no case was run".to_owned()
    } else {
        counts.join(", ")
    };
    let _ = writeln!(
        text,
        "{} on {}: **{counts}**",
        counted(report.cases.len(), "case"),
        plain(&report.backend.name)
    );
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
    table(
        &mut text,
        "Failed",
        of(CaseOutcome::Deviates).chain(of(CaseOutcome::Broken)),
    );
    let broken: Vec<_> = report
        .requirements
        .iter()
        .filter(|it| it.result == RequirementResult::Broken)
        .collect();
    if !broken.is_empty() {
        text.push_str("\n### Broken requirements\n\n| requirement | statement |\n|---|---|\n");
        for it in broken {
            let _ = writeln!(text, "| {} | {} |", it.id, plain(&it.text));
        }
    }
    table(&mut text, "Known deviations", of(CaseOutcome::KnownDeviation));
    table(&mut text, "Inconclusive", of(CaseOutcome::Inconclusive));
    text
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
    if cases.len() > MOST {
        let _ = writeln!(text, "\nand {} more", cases.len() - MOST);
    }
}

/// `1 deviates`, `2 deviate`; `1 case`, `2 cases`; adjectives stay as they are.
fn counted(count: usize, words: &str) -> String {
    let plural = match words {
        "case" => "cases",
        "conforms" => "conform",
        "deviates" => "deviate",
        other => other,
    };
    format!("{count} {}", if count == 1 { words } else { plural })
}

/// Text that is nothing but text in a cell of a table: one line, no markup.
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

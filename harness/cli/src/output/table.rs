//! The table of the results of a run, and the words for a result.

use baton_core::{
    event::{CaseOutcome, CaseResult},
    report::{ConformanceReport, model::CaseOutcome as Settled},
};
use comfy_table::{Cell, Color};

use crate::show;

/// Returns the table of results, with the result that a report gives to each case if there is a report.
pub fn results<'a>(results: impl Iterator<Item = &'a CaseResult>, report: Option<&ConformanceReport>) -> String {
    let mut table = show::table(&["CASE", "RESULT", "REQUIREMENTS", "TIME", "WRITES"]);
    for result in results {
        let settled = report.and_then(|report| settled(result, report));
        let writes = result
            .migration
            .as_ref()
            .filter(|it| !it.writes.is_empty())
            .map(|it| it.writes.len().to_string());
        table.add_row([
            Cell::new(named(result)),
            Cell::new(format!("{}{}", word(result, settled), on_try(result))).fg(colour(result, settled)),
            Cell::new(requirements(result, settled)),
            Cell::new(show::seconds(result.wall)),
            Cell::new(writes.unwrap_or_default()),
        ]);
    }
    table.trim_fmt()
}

/// Returns the requirements of a row: those that the case shows or, if some are broken or open, these after a word that says so.
fn requirements(result: &CaseResult, settled: Option<Settled>) -> String {
    let (reason, ids) = match &result.outcome {
        CaseOutcome::Unsupported { reasons } => return reasons.join("; "),
        CaseOutcome::Broken { .. } => return String::new(),
        CaseOutcome::Conforms(verdict) if verdict.broken().is_empty() => return show::ids(verdict.shown.iter()),
        CaseOutcome::Conforms(verdict) => match settled {
            Some(Settled::Deviates) => ("broken", verdict.broken()),
            Some(Settled::KnownDeviation) => ("known", verdict.broken()),
            _ => ("shows broken", verdict.broken()),
        },
        CaseOutcome::Deviates { verdict, .. } if result.known => ("known", verdict.broken()),
        CaseOutcome::Deviates { verdict, .. } => ("broken", verdict.broken()),
        CaseOutcome::Inconclusive { verdict, .. } => {
            let mut open = verdict.open();
            open.extend(verdict.not_judged.keys().cloned());
            ("inconclusive", open)
        }
    };
    if ids.is_empty() {
        return String::new();
    }
    format!("{reason}: {}", show::ids(ids.iter()))
}

/// Returns the result that a report of all cases gives to a case. A finding about something that the case does not test makes it
/// deviate, unless another case shows the same more clearly.
fn settled(result: &CaseResult, report: &ConformanceReport) -> Option<Settled> {
    let mut cases = report.cases.iter();
    let case = cases.find(|case| (&case.name, case.seed) == (&result.case, result.seed))?;
    Some(case.result)
}

/// Returns the result of a case as a word: that of the report, if it has been settled.
pub(super) fn word(result: &CaseResult, settled: Option<Settled>) -> &'static str {
    match &result.outcome {
        CaseOutcome::Conforms(_) if settled == Some(Settled::Deviates) => "DEVIATES",
        CaseOutcome::Conforms(_) if settled == Some(Settled::KnownDeviation) => "deviates",
        CaseOutcome::Conforms(verdict) if !verdict.elsewhere.is_empty() => "conforms, shows others",
        CaseOutcome::Conforms(_) if result.has_remarks() => "conforms with remarks",
        CaseOutcome::Conforms(_) => "conforms",
        CaseOutcome::Deviates { .. } if result.known => "deviates",
        CaseOutcome::Deviates { .. } => "DEVIATES",
        CaseOutcome::Inconclusive { .. } => "inconclusive",
        CaseOutcome::Unsupported { .. } => "unsupported",
        CaseOutcome::Broken { .. } => "BROKEN",
    }
}

fn colour(result: &CaseResult, settled: Option<Settled>) -> Color {
    match &result.outcome {
        CaseOutcome::Conforms(_) if settled == Some(Settled::KnownDeviation) => Color::Yellow,
        CaseOutcome::Conforms(verdict) if !verdict.elsewhere.is_empty() && !result.known => Color::Red,
        CaseOutcome::Conforms(_) => Color::Green,
        CaseOutcome::Deviates { .. } if result.known => Color::Yellow,
        CaseOutcome::Deviates { .. } => Color::Red,
        CaseOutcome::Inconclusive { .. } | CaseOutcome::Unsupported { .. } => Color::Yellow,
        CaseOutcome::Broken { .. } => Color::Magenta,
    }
}

/// Returns a case's name, with the seed if it is not the default.
pub(super) fn named(result: &CaseResult) -> String {
    match result.seed {
        0 => result.case.to_string(),
        seed => format!("{} seed {seed}", result.case),
    }
}

/// Returns a note for a result that took several attempts.
pub(super) fn on_try(result: &CaseResult) -> String {
    match result.attempt() {
        1 => String::new(),
        attempt => format!(" on try {attempt}"),
    }
}

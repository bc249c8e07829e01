//! Results for the terminal.

use std::fmt::Write as _;

use baton_core::scale::{
    compare,
    quantiles::Quantiles,
    report::{End, ScaleReport},
};

use super::NAMED;
use crate::show::{count, table};

/// Share of processor time of other programs above which figures are not those of the target alone.
const BUSY: f64 = 0.1;

/// A result.
pub fn result(report: &ScaleReport) -> String {
    let mut text = String::new();
    let mut section = |head: &str, body: String| {
        if !body.is_empty() {
            // Writing to a text cannot fail.
            let _ = writeln!(text, "{head}\n\n{body}\n");
        }
    };
    section("Seconds of each phase, by the clusters' clock", phases(report));
    section("Service level indicators of Karmada, in seconds", indicators(report));
    section("Requests per failover", requests(report));
    section("Processes", processes(report));
    let refusals = [(409, "conflicts (409)"), (429, "throttled (429)")];
    let refusals = refusals.map(|(status, words)| format!("{} {words}", report.refused_with(status)));
    let progress = report.workloads;
    let cost = &report.cost;
    let _ = writeln!(
        text,
        "{}: {} placed in {:.1} s, {} of {} moved in {:.1} s of real time; {}; {} judged",
        report.end.words(),
        count(progress.placed, "workload"),
        cost.placing_seconds,
        progress.settled,
        progress.affected,
        cost.moving_seconds,
        refusals.join(", "),
        count(usize::try_from(cost.revisions).unwrap_or(usize::MAX), "revision"),
    );
    text
}

fn phases(report: &ScaleReport) -> String {
    if report.phases.is_empty() {
        return String::new();
    }
    let mut table = table(&["PHASE", "WORKLOADS", "P50", "P90", "P99", "MAX"]);
    for phase in &report.phases {
        table.add_row(figures(phase.phase.words(), &phase.seconds));
    }
    table.trim_fmt()
}

fn indicators(report: &ScaleReport) -> String {
    let measured = report.indicators.measured();
    if measured.is_empty() {
        return String::new();
    }
    let mut table = table(&["INDICATOR", "COUNT", "P50", "P90", "P99", "MAX"]);
    for indicator in measured {
        table.add_row(figures(indicator.name, &indicator.seconds));
    }
    table.trim_fmt()
}

/// A row with a distribution.
fn figures(name: &str, of: &Quantiles) -> Vec<String> {
    let mut row = vec![name.to_owned(), of.count.to_string()];
    row.extend([of.p50, of.p90, of.p99, of.max].map(|it| format!("{it:.3}")));
    row
}

/// Requests of the time after the failure.
fn requests(report: &ScaleReport) -> String {
    let failovers = report.workloads.healthy;
    if failovers == 0 {
        return String::new();
    }
    let mut table = table(&["PROGRAM", "VERB", "KIND", "REQUESTS", "PER FAILOVER", "KIB"]);
    for request in report.requests.iter().filter(|it| it.moving > 0) {
        #[expect(clippy::cast_precision_loss, reason = "numbers of requests are far below 2^52")]
        let each = request.moving as f64 / failovers as f64;
        table.add_row([
            request.program_name().to_owned(),
            request.verb.clone(),
            request.kind.clone(),
            request.moving.to_string(),
            format!("{each:.2}"),
            request
                .moving_bytes
                .map_or_else(|| "-".to_owned(), |it| (it / 1024).to_string()),
        ]);
    }
    let mut text = table.trim_fmt();
    if let (Some(all), Some(writes)) = (report.requests_per_failover(), report.writes_per_failover()) {
        let _ = write!(
            text,
            "\n\nthe target: {all:.2} requests per failover, {writes:.2} of them writes"
        );
    }
    if let Some(bytes) = report.bytes_per_failover() {
        let _ = write!(
            text,
            "; {:.1} KiB per failover with answers and watches",
            bytes / 1024.0
        );
    }
    text
}

fn processes(report: &ScaleReport) -> String {
    if report.cost.processes.is_empty() {
        return String::new();
    }
    let mut table = table(&["PROGRAM", "PROCESSOR TIME", "PEAK MEMORY"]);
    for process in &report.cost.processes {
        table.add_row([
            process.name.clone(),
            format!("{:.1} s", process.cpu_seconds),
            format!("{} MiB", process.peak_memory_kib / 1024),
        ]);
    }
    table.trim_fmt()
}

/// Errors and remarks of a result.
pub fn warnings(report: &ScaleReport) -> String {
    let mut text = String::new();
    for violated in &report.violations {
        let grade = if violated.deviates { "error" } else { "remark" };
        let requirement = violated
            .requirement
            .as_ref()
            .map(|id| format!("{id}: "))
            .unwrap_or_default();
        let times = count(violated.count, "time");
        let _ = writeln!(text, "{grade}: {requirement}{}, {times}", violated.broken.words());
        if let Some(first) = violated.first.first() {
            let _ = writeln!(text, "  {} at {:.3} s: {}", first.workload, first.at, first.seen);
            for told in &first.story {
                let _ = writeln!(text, "    {:>10.3} s  {}", told.at, told.what);
            }
        }
    }
    if let Some(share) = report.cost.other_programs.filter(|share| *share > BUSY) {
        let percent = share * 100.0;
        let _ = writeln!(
            text,
            "warning: other programs used {percent:.0} % of the processors, so the target was slower than it can be"
        );
    }
    for sentence in &report.not_judged {
        let _ = writeln!(text, "not judged: {sentence}");
    }
    if report.end != End::Complete && !report.missing.is_empty() {
        let more = if report.missing.len() < NAMED { "" } else { ", …" };
        let _ = writeln!(
            text,
            "error: {}; missing: {}{more}",
            report.end.words(),
            report.missing.join(", ")
        );
        let help = match report.end {
            End::NotPlaced | End::NotMoved => "help: --limit gives more time",
            End::Complete | End::TargetEnded | End::Interrupted => return text,
        };
        let _ = writeln!(text, "{help}");
    }
    text
}

/// Two results side by side.
pub fn comparison(one: &ScaleReport, other: &ScaleReport) -> String {
    let is_same = one.target == other.target;
    let head = |which: &str, report: &ScaleReport| {
        if is_same {
            format!("{} ({which})", report.target)
        } else {
            report.target.clone()
        }
    };
    let (first, second) = (head("first", one), head("second", other));
    let mut table = table(&["FIGURE", &first, &second, "RATIO"]);
    let figure = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |it| format!("{it:.3}"));
    for row in compare::rows(one, other) {
        let ratio = row.ratio().map_or_else(|| "-".to_owned(), |it| format!("{it:.2}"));
        table.add_row([row.name.clone(), figure(row.one), figure(row.other), ratio]);
    }
    table.trim_fmt()
}

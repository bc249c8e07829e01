//! Two results side by side.

use serde_json::Value;

use super::{
    judge::Progress,
    phases::Phase,
    report::{End, Machine, ScaleReport},
};

/// A figure of two results; `None` where a result does not have it.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Name of the figure, with its unit.
    pub name: String,
    /// Of the first.
    pub one: Option<f64>,
    /// Of the second.
    pub other: Option<f64>,
}

impl Row {
    /// The second divided by the first.
    pub fn ratio(&self) -> Option<f64> {
        let (one, other) = (self.one?, self.other?);
        (one > 0.0).then(|| other / one)
    }
}

/// All figures of two results.
pub fn rows(one: &ScaleReport, other: &ScaleReport) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut row = |name: String, of: &dyn Fn(&ScaleReport) -> Option<f64>| {
        let (one, other) = (of(one), of(other));
        if one.is_some() || other.is_some() {
            rows.push(Row { name, one, other });
        }
    };
    for phase in Phase::ALL {
        let words = phase.words();
        row(format!("{words}, p50 (s)"), &|it| Some(it.phase(phase)?.p50));
        row(format!("{words}, p99 (s)"), &|it| Some(it.phase(phase)?.p99));
        row(format!("{words}, max (s)"), &|it| Some(it.phase(phase)?.max));
    }
    row("requests per failover".to_owned(), &ScaleReport::requests_per_failover);
    row("writes per failover".to_owned(), &ScaleReport::writes_per_failover);
    row("bytes per failover".to_owned(), &ScaleReport::bytes_per_failover);
    row("API writes, p99 (s)".to_owned(), &|it| {
        Some(it.indicators.api_writes?.p99)
    });
    row("API reads, p99 (s)".to_owned(), &|it| {
        Some(it.indicators.api_reads?.p99)
    });
    row("registration of clusters, p99 (s)".to_owned(), &|it| {
        Some(it.indicators.registration?.p99)
    });
    row("conflicts (409)".to_owned(), &|it| number(it, it.refused_with(409)));
    row("throttled (429)".to_owned(), &|it| number(it, it.refused_with(429)));
    row("placing, real time (s)".to_owned(), &|it| Some(it.cost.placing_seconds));
    row("moving, real time (s)".to_owned(), &|it| Some(it.cost.moving_seconds));
    row("processor time (s)".to_owned(), &|it| {
        Some(it.cost.processes.first()?.cpu_seconds)
    });
    row("peak memory (MiB)".to_owned(), &|it| {
        let kib = u32::try_from(it.cost.processes.first()?.peak_memory_kib).ok()?;
        Some(f64::from(kib) / 1024.0)
    });
    rows
}

/// A number of requests; `None` where no requests are counted.
fn number(report: &ScaleReport, count: u64) -> Option<f64> {
    let count = u32::try_from(count).ok()?;
    (!report.requests.is_empty()).then(|| f64::from(count))
}

/// Reasons why a result has figures of a part of its run only, or of a run that broke something, as sentences.
pub fn reservations(report: &ScaleReport) -> Vec<String> {
    let mut reasons = Vec::new();
    if report.end != End::Complete {
        let Progress { settled, affected, .. } = report.workloads;
        reasons.push(format!(
            "{}: {settled} of {affected} workloads moved",
            report.end.words()
        ));
    }
    let broken = report.violations.iter().filter(|it| it.deviates);
    reasons.extend(broken.map(|it| it.broken.words().to_owned()));
    reasons
}

/// Differences in parameters, clusters and machine: figures of runs that differ in these say little.
pub fn differences(one: &ScaleReport, other: &ScaleReport) -> Vec<String> {
    let of = |report: &ScaleReport| {
        let mut of = serde_json::to_value(report.parameters).unwrap_or_default();
        of["backend"] = Value::from(report.backend.clone());
        of["virtualTime"] = Value::from(report.virtual_time);
        of["machine"] = Value::from(words(&report.machine));
        of
    };
    let (one, other) = (of(one), of(other));
    let fields = one.as_object().into_iter().flatten();
    let differing = fields.filter(|(name, value)| other[name.as_str()] != **value);
    let plain = |value: &Value| value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned);
    differing
        .map(|(name, value)| format!("{name}: {} and {}", plain(value), plain(&other[name.as_str()])))
        .collect()
}

/// A machine for people.
fn words(machine: &Machine) -> String {
    let memory = machine.memory_kib.map(|kib| format!(", {} MiB of memory", kib / 1024));
    format!(
        "{} on {}, {} processors{}",
        machine.os,
        machine.arch,
        machine.processors,
        memory.unwrap_or_default()
    )
}

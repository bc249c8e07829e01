//! The page of a result: one HTML file with plots, without scripts and external resources.

use std::fmt::Write as _;

use baton_core::scale::{
    quantiles::Quantiles,
    report::{Bucket, Indicator, Requests, ScaleReport, Violated},
};
use minijinja::{AutoEscape, Environment, Error, Value, value::Serde};
use serde::Serialize;

const TEMPLATE: &str = include_str!("page/scale.html");

/// Size of a plot's area.
const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 200.0;

/// Greatest width of a character of a label, in the font of the page.
const CHARACTER: f64 = 6.8;

/// Number of writes that are shown by kind; the others are in the table.
const KINDS: usize = 14;

/// Data of the template.
#[derive(Debug, Serialize)]
struct View<'a> {
    report: &'a ScaleReport,
    end: &'static str,
    profile: &'static str,
    phases: Vec<(&'static str, Quantiles)>,
    indicators: Vec<Indicator>,
    broken: Vec<(&'static str, &'a Violated)>,
    requests: Option<f64>,
    writes: Option<f64>,
    bytes: Option<f64>,
    conflicts: u64,
    throttled: u64,
    plots: [Plot; 3],
    kinds: Vec<Write>,
    /// Width of the longest name of `kinds`.
    names: f64,
    width: f64,
    height: f64,
}

/// A plot, in the coordinates of its area.
#[derive(Debug, Serialize)]
struct Plot {
    title: String,
    lines: Vec<Line>,
    bars: Vec<Bar>,
    x: Vec<Tick>,
    y: Vec<Tick>,
    #[serde(rename = "xName")]
    x_name: &'static str,
    #[serde(rename = "yName")]
    y_name: &'static str,
}

#[derive(Debug, Serialize)]
struct Line {
    name: &'static str,
    points: String,
}

#[derive(Debug, Serialize)]
struct Bar {
    x: f64,
    y: f64,
    width: f64,
    height: f64,
    name: String,
}

#[derive(Debug, Serialize)]
struct Tick {
    at: f64,
    text: String,
}

/// A write of a program, as a bar with its name.
#[derive(Debug, Serialize)]
struct Write {
    name: String,
    width: f64,
    text: String,
    harness: bool,
}

/// The page of a result.
///
/// # Errors
/// If the template cannot be filled in.
pub fn render(report: &ScaleReport) -> Result<String, Error> {
    let mut environment = Environment::new();
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    environment.add_template("page", TEMPLATE)?;
    let kinds = kinds(report);
    let longest = kinds.iter().map(|it| it.name.chars().count()).max();
    let view = View {
        report,
        end: report.end.words(),
        profile: report.parameters.profile.name(),
        phases: report.phases.iter().map(|it| (it.phase.words(), it.seconds)).collect(),
        indicators: report.indicators.measured(),
        broken: report.violations.iter().map(|it| (it.broken.words(), it)).collect(),
        requests: report.requests_per_failover(),
        writes: report.writes_per_failover(),
        bytes: report.bytes_per_failover(),
        conflicts: report.refused_with(409),
        throttled: report.refused_with(429),
        plots: [recovery(report), over_time(report), throughput(report)],
        kinds,
        names: steps(longest.unwrap_or_default()) * CHARACTER,
        width: WIDTH,
        height: HEIGHT,
    };
    environment.get_template("page")?.render(Value::from(Serde(&view)))
}

/// Ticks of an axis from 0 to `max`, at round numbers.
fn ticks(max: f64, length: f64) -> Vec<Tick> {
    if max <= 0.0 {
        return Vec::new();
    }
    let rough = max / 5.0;
    let power = 10_f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0]
        .map(|it| it * power)
        .into_iter()
        .find(|it| *it >= rough);
    let step = step.unwrap_or(rough);
    let mut ticks = Vec::new();
    let mut value = 0.0;
    while value <= max * 1.000_001 {
        let text = if step >= 1.0 {
            format!("{value:.0}")
        } else {
            trimmed(value)
        };
        ticks.push(Tick {
            at: value / max * length,
            text,
        });
        value += step;
    }
    ticks
}

fn trimmed(value: f64) -> String {
    let text = format!("{value:.6}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text.is_empty() {
        "0".to_owned()
    } else {
        text.to_owned()
    }
}

/// Marks of the vertical axis, which runs downwards in a picture.
fn upwards(max: f64) -> Vec<Tick> {
    let flipped = ticks(max, HEIGHT).into_iter().map(|tick| Tick {
        at: HEIGHT - tick.at,
        ..tick
    });
    flipped.collect()
}

fn points(values: &[f64], max: f64) -> String {
    let mut text = String::new();
    let last = steps(values.len().saturating_sub(1)).max(1.0);
    for (number, value) in values.iter().enumerate() {
        let x = steps(number) / last * WIDTH;
        let y = HEIGHT - value / max.max(f64::MIN_POSITIVE) * HEIGHT;
        // Writing to a text cannot fail.
        let _ = write!(text, "{x:.1},{y:.1} ");
    }
    text.trim_end().to_owned()
}

#[expect(clippy::cast_precision_loss, reason = "plots have some hundred points")]
fn steps(number: usize) -> f64 {
    number as f64
}

#[expect(
    clippy::cast_precision_loss,
    reason = "numbers of workloads and requests are far below 2^52"
)]
fn number(count: u64) -> f64 {
    count as f64
}

fn greatest(values: impl IntoIterator<Item = f64>) -> f64 {
    values.into_iter().fold(0.0, f64::max)
}

fn recovery(report: &ScaleReport) -> Plot {
    let buckets: &[Bucket] = &report.recovery;
    let max = greatest(buckets.iter().map(|it| number(it.count)));
    let end = buckets.last().map_or(0.0, |it| it.up_to);
    let width = WIDTH / steps(buckets.len().max(1));
    let bars = buckets
        .iter()
        .enumerate()
        .filter(|(_, it)| it.count > 0)
        .map(|(place, it)| {
            let height = number(it.count) / max.max(1.0) * HEIGHT;
            Bar {
                x: steps(place) * width,
                y: HEIGHT - height,
                width: width - 1.0,
                height,
                name: format!("{} up to {:.3} s", it.count, it.up_to),
            }
        });
    Plot {
        title: "Recovery: workloads by the time until they were healthy".to_owned(),
        lines: Vec::new(),
        bars: bars.collect(),
        x: ticks(end, WIDTH),
        y: upwards(max),
        x_name: "seconds from the failure",
        y_name: "workloads",
    }
}

fn over_time(report: &ScaleReport) -> Plot {
    let series = &report.series;
    let floats = |of: &[u64]| of.iter().map(|it| number(*it)).collect::<Vec<_>>();
    let named = [
        ("waiting for their task", floats(&series.waiting)),
        ("moving", floats(&series.moving)),
        ("healthy", floats(&series.healthy)),
    ];
    let max = greatest(named.iter().flat_map(|(_, values)| values.iter().copied()));
    let end = series.step_seconds * steps(series.healthy.len().saturating_sub(1));
    let lines = named.map(|(name, values)| Line {
        name,
        points: points(&values, max),
    });
    Plot {
        title: "Queue: workloads over time".to_owned(),
        lines: lines.into(),
        bars: Vec::new(),
        x: ticks(end, WIDTH),
        y: upwards(max),
        x_name: "seconds from the failure",
        y_name: "workloads",
    }
}

fn throughput(report: &ScaleReport) -> Plot {
    let values = report.series.throughput();
    let max = greatest(values.iter().copied());
    let end = report.series.step_seconds * steps(values.len().saturating_sub(1));
    Plot {
        title: "Throughput: workloads that became healthy per second".to_owned(),
        lines: vec![Line {
            name: "healthy per second",
            points: points(&values, max),
        }],
        bars: Vec::new(),
        x: ticks(end, WIDTH),
        y: upwards(max),
        x_name: "seconds from the failure",
        y_name: "per second",
    }
}

/// The most frequent writes after the failure.
fn kinds(report: &ScaleReport) -> Vec<Write> {
    let failovers = steps(report.workloads.healthy.max(1));
    let mut writes: Vec<_> = report
        .requests
        .iter()
        .filter(|it| it.are_writes() && it.moving > 0)
        .collect();
    writes.sort_by_key(|it| std::cmp::Reverse(it.moving));
    writes.truncate(KINDS);
    let max = greatest(writes.iter().map(|it| number(it.moving)));
    let write = |it: &&Requests| Write {
        name: format!("{}: {} {}", it.program_name(), it.verb, it.kind),
        width: number(it.moving) / max * WIDTH * 0.45,
        text: format!("{:.2} per failover", number(it.moving) / failovers),
        harness: it.is_harness,
    };
    writes.iter().map(write).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_at_round_numbers() {
        let texts = |max: f64| ticks(max, 100.0).into_iter().map(|it| it.text).collect::<Vec<_>>();
        assert_eq!(texts(10.0), ["0", "2", "4", "6", "8", "10"]);
        assert_eq!(texts(0.23), ["0", "0.05", "0.1", "0.15", "0.2"]);
        assert_eq!(texts(0.0), [""; 0]);
    }

    #[test]
    fn a_line_begins_at_the_left_and_runs_upwards() {
        assert_eq!(points(&[0.0, 1.0, 2.0], 2.0), "0.0,200.0 360.0,100.0 720.0,0.0");
    }
}

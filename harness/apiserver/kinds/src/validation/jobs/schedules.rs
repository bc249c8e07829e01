//! Schedules of `CronJobs`.

use baton_apimachinery::field::{ErrorList, FieldPath};
use serde_json::Value;

use crate::validation::checks::text;

/// When jobs are made.
pub(crate) fn schedule(spec: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let schedule = text(spec, "schedule");
    let field = at.child("schedule");
    if schedule.is_empty() {
        found.required(&field, "");
    } else if schedule.contains("TZ") {
        let detail = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead";
        found.invalid(&field, schedule, detail);
    } else if let Err(detail) = parse_schedule(schedule) {
        found.invalid(&field, schedule, &detail);
    }
}

/// Where that is the time.
pub(crate) fn time_zone(spec: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let Some(zone) = spec.get("timeZone").and_then(Value::as_str) else {
        return;
    };
    let field = at.child("timeZone");
    // Without a database of time zones every name passes.
    let known = |name: &str| jiff::tz::db().get(name).is_ok();
    if zone.is_empty() {
        found.invalid(&field, zone, "timeZone must be nil or non-empty string");
    } else if zone.eq_ignore_ascii_case("local") {
        let detail = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones";
        found.invalid(&field, zone, detail);
    } else if !known(zone) && known("Europe/Berlin") {
        found.invalid(&field, zone, &format!("unknown time zone {zone}"));
    }
}

fn parse_schedule(schedule: &str) -> Result<(), String> {
    if schedule.starts_with('@') {
        return if CRON_WORDS.contains(&schedule) || schedule.starts_with("@every ") {
            Ok(())
        } else {
            Err(format!("unrecognized descriptor: {schedule}"))
        };
    }
    let fields: Vec<&str> = schedule.split_whitespace().collect();
    if fields.len() != 5 {
        return Err(format!(
            "expected exactly 5 fields, found {}: [{}]",
            fields.len(),
            fields.join(" ")
        ));
    }
    for ((field, (min, max)), words) in fields.into_iter().zip(CRON_FIELDS).zip(CRON_NAMES) {
        for range in field.split(',').filter(|range| !range.is_empty()) {
            cron_range(range, min, max, words)?;
        }
    }
    Ok(())
}

fn cron_number(text: &str, words: &[&str]) -> Result<u32, String> {
    if let Some(index) = words.iter().position(|word| word.eq_ignore_ascii_case(text)) {
        // Months count from one.
        let base = u32::from(words.len() == 12);
        return Ok(u32::try_from(index).unwrap_or(0) + base);
    }
    text.parse()
        .map_err(|_| format!("failed to parse int from {text}: strconv.Atoi: parsing {text:?}: invalid syntax"))
}

fn cron_range(range: &str, min: u32, max: u32, words: &[&str]) -> Result<(), String> {
    let (span, step) = range
        .split_once('/')
        .map_or((range, None), |(span, step)| (span, Some(step)));
    let (start, end) = match span {
        "*" | "?" => (min, max),
        _ => {
            let (low, high) = span
                .split_once('-')
                .map_or((span, None), |(low, high)| (low, Some(high)));
            let start = cron_number(low, words)?;
            let end = match high {
                Some(high) => cron_number(high, words)?,
                None if step.is_some() => max,
                None => start,
            };
            (start, end)
        }
    };
    let step = step.map_or(Ok(1), |step| cron_number(step, &[]))?;
    if start < min {
        return Err(format!("beginning of range ({start}) below minimum ({min}): {range}"));
    }
    if end > max {
        return Err(format!("end of range ({end}) above maximum ({max}): {range}"));
    }
    if start > end {
        return Err(format!(
            "beginning of range ({start}) beyond end of range ({end}): {range}"
        ));
    }
    if step == 0 {
        return Err(format!("step of range should be a positive number: {range}"));
    }
    Ok(())
}

/// Minimum and maximum of minute, hour, day, month and weekday.
const CRON_FIELDS: [(u32, u32); 5] = [(0, 59), (0, 23), (1, 31), (1, 12), (0, 6)];
const CRON_NAMES: [&[&str]; 5] = [
    &[],
    &[],
    &[],
    &[
        "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
    ],
    &["sun", "mon", "tue", "wed", "thu", "fri", "sat"],
];
const CRON_WORDS: &[&str] = &[
    "@yearly",
    "@annually",
    "@monthly",
    "@weekly",
    "@daily",
    "@midnight",
    "@hourly",
];

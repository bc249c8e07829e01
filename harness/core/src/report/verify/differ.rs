//! Differences between a report and one that was made again.

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::Value;

use super::Objection;

/// Tolerance of times, which are rounded on the timeline and again in a report.
const ROUNDING_SECS: f64 = 0.0015;

/// Maximum length of a value in a message.
const LONGEST_VALUE: usize = 120;

/// Returns an objection for each field that differs.
pub(super) fn objections<T: Serialize>(of: &str, reported: &T, judged: &T) -> Vec<Objection> {
    // A value with a YAML form also has a JSON form.
    let value = |what: &T| serde_json::to_value(what).unwrap_or_default();
    let mut found = Vec::new();
    differ(of, "", &value(reported), &value(judged), &mut found);
    found
}

fn differ(of: &str, path: &str, reported: &Value, judged: &Value, found: &mut Vec<Objection>) {
    match (reported, judged) {
        (Value::Object(one), Value::Object(other)) => {
            for key in one.keys().chain(other.keys()).collect::<BTreeSet<_>>() {
                let below = if path.is_empty() {
                    key.clone()
                } else {
                    format!("{path}.{key}")
                };
                let at = |map: &serde_json::Map<String, Value>| map.get(key).cloned().unwrap_or_default();
                differ(of, &below, &at(one), &at(other), found);
            }
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            for (index, (one, other)) in one.iter().zip(other).enumerate() {
                differ(of, &format!("{path}[{index}]"), one, other, found);
            }
        }
        _ if same(reported, judged) => {}
        _ => found.push(Objection::Differs {
            of: of.to_owned(),
            field: path.to_owned(),
            reported: short(reported, judged),
            judged: short(judged, reported),
        }),
    }
}

fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) if one.is_f64() || other.is_f64() => {
            let (one, other) = (one.as_f64(), other.as_f64());
            one.zip(other)
                .is_some_and(|(one, other)| (one - other).abs() < ROUNDING_SECS)
        }
        _ => one == other,
    }
}

/// Returns a value in one line; for a long list, the entries that the other list lacks.
fn short(value: &Value, other: &Value) -> String {
    let text = match value {
        Value::Null => "nothing".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(items) if items.iter().all(Value::is_string) => {
            let all = texts(value).join(" ");
            let others = texts(other);
            let own: Vec<&str> = texts(value).into_iter().filter(|item| !others.contains(item)).collect();
            match (all.len() > LONGEST_VALUE, own.as_slice()) {
                (false, _) => all,
                (true, []) => format!("{} entries", items.len()),
                (true, own) => format!("{} entries, among them {}", items.len(), own.join(" ")),
            }
        }
        Value::Array(items) => format!("{} entries", items.len()),
        other => other.to_string(),
    };
    match text.char_indices().nth(LONGEST_VALUE) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}

/// Returns the texts in a list.
fn texts(list: &Value) -> Vec<&str> {
    list.as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect()
}

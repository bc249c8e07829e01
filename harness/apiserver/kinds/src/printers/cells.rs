//! Cells that are not just the value at a path.

use jiff::Timestamp;
use serde_json::{Map, Value};

/// The value at a path of keys.
pub(super) fn at<'a>(object: &'a Value, path: &[&str]) -> Option<&'a Value> {
    path.iter()
        .try_fold(object, |value, key| value.get(*key))
        .filter(|value| !value.is_null())
}

/// The text at a path; empty if there is none.
pub(super) fn text<'a>(object: &'a Value, path: &[&str]) -> &'a str {
    at(object, path).and_then(Value::as_str).unwrap_or_default()
}

/// The number at a path; zero if there is none.
pub(super) fn number(object: &Value, path: &[&str]) -> i64 {
    at(object, path).and_then(Value::as_i64).unwrap_or(0)
}

/// The items at a path.
pub(super) fn items<'a>(object: &'a Value, path: &[&str]) -> &'a [Value] {
    at(object, path).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Returns the number of items or members at a path.
pub(super) fn length(object: &Value, path: &[&str]) -> usize {
    match at(object, path) {
        Some(Value::Array(list)) => list.len(),
        Some(Value::Object(map)) => map.len(),
        _ => 0,
    }
}

/// The text at a path, `<none>` if there is none.
pub(super) fn or_none(object: &Value, path: &[&str]) -> Value {
    match at(object, path) {
        Some(Value::String(text)) if text.is_empty() => Value::from("<none>"),
        Some(value) => value.clone(),
        None => Value::from("<none>"),
    }
}

pub(super) fn joined(parts: impl IntoIterator<Item = String>, otherwise: &str) -> Value {
    let joined = parts.into_iter().collect::<Vec<_>>().join(",");
    if joined.is_empty() {
        Value::from(otherwise)
    } else {
        Value::from(joined)
    }
}

/// Returns the age of an object.
pub(super) fn age_of(object: &Value, now: Timestamp) -> Value {
    age(
        at(object, &["metadata", "creationTimestamp"]).and_then(Value::as_str),
        now,
    )
}

/// Returns the time passed since `time`, in the short form of tables; `<unknown>` if there is no time.
pub fn age(time: Option<&str>, now: Timestamp) -> Value {
    match time.and_then(|time| time.parse::<Timestamp>().ok()) {
        Some(time) => Value::from(short_duration(now.as_second() - time.as_second())),
        None => Value::from("<unknown>"),
    }
}

/// Formats a duration: `5s`, `2m30s`, `5h12m`, `3d4h`, `2y40d`; two units while they matter.
pub(super) fn short_duration(seconds: i64) -> String {
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86400);
    let pair = |big: i64, unit: &str, small: i64, small_unit: &str| {
        if small == 0 {
            format!("{big}{unit}")
        } else {
            format!("{big}{unit}{small}{small_unit}")
        }
    };
    match seconds {
        ..-1 => "<invalid>".to_owned(),
        -1..0 => "0s".to_owned(),
        0..120 => format!("{seconds}s"),
        120..600 => pair(minutes, "m", seconds % 60, "s"),
        600..10_800 => format!("{minutes}m"),
        10_800..28_800 => pair(hours, "h", minutes % 60, "m"),
        28_800..172_800 => format!("{hours}h"),
        172_800..691_200 => pair(days, "d", hours % 24, "h"),
        691_200..63_072_000 => format!("{days}d"),
        63_072_000..252_288_000 => pair(days / 365, "y", days % 365, "d"),
        _ => format!("{}y", days / 365),
    }
}

fn containers(object: &Value, field: &str) -> Value {
    let spec = ["template", "jobTemplate"]
        .into_iter()
        .find_map(|template| at(object, &["spec", template]).or_else(|| at(object, &[template])));
    let spec = spec.map(|template| at(template, &["spec", "template"]).unwrap_or(template));
    let containers = spec
        .map(|template| items(template, &["spec", "containers"]))
        .unwrap_or_default();
    Value::from(
        containers
            .iter()
            .map(|container| text(container, &[field]))
            .collect::<Vec<_>>()
            .join(","),
    )
}

pub(super) fn container_names(object: &Value, _: Timestamp) -> Value {
    containers(object, "name")
}

pub(super) fn container_images(object: &Value, _: Timestamp) -> Value {
    containers(object, "image")
}

fn pairs(map: Option<&Map<String, Value>>) -> Vec<String> {
    let pair = |(key, value): (&String, &Value)| format!("{key}={}", value.as_str().unwrap_or_default());
    map.into_iter().flatten().map(pair).collect()
}

/// Formats a label selector in the form that `-l` takes.
fn selector_text(selector: Option<&Value>) -> Value {
    let Some(selector) = selector else {
        return Value::from("<none>");
    };
    let mut parts = pairs(at(selector, &["matchLabels"]).and_then(Value::as_object));
    for expression in items(selector, &["matchExpressions"]) {
        let key = text(expression, &["key"]);
        let values: Vec<&str> = items(expression, &["values"])
            .iter()
            .filter_map(Value::as_str)
            .collect();
        parts.push(match text(expression, &["operator"]) {
            "In" => format!("{key} in ({})", values.join(",")),
            "NotIn" => format!("{key} notin ({})", values.join(",")),
            "DoesNotExist" => format!("!{key}"),
            _ => key.to_owned(),
        });
    }
    joined(parts, "<none>")
}

pub(super) fn label_selector(object: &Value, _: Timestamp) -> Value {
    selector_text(at(object, &["spec", "selector"]))
}

pub(super) fn pod_selector(object: &Value, _: Timestamp) -> Value {
    selector_text(at(object, &["spec", "podSelector"]))
}

pub(super) fn map_selector(object: &Value, _: Timestamp) -> Value {
    joined(
        pairs(at(object, &["spec", "selector"]).and_then(Value::as_object)),
        "<none>",
    )
}

pub(super) fn data_count(object: &Value, _: Timestamp) -> Value {
    Value::from(length(object, &["data"]) + length(object, &["binaryData"]))
}

pub(super) fn ready_of_replicas(object: &Value, _: Timestamp) -> Value {
    let ready = number(object, &["status", "readyReplicas"]);
    Value::from(format!("{ready}/{}", number(object, &["spec", "replicas"])))
}

pub(super) fn service_address(object: &Value, _: Timestamp) -> Value {
    or_none(object, &["spec", "clusterIP"])
}

pub(super) fn external_address(object: &Value, _: Timestamp) -> Value {
    match text(object, &["spec", "type"]) {
        "ExternalName" => Value::from(text(object, &["spec", "externalName"])),
        "LoadBalancer" => Value::from("<pending>"),
        _ => Value::from("<none>"),
    }
}

pub(super) fn service_ports(object: &Value, _: Timestamp) -> Value {
    let port = |port: &Value| {
        let (number, protocol) = (number(port, &["port"]), text(port, &["protocol"]));
        format!("{number}/{protocol}")
    };
    joined(items(object, &["spec", "ports"]).iter().map(port), "<none>")
}

//! The two versions of `Event`: stored as `v1`, also served as `events.k8s.io/v1`, where most fields have other names.

use serde_json::{Map, Value, json};

/// Names in `v1` and in `events.k8s.io/v1`.
const NAMES: [(&str, &str); 7] = [
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
    ("reportingComponent", "reportingController"),
];

/// Members that `v1` always has.
const ALWAYS_CORE: [(&str, Value); 4] = [
    ("eventTime", Value::Null),
    ("firstTimestamp", Value::Null),
    ("lastTimestamp", Value::Null),
    ("involvedObject", Value::Null),
];

/// Converts an event to the other version.
pub(super) fn convert(event: &Value, api_version: &str) -> Value {
    let to_core = api_version == "v1";
    let mut converted = Map::new();
    for (key, value) in event.as_object().into_iter().flatten() {
        let renamed = NAMES.iter().find_map(|(core, new)| match to_core {
            true if key == new => Some(*core),
            false if key == core => Some(*new),
            _ => None,
        });
        converted.insert(renamed.unwrap_or(key).to_owned(), value.clone());
    }
    converted.insert("apiVersion".to_owned(), api_version.into());
    if to_core {
        complete_core(&mut converted);
    } else {
        converted.retain(|key, value| {
            !(matches!(
                key.as_str(),
                "reportingController" | "reportingInstance" | "action" | "note" | "type"
            ) && value.as_str() == Some(""))
        });
    }
    converted.into()
}

fn complete_core(event: &mut Map<String, Value>) {
    for (key, value) in ALWAYS_CORE {
        let value = if key == "involvedObject" { json!({}) } else { value };
        event.entry(key).or_insert(value);
    }
    event.entry("source").or_insert_with(|| json!({}));
    for key in ["reportingComponent", "reportingInstance"] {
        event.entry(key).or_insert_with(|| "".into());
    }
}

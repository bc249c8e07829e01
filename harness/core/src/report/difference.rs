//! Changes of a revision in its object, path by path, for people.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

/// One changed place. In JSON: `[path, before, after]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Changed(
    /// Path, as in `status.conditions[Ready].status`.
    pub String,
    /// Previous value; `None` if there was none.
    pub Option<String>,
    /// New value; `None` if there is none.
    pub Option<String>,
);

/// Longer values are cut: they are meant for reading, not for storage.
const LONGEST_VALUE: usize = 160;

/// Members of `metadata` that every write changes, or that carry no information.
const NOISE: [&str; 5] = [
    "resourceVersion",
    "managedFields",
    "generation",
    "uid",
    "creationTimestamp",
];

/// Members that identify the elements of a list, the best ones first.
const KEYS: [&str; 6] = ["fromCluster", "clusterName", "type", "name", "key", "uid"];

/// Returns the places where two revisions of an object differ, by path. Without an earlier revision every place is new.
pub fn between(before: Option<&Value>, after: Option<&Value>) -> Vec<Changed> {
    let old = before.map(leaves).unwrap_or_default();
    let new = after.map(leaves).unwrap_or_default();
    let mut paths: Vec<&String> = old.keys().chain(new.keys()).collect();
    paths.sort();
    paths.dedup();
    let differing = paths.into_iter().filter(|path| old.get(*path) != new.get(*path));
    differing
        .map(|path| Changed(path.clone(), old.get(path).cloned(), new.get(path).cloned()))
        .collect()
}

/// Returns all scalars of an object by path.
fn leaves(object: &Value) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    collect(object, "", &mut found);
    found
}

fn collect(value: &Value, path: &str, found: &mut BTreeMap<String, String>) {
    match value {
        Value::Object(map) if !map.is_empty() => {
            for (key, value) in map {
                if !(path == "metadata" && NOISE.contains(&key.as_str())) {
                    collect(value, &member(path, key), found);
                }
            }
        }
        Value::Array(items) if !items.is_empty() => {
            let key = KEYS.into_iter().find(|key| tells_apart(key, items));
            for (index, item) in items.iter().enumerate() {
                let name = key.and_then(|key| item.get(key)).and_then(Value::as_str);
                let place = name.map_or_else(|| index.to_string(), ToOwned::to_owned);
                collect(item, &format!("{path}[{place}]"), found);
            }
        }
        Value::String(text) => {
            found.insert(path.to_owned(), short(text));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            found.insert(path.to_owned(), value.to_string());
        }
    }
}

fn tells_apart(key: &str, items: &[Value]) -> bool {
    let mut seen = std::collections::BTreeSet::new();
    items.iter().all(|item| {
        item.get(key)
            .and_then(Value::as_str)
            .is_some_and(|name| seen.insert(name))
    })
}

fn member(path: &str, key: &str) -> String {
    let plain = key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    match (path.is_empty(), plain) {
        (true, true) => key.to_owned(),
        (false, true) => format!("{path}.{key}"),
        (_, false) => format!("{path}[\"{key}\"]"),
    }
}

fn short(text: &str) -> String {
    match text.char_indices().nth(LONGEST_VALUE) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn told(before: Option<&Value>, after: Option<&Value>) -> Vec<String> {
        let line = |Changed(path, before, after)| format!("{path}: {before:?} -> {after:?}");
        between(before, after).into_iter().map(line).collect()
    }

    #[test]
    fn elements_are_told_apart_by_what_names_them() {
        let before = json!({"status": {"conditions": [{"type": "Ready", "status": "False"}]}});
        let after =
            json!({"status": {"conditions": [{"type": "New", "status": "True"}, {"type": "Ready", "status": "True"}]}});
        let expected = [
            "status.conditions[New].status: None -> Some(\"True\")",
            "status.conditions[New].type: None -> Some(\"New\")",
            "status.conditions[Ready].status: Some(\"False\") -> Some(\"True\")",
        ];
        assert_eq!(told(Some(&before), Some(&after)), expected);
    }

    #[test]
    fn what_every_write_changes_is_left_out() {
        let before = json!({"metadata": {"name": "x", "resourceVersion": "1"}});
        let after = json!({"metadata": {"name": "x", "resourceVersion": "2", "labels": {"a.b/c": "d"}}});
        assert_eq!(
            told(Some(&before), Some(&after)),
            ["metadata.labels[\"a.b/c\"]: None -> Some(\"d\")"]
        );
    }

    #[test]
    fn long_values_are_cut_between_characters() {
        let Changed(_, _, after) = between(None, Some(&json!({"a": "ä".repeat(500)}))).remove(0);
        assert_eq!(after.unwrap().chars().count(), LONGEST_VALUE + 1);
    }
}

//! Removes credentials from objects, by name and by shape, before they are recorded. No other module does that.
//!
//! Secrets are not recorded at all. This module removes Secrets inside other objects (a Work contains manifests),
//! values in the `env` and arguments of pods, fields with secret names, and tokens and keys in texts, files and JSON
//! inside texts. Output of programs and steps goes through [`text()`]. `tests/redaction` lists examples of values to
//! remove and values to keep.

mod names;
mod shapes;
mod text;

use serde_json::{Map, Value};

pub(crate) use names::is_secret_name;
pub use shapes::OWN_TOKEN;
pub use text::text;
use text::{DEPTH, deep, flag_without_value, is_short_flag, of_user};

/// Replacement for a removed value.
pub const REDACTED: &str = "<redacted>";

/// The annotation in which kubectl keeps the whole applied object.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Maps with public values: labels contain no secrets.
const OPEN: [&str; 4] = ["labels", "matchLabels", "preservedLabelState", "nodeSelector"];

/// Removes credentials from an object.
pub fn redact(object: &mut Value) {
    redact_deep(object, DEPTH);
}

/// Removes credentials from a value that may be nested `depth` levels deeper.
fn redact_deep(object: &mut Value, depth: usize) {
    match object {
        Value::Object(map) => redact_map(map, depth),
        Value::Array(items) => redact_items(items, depth),
        Value::String(text) => {
            if let std::borrow::Cow::Owned(told) = deep(text, depth) {
                *text = told;
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Returns a value as JSON for people.
pub fn shown(value: &Value) -> String {
    let mut value = value.clone();
    redact(&mut value);
    value.to_string()
}

fn redact_map(map: &mut Map<String, Value>, depth: usize) {
    if map.get("kind").and_then(Value::as_str) == Some("Secret") {
        redact_secret(map);
    }
    // `{name: API_TOKEN, value: …}`, as in env, and `{path: /data/password, value: …}`, as in a patch.
    let named_secret = ["name", "key", "path"].iter().any(|member| {
        let name = map.get(*member).and_then(Value::as_str).unwrap_or_default();
        is_secret_name(name.rsplit('/').next().unwrap_or_default())
    });
    if named_secret && let Some(value) = map.get_mut("value") {
        cover(value);
    }
    for (key, value) in map {
        if OPEN.contains(&key.as_str()) {
            continue;
        }
        match value {
            Value::String(text) if key == LAST_APPLIED => redact_applied(text, depth),
            Value::String(text) if key == "auth" => {
                // Of a registry: base64 of `user:password`.
                if shapes::decoded(text).is_some_and(|it| it.contains(':')) {
                    cover(value);
                }
            }
            Value::String(text) if is_secret_name(key) && !text.is_empty() => cover(value),
            Value::Number(_) if is_secret_name(key) && names::is_password(key) => cover(value),
            Value::Array(items) if is_secret_name(key) => {
                items.iter_mut().filter(|item| item.is_string()).for_each(cover);
                redact_items(items, depth);
            }
            Value::Object(inner) if is_secret_name(key) => {
                let values = ["value", "stringValue", "plaintext"];
                let values = inner.iter_mut().filter(|(name, _)| values.contains(&name.as_str()));
                values.map(|(_, value)| value).for_each(cover);
                redact_map(inner, depth);
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => {
                redact_deep(value, depth);
            }
        }
    }
}

/// Removes the values of a Secret and keeps its keys.
fn redact_secret(map: &mut Map<String, Value>) {
    for member in ["data", "stringData"] {
        let values = map.get_mut(member).and_then(Value::as_object_mut);
        values.into_iter().flat_map(Map::values_mut).for_each(cover);
    }
    let annotations = map.get_mut("metadata").and_then(|it| it.get_mut("annotations"));
    if let Some(applied) = annotations.and_then(|it| it.get_mut(LAST_APPLIED)) {
        cover(applied);
    }
}

/// Redacts the items of a list. An item may name the next one: `["--password", "…"]`.
fn redact_items(items: &mut [Value], depth: usize) {
    let words: Vec<_> = items.iter().filter_map(Value::as_str).take(8).collect();
    let line = words.join(" ");
    let mut flag = String::new();
    for item in items {
        if let Value::String(text) = item
            && !text.starts_with('-')
        {
            if flag_without_value(&flag) || is_short_flag(&line, &flag) {
                REDACTED.clone_into(text);
            } else if let Some(at) = of_user(&flag, text) {
                text.replace_range(at.., REDACTED);
            }
        }
        let next = item.as_str().filter(|it| it.starts_with('-')).unwrap_or_default();
        next.clone_into(&mut flag);
        redact_deep(item, depth);
    }
}

fn cover(value: &mut Value) {
    *value = Value::from(REDACTED);
}

/// Redacts an object that is stored as text.
fn redact_applied(text: &mut String, depth: usize) {
    match serde_json::from_str::<Value>(text) {
        Ok(mut object) if depth > 0 => {
            redact_deep(&mut object, depth - 1);
            *text = object.to_string();
        }
        _ => REDACTED.clone_into(text),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn redacted(mut object: Value) -> Value {
        redact(&mut object);
        object
    }

    #[test]
    fn a_secret_inside_a_work_keeps_its_keys_alone() {
        let applied = r#"{"kind":"Secret","stringData":{"key":"canary"}}"#;
        let work = json!({"kind": "Work", "spec": {"workload": {"manifests": [{
            "kind": "Secret",
            "metadata": {"name": "s", "annotations": {LAST_APPLIED: applied}},
            "data": {"key": "Y2FuYXJ5"},
        }]}}});
        let expected = json!({"kind": "Work", "spec": {"workload": {"manifests": [{
            "kind": "Secret",
            "metadata": {"name": "s", "annotations": {LAST_APPLIED: REDACTED}},
            "data": {"key": REDACTED},
        }]}}});
        assert_eq!(redacted(work), expected);
    }

    #[test]
    fn values_with_telling_names_are_covered() {
        let pod = json!({
            "env": [{"name": "API_TOKEN", "value": "canary"}, {"name": "MODE", "value": "fast"}],
            "args": ["--db-password=canary", "--verbose", "--name=x"],
            "proxyHeader": {"Proxy-Authorization": "canary"},
            "clientSecret": "canary",
            "secretRef": {"name": "member1"},
            "secretName": "tls",
        });
        let expected = json!({
            "env": [{"name": "API_TOKEN", "value": REDACTED}, {"name": "MODE", "value": "fast"}],
            "args": ["--db-password=<redacted>", "--verbose", "--name=x"],
            "proxyHeader": {"Proxy-Authorization": REDACTED},
            "clientSecret": REDACTED,
            "secretRef": {"name": "member1"},
            "secretName": "tls",
        });
        assert_eq!(redacted(pod), expected);
    }

    #[test]
    fn what_was_applied_is_covered_where_it_is_kept() {
        let applied = r#"{"spec":{"env":[{"name":"PASSWORD","value":"canary"}],"replicas":2}}"#;
        let seen = redacted(json!({"metadata": {"annotations": {LAST_APPLIED: applied}}}));
        let kept = seen.pointer("/metadata/annotations").unwrap()[LAST_APPLIED]
            .as_str()
            .unwrap()
            .to_owned();
        assert!(!kept.contains("canary") && kept.contains("\"replicas\":2"), "{kept}");
        let seen = redacted(json!({LAST_APPLIED: "canary, and no JSON"}));
        assert_eq!(seen, json!({LAST_APPLIED: REDACTED}));
    }

    #[test]
    fn tokens_and_keys_are_known_by_their_shape() {
        let secrets = [
            "refused: token eyJhbGciOi.eyJpc3Mi.c2ln was rejected",
            "Authorization: Bearer abc",
            "-----BEGIN EC PRIVATE KEY-----\nMHc=\n",
        ];
        for secret in secrets {
            let seen = redacted(json!(secret)).to_string();
            let gone = ["eyJpc3Mi", "abc", "MHc="].iter().all(|it| !seen.contains(it));
            assert!(gone && seen.contains(REDACTED), "{seen}");
        }
        let harmless = json!(["eyJhbGciOi", "member1", "v1.2.3", "a=b"]);
        assert_eq!(redacted(harmless.clone()), harmless);
    }

    #[test]
    fn labels_are_nobodys_secret() {
        let object = json!({"metadata": {"labels": {"failover.karmada.io/token": "7"}}});
        assert_eq!(redacted(object.clone()), object);
    }
}

//! Removes credentials from objects and texts before they are recorded. No other module does that.
//!
//! Values are dropped wherever nothing depends on them: the data of Secrets (in a Work's manifests; Secrets themselves are
//! not recorded), the values of environment variables, the configuration that kubectl applied last, all arguments of a
//! program if one of them is a secret, and the rest of a line after the name of a secret. What remains is recognised by
//! its shape: tokens, private keys, addresses with passwords, encoded texts. Labels, taints, tasks and statuses are what
//! the judge needs; labels are kept as they are. `tests/redaction` lists examples of values to remove and to keep.

/// Declares a regular expression. All are constants, and tests read them.
macro_rules! pattern {
    ($name:ident, $pattern:expr) => {
        static $name: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new($pattern).ok());
    };
}

mod names;
mod shapes;
mod text;

use serde_json::{Map, Value};

pub(crate) use names::is_secret_name;
pub use shapes::OWN_TOKEN;
use shapes::decoded;
pub use text::text;
use text::{DEPTH, deep};

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
        for member in ["data", "stringData"] {
            map.get_mut(member).into_iter().for_each(cover_texts);
        }
    }
    // `{name: API_TOKEN, value: …}`, as in parameters, and `{path: /data/password, value: …}`, as in a patch. Names of
    // objects are too many to be looked at where no value follows.
    if map.contains_key("value") {
        let named_secret = ["name", "key", "path"].iter().any(|member| {
            let name = map.get(*member).and_then(Value::as_str).unwrap_or_default();
            is_secret_name(name.rsplit('/').next().unwrap_or_default())
        });
        if named_secret && let Some(value) = map.get_mut("value") {
            cover(value);
        }
    }
    for (key, value) in map {
        if OPEN.contains(&key.as_str()) {
            continue;
        }
        // Of a registry: base64 of `user:password`.
        let of_registry =
            |value: &Value| key == "auth" && value.as_str().and_then(decoded).is_some_and(|it| it.contains(':'));
        match value {
            _ if key == LAST_APPLIED || of_registry(value) => cover(value),
            _ if key == "env" => redact_env(value, depth),
            Value::String(text) if is_secret_name(key) && !text.is_empty() => cover(value),
            Value::Number(_) if is_secret_name(key) && names::is_password(key) => cover(value),
            Value::Array(_) if is_secret_name(key) => cover_texts(value),
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

/// Drops the values of environment variables, which are a list of entries, or a map.
fn redact_env(env: &mut Value, depth: usize) {
    match env {
        Value::Array(entries) => {
            let values = entries.iter_mut().filter_map(|entry| entry.get_mut("value"));
            values.for_each(cover);
        }
        Value::Object(values) => values.values_mut().filter(|value| !value.is_object()).for_each(cover),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
    redact_deep(env, depth);
}

/// Redacts the items of a list. If they are the arguments of a program and one is a secret, all are dropped.
fn redact_items(items: &mut [Value], depth: usize) {
    let words: Vec<_> = items.iter().filter_map(Value::as_str).collect();
    let is_arguments = words.len() == items.len() && words.iter().any(|word| word.starts_with('-'));
    if is_arguments
        && let line = words.join(" ")
        && deep(&line, depth) != line
    {
        items.iter_mut().for_each(cover);
    }
    for item in items {
        redact_deep(item, depth);
    }
}

fn cover(value: &mut Value) {
    *value = Value::from(REDACTED);
}

/// Covers the texts in a list or map and keeps its keys.
fn cover_texts(value: &mut Value) {
    match value {
        Value::String(_) => cover(value),
        Value::Array(items) => items.iter_mut().for_each(cover_texts),
        Value::Object(map) => map.values_mut().for_each(cover_texts),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
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
            "env": [{"name": "API_TOKEN", "value": REDACTED}, {"name": "MODE", "value": REDACTED}],
            "args": [REDACTED, REDACTED, REDACTED],
            "proxyHeader": {"Proxy-Authorization": REDACTED},
            "clientSecret": REDACTED,
            "secretRef": {"name": "member1"},
            "secretName": "tls",
        });
        assert_eq!(redacted(pod), expected);
    }

    #[test]
    fn what_was_applied_is_dropped() {
        let seen = redacted(json!({"metadata": {"annotations": {LAST_APPLIED: "{\"spec\":{\"replicas\":2}}"}}}));
        assert_eq!(seen, json!({"metadata": {"annotations": {LAST_APPLIED: REDACTED}}}));
    }

    #[test]
    fn arguments_without_a_secret_stay() {
        let pod = json!({"command": ["redis-cli", "-h", "db"], "args": ["--leader-elect=false", "-v", "4"]});
        assert_eq!(redacted(pod.clone()), pod);
        let pod = json!({"command": ["redis-cli", "-a", "canary", "ping"]});
        assert_eq!(
            redacted(pod),
            json!({"command": [REDACTED, REDACTED, REDACTED, REDACTED]})
        );
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

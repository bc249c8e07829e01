//! Takes out of objects what could let somebody in, by name and by shape, before they are recorded. This is the only
//! place where that is done.
//!
//! Secrets as such are not recorded at all; what is left here are Secrets inside other objects (a Work carries
//! manifests), values in pods' `env` and arguments, fields with telling names, tokens and keys in texts. What programs
//! and steps say goes through [`text()`].

mod text;

use serde_json::{Map, Value};

pub use text::text;

/// What stands where something was taken out.
pub const REDACTED: &str = "<redacted>";

/// The annotation in which kubectl keeps an object as it was applied, whole.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Maps whose values anybody may see: what is kept in labels is no secret.
const OPEN: [&str; 4] = ["labels", "matchLabels", "preservedLabelState", "nodeSelector"];

/// Ends of names whose values are secrets; compared in lower case, without `-`, `_` and `.`.
const SECRET_NAMES: [&str; 14] = [
    "token",
    "password",
    "passwd",
    "passphrase",
    "secret",
    "apikey",
    "accesskey",
    "accesskeyid",
    "secretkey",
    "privatekey",
    "keydata",
    "credential",
    "credentials",
    "authorization",
];

/// Takes out of an object what could let somebody in.
pub fn redact(object: &mut Value) {
    match object {
        Value::Object(map) => redact_map(map),
        Value::Array(items) => items.iter_mut().for_each(redact),
        Value::String(text) => redact_text(text),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// A value as JSON, for people.
pub fn shown(value: &Value) -> String {
    let mut value = value.clone();
    redact(&mut value);
    value.to_string()
}

fn redact_map(map: &mut Map<String, Value>) {
    if map.get("kind").and_then(Value::as_str) == Some("Secret") {
        for member in ["data", "stringData"] {
            let values = map.get_mut(member).and_then(Value::as_object_mut);
            values.into_iter().flat_map(Map::values_mut).for_each(cover);
        }
        let annotations = map.get_mut("metadata").and_then(|it| it.get_mut("annotations"));
        if let Some(applied) = annotations.and_then(|it| it.get_mut(LAST_APPLIED)) {
            cover(applied);
        }
    }
    // `{name: API_TOKEN, value: …}`, as in env.
    let named_secret = map.get("name").and_then(Value::as_str).is_some_and(is_secret_name);
    if named_secret && let Some(value) = map.get_mut("value") {
        cover(value);
    }
    for (key, value) in map {
        if OPEN.contains(&key.as_str()) {
            continue;
        }
        match value {
            Value::String(text) if key == LAST_APPLIED => redact_json(text),
            Value::String(_) if is_secret_name(key) => cover(value),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => {
                redact(value);
            }
        }
    }
}

fn cover(value: &mut Value) {
    *value = Value::from(REDACTED);
}

/// Whether what has this name is a secret.
pub(crate) fn is_secret_name(name: &str) -> bool {
    let plain: String = name
        .chars()
        .filter(|c| !matches!(c, '-' | '_' | '.'))
        .map(|c| c.to_ascii_lowercase())
        .collect();
    SECRET_NAMES.iter().any(|end| plain.ends_with(end))
}

/// An object that is kept as text.
fn redact_json(text: &mut String) {
    match serde_json::from_str::<Value>(text) {
        Ok(mut object) => {
            redact(&mut object);
            *text = object.to_string();
        }
        Err(_) => REDACTED.clone_into(text),
    }
}

/// Arguments such as `--token=…`, and what is a key or a token by its shape.
fn redact_text(text: &mut String) {
    if let Some((option, _)) = text.split_once('=')
        && option.starts_with('-')
        && is_secret_name(option)
    {
        *text = format!("{option}={REDACTED}");
    } else if text.contains('=') {
        // Scripts and addresses: `export DB_PASSWORD=…`.
        *text = self::text::text(text);
    }
    let has_secret =
        text.contains("PRIVATE KEY-----") || text.contains("Bearer ") || text.split(is_outside).any(is_jwt);
    if has_secret {
        REDACTED.clone_into(text);
    }
}

/// Whether a character cannot be part of a JSON Web Token.
fn is_outside(c: char) -> bool {
    !(c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
}

fn is_jwt(word: &str) -> bool {
    word.starts_with("eyJ") && word.matches('.').count() == 2
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
            "refused: token eyJhbGciOi.eyJpc3Mi.c2ln was no good",
            "Authorization: Bearer abc",
            "-----BEGIN EC PRIVATE KEY-----\nMHc=\n",
        ];
        for secret in secrets {
            assert_eq!(redacted(json!(secret)), json!(REDACTED));
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

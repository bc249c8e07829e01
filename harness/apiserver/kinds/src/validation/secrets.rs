//! Secrets.

use base64::Engine as _;
use baton_apimachinery::field::ErrorList;
use baton_apimachinery::meta;
use serde_json::{Map, Value};

use super::ROOT;
use super::checks::{immutable, members, text};
use super::config_maps::{DATA_MAX_BYTES, fixed_data, keys};

/// Returns the keys that a secret of a type must have.
fn required_keys(kind: &str) -> &'static [&'static str] {
    match kind {
        "kubernetes.io/dockercfg" => &[".dockercfg"],
        "kubernetes.io/dockerconfigjson" => &[".dockerconfigjson"],
        "kubernetes.io/ssh-auth" => &["ssh-privatekey"],
        "kubernetes.io/tls" => &["tls.crt", "tls.key"],
        _ => &[],
    }
}

/// Validates a secret.
pub(super) fn secret(object: &Value, found: &mut ErrorList) {
    let data = members(object, "data");
    let at = ROOT.child("data");
    let bytes = keys(data, &at, found) / 4 * 3;
    if bytes > DATA_MAX_BYTES {
        found.too_long(&at, DATA_MAX_BYTES);
    }
    let kind = text(object, "type");
    let value = |key: &str| data.and_then(|data| data.get(key)?.as_str());
    for key in required_keys(kind) {
        match value(key) {
            None => found.required(&at.key(key), ""),
            Some(encoded) if kind.contains("docker") => {
                let bytes = base64::engine::general_purpose::STANDARD
                    .decode(encoded)
                    .unwrap_or_default();
                if let Err(problem) = check_json(&bytes) {
                    found.invalid(&at.key(key), "<secret contents redacted>", &problem);
                }
            }
            Some(_) => {}
        }
    }
    if kind == "kubernetes.io/basic-auth" && value("username").is_none() && value("password").is_none() {
        found.required(&at.key("username"), "");
        found.required(&at.key("password"), "");
    }
    if kind == "kubernetes.io/service-account-token" {
        let annotation = "kubernetes.io/service-account.name";
        if meta::annotation(object, annotation).is_none_or(str::is_empty) {
            found.required(&ROOT.child("metadata.annotations").key(annotation), "");
        }
    }
}

/// Checks that bytes are a JSON object; the error has the words of the decoder that reads pull secrets.
fn check_json(bytes: &[u8]) -> Result<(), String> {
    let Err(error) = serde_json::from_slice::<Map<String, Value>>(bytes) else {
        return Ok(());
    };
    if error.is_eof() {
        return Err("unexpected end of JSON input".to_owned());
    }
    let text = String::from_utf8_lossy(bytes);
    let trimmed = text.trim_start();
    for word in ["null", "true", "false"] {
        let same = trimmed.chars().zip(word.chars()).take_while(|(a, b)| a == b).count();
        if same > 0 && same < word.len() {
            let (given, wanted) = (
                trimmed.chars().nth(same).unwrap_or('\0'),
                word.chars().nth(same).unwrap_or('\0'),
            );
            return Err(format!(
                "invalid character '{given}' in literal {word} (expecting '{wanted}')"
            ));
        }
    }
    let first = trimmed.chars().next().unwrap_or('\0');
    Err(format!("invalid character '{first}' looking for beginning of value"))
}

/// Validates the fields of a secret that are immutable.
pub(super) fn change(new: &Value, old: &Value, found: &mut ErrorList) {
    immutable("type", new, old, &ROOT, found);
    fixed_data(&["data"], new, old, found);
}

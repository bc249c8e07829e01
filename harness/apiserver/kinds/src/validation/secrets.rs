//! Secrets.

use base64::Engine as _;
use baton_apimachinery::field::ErrorList;
use baton_apimachinery::go_json::{self, UnmarshalTypeError};
use baton_apimachinery::meta;
use serde_json::Value;

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
                if let Some(problem) = json_error(&bytes) {
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

/// Returns the error of the decoder that reads pull secrets, unless the bytes are a JSON object.
fn json_error(bytes: &[u8]) -> Option<String> {
    match go_json::parse(bytes) {
        Ok(Value::Object(_) | Value::Null) => None,
        Ok(other) => Some(UnmarshalTypeError::value(&other, "map[string]interface {}").to_string()),
        Err(error) => Some(error.to_string()),
    }
}

/// Validates the fields of a secret that are immutable.
pub(super) fn change(new: &Value, old: &Value, found: &mut ErrorList) {
    immutable("type", new, old, &ROOT, found);
    fixed_data(&["data"], new, old, found);
}

//! The kinds of the core group that have no module of their own.

use base64::Engine as _;
use serde_json::{Map, Value};

use super::checks::{immutable, is_true, members, text};
use super::networking::slices;
use super::storage::{persistent, volume_claims};
use super::{ROOT, bounds, nodes};
use crate::findings::{Field, Findings};
use crate::meta;
use crate::metadata::{STANDARD_FINALIZERS, names};

const DATA_MAX_BYTES: usize = 1024 * 1024;

/// The body of a kind.
pub(super) fn body(kind: &str, object: &Value, found: &mut Findings) {
    match kind {
        "ConfigMap" => config_map(object, found),
        "Secret" => secret(object, found),
        "PersistentVolumeClaim" => volume_claims::claim(object, &ROOT, found),
        "PersistentVolume" => persistent::volume(object, found),
        "Node" => nodes::node(object, found),
        "ResourceQuota" => bounds::quota(object, found),
        "LimitRange" => bounds::range(object, found),
        "Endpoints" => slices::endpoints(object, found),
        _ => {}
    }
}

/// What holds a new namespace.
pub(super) fn created_namespace(namespace: &Value, found: &mut Findings) {
    let at = ROOT.child("spec.finalizers");
    for each in finalizers(namespace) {
        finalizer(each, &at, found);
    }
}

/// What holds a namespace from now on.
pub(super) fn namespace_finalizers(namespace: &Value, found: &mut Findings) {
    let at = ROOT.child("spec.finalizers");
    for (index, each) in finalizers(namespace).enumerate() {
        finalizer(each, &at.item(index), found);
    }
}

fn finalizers(namespace: &Value) -> impl Iterator<Item = &str> {
    let finalizers = namespace.pointer("/spec/finalizers").and_then(Value::as_array);
    finalizers.into_iter().flatten().filter_map(Value::as_str)
}

fn finalizer(finalizer: &str, at: &Field<'_>, found: &mut Findings) {
    found.invalid_each(at, finalizer, names::qualified_name(finalizer));
    if !finalizer.contains('/') && !STANDARD_FINALIZERS.contains(&finalizer) {
        let detail = "name is neither a standard finalizer name nor is it fully qualified";
        found.invalid(at, finalizer, detail);
    }
}

fn keys(data: Option<&Map<String, Value>>, at: &Field<'_>, found: &mut Findings) -> usize {
    let mut bytes = 0;
    for (key, value) in data.into_iter().flatten() {
        found.invalid_each(&at.key(key), key, names::config_key(key));
        bytes += value.as_str().map_or(0, str::len);
    }
    bytes
}

fn config_map(object: &Value, found: &mut Findings) {
    let (data, binary) = (members(object, "data"), members(object, "binaryData"));
    let at = ROOT.child("data");
    let mut bytes = keys(data, &at, found);
    for key in data.into_iter().flatten().map(|(key, _)| key) {
        if binary.is_some_and(|binary| binary.contains_key(key)) {
            found.invalid(&at.key(key), key.clone(), "duplicate of key present in binaryData");
        }
    }
    bytes += keys(binary, &ROOT.child("binaryData"), found) / 4 * 3;
    if bytes > DATA_MAX_BYTES {
        found.too_long(&ROOT, DATA_MAX_BYTES);
    }
}

/// Keys that a secret of a type must have.
fn required_keys(kind: &str) -> &'static [&'static str] {
    match kind {
        "kubernetes.io/dockercfg" => &[".dockercfg"],
        "kubernetes.io/dockerconfigjson" => &[".dockerconfigjson"],
        "kubernetes.io/ssh-auth" => &["ssh-privatekey"],
        "kubernetes.io/tls" => &["tls.crt", "tls.key"],
        _ => &[],
    }
}

fn secret(object: &Value, found: &mut Findings) {
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

/// Whether bytes are a JSON object; the error in the words of the decoder that reads pull secrets.
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

/// What may not change.
pub(super) fn change(kind: &str, new: &Value, old: &Value, found: &mut Findings) {
    match kind {
        "ConfigMap" => fixed_data(&["data", "binaryData"], new, old, found),
        "Secret" => {
            immutable("type", new, old, &ROOT, found);
            fixed_data(&["data"], new, old, found);
        }
        "Node" => nodes::change(new, old, found),
        "PersistentVolumeClaim" => volume_claims::change(new, old, found),
        "PersistentVolume" => persistent::change(new, old, found),
        "ResourceQuota" => bounds::quota_change(new, old, found),
        _ => {}
    }
}

fn fixed_data(fields: &[&str], new: &Value, old: &Value, found: &mut Findings) {
    if !is_true(old, "immutable") {
        return;
    }
    let detail = "field is immutable when `immutable` is set";
    if !is_true(new, "immutable") {
        found.forbidden(&ROOT.child("immutable"), detail);
    }
    for field in fields {
        if new.get(*field) != old.get(*field) {
            found.forbidden(&ROOT.child(field), detail);
        }
    }
}

/// The phase of a namespace follows from its deletion.
pub(super) fn namespace_status(object: &Value, found: &mut Findings) {
    let phase = object
        .get("status")
        .map(|status| text(status, "phase"))
        .unwrap_or_default();
    let is_deleted = object
        .get("metadata")
        .is_some_and(|metadata| !text(metadata, "deletionTimestamp").is_empty());
    let at = ROOT.child("status.Phase");
    if is_deleted && phase != "Terminating" {
        found.invalid(
            &at,
            phase,
            "may only be 'Terminating' if `deletionTimestamp` is not empty",
        );
    } else if !is_deleted && phase != "Active" {
        found.invalid(&at, phase, "may only be 'Active' if `deletionTimestamp` is empty");
    }
}

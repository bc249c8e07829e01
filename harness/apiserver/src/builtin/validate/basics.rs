//! The kinds of the core group that have no module of their own.

use std::collections::BTreeSet;

use base64::Engine as _;
use serde_json::{Map, Value, json};

use super::checks::Check::OneOf;
use super::checks::{Check, immutable, is_true, list, members, run, text, texts};
use super::{ROOT, addresses, bounds, persistent, slices, volume_claims};
use crate::error::{FieldError, FieldErrorType};
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
        "Node" => node(object, found),
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

const TAINT: &[Check] = &[OneOf("effect", &["NoSchedule", "PreferNoSchedule", "NoExecute"])];

/// Taints and addresses of pods.
fn node(object: &Value, found: &mut Findings) {
    let Some(spec) = object.get("spec") else { return };
    // The place that messages about taints name is another one than theirs.
    taints(list(spec, "taints"), &ROOT.child("metadata.taints"), found);
    let at = ROOT.child("spec.podCIDRs");
    let cidrs = list(spec, "podCIDRs");
    let ranges: Vec<_> = cidrs
        .iter()
        .filter_map(Value::as_str)
        .enumerate()
        .map(|(index, cidr)| addresses::cidr(cidr, &at.item(index), found))
        .collect();
    if ranges.len() < 2 {
        return;
    }
    if let Some(bad) = ranges.iter().position(Option::is_none) {
        let cidr = cidrs[bad].as_str().unwrap_or_default();
        let detail = format!(
            "invalid PodCIDRs. failed to check with dual stack with error:invalid CIDR[{bad}]: <nil> (invalid CIDR address: {cidr})"
        );
        let error = FieldError::without_value(FieldErrorType::Internal, at.to_string(), &detail);
        found.extend(vec![error]);
    }
    let families: Vec<bool> = ranges.iter().flatten().map(|range| range.is_ipv6()).collect();
    if ranges.len() > 2 || families.first() == families.get(1) {
        found.invalid(
            &at,
            cidrs.to_vec(),
            "may specify no more than one CIDR for each IP family",
        );
    }
}

fn taints(taints: &[Value], at: &Field<'_>, found: &mut Findings) {
    let mut seen = BTreeSet::new();
    for (index, taint) in taints.iter().enumerate() {
        let at = at.item(index);
        let (key, value, effect) = (text(taint, "key"), text(taint, "value"), text(taint, "effect"));
        found.invalid_each(&at.child("key"), key, names::qualified_name(key));
        found.invalid_each(&at.child("value"), value, names::label_value(value));
        run(TAINT, taint, &at, found);
        if !seen.insert((key, effect)) {
            let added = taint.get("timeAdded").cloned().unwrap_or_default();
            let quoted = format!(
                "{{\"Key\":{},\"Value\":{},\"Effect\":{},\"TimeAdded\":{added}}}",
                json!(key),
                json!(value),
                json!(effect)
            );
            found.extend(vec![FieldError {
                error_type: FieldErrorType::Duplicate,
                field: at.to_string(),
                message: format!("Duplicate value: {quoted}: taints must be unique by key and effect pair"),
            }]);
        }
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
        "Node" => node_change(new, old, found),
        "PersistentVolumeClaim" => volume_claims::change(new, old, found),
        "PersistentVolume" => persistent::change(new, old, found),
        "ResourceQuota" => bounds::quota_change(new, old, found),
        _ => {}
    }
}

/// What a node is told once: its ranges and what its machine is called.
fn node_change(new: &Value, old: &Value, found: &mut Findings) {
    let none = Value::Null;
    let (new, old) = (new.get("spec").unwrap_or(&none), old.get("spec").unwrap_or(&none));
    let at = ROOT.child("spec");
    let (after, before) = (texts(new, "podCIDRs"), texts(old, "podCIDRs"));
    let detail = "node updates may not change podCIDR except from \"\" to valid";
    let changes = if before.is_empty() {
        0
    } else if after.len() == before.len() {
        after
            .iter()
            .zip(&before)
            .filter(|(after, before)| after != before)
            .count()
    } else {
        1
    };
    for _ in 0..changes {
        found.forbidden(&at.child("podCIDRs"), detail);
    }
    let (after, before) = (text(new, "providerID"), text(old, "providerID"));
    if !before.is_empty() && after != before {
        let detail = "node updates may not change providerID except from \"\" to valid";
        found.forbidden(&at.child("providerID"), detail);
    }
    taints(list(new, "taints"), &ROOT.child("metadata.taints"), found);
    if text(new, "externalID") != text(old, "externalID") {
        found.forbidden(&at.child("externalID"), "may not be updated");
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

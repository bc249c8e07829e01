//! Pods and pod templates.
//!
//! Validation covers the fields that workloads of the suite write. Of security contexts, affinities, device claims,
//! volumes of other sources and the like, only the types are checked.

pub(super) mod changes;
mod containers;
mod mounts;
mod probes;
mod resources;
mod variables;
mod volumes;

use baton_apimachinery::field::{ErrorList, FieldPath};
use baton_apimachinery::metadata::{names, validate_labels};
use serde_json::Value;

use super::ROOT;
use super::checks::Check::{Do, Labels, Named, OneOf};
use super::checks::{Check, list, members, run, text};

const RESTART_POLICIES: &[&str] = &["Always", "OnFailure", "Never"];
const DNS_POLICIES: &[&str] = &["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"];
const TAINT_EFFECTS: &[&str] = &["NoSchedule", "PreferNoSchedule", "NoExecute"];

const POD_SPEC: &[Check] = &[
    Do(volumes::validate),
    Do(containers::validate),
    OneOf("restartPolicy", RESTART_POLICIES),
    OneOf("dnsPolicy", DNS_POLICIES),
    Labels("nodeSelector"),
    Named("serviceAccountName", names::dns_subdomain),
    Named("nodeName", names::dns_subdomain),
    Do(active_deadline),
    Named("hostname", names::dns_label),
    Named("subdomain", names::dns_label),
    Do(tolerations),
    Named("priorityClassName", names::dns_subdomain),
];

/// Validates a new pod beyond its specification.
pub(super) fn created(pod: &Value, found: &mut ErrorList) {
    let Some(spec) = pod.get("spec") else { return };
    if !list(spec, "ephemeralContainers").is_empty() {
        found.forbidden(&ROOT.child("spec.ephemeralContainers"), "cannot be set on create");
    }
}

/// Validates the specification of a pod.
pub(super) fn pod(object: &Value, found: &mut ErrorList) {
    if let Some(spec) = object.get("spec") {
        let at = ROOT.child("spec");
        run(POD_SPEC, spec, &at, found);
        containers::trimmed_images(spec, &at, found);
    }
}

/// Validates a template of pods.
pub(super) fn template(template: Option<&Value>, at: &FieldPath<'_>, found: &mut ErrorList) {
    let Some(template) = template else { return };
    if let Some(metadata) = template.get("metadata") {
        if let Some(labels) = members(metadata, "labels") {
            validate_labels(labels, &at.child("labels"), found);
        }
        let annotations = members(metadata, "annotations").into_iter().flatten();
        for (key, _) in annotations {
            let messages = names::qualified_name(&key.to_lowercase());
            found.invalid_each(&at.child("annotations"), key, messages);
        }
    }
    if let Some(spec) = template.get("spec") {
        run(POD_SPEC, spec, &at.child("spec"), found);
        if !list(spec, "ephemeralContainers").is_empty() {
            let detail = "ephemeral containers not allowed in pod template";
            found.forbidden(&at.child("spec.ephemeralContainers"), detail);
        }
    }
}

fn active_deadline(spec: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    if let Some(seconds) = spec.get("activeDeadlineSeconds").and_then(Value::as_i64)
        && !(1..=i64::from(i32::MAX)).contains(&seconds)
    {
        let detail = "must be between 1 and 2147483647, inclusive";
        found.invalid(&at.child("activeDeadlineSeconds"), seconds, detail);
    }
}

fn tolerations(spec: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let at = at.child("tolerations");
    for (index, toleration) in list(spec, "tolerations").iter().enumerate() {
        self::toleration(toleration, &at.item(index), found);
    }
}

fn toleration(toleration: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let (key, operator, effect) = (
        text(toleration, "key"),
        text(toleration, "operator"),
        text(toleration, "effect"),
    );
    if !key.is_empty() {
        found.invalid_each(&at.child("key"), key, names::qualified_name(key));
    }
    let field = at.child("operator");
    if key.is_empty() && operator != "Exists" {
        let detail = "operator must be Exists when `key` is empty, which means \"match all values and all keys\"";
        found.invalid(&field, operator, detail);
    }
    if toleration.get("tolerationSeconds").is_some() && effect != "NoExecute" {
        let detail = "effect must be 'NoExecute' when `tolerationSeconds` is set";
        found.invalid(&at.child("effect"), effect, detail);
    }
    let value = text(toleration, "value");
    match operator {
        "" | "Equal" => {
            let messages = names::label_value(value);
            if !messages.is_empty() {
                found.invalid(&field, value, &messages.join(";"));
            }
        }
        "Exists" if !value.is_empty() => {
            found.invalid(&field, value, "value must be empty when `operator` is 'Exists'");
        }
        "Exists" => {}
        // The feature gate of these operators is off, but the message names them.
        "Lt" | "Gt" => found.not_supported(&field, operator, &["Equal", "Exists", "Lt", "Gt"]),
        other => found.not_supported(&field, other, &["Equal", "Exists"]),
    }
    if !effect.is_empty() && !TAINT_EFFECTS.contains(&effect) {
        found.not_supported(&at.child("effect"), effect, TAINT_EFFECTS);
    }
}

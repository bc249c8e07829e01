//! Nodes.

use std::collections::BTreeSet;

use baton_apimachinery::field::{ErrorList, FieldError, FieldErrorType, FieldPath};
use baton_apimachinery::go_values;
use baton_apimachinery::metadata::names;
use baton_apimachinery::quantity::{NANOS_OF_ONE, Quantity};
use serde_json::Value;

use super::ROOT;
use super::checks::Check::OneOf;
use super::checks::{Check, list, members, run, text, texts};
use super::networking::addresses;

/// What is counted, besides what is somebody's own.
const COUNTED: &[&str] = &[
    "configmaps",
    "persistentvolumeclaims",
    "pods",
    "replicationcontrollers",
    "resourcequotas",
    "secrets",
    "services",
    "services.loadbalancers",
    "services.nodeports",
];

const TAINT: &[Check] = &[OneOf("effect", &["NoSchedule", "PreferNoSchedule", "NoExecute"])];

/// Taints, amounts, and addresses of pods.
pub(super) fn node(object: &Value, found: &mut ErrorList) {
    let Some(spec) = object.get("spec") else { return };
    // The place that messages about taints name is another one than theirs.
    taints(list(spec, "taints"), &ROOT.child("metadata.taints"), found);
    amounts(object, found);
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

fn taints(taints: &[Value], at: &FieldPath<'_>, found: &mut ErrorList) {
    let mut seen = BTreeSet::new();
    for (index, taint) in taints.iter().enumerate() {
        let at = at.item(index);
        let (key, value, effect) = (text(taint, "key"), text(taint, "value"), text(taint, "effect"));
        found.invalid_each(&at.child("key"), key, names::qualified_name(key));
        found.invalid_each(&at.child("value"), value, names::label_value(value));
        run(TAINT, taint, &at, found);
        if !seen.insert((key, effect)) {
            let quoted = go_values::text("core.Taint", taint);
            found.extend(vec![FieldError {
                error_type: FieldErrorType::Duplicate,
                field: at.to_string(),
                message: format!("Duplicate value: {quoted}: taints must be unique by key and effect pair"),
            }]);
        }
    }
}

/// What a node is told once: its ranges and what its machine is called.
pub(super) fn change(new: &Value, old: &Value, found: &mut ErrorList) {
    amounts(new, found);
    addresses_of(new, found);
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

/// What a node has, and what it gives to pods.
fn amounts(node: &Value, found: &mut ErrorList) {
    let empty = Value::Null;
    let status = node.get("status").unwrap_or(&empty);
    let at = ROOT.child("status");
    for field in ["capacity", "allocatable"] {
        let at = at.child(field);
        for (resource, amount) in members(status, field).into_iter().flatten() {
            let at = at.child(resource);
            let nanos = Quantity::parse(amount.as_str().unwrap_or("0")).map_or(0, Quantity::nanos);
            if nanos < 0 {
                found.invalid(&at, amount.clone(), "must be greater than or equal to 0");
            }
            let is_own = resource.contains('/') && !resource.contains("kubernetes.io/");
            if nanos % NANOS_OF_ONE != 0 && (is_own || COUNTED.contains(&resource.as_str())) {
                found.invalid(&at, amount.clone(), "must be an integer");
            }
        }
    }
}

fn addresses_of(node: &Value, found: &mut ErrorList) {
    let empty = Value::Null;
    let at = ROOT.child("status.addresses");
    let mut seen = BTreeSet::new();
    for (index, address) in list(node.get("status").unwrap_or(&empty), "addresses")
        .iter()
        .enumerate()
    {
        let (kind, of) = (text(address, "type"), text(address, "address"));
        if !seen.insert((kind, of)) {
            found.duplicate_text(&at.item(index), &go_values::text("core.NodeAddress", address));
        }
    }
}

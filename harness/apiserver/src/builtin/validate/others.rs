//! The kinds of all remaining groups.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::ROOT;
use super::checks::Check::{Do, In, Named, OneOf, OneOfIfSet, Positive, Required, Selector};
use super::checks::{Check, at_most_all, immutable, int_or_percent, is_true, list, number, run};
use super::pods::resources;
use crate::builtin::catalogue::Resource;
use crate::builtin::prepare::SYSTEM_CLASSES;
use crate::findings::{Field, Findings};
use crate::metadata::names;
use crate::quoted;

const LEASE: &[Check] = &[Positive("leaseDurationSeconds"), Check::NotNegative("leaseTransitions")];

const BUDGET: &[Check] = &[
    Do(one_limit),
    Do(limits),
    Selector("selector"),
    OneOfIfSet("unhealthyPodEvictionPolicy", &["AlwaysAllow", "IfHealthyBudget"]),
];

/// The body of a kind.
pub(super) fn body(resource: &Resource, object: &Value, found: &mut Findings) {
    let checks: &[Check] = match (resource.group, resource.kind) {
        ("coordination.k8s.io", "Lease") => &[In("spec", LEASE)],
        ("policy", "PodDisruptionBudget") => &[In("spec", BUDGET)],
        ("scheduling.k8s.io", "PriorityClass") => &[
            Do(priority),
            OneOf("preemptionPolicy", &["PreemptLowerPriority", "Never"]),
        ],
        ("node.k8s.io", "RuntimeClass") => &[
            Required("handler"),
            Named("handler", names::dns_label),
            Do(overhead),
            Do(scheduling),
        ],
        ("apps", "ControllerRevision") => &[Check::NotNegative("revision")],
        _ => &[],
    };
    run(checks, object, &ROOT, found);
}

/// What a new revision keeps is an object.
pub(super) fn created_revision(revision: &Value, found: &mut Findings) {
    let detail = match revision.get("data") {
        None | Some(Value::Null) => "data is mandatory",
        Some(Value::Object(_)) => return,
        Some(Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) => {
            "data must be a valid JSON object"
        }
    };
    found.required(&ROOT.child("data"), detail);
}

fn one_limit(spec: &Value, at: &Field<'_>, found: &mut Findings) {
    if spec.get("minAvailable").is_some() && spec.get("maxUnavailable").is_some() {
        let quoted = quoted::text("policy.PodDisruptionBudgetSpec", spec);
        found.invalid_text(at, &quoted, "minAvailable and maxUnavailable cannot be both set");
    }
}

fn limits(spec: &Value, at: &Field<'_>, found: &mut Findings) {
    for field in ["minAvailable", "maxUnavailable"] {
        if let Some(value) = spec.get(field) {
            let at = at.child(field);
            int_or_percent(Some(value), &at, found);
            at_most_all(Some(value), &at, found);
        }
    }
}

fn priority(class: &Value, _: &Field<'_>, found: &mut Findings) {
    let name = class
        .get("metadata")
        .map(|metadata| super::checks::text(metadata, "name"))
        .unwrap_or_default();
    if name.starts_with("system-") {
        if let Some(problem) = system_problem(name, class) {
            let detail = format!(
                "priority class names with 'system-' prefix are reserved for system use only. error: {problem}"
            );
            found.forbidden(&ROOT.child("metadata.name"), &detail);
        }
    } else if number(class, "value") > 1_000_000_000 {
        let detail = "maximum allowed value of a user defined priority is 1000000000";
        found.forbidden(&ROOT.child("value"), detail);
    }
}

/// What makes a class another one than that of the system with its name.
fn system_problem(name: &str, class: &Value) -> Option<String> {
    let Some((_, value)) = SYSTEM_CLASSES.iter().find(|(known, _)| *known == name) else {
        return Some(format!("{name} is not a known system priority class"));
    };
    if number(class, "value") != *value {
        return Some(format!("value of {name} PriorityClass must be {value}"));
    }
    is_true(class, "globalDefault").then(|| format!("globalDefault of {name} PriorityClass must be false"))
}

fn overhead(class: &Value, at: &Field<'_>, found: &mut Findings) {
    let Some(fixed) = class.get("overhead").and_then(|overhead| overhead.get("podFixed")) else {
        return;
    };
    // They are checked as the limits of a container are.
    resources::of_container(
        &json!({"limits": fixed}),
        &BTreeSet::new(),
        &at.child("overhead"),
        found,
    );
}

fn scheduling(class: &Value, at: &Field<'_>, found: &mut Findings) {
    let Some(scheduling) = class.get("scheduling") else {
        return;
    };
    let at = at.child("scheduling");
    run(&[Check::Labels("nodeSelector")], scheduling, &at, found);
    super::pods::tolerations(scheduling, &at, found);
    let at = at.child("tolerations");
    let mut seen = BTreeSet::new();
    for (index, toleration) in list(scheduling, "tolerations").iter().enumerate() {
        let key = ["key", "operator", "value", "effect"].map(|field| super::checks::text(toleration, field));
        if !seen.insert(key) {
            found.duplicate_text(&at.item(index), &quoted::text("core.Toleration", toleration));
        }
    }
}

/// What may not change.
pub(super) fn change(resource: &Resource, new: &Value, old: &Value, found: &mut Findings) {
    match (resource.group, resource.kind) {
        ("scheduling.k8s.io", "PriorityClass") => {
            if new.get("value") != old.get("value") {
                found.forbidden(&ROOT.child("value"), "may not be changed in an update.");
            }
            immutable("preemptionPolicy", new, old, &ROOT, found);
        }
        ("node.k8s.io", "RuntimeClass") => immutable("handler", new, old, &ROOT, found),
        ("apps", "ControllerRevision") => immutable("data", new, old, &ROOT, found),
        ("discovery.k8s.io", "EndpointSlice") => immutable("addressType", new, old, &ROOT, found),
        _ => {}
    }
}

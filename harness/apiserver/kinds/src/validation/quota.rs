//! Resource quotas.

use std::collections::BTreeSet;

use baton_apimachinery::field::{ErrorList, FieldPath};
use baton_apimachinery::go_values;
use baton_apimachinery::quantity::NANOS_OF_ONE;
use serde_json::Value;

use super::ROOT;
use super::checks::{list, members, text, texts};
use super::resource_names::{amount, is_of_quota, standard};
use crate::quotas;

/// What a quota with a scope can limit: pods and what they ask for. Of pods that ask for nothing it is their number alone.
const OF_PODS: &[&str] = &[
    "cpu",
    "limits.cpu",
    "limits.memory",
    "memory",
    "pods",
    "requests.cpu",
    "requests.memory",
];

const SCOPES: &[&str] = &[
    "BestEffort",
    "CrossNamespacePodAffinity",
    "NotBestEffort",
    "NotTerminating",
    "PriorityClass",
    "Terminating",
    "VolumeAttributesClass",
];

const CONFLICTING: [[&str; 2]; 2] = [["BestEffort", "NotBestEffort"], ["Terminating", "NotTerminating"]];

/// What is wrong with a resource quota.
pub(super) fn quota(quota: &Value, found: &mut ErrorList) {
    let Some(spec) = quota.get("spec") else { return };
    let at = ROOT.child("spec");
    amounts("hard", spec, &at, found);
    scopes(spec, &at, found);
    selector(spec, &at, found);
}

/// What is wrong with the status of a resource quota.
pub(super) fn status(quota: &Value, found: &mut ErrorList) {
    let Some(status) = quota.get("status") else { return };
    for field in ["hard", "used"] {
        amounts(field, status, &ROOT.child("status"), found);
    }
}

fn amounts(field: &str, of: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let at = at.child(field);
    for (name, value) in members(of, field).into_iter().flatten() {
        let at = at.key(name);
        standard(name, &at, found);
        if !name.contains('/') && !is_of_quota(name) {
            found.invalid(&at, name.as_str(), "must be a standard resource for quota");
        }
        let Some((quantity, _)) = amount(Some(value)) else {
            continue;
        };
        if quantity.nanos() < 0 {
            found.invalid(&at, value.clone(), "must be greater than or equal to 0");
        } else if quantity.nanos() % NANOS_OF_ONE != 0 && (quotas::is_counted(name) || name.starts_with("count/")) {
            found.invalid(&at, value.clone(), "must be an integer");
        }
    }
}

/// Whether a scope can limit all that a quota limits.
fn is_applicable(scope: &str, spec: &Value) -> bool {
    let fits = |resource: &str| match scope {
        "BestEffort" => resource == "pods",
        "VolumeAttributesClass" => matches!(resource, "persistentvolumeclaims" | "requests.storage"),
        _ if !SCOPES.contains(&scope) => true,
        _ => OF_PODS.contains(&resource),
    };
    let mut limited = members(spec, "hard")
        .into_iter()
        .flatten()
        .map(|(resource, _)| resource);
    limited.all(|resource| !is_of_quota(resource) || fits(resource))
}

fn are_conflicting(scopes: &BTreeSet<&str>) -> usize {
    let conflicts = CONFLICTING.iter();
    conflicts
        .filter(|pair| pair.iter().all(|scope| scopes.contains(scope)))
        .count()
}

fn scopes(spec: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let at = at.child("scopes");
    let all = list(spec, "scopes");
    let mut seen = BTreeSet::new();
    for scope in texts(spec, "scopes") {
        if !SCOPES.contains(&scope) {
            found.invalid(&at, all.to_vec(), "unsupported scope");
        }
        if !is_applicable(scope, spec) {
            found.invalid(&at, all.to_vec(), "unsupported scope applied to resource");
        }
        seen.insert(scope);
    }
    for _ in 0..are_conflicting(&seen) {
        found.invalid(&at, all.to_vec(), "conflicting scopes");
    }
}

fn selector(spec: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let Some(selector) = spec.get("scopeSelector") else {
        return;
    };
    let at = at.child("scopeSelector.matchExpressions");
    let mut seen = BTreeSet::new();
    for expression in list(selector, "matchExpressions") {
        let (scope, operator) = (text(expression, "scopeName"), text(expression, "operator"));
        let values = texts(expression, "values");
        if !SCOPES.contains(&scope) {
            found.invalid(&at.child("scopeName"), scope, "unsupported scope");
        }
        if !is_applicable(scope, spec) {
            found.invalid_text(
                &at,
                &go_values::text("core.ScopeSelector", selector),
                "unsupported scope applied to resource",
            );
        }
        if !matches!(scope, "PriorityClass" | "VolumeAttributesClass")
            && SCOPES.contains(&scope)
            && operator != "Exists"
        {
            let detail = "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, \
                ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or \
                ResourceQuotaScopeCrossNamespacePodAffinity";
            found.invalid(&at.child("operator"), operator, detail);
        }
        match operator {
            "In" | "NotIn" if values.is_empty() => {
                let detail = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector";
                found.required(&at.child("values"), detail);
            }
            "Exists" | "DoesNotExist" if !values.is_empty() => {
                let detail = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector";
                found.invalid(&at.child("values"), list(expression, "values").to_vec(), detail);
            }
            "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
            other => found.invalid(&at.child("operator"), other, "not a valid selector operator"),
        }
        seen.insert(scope);
    }
    for _ in 0..are_conflicting(&seen) {
        found.invalid(&at, Value::Null, "conflicting scopes");
    }
}

/// The scopes of a quota stay.
pub(super) fn change(new: &Value, old: &Value, found: &mut ErrorList) {
    let of = |quota: &Value| {
        quota
            .get("spec")
            .and_then(|spec| spec.get("scopes"))
            .cloned()
            .unwrap_or_default()
    };
    let set = |scopes: &Value| -> BTreeSet<String> {
        let scopes = scopes.as_array().into_iter().flatten();
        scopes.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let (new, old) = (of(new), of(old));
    if set(&new) != set(&old) {
        found.invalid(&ROOT.child("spec.scopes"), new, "field is immutable");
    }
}

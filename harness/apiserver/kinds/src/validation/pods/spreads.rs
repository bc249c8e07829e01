//! How pods are to be spread over a cluster.

use baton_apimachinery::field::{ErrorList, FieldPath};
use serde_json::Value;

use super::affinities;
use crate::validation::checks::{list, number, text};
use crate::validation::selectors;

const ACTIONS: &[&str] = &["DoNotSchedule", "ScheduleAnyway"];

/// The constraints of a pod's specification.
pub(crate) fn spreads(spec: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let at = at.child("topologySpreadConstraints");
    let all = list(spec, "topologySpreadConstraints");
    for (index, constraint) in all.iter().enumerate() {
        let at = at.item(index);
        basics(constraint, &at, found);
        let of = |constraint: &Value| {
            let (key, action) = (text(constraint, "topologyKey"), text(constraint, "whenUnsatisfiable"));
            format!("{{{key}, {action}}}")
        };
        let later = all.get(index + 1..).unwrap_or_default();
        if later.iter().any(|other| of(other) == of(constraint)) {
            found.duplicate(&at.child("{topologyKey, whenUnsatisfiable}"), of(constraint));
        }
        least_domains(constraint, &at, found);
        for field in ["nodeAffinityPolicy", "nodeTaintsPolicy"] {
            let policy = constraint.get(field).and_then(Value::as_str);
            if let Some(policy) = policy.filter(|policy| !matches!(*policy, "Honor" | "Ignore")) {
                found.not_supported(&at.child(field), policy, &["Honor", "Ignore"]);
            }
        }
        affinities::label_keys(constraint, &at, found);
        if let Some(selector) = constraint.get("labelSelector") {
            selectors::validate(selector, &at.child("labelSelector"), found);
        }
    }
}

fn basics(constraint: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let skew = number(constraint, "maxSkew");
    if skew <= 0 {
        found.invalid(&at.child("maxSkew"), skew, "must be greater than zero");
    }
    if text(constraint, "topologyKey").is_empty() {
        found.required(&at.child("topologyKey"), "can not be empty");
    }
    let action = text(constraint, "whenUnsatisfiable");
    if !ACTIONS.contains(&action) {
        found.not_supported(&at.child("whenUnsatisfiable"), action, ACTIONS);
    }
}

fn least_domains(constraint: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let Some(domains) = constraint.get("minDomains").and_then(Value::as_i64) else {
        return;
    };
    let at = at.child("minDomains");
    if domains <= 0 {
        found.invalid(&at, domains, "must be greater than zero");
    }
    let action = text(constraint, "whenUnsatisfiable");
    if action != "DoNotSchedule" {
        let detail = format!("can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}");
        found.invalid(&at, domains, &detail);
    }
}

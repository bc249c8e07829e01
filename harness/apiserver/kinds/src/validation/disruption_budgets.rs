//! `PodDisruptionBudgets`.

use baton_apimachinery::field::{ErrorList, FieldPath};
use baton_apimachinery::go_values;
use serde_json::Value;

use super::ROOT;
use super::checks::Check::{Do, In, OneOfIfSet, Selector};
use super::checks::{Check, at_most_all, int_or_percent, run};

const BUDGET: &[Check] = &[
    Do(one_limit),
    Do(limits),
    Selector("selector"),
    OneOfIfSet("unhealthyPodEvictionPolicy", &["AlwaysAllow", "IfHealthyBudget"]),
];

/// What is wrong with a budget.
pub(super) fn body(budget: &Value, found: &mut ErrorList) {
    run(&[In("spec", BUDGET)], budget, &ROOT, found);
}

fn one_limit(spec: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    if spec.get("minAvailable").is_some() && spec.get("maxUnavailable").is_some() {
        let quoted = go_values::text("policy.PodDisruptionBudgetSpec", spec);
        found.invalid_text(at, &quoted, "minAvailable and maxUnavailable cannot be both set");
    }
}

fn limits(spec: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    for field in ["minAvailable", "maxUnavailable"] {
        if let Some(value) = spec.get(field) {
            let at = at.child(field);
            int_or_percent(Some(value), &at, found);
            at_most_all(Some(value), &at, found);
        }
    }
}

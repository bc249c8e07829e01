//! When containers are started again: after they end, and when what they ask for changes.

use std::collections::BTreeSet;

use baton_apimachinery::field::{ErrorList, FieldPath};
use serde_json::Value;

use crate::validation::checks::{at_most, list, text};

const POLICIES: &[&str] = &["Always", "Never", "OnFailure"];
const ACTIONS: &[&str] = &["Restart", "RestartAllContainers"];
const OPERATORS: &[&str] = &["In", "NotIn"];
const RESIZED: &[&str] = &["cpu", "memory"];
const RESIZE_POLICIES: &[&str] = &["NotRequired", "RestartContainer"];

const MAX_RULES: usize = 20;
const MAX_CODES: usize = 255;

/// The policy and the rules of a container.
pub(crate) fn validate(container: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let rules = list(container, "restartPolicyRules");
    let field = at.child("restartPolicy");
    match container.get("restartPolicy").and_then(Value::as_str) {
        None if rules.is_empty() => return,
        None => found.required(&field, "must specify restartPolicy when restart rules are used"),
        Some(policy) if !POLICIES.contains(&policy) => found.not_supported(&field, policy, POLICIES),
        Some(_) => {}
    }
    let field = at.child("restartPolicyRules");
    at_most(MAX_RULES, rules.len(), &field, found);
    for (index, rule) in rules.iter().enumerate() {
        self::rule(rule, &field.item(index), found);
    }
}

/// An init container without a policy is not asked for its rules.
pub(crate) fn of_init_container(container: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    if container.get("restartPolicy").is_some() {
        validate(container, at, found);
    } else if !list(container, "restartPolicyRules").is_empty() {
        let detail = "must specify restartPolicy when restart rules are used";
        found.required(&at.child("restartPolicy"), detail);
    }
}

fn rule(rule: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let action = text(rule, "action");
    if !ACTIONS.contains(&action) {
        found.not_supported(&at.child("action"), action, ACTIONS);
    }
    let at = at.child("exitCodes");
    let Some(codes) = rule.get("exitCodes") else {
        found.required(&at, "must be specified");
        return;
    };
    let operator = text(codes, "operator");
    if !OPERATORS.contains(&operator) {
        found.not_supported(&at.child("operator"), operator, OPERATORS);
    }
    at_most(MAX_CODES, list(codes, "values").len(), &at.child("values"), found);
}

/// What is done when more or less of a resource is asked for; `policy` is that of the pod.
pub(crate) fn on_resize(container: &Value, policy: &str, at: &FieldPath<'_>, found: &mut ErrorList) {
    let at = at.child("resizePolicy");
    let mut seen = BTreeSet::new();
    for (index, resized) in list(container, "resizePolicy").iter().enumerate() {
        let resource = text(resized, "resourceName");
        if !seen.insert(resource) {
            found.duplicate(&at.item(index), resource);
        }
        // Which of them it is is not told.
        let restart = text(resized, "restartPolicy");
        for (value, values) in [(resource, RESIZED), (restart, RESIZE_POLICIES)] {
            if value.is_empty() {
                found.required(&at, "");
            } else if !values.contains(&value) {
                found.not_supported(&at, value, values);
            }
        }
        if policy == "Never" && restart != "NotRequired" {
            let detail = "must be 'NotRequired' when pod `restartPolicy` is 'Never'";
            found.invalid(&at, restart, detail);
        }
    }
}

/// What ends before others begin cannot be started again for more resources.
pub(crate) fn not_on_resize(container: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let at = at.child("resizePolicy");
    for (index, resized) in list(container, "resizePolicy").iter().enumerate() {
        let restart = text(resized, "restartPolicy");
        if restart == "RestartContainer" {
            let detail = "must not be set to 'RestartContainer' for non-sidecar initContainers";
            found.invalid(&at.item(index).child("restartPolicy"), restart, detail);
        }
    }
}

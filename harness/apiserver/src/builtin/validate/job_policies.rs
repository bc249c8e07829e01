//! When a job fails and when it has succeeded: its policies, and what needs completions that are indexed.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::checks::Check::{Named, OneOf, OneOfIfSet};
use super::checks::{Check, list, number, run, text};
use crate::error::{FieldError, FieldErrorType};
use crate::findings::{Field, Findings};
use crate::metadata::names;

const ACTIONS: &[&str] = &["Count", "FailIndex", "FailJob", "Ignore"];

const MAX_MANAGER: usize = 63;

/// Checks what a job says of its end.
pub(super) fn validate(spec: &Value, at: &Field<'_>, found: &mut Findings) {
    indexes(spec, at, found);
    failure(spec, at, found);
    success(spec, at, found);
    manager(spec, at, found);
}

fn is_indexed(spec: &Value) -> bool {
    text(spec, "completionMode") == "Indexed"
}

fn indexes(spec: &Value, at: &Field<'_>, found: &mut Findings) {
    let (limit, most) = (spec.get("backoffLimitPerIndex"), spec.get("maxFailedIndexes"));
    if most.is_some() && limit.is_none() {
        found.required(&at.child("backoffLimitPerIndex"), "when maxFailedIndexes is specified");
    }
    for (field, value) in [("backoffLimitPerIndex", limit), ("maxFailedIndexes", most)] {
        if let Some(value) = value.filter(|_| !is_indexed(spec)) {
            found.invalid(&at.child(field), value.clone(), "requires indexed completion mode");
        }
    }
    let completions = number(spec, "completions");
    if is_indexed(spec) && number(spec, "maxFailedIndexes") > completions {
        let detail = "must be less than or equal to completions";
        found.invalid(&at.child("maxFailedIndexes"), number(spec, "maxFailedIndexes"), detail);
    }
}

/// A finding about a whole that is not quoted.
fn invalid(at: &Field<'_>, detail: &str, found: &mut Findings) {
    let error = FieldError::without_value(FieldErrorType::Invalid, at.to_string(), detail);
    found.extend(vec![error]);
}

fn failure(spec: &Value, at: &Field<'_>, found: &mut Findings) {
    let Some(policy) = spec.get("podFailurePolicy") else {
        return;
    };
    let replacement = text(spec, "podReplacementPolicy");
    if replacement == "TerminatingOrFailed" {
        found.not_supported(&at.child("podReplacementPolicy"), replacement, &["Failed"]);
    }
    let pod = spec.get("template").and_then(|template| template.get("spec"));
    let containers: BTreeSet<&str> = ["containers", "initContainers"]
        .iter()
        .flat_map(|field| pod.map(|pod| list(pod, field)).unwrap_or_default())
        .map(|container| text(container, "name"))
        .collect();
    let at = at.child("podFailurePolicy");
    let at = at.child("rules");
    for (index, rule) in list(policy, "rules").iter().enumerate() {
        let at = at.item(index);
        action(rule, spec, &at, found);
        let codes = rule.get("onExitCodes").filter(|codes| codes.is_object());
        let conditions = list(rule, "onPodConditions");
        match (codes, conditions.is_empty()) {
            (Some(codes), true) => exit_codes(codes, &containers, &at.child("onExitCodes"), found),
            (None, false) => run(&[Check::Each("onPodConditions", CONDITION)], rule, &at, found),
            (Some(_), false) => {
                let detail = "specifying both OnExitCodes and OnPodConditions is not supported";
                invalid(&at, detail, found);
            }
            (None, true) => {
                let detail = "specifying one of OnExitCodes and OnPodConditions is required";
                invalid(&at, detail, found);
            }
        }
    }
}

const CONDITION: &[Check] = &[
    Named("type", names::qualified_name),
    OneOfIfSet("status", &["False", "True", "Unknown"]),
];

fn action(rule: &Value, spec: &Value, at: &Field<'_>, found: &mut Findings) {
    let action = text(rule, "action");
    let at = at.child("action");
    if action.is_empty() {
        found.required(&at, "valid values: [\"Count\" \"FailIndex\" \"FailJob\" \"Ignore\"]");
    } else if !ACTIONS.contains(&action) {
        found.not_supported(&at, action, ACTIONS);
    } else if action == "FailIndex" && spec.get("backoffLimitPerIndex").is_none() {
        found.invalid(&at, action, "requires the backoffLimitPerIndex to be set");
    }
}

fn exit_codes(codes: &Value, containers: &BTreeSet<&str>, at: &Field<'_>, found: &mut Findings) {
    run(&[OneOf("operator", &["In", "NotIn"])], codes, at, found);
    let container = text(codes, "containerName");
    if !container.is_empty() && !containers.contains(container) {
        let detail = "must be one of the container or initContainer names in the pod template";
        found.invalid(&at.child("containerName"), container, detail);
    }
    values(codes, at, found);
}

fn values(codes: &Value, at: &Field<'_>, found: &mut Findings) {
    let values: Vec<i64> = list(codes, "values").iter().filter_map(Value::as_i64).collect();
    let at = at.child("values");
    if values.is_empty() {
        found.invalid(&at, json!([]), "at least one value is required");
    }
    let mut seen = BTreeSet::new();
    for (index, value) in values.iter().enumerate() {
        if text(codes, "operator") == "In" && *value == 0 {
            found.invalid(&at.item(index), 0, "must not be 0 for the In operator");
        }
        if !seen.insert(*value) {
            found.duplicate(&at.item(index), *value);
        }
    }
    if !values.is_sorted() {
        found.invalid(&at, json!(values), "must be ordered");
    }
}

fn success(spec: &Value, at: &Field<'_>, found: &mut Findings) {
    let Some(policy) = spec.get("successPolicy") else {
        return;
    };
    let at = at.child("successPolicy");
    let rules = list(policy, "rules");
    if !is_indexed(spec) {
        found.invalid_text(&at, &success_text(policy), "requires indexed completion mode");
        return;
    }
    let field = at.child("rules");
    if rules.is_empty() {
        let detail = "at least one rules must be specified when the successPolicy is specified";
        found.required(&field, detail);
    }
    let completions = number(spec, "completions");
    for (index, rule) in rules.iter().enumerate() {
        success_rule(rule, completions, &field.item(index), found);
    }
}

/// A policy of success as messages quote it.
pub(super) fn success_text(policy: &Value) -> String {
    let quoted = |rule: &Value| {
        let or_null = |key: &str| rule.get(key).cloned().unwrap_or_default();
        let (indexes, count) = (or_null("succeededIndexes"), or_null("succeededCount"));
        format!("{{\"SucceededIndexes\":{indexes},\"SucceededCount\":{count}}}")
    };
    let rules: Vec<String> = list(policy, "rules").iter().map(quoted).collect();
    format!("{{\"Rules\":[{}]}}", rules.join(","))
}

fn success_rule(rule: &Value, completions: i64, at: &Field<'_>, found: &mut Findings) {
    let indexes = rule.get("succeededIndexes").and_then(Value::as_str);
    let count = rule.get("succeededCount").and_then(Value::as_i64);
    if indexes.is_none() && count.is_none() {
        let detail = "at least one of succeededCount or succeededIndexes must be specified";
        found.required(at, detail);
    }
    let named = indexes.map(|indexes| (indexes, count_of(indexes, completions)));
    if let Some((indexes, Err(error))) = &named {
        let detail = format!("error parsing succeededIndexes: {error}");
        found.invalid(&at.child("succeededIndexes"), *indexes, &detail);
    }
    let Some(count) = count else { return };
    let (most, what) = match named {
        Some((_, Ok(named))) if completions >= count => {
            (named, "number of indexes in the specified succeededIndexes field")
        }
        _ => (completions, "number of specified completions"),
    };
    if count > most {
        let detail = format!("must be less than or equal to {most} (the {what})");
        found.invalid(&at.child("succeededCount"), count, &detail);
    }
}

/// How many indexes `0-2,5` are.
fn count_of(indexes: &str, completions: i64) -> Result<i64, String> {
    let number = |text: &str| -> Result<i64, String> {
        let index = text
            .parse::<i64>()
            .map_err(|_| format!("cannot convert string to integer for index: {text:?}"))?;
        if index < completions {
            Ok(index)
        } else {
            Err(format!("too large index: {text:?}"))
        }
    };
    let mut count = 0;
    for part in indexes.split(',').filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        count += number(last).and_then(|last| Ok(last - number(first)? + 1))?;
    }
    Ok(count)
}

fn manager(spec: &Value, at: &Field<'_>, found: &mut Findings) {
    let manager = text(spec, "managedBy");
    let at = at.child("managedBy");
    if manager.is_empty() {
        return;
    }
    if !manager.contains('/') {
        let detail = "must be a domain-prefixed path (such as \"acme.io/foo\")";
        found.invalid(&at, manager, detail);
    }
    if manager.len() > MAX_MANAGER {
        found.too_long(&at, MAX_MANAGER);
    }
}

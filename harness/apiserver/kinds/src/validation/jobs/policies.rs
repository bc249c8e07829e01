//! When a job fails and when it has succeeded: its policies, and what needs completions that are indexed.

use std::collections::BTreeSet;

use baton_apimachinery::field::{ErrorList, FieldError, FieldErrorType, FieldPath};
use baton_apimachinery::go_values;
use baton_apimachinery::metadata::names;
use serde_json::{Value, json};

use crate::validation::checks::Check::{Do, OneOfIfSet};
use crate::validation::checks::{Check, at_most, list, not_negative, number, run, text};

const ACTIONS: &[&str] = &["Count", "FailIndex", "FailJob", "Ignore"];

const OPERATORS: &[&str] = &["In", "NotIn"];

const MAX_MANAGER: usize = 63;

/// Whether each completion of a job has a number.
pub(crate) fn is_indexed(spec: &Value) -> bool {
    text(spec, "completionMode") == "Indexed"
}

/// How many indexes may fail follows from how often one of them may.
pub(crate) fn limit_of_indexes(spec: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    if spec.get("maxFailedIndexes").is_some() && spec.get("backoffLimitPerIndex").is_none() {
        found.required(&at.child("backoffLimitPerIndex"), "when maxFailedIndexes is specified");
    }
}

/// What a job without indexes does not have; with a mode that is none it is not asked.
pub(crate) fn not_indexed(spec: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    if spec.get("completionMode").is_some_and(|mode| mode != "NonIndexed") {
        return;
    }
    for field in ["backoffLimitPerIndex", "maxFailedIndexes"] {
        if let Some(value) = spec.get(field) {
            found.invalid(&at.child(field), value.clone(), "requires indexed completion mode");
        }
    }
}

/// An error about a whole that is not quoted.
fn invalid(at: &FieldPath<'_>, detail: &str, found: &mut ErrorList) {
    let error = FieldError::without_value(FieldErrorType::Invalid, at.to_string(), detail);
    found.extend(vec![error]);
}

/// When pods are replaced; where their failures are judged, only after they have failed.
pub(crate) fn replacement(spec: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let all: &[&str] = if spec.get("podFailurePolicy").is_some() {
        &["Failed"]
    } else {
        &["Failed", "TerminatingOrFailed"]
    };
    if let Some(policy) = spec.get("podReplacementPolicy").and_then(Value::as_str)
        && !all.contains(&policy)
    {
        found.not_supported(&at.child("podReplacementPolicy"), policy, all);
    }
}

/// When a job fails.
pub(crate) fn failure(spec: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let Some(policy) = spec.get("podFailurePolicy") else {
        return;
    };
    let pod = spec.get("template").and_then(|template| template.get("spec"));
    let containers: BTreeSet<&str> = ["containers", "initContainers"]
        .iter()
        .flat_map(|field| pod.map(|pod| list(pod, field)).unwrap_or_default())
        .map(|container| text(container, "name"))
        .collect();
    let at = at.child("podFailurePolicy");
    let at = at.child("rules");
    let rules = list(policy, "rules");
    at_most(MAX_RULES, rules.len(), &at, found);
    for (index, rule) in rules.iter().enumerate() {
        let at = at.item(index);
        action(rule, spec, &at, found);
        let codes = rule.get("onExitCodes").filter(|codes| codes.is_object());
        if let Some(codes) = codes {
            exit_codes(codes, &containers, &at.child("onExitCodes"), found);
        }
        let conditions = list(rule, "onPodConditions");
        at_most(MAX_RULES, conditions.len(), &at.child("onPodConditions"), found);
        run(&[Check::Each("onPodConditions", CONDITION)], rule, &at, found);
        let detail = match (codes, conditions.is_empty()) {
            (Some(_), false) => "specifying both OnExitCodes and OnPodConditions is not supported",
            (None, true) => "specifying one of OnExitCodes and OnPodConditions is required",
            (Some(_), true) | (None, false) => continue,
        };
        invalid(&at, detail, found);
    }
}

/// Most rules of a policy, and conditions of a rule.
const MAX_RULES: usize = 20;
const MAX_CODES: usize = 255;

const CONDITION: &[Check] = &[Do(condition_type), OneOfIfSet("status", &["False", "True", "Unknown"])];

fn condition_type(condition: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let kind = text(condition, "type");
    found.invalid_each(&at.child("type"), kind, names::qualified_name(kind));
}

fn action(rule: &Value, spec: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
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

fn exit_codes(codes: &Value, containers: &BTreeSet<&str>, at: &FieldPath<'_>, found: &mut ErrorList) {
    let operator = text(codes, "operator");
    let operator_at = at.child("operator");
    if operator.is_empty() {
        found.required(&operator_at, "valid values: [\"In\" \"NotIn\"]");
    } else if !OPERATORS.contains(&operator) {
        found.not_supported(&operator_at, operator, OPERATORS);
    }
    if let Some(container) = codes.get("containerName").and_then(Value::as_str)
        && !containers.contains(container)
    {
        let detail = "must be one of the container or initContainer names in the pod template";
        found.invalid(&at.child("containerName"), container, detail);
    }
    values(codes, &at.child("values"), found);
}

fn values(codes: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let values: Vec<i64> = list(codes, "values").iter().filter_map(Value::as_i64).collect();
    if values.is_empty() {
        let given = codes.get("values").cloned().unwrap_or_default();
        found.invalid(at, given, "at least one value is required");
    }
    at_most(MAX_CODES, values.len(), at, found);
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
        found.invalid(at, json!(values), "must be ordered");
    }
}

/// When a job has succeeded before it is complete.
pub(crate) fn success(spec: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let Some(policy) = spec.get("successPolicy") else {
        return;
    };
    let at = at.child("successPolicy");
    let rules = list(policy, "rules");
    if !is_indexed(spec) {
        found.invalid_text(
            &at,
            &go_values::text("batch.SuccessPolicy", policy),
            "requires indexed completion mode",
        );
        return;
    }
    let field = at.child("rules");
    if rules.is_empty() {
        let detail = "at least one rules must be specified when the successPolicy is specified";
        found.required(&field, detail);
    }
    at_most(MAX_RULES, rules.len(), &field, found);
    let completions = number(spec, "completions");
    for (index, rule) in rules.iter().enumerate() {
        success_rule(rule, completions, &field.item(index), found);
    }
}

fn success_rule(rule: &Value, completions: i64, at: &FieldPath<'_>, found: &mut ErrorList) {
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
    let at = at.child("succeededCount");
    not_negative(rule.get("succeededCount"), &at, found);
    let named = named.map(|(_, named)| named.unwrap_or(0));
    for (most, what) in [
        (Some(completions), "number of specified completions"),
        (named, "number of indexes in the specified succeededIndexes field"),
    ] {
        if let Some(most) = most.filter(|most| count > *most) {
            let detail = format!("must be less than or equal to {most} (the {what})");
            found.invalid(&at, count, &detail);
        }
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
    let disordered =
        |previous: i64, current: i64| format!("non-increasing order, previous: {previous}, current: {current}");
    let (mut count, mut previous) = (0, None);
    for part in indexes.split(',').filter(|_| !indexes.is_empty()) {
        let (first, last) = match part.split_once('-') {
            Some((_, rest)) if rest.contains('-') => {
                return Err(format!(
                    "the fragment {part:?} violates the requirement that an index interval can have at most two parts \
                     separated by '-'"
                ));
            }
            Some((first, last)) => {
                let (first, last) = (number(first)?, number(last)?);
                if first >= last {
                    return Err(disordered(first, last));
                }
                (first, last)
            }
            None => {
                let index = number(part)?;
                (index, index)
            }
        };
        if let Some(previous) = previous.filter(|previous| *previous >= first) {
            return Err(disordered(previous, first));
        }
        count += last - first + 1;
        previous = Some(last);
    }
    Ok(count)
}

/// Who else than the server's own controller looks after a job.
pub(crate) fn manager(spec: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let Some(manager) = spec.get("managedBy").and_then(Value::as_str) else {
        return;
    };
    let at = at.child("managedBy");
    match manager.split_once('/') {
        _ if manager.is_empty() => found.required(&at, ""),
        Some((domain, path)) if !domain.is_empty() && !path.is_empty() => {
            found.invalid_each(&at, domain, names::dns_subdomain(domain));
            let is_known = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~%!$&'()*+,;=:".contains(&byte);
            if !path.bytes().all(is_known) {
                let detail = "Invalid path (regex used for validation is '[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')";
                found.invalid(&at, path, detail);
            }
        }
        Some(_) | None => {
            let detail = "must be a domain-prefixed path (such as \"acme.io/foo\")";
            found.invalid(&at, manager, detail);
        }
    }
    if manager.len() > MAX_MANAGER {
        found.too_long(&at, MAX_MANAGER);
    }
}

//! Jobs.

use baton_apimachinery::field::{ErrorList, FieldPath};
use baton_apimachinery::go_values;
use baton_apimachinery::meta;
use serde_json::{Map, Value};

use super::checks::Check::{Do, NotNegative, OneOfIfSet, Selector};
use super::checks::{Check, immutable, is_true, list, number, run, text};
use super::selectors::{self, template_labels};
use super::{ROOT, pods};

const JOB: &[Check] = &[
    NotNegative("parallelism"),
    NotNegative("completions"),
    NotNegative("activeDeadlineSeconds"),
    NotNegative("backoffLimit"),
    NotNegative("ttlSecondsAfterFinished"),
    NotNegative("backoffLimitPerIndex"),
    NotNegative("maxFailedIndexes"),
    Do(limit_of_indexes),
    OneOfIfSet("completionMode", &["NonIndexed", "Indexed"]),
    Do(indexes),
    Do(template),
];

/// Validates a job.
pub(super) fn body(object: &Value, found: &mut ErrorList) {
    let Some(spec) = object.get("spec") else { return };
    generated_selector(object, spec, found);
    specification(object, found);
}

/// The specification of a job.
pub(super) fn specification(job: &Value, found: &mut ErrorList) {
    let Some(spec) = job.get("spec") else { return };
    let at = ROOT.child("spec");
    run(JOB, spec, &at, found);
    let selector = spec.get("selector");
    match selector {
        None => found.required(&at.child("selector"), ""),
        Some(_) => run(&[Selector("selector")], spec, &at, found),
    }
    if selectors::matches(selector, template_labels(spec)) == Some(false) {
        selectors::mismatch(spec, &at, found);
    }
}

/// Checks that the selector is the generated one, unless the job has set it itself.
fn generated_selector(object: &Value, spec: &Value, found: &mut ErrorList) {
    let Some(selector) = spec.get("selector").filter(|_| !is_true(spec, "manualSelector")) else {
        return;
    };
    let metadata = object.get("metadata").unwrap_or(&Value::Null);
    let expected: [(&str, &str); 4] = [
        ("controller-uid", "uid"),
        ("job-name", "name"),
        ("batch.kubernetes.io/controller-uid", "uid"),
        ("batch.kubernetes.io/job-name", "name"),
    ];
    let expected = expected.map(|(label, field)| (label, text(metadata, field)));
    let labels = template_labels(spec);
    for (label, value) in expected {
        let at = ROOT.child("spec.template.metadata.labels");
        let detail = format!("must be '{value}'");
        match labels.and_then(|labels| labels.get(label)) {
            None => found.required(&at.key(label), &detail),
            Some(given) if given != value => {
                let all = labels.cloned().map_or(Value::Null, Value::Object);
                found.invalid(&at.key(label), all, &detail);
            }
            Some(_) => {}
        }
    }
    let expected = expected.map(|(label, value)| (label.to_owned(), Value::from(value)));
    let expected: Map<String, Value> = expected.into_iter().collect();
    if selectors::matches(Some(selector), Some(&expected)) == Some(false) {
        let detail = "`selector` not auto-generated";
        found.invalid_text(
            &ROOT.child("spec.selector"),
            &go_values::text("v1.LabelSelector", selector),
            detail,
        );
    }
}

/// Reports whether each completion of a job has an index.
fn is_indexed(spec: &Value) -> bool {
    text(spec, "completionMode") == "Indexed"
}

fn limit_of_indexes(spec: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    if spec.get("maxFailedIndexes").is_some() && spec.get("backoffLimitPerIndex").is_none() {
        found.required(&at.child("backoffLimitPerIndex"), "when maxFailedIndexes is specified");
    }
}

/// Rejects fields that need indexes; an unknown completion mode is rejected elsewhere.
fn not_indexed(spec: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    if spec.get("completionMode").is_some_and(|mode| mode != "NonIndexed") {
        return;
    }
    for field in ["backoffLimitPerIndex", "maxFailedIndexes"] {
        if let Some(value) = spec.get(field) {
            found.invalid(&at.child(field), value.clone(), "requires indexed completion mode");
        }
    }
}

fn indexes(spec: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    if !is_indexed(spec) {
        not_indexed(spec, at, found);
        return;
    }
    let given = |field: &str| spec.get(field).and_then(Value::as_i64);
    let (completions, failed) = (given("completions"), given("maxFailedIndexes"));
    if completions.is_none() {
        found.required(&at.child("completions"), "when completion mode is Indexed");
    }
    if let (Some(completions), Some(failed)) = (completions, failed)
        && failed > completions
    {
        let detail = "must be less than or equal to completions";
        found.invalid(&at.child("maxFailedIndexes"), failed, detail);
    }
}

fn template(spec: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let field = at.child("template");
    pods::template(spec.get("template"), &field, found);
    let field = field.child("spec.restartPolicy");
    match meta::str_at(spec, &["template", "spec", "restartPolicy"]) {
        Some("Always") | None => found.required(&field, "valid values: \"OnFailure\", \"Never\""),
        Some("OnFailure" | "Never") => {}
        Some(other) => found.not_supported(&field, other, &["OnFailure", "Never"]),
    }
}

/// Validates a change of a job.
pub(super) fn change(new: &Value, old: &Value, found: &mut ErrorList) {
    let none = Value::Null;
    let is_waiting = is_waiting(old);
    let (new, old) = (new.get("spec").unwrap_or(&none), old.get("spec").unwrap_or(&none));
    let at = ROOT.child("spec");
    let completions = new.get("completions");
    if !is_indexed(new) {
        immutable("completions", new, old, &at, found);
    } else if completions.is_some() && completions != old.get("completions") && completions != new.get("parallelism") {
        let detail = "can only be modified in tandem with spec.parallelism";
        found.invalid(
            &at.child("completions"),
            completions.cloned().unwrap_or_default(),
            detail,
        );
    }
    selectors::immutable(new, old, &at, found);
    let template = new.get("template").unwrap_or(&none);
    if !is_waiting && Some(template) != old.get("template") {
        let text = go_values::text("core.PodTemplateSpec", template);
        found.invalid_text(&at.child("template"), &text, "field is immutable");
    }
    if is_waiting && fixed(new) != fixed(old) {
        let text = go_values::text("core.PodSpec", template.get("spec").unwrap_or(&none));
        found.invalid_text(&at.child("template.spec"), &text, "field is immutable");
    }
    immutable("completionMode", new, old, &at, found);
    for field in ["backoffLimitPerIndex", "managedBy", "podFailurePolicy", "successPolicy"] {
        immutable(field, new, old, &at, found);
    }
}

/// Returns the images and commands of a job, which are fixed before it has pods.
fn fixed(spec: &Value) -> Vec<[Option<&Value>; 3]> {
    let containers = spec.pointer("/template/spec/containers").and_then(Value::as_array);
    let containers = containers.into_iter().flatten();
    containers
        .map(|container| ["name", "image", "command"].map(|field| container.get(field)))
        .collect()
}

/// Reports whether a job is suspended and has no pods, so that it may still be placed and sized.
fn is_waiting(job: &Value) -> bool {
    let none = Value::Null;
    let status = job.get("status").unwrap_or(&none);
    let has_stopped = list(status, "conditions")
        .iter()
        .any(|condition| text(condition, "type") == "Suspended" && text(condition, "status") == "True");
    let is_suspended = job.get("spec").is_some_and(|spec| is_true(spec, "suspend"));
    is_suspended && (status.get("startTime").is_none() || has_stopped) && number(status, "active") == 0
}

const STATUS: &[Check] = &[
    NotNegative("active"),
    NotNegative("succeeded"),
    NotNegative("failed"),
    NotNegative("ready"),
    NotNegative("terminating"),
];

/// The counts in a status.
pub(super) fn status(object: &Value, found: &mut ErrorList) {
    let Some(status) = object.get("status") else { return };
    let at = ROOT.child("status");
    run(STATUS, status, &at, found);
    let (ready, active) = (number(status, "ready"), number(status, "active"));
    if ready > active {
        found.invalid(&at.child("ready"), ready, "cannot set more ready pods than active");
    }
}

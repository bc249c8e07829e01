//! `HorizontalPodAutoscaler` in its stored version.

use baton_apimachinery::field::{ErrorList, FieldPath};
use baton_apimachinery::metadata::names;
use baton_apimachinery::quantity::Quantity;
use serde_json::Value;

use super::ROOT;
use super::checks::Check::{Do, Each, In, Required};
use super::checks::{Check, list, number, run, text};

/// Longest time that scaling looks back, in seconds.
const MAX_STABILIZATION: i64 = 3600;

/// Longest period of a policy, in seconds.
const MAX_PERIOD: i64 = 1800;

/// A source of metrics: its type, the field that it is in, what is checked of it.
struct Source {
    kind: &'static str,
    field: &'static str,
    checks: &'static [Check],
}

const METRIC: Check = In("metric", &[Do(metric_name)]);
const TARGET: Check = In("target", &[Do(target)]);

/// In the order of their types in messages.
const SOURCES: [Source; 5] = [
    Source {
        kind: "ContainerResource",
        field: "containerResource",
        checks: &[Do(resource_name), Do(container_name), TARGET, Do(one_use)],
    },
    Source {
        kind: "External",
        field: "external",
        checks: &[METRIC, TARGET, Do(value), Do(one_value)],
    },
    Source {
        kind: "Object",
        field: "object",
        checks: &[In("describedObject", REFERENCE), METRIC, TARGET, Do(value_of_object)],
    },
    Source {
        kind: "Pods",
        field: "pods",
        checks: &[METRIC, TARGET, Do(average)],
    },
    Source {
        kind: "Resource",
        field: "resource",
        checks: &[Do(resource_name), TARGET, Do(one_use)],
    },
];

const REFERENCE: &[Check] = &[
    Required("kind"),
    Check::Named("kind", path_segment),
    Required("name"),
    Check::Named("name", path_segment),
    Do(api_version),
];

const RULES: &[Check] = &[
    Do(window),
    Check::OneOfIfSet("selectPolicy", &["Disabled", "Max", "Min"]),
    Do(policies),
    Each("policies", &[Do(policy)]),
    Do(tolerance),
];

/// What is wrong with an autoscaler.
pub(super) fn body(object: &Value, found: &mut ErrorList) {
    let checks = &[
        Do(replica_bounds),
        In("scaleTargetRef", REFERENCE),
        In("scaleTargetRef", &[Do(api_group)]),
        Do(metrics),
        In("behavior", &[In("scaleUp", RULES), In("scaleDown", RULES)]),
    ];
    run(&[In("spec", checks)], object, &ROOT, found);
}

fn path_segment(name: &str) -> Vec<String> {
    names::path_segment(name, false)
}

fn api_version(reference: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let version = text(reference, "apiVersion");
    if version.matches('/').count() > 1 {
        let detail = format!("unexpected GroupVersion string: {version}");
        found.invalid(&at.child("apiVersion"), version, &detail);
    }
}

/// Of the kinds without a group, only replication controllers can be scaled.
fn api_group(reference: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let version = text(reference, "apiVersion");
    let has_group = version.split_once('/').is_some_and(|(group, _)| !group.is_empty());
    let is_one = version.matches('/').count() < 2;
    if is_one && !has_group && text(reference, "kind") != "ReplicationController" {
        let detail = "apiVersion must specify API group";
        found.invalid(&at.child("apiVersion"), version, detail);
    }
}

fn replica_bounds(spec: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let (min, max) = (number(spec, "minReplicas"), number(spec, "maxReplicas"));
    if min < 1 {
        found.invalid(&at.child("minReplicas"), min, "must be greater than or equal to 1");
    }
    if max == 0 {
        found.required(&at.child("maxReplicas"), "must be set and greater than 0");
    } else if max < 0 {
        found.invalid(&at.child("maxReplicas"), max, "must be greater than or equal to 1");
    }
    if max < min {
        found.invalid(
            &at.child("maxReplicas"),
            max,
            "must be greater than or equal to `minReplicas`",
        );
    }
}

fn metrics(spec: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let at = at.child("metrics");
    let metrics = list(spec, "metrics");
    for (index, metric) in metrics.iter().enumerate() {
        one_metric(metric, &at.item(index), found);
    }
    let from_elsewhere = |metric: &Value| matches!(text(metric, "type"), "Object" | "External");
    if number(spec, "minReplicas") == 0 && !metrics.iter().any(from_elsewhere) {
        let detail = "must specify at least one Object or External metric to support scaling to zero replicas";
        found.forbidden(&at, detail);
    }
}

fn one_metric(metric: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let kinds = SOURCES.map(|source| source.kind);
    let kind = text(metric, "type");
    if kind.is_empty() {
        found.required(&at.child("type"), "must specify a metric source type");
    }
    let wanted = SOURCES.iter().find(|source| source.kind == kind);
    if wanted.is_none() {
        found.not_supported(&at.child("type"), kind, &kinds);
    }
    // The source that is there is checked; if there are several, only the first one.
    let order = ["object", "external", "pods", "resource", "containerResource"];
    let present: Vec<&str> = order
        .into_iter()
        .filter(|field| metric.get(*field).is_some_and(Value::is_object))
        .collect();
    if let Some(source) = present
        .first()
        .and_then(|field| SOURCES.iter().find(|source| source.field == *field))
    {
        run(&[In(source.field, source.checks)], metric, at, found);
    }
    match wanted {
        Some(source) if !present.contains(&source.field) => {
            found.required(
                &at.child(source.field),
                "must populate information for the given metric source",
            );
        }
        Some(_) => {}
        None => found.not_supported(&at.child("type"), kind, &kinds),
    }
    if present.len() != 1 {
        let others = present
            .iter()
            .filter(|field| wanted.is_none_or(|source| source.field != **field));
        for field in others {
            found.forbidden(&at.child(field), "must populate the given metric source only");
        }
    }
}

fn metric_name(metric: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let name = text(metric, "name");
    if name.is_empty() {
        found.required(&at.child("name"), "must specify a metric name");
    } else {
        found.invalid_each(&at.child("name"), name, path_segment(name));
    }
}

fn resource_name(source: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    if text(source, "name").is_empty() {
        found.required(&at.child("name"), "must specify a resource name");
    }
}

fn container_name(source: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    if text(source, "container").is_empty() {
        found.required(&at.child("container"), "must specify a container");
    }
}

fn target(target: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let kind = text(target, "type");
    if kind.is_empty() {
        found.required(&at.child("type"), "must specify a metric target type");
    }
    if !matches!(kind, "Utilization" | "Value" | "AverageValue") {
        let detail = "must be either Utilization, Value, or AverageValue";
        found.invalid(&at.child("type"), kind, detail);
    }
    for field in ["value", "averageValue"] {
        if let Some(value) = target.get(field).filter(|value| !is_positive(Some(value))) {
            found.invalid(&at.child(field), value.clone(), "must be positive");
        }
    }
    if let Some(percent) = target
        .get("averageUtilization")
        .and_then(Value::as_i64)
        .filter(|percent| *percent < 1)
    {
        found.invalid(&at.child("averageUtilization"), percent, "must be greater than 0");
    }
}

fn is_positive(value: Option<&Value>) -> bool {
    let quantity = value.and_then(Value::as_str).and_then(Quantity::parse);
    quantity.is_some_and(|quantity| quantity.nanos() > 0)
}

fn target_of<'a>(source: &'a Value, field: &str) -> Option<&'a Value> {
    source.get("target")?.get(field)
}

fn value(source: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    if target_of(source, "value").is_none() && target_of(source, "averageValue").is_none() {
        let detail = "must set either a target value for metric or a per-pod target";
        found.required(&at.child("target.averageValue"), detail);
    }
}

fn value_of_object(source: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    if target_of(source, "value").is_none() && target_of(source, "averageValue").is_none() {
        let detail = "must set either a target value or averageValue";
        found.required(&at.child("target.averageValue"), detail);
    }
}

fn one_value(source: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    if target_of(source, "value").is_some() && target_of(source, "averageValue").is_some() {
        let detail = "may not set both a target value for metric and a per-pod target";
        found.forbidden(&at.child("target.value"), detail);
    }
}

fn average(source: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    if target_of(source, "averageValue").is_none() {
        found.required(
            &at.child("target.averageValue"),
            "must specify a positive target averageValue",
        );
    }
}

fn one_use(source: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    match (
        target_of(source, "averageUtilization"),
        target_of(source, "averageValue"),
    ) {
        (None, None) => found.required(
            &at.child("target.averageUtilization"),
            "must set either a target raw value or a target utilization",
        ),
        (Some(_), Some(_)) => found.forbidden(
            &at.child("target.averageValue"),
            "may not set both a target raw value and a target utilization",
        ),
        (Some(_), None) | (None, Some(_)) => {}
    }
}

fn tolerance(rules: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let Some(given) = rules.get("tolerance") else { return };
    let quantity = given.as_str().and_then(Quantity::parse);
    if quantity.is_some_and(|quantity| quantity.nanos() < 0) {
        found.invalid(
            &at.child("tolerance"),
            given.clone(),
            "must be greater than or equal to 0",
        );
    }
}

fn window(rules: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let seconds = number(rules, "stabilizationWindowSeconds");
    let at = at.child("stabilizationWindowSeconds");
    if seconds < 0 {
        found.invalid(&at, seconds, "must be greater than or equal to zero");
    }
    if seconds > MAX_STABILIZATION {
        let detail = format!("must be less than or equal to {MAX_STABILIZATION}");
        found.invalid(&at, seconds, &detail);
    }
}

fn policies(rules: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    if list(rules, "policies").is_empty() {
        found.required(&at.child("policies"), "must specify at least one Policy");
    }
}

fn policy(policy: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let kind = text(policy, "type");
    if !matches!(kind, "Percent" | "Pods") {
        found.not_supported(&at.child("type"), kind, &["Percent", "Pods"]);
    }
    for field in ["value", "periodSeconds"] {
        let given = number(policy, field);
        if given <= 0 {
            found.invalid(&at.child(field), given, "must be greater than zero");
        }
    }
    let period = number(policy, "periodSeconds");
    if period > MAX_PERIOD {
        let detail = format!("must be less than or equal to {MAX_PERIOD}");
        found.invalid(&at.child("periodSeconds"), period, &detail);
    }
}

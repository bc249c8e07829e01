//! Deployments, `ReplicaSets` and `StatefulSets`.

use std::collections::BTreeSet;

use baton_apimachinery::field::{ErrorList, FieldPath};
use baton_apimachinery::go_values;
use baton_apimachinery::meta;
use baton_apimachinery::metadata::names;
use serde_json::{Value, json};

use super::checks::Check::{NotNegative, OneOf};
use super::checks::{Check, at_most_all, int_or_percent, list, number, run, text};
use super::{ROOT, claims, pods, selectors};

/// The specification of a kind.
pub(super) fn body(kind: &str, object: &Value, found: &mut ErrorList) {
    let Some(spec) = object.get("spec") else { return };
    let at = ROOT.child("spec");
    match kind {
        "Deployment" => {
            replicas_and_selector(spec, &at, "deployment", found);
            strategy(
                spec.get("strategy").unwrap_or(&Value::Null),
                &at.child("strategy"),
                found,
            );
            run(
                &[NotNegative("minReadySeconds"), NotNegative("revisionHistoryLimit")],
                spec,
                &at,
                found,
            );
            progress_deadline(spec, &at, found);
        }
        "ReplicaSet" => {
            replicas_and_selector(spec, &at, "deployment", found);
            run(&[NotNegative("minReadySeconds")], spec, &at, found);
        }
        "StatefulSet" => stateful_set(spec, true, &at, found),
        _ => {}
    }
}

/// Validates replicas, selector and template of kinds that replicate pods by a selector.
fn replicas_and_selector(spec: &Value, at: &FieldPath<'_>, kind: &str, found: &mut ErrorList) {
    run(&[NotNegative("replicas")], spec, at, found);
    selector_and_template(spec, at, kind, found);
}

fn selector_and_template(spec: &Value, at: &FieldPath<'_>, kind: &str, found: &mut ErrorList) {
    let field = at.child("selector");
    let selector = spec.get("selector");
    match selector {
        None => found.required(&field, ""),
        Some(selector) => {
            selectors::validate(selector, &field, found);
            if selectors::is_empty(selector) {
                let detail = format!("empty selector is invalid for {kind}");
                found.invalid_text(&field, &go_values::text("v1.LabelSelector", selector), &detail);
            }
        }
    }
    match selectors::matches(selector, selectors::template_labels(spec)) {
        None => {
            let detail = if kind == "statefulset" {
                ""
            } else {
                "invalid label selector"
            };
            let selector = selector
                .map(|selector| go_values::text("v1.LabelSelector", selector))
                .unwrap_or_default();
            found.invalid_text(&field, &selector, detail);
        }
        Some(matches) => {
            if !matches && selector.is_none_or(|selector| !selectors::is_empty(selector)) {
                selectors::mismatch(spec, at, found);
            }
            always_restarted(spec, at, kind, found);
        }
    }
}

/// Validates a template whose pods are always restarted.
fn always_restarted(spec: &Value, at: &FieldPath<'_>, kind: &str, found: &mut ErrorList) {
    let field = at.child("template");
    pods::template(spec.get("template"), &field, found);
    let of_pod = |field| meta::at(spec, &["template", "spec", field]);
    if let Some(policy) = of_pod("restartPolicy").and_then(Value::as_str)
        && !matches!(policy, "Always" | "")
    {
        found.not_supported(&field.child("spec.restartPolicy"), policy, &["Always"]);
    }
    if of_pod("activeDeadlineSeconds").is_some() {
        let kind = match kind {
            "statefulset" => "StatefulSet",
            _ => "ReplicaSet",
        };
        let detail = format!("activeDeadlineSeconds in {kind} is not Supported");
        found.forbidden(&field.child("spec.activeDeadlineSeconds"), &detail);
    }
}

fn strategy(strategy: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let rolling = strategy.get("rollingUpdate");
    let field = at.child("rollingUpdate");
    match (text(strategy, "type"), rolling) {
        ("Recreate", Some(_)) => found.forbidden(&field, "may not be specified when strategy `type` is 'Recreate'"),
        ("Recreate", None) => {}
        ("RollingUpdate", None) => found.required(&field, "this should be defaulted and never be nil"),
        ("RollingUpdate", Some(rolling)) => {
            let unavailable = field.child("maxUnavailable");
            let value = rolling.get("maxUnavailable");
            let most = int_or_percent(value, &unavailable, found);
            let surge = int_or_percent(rolling.get("maxSurge"), &field.child("maxSurge"), found);
            if most == 0 && surge == 0 {
                let value = value.cloned().unwrap_or_default();
                found.invalid(&unavailable, value, "may not be 0 when `maxSurge` is 0");
            }
            at_most_all(value, &unavailable, found);
        }
        _ => {
            let quoted = go_values::text("apps.DeploymentStrategy", strategy);
            found.not_supported_text(at, &quoted, &["Recreate", "RollingUpdate"]);
        }
    }
}

fn progress_deadline(spec: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let Some(deadline) = spec.get("progressDeadlineSeconds").and_then(Value::as_i64) else {
        return;
    };
    run(&[NotNegative("progressDeadlineSeconds")], spec, at, found);
    if deadline <= number(spec, "minReadySeconds") {
        found.invalid(
            &at.child("progressDeadlineSeconds"),
            deadline,
            "must be greater than minReadySeconds",
        );
    }
}

const RETENTION: &[Check] = &[
    OneOf("whenDeleted", &["Retain", "Delete"]),
    OneOf("whenScaled", &["Retain", "Delete"]),
];

/// Validates the specification of an updated stateful set; skips fields that can no longer change.
pub(super) fn changed_stateful_set(object: &Value, found: &mut ErrorList) {
    if let Some(spec) = object.get("spec") {
        stateful_set(spec, false, &ROOT.child("spec"), found);
    }
}

fn stateful_set(spec: &Value, is_new: bool, at: &FieldPath<'_>, found: &mut ErrorList) {
    let policy = text(spec, "podManagementPolicy");
    if !matches!(policy, "OrderedReady" | "Parallel") {
        found.invalid(
            &at.child("podManagementPolicy"),
            policy,
            "must be 'OrderedReady' or 'Parallel'",
        );
    }
    let strategy = spec.get("updateStrategy").unwrap_or(&Value::Null);
    let field = at.child("updateStrategy");
    match (text(strategy, "type"), strategy.get("rollingUpdate")) {
        ("OnDelete", Some(rolling)) => {
            let detail = "only allowed for updateStrategy 'RollingUpdate'";
            let quoted = go_values::text("apps.RollingUpdateStatefulSetStrategy", rolling);
            found.invalid_text(&field.child("rollingUpdate"), &quoted, detail);
        }
        ("RollingUpdate", Some(rolling)) => {
            run(
                &[NotNegative("partition")],
                rolling,
                &field.child("rollingUpdate"),
                found,
            );
        }
        ("OnDelete" | "RollingUpdate", None) => {}
        _ => found.invalid_text(
            &field,
            &go_values::text("apps.StatefulSetUpdateStrategy", strategy),
            "must be 'RollingUpdate' or 'OnDelete'",
        ),
    }
    run(
        &[Check::In("persistentVolumeClaimRetentionPolicy", RETENTION)],
        spec,
        at,
        found,
    );
    if is_new {
        claim_templates(spec, at, found);
    }
    let checks = &[
        NotNegative("replicas"),
        NotNegative("minReadySeconds"),
        Check::In("ordinals", &[NotNegative("start")]),
    ];
    run(checks, spec, at, found);
    if is_new {
        run(&[Check::Named("serviceName", names::dns_label)], spec, at, found);
    }
    selector_and_template(&with_claims(spec), at, "statefulset", found);
}

fn claim_templates(spec: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let at = at.child("volumeClaimTemplates");
    for (index, template) in list(spec, "volumeClaimTemplates").iter().enumerate() {
        claims::claim(template, &at.item(index), found);
    }
}

/// Returns the specification of a stateful set with the template of its pods: the pods get their own names, and volumes
/// of the claims replace volumes of the same name in the template.
fn with_claims(spec: &Value) -> Value {
    let mut spec = spec.clone();
    let templates = list(&spec, "volumeClaimTemplates").iter();
    let claimed: BTreeSet<String> = templates
        .map(|template| meta::name(template).unwrap_or_default().to_owned())
        .collect();
    let Some(pod) = spec.pointer_mut("/template/spec").and_then(Value::as_object_mut) else {
        return spec;
    };
    for field in ["subdomain", "hostname"] {
        pod.remove(field);
    }
    let volume = |name: &String| json!({"name": name, "persistentVolumeClaim": {"claimName": name}});
    let mut volumes: Vec<Value> = claimed.iter().map(volume).collect();
    if let Some(Value::Array(own)) = pod.remove("volumes") {
        let is_own = |volume: &Value| !claimed.contains(meta::text(volume, "name"));
        volumes.extend(own.into_iter().filter(is_own));
    }
    if !volumes.is_empty() {
        pod.insert("volumes".to_owned(), Value::Array(volumes));
    }
    spec
}

const STATEFUL_SET_MUTABLE: &[&str] = &[
    "replicas",
    "ordinals",
    "template",
    "updateStrategy",
    "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
    "minReadySeconds",
];

/// Validates the immutable fields of a specification.
pub(super) fn change(kind: &str, new: &Value, old: &Value, found: &mut ErrorList) {
    let none = Value::Null;
    let (new_spec, old_spec) = (new.get("spec").unwrap_or(&none), old.get("spec").unwrap_or(&none));
    let at = ROOT.child("spec");
    match kind {
        "Deployment" | "ReplicaSet" => selectors::immutable(new_spec, old_spec, &at, found),
        "StatefulSet" => {
            let fixed = |spec: &Value| {
                let mut spec = spec.clone();
                if let Some(spec) = spec.as_object_mut() {
                    spec.retain(|key, _| !STATEFUL_SET_MUTABLE.contains(&key.as_str()));
                }
                spec
            };
            if fixed(new_spec) != fixed(old_spec) {
                let detail = "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', \
                    'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' \
                    and 'minReadySeconds' are forbidden";
                found.forbidden(&at, detail);
            }
        }
        _ => {}
    }
}

/// Returns the counts of a status that cannot exceed `replicas`.
fn counted(kind: &str) -> &'static [&'static str] {
    match kind {
        "Deployment" => &["updatedReplicas", "readyReplicas", "availableReplicas"],
        "ReplicaSet" => &["fullyLabeledReplicas", "readyReplicas", "availableReplicas"],
        "StatefulSet" => &[
            "readyReplicas",
            "currentReplicas",
            "updatedReplicas",
            "availableReplicas",
        ],
        _ => &[],
    }
}

/// Validates the counts in a status.
pub(super) fn status(kind: &str, object: &Value, found: &mut ErrorList) {
    let Some(status) = object.get("status") else { return };
    let at = ROOT.child("status");
    for (field, value) in status.as_object().into_iter().flatten() {
        super::checks::not_negative(Some(value), &at.child(field), found);
    }
    let replicas = number(status, "replicas");
    for field in counted(kind) {
        let value = number(status, field);
        if value > replicas {
            found.invalid(&at.child(field), value, "cannot be greater than status.replicas");
        }
    }
    let available = number(status, "availableReplicas");
    if !counted(kind).is_empty() && available > number(status, "readyReplicas") {
        let detail = if kind == "StatefulSet" {
            "cannot be greater than status.readyReplicas"
        } else {
            "cannot be greater than readyReplicas"
        };
        found.invalid(&at.child("availableReplicas"), available, detail);
    }
}

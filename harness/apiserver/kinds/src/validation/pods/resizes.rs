//! What may change in a pod with a resize: how much processor and memory it asks for.

use baton_apimachinery::field::{ErrorList, FieldPath};
use serde_json::{Map, Value, json};

use crate::qos::quality_of_service;
use crate::validation::checks::{list, members, text};
use crate::validation::{ROOT, pods};

/// Of what was sent, [`crate::strategy`] has taken only what is asked for.
pub(crate) fn resize(new_pod: &Value, old_pod: &Value, found: &mut ErrorList) {
    let before = found.len();
    pods::pod(new_pod, found);
    let none = Value::Null;
    let (new, old) = (
        new_pod.get("spec").unwrap_or(&none),
        old_pod.get("spec").unwrap_or(&none),
    );
    if old.get("os").is_some_and(|os| text(os, "name") == "windows") {
        found.forbidden(&ROOT, "windows pods cannot be resized");
        return;
    }
    let at = ROOT.child("spec");
    let class = quality_of_service(old);
    if quality_of_service(new) != class {
        found.invalid(&at, class, "Pod QOS Class may not change as a result of resizing");
    }
    if !is_supported(old_pod) {
        found.forbidden(&at, "Pod running on node without support for resize");
    }
    let mut judged = new.clone();
    whole(&mut judged, new, old, &at, found);
    if !in_order(new, old, &at, found) {
        return;
    }
    for field in ["initContainers", "containers"] {
        let at = at.child(field);
        for (index, (new, old)) in list(new, field).iter().zip(list(old, field)).enumerate() {
            let at = at.item(index);
            kept(
                new.get("resources"),
                old.get("resources"),
                "resource",
                &at.child("resources"),
                found,
            );
        }
    }
    contained(&mut judged, old, &at, found);
    if found.len() == before && judged != *old {
        found.forbidden(&at, "only cpu and memory resources are mutable");
    }
}

/// A node that tells what a running container has can change it.
fn is_supported(pod: &Value) -> bool {
    let status = pod.get("status").unwrap_or(&Value::Null);
    let running = list(status, "containerStatuses")
        .iter()
        .find(|container| container.pointer("/state/running").is_some());
    running.is_none_or(|container| container.get("resources").is_some())
}

/// What a pod asks for as a whole.
fn whole(judged: &mut Value, new: &Value, old: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let (new, old) = (new.get("resources"), old.get("resources"));
    let field = at.child("resources");
    if old.is_some() && new.is_none() {
        found.forbidden(&field, "pod-level resources cannot be removed");
        return;
    }
    let Some(judged) = judged.as_object_mut().filter(|_| new.is_some()) else {
        return;
    };
    if old.is_some() {
        kept(new, old, "pod-level resource", &field, found);
    }
    let masked = masked(new, old);
    if old.is_none() && masked == json!({}) {
        judged.remove("resources");
    } else {
        judged.insert("resources".to_owned(), masked);
    }
    if judged.get("resources") != old {
        found.forbidden(at, "only cpu and memory resources are mutable at pod-level");
    }
}

/// What has been asked for once is asked for ever after.
fn kept(new: Option<&Value>, old: Option<&Value>, what: &str, at: &FieldPath<'_>, found: &mut ErrorList) {
    for kind in ["requests", "limits"] {
        let now = new.and_then(|new| members(new, kind));
        let mut before = old.and_then(|old| members(old, kind)).into_iter().flatten();
        if before.any(|(resource, _)| !now.is_some_and(|now| now.contains_key(resource))) {
            found.forbidden(&at.child(kind), &format!("{what} {kind} cannot be removed"));
        }
    }
}

/// The same containers in the same order.
fn in_order(new: &Value, old: &Value, at: &FieldPath<'_>, found: &mut ErrorList) -> bool {
    let before = found.len();
    for field in ["containers", "initContainers"] {
        let at = at.child(field);
        let (new, old) = (list(new, field), list(old, field));
        if new.len() != old.len() {
            found.forbidden(&at, &format!("{field} may not be added or removed on resize"));
            continue;
        }
        for (index, (new, old)) in new.iter().zip(old).enumerate() {
            if text(new, "name") != text(old, "name") {
                let at = at.item(index);
                let detail = format!("{field} may not be renamed or reordered on resize");
                found.forbidden(&at.child("name"), &detail);
            }
        }
    }
    found.len() == before
}

/// Containers in which more than processor and memory have changed.
fn contained(judged: &mut Value, old: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    for field in ["containers", "initContainers"] {
        let field_at = at.child(field);
        let containers = judged.get_mut(field).and_then(Value::as_array_mut);
        let containers = containers.into_iter().flatten().filter_map(Value::as_object_mut);
        for (index, (container, before)) in containers.zip(list(old, field)).enumerate() {
            let before = before.as_object();
            let (is_changed, at_item) = (Some(&*container) != before, field_at.item(index));
            let old = before.and_then(|before| before.get("resources"));
            let masked = masked(container.get("resources"), old);
            container.insert("resources".to_owned(), masked);
            let is_other = Some(&*container) != before;
            if field == "containers" {
                if is_other {
                    found.forbidden(at, "only cpu and memory resources are mutable");
                }
                continue;
            }
            if is_other {
                let detail = "only cpu and memory resources for init or sidecar containers are mutable";
                found.forbidden(&at_item, detail);
            }
            let is_sidecar = container.get("restartPolicy").is_some_and(|policy| policy == "Always");
            if is_changed && !is_sidecar {
                not_restarted(container, &at_item, found);
            }
        }
    }
}

/// What has ended is not started again for more.
fn not_restarted(container: &Map<String, Value>, at: &FieldPath<'_>, found: &mut ErrorList) {
    let policies = container.get("resizePolicy").and_then(Value::as_array);
    for policy in policies.into_iter().flatten() {
        if text(policy, "restartPolicy") == "RestartContainer" {
            let detail = "non-sidecar init containers with a resize policy of RestartContainer cannot be resized";
            found.forbidden(at, detail);
        }
    }
}

/// What is asked for, with as much processor and memory as before.
fn masked(new: Option<&Value>, old: Option<&Value>) -> Value {
    let mut masked = Map::new();
    for kind in ["limits", "requests"] {
        let of = |resources: Option<&Value>| {
            let amounts = resources.and_then(|resources| members(resources, kind));
            amounts.cloned().unwrap_or_default()
        };
        let is_sized = |resource: &str| matches!(resource, "cpu" | "memory");
        let mut amounts = of(new);
        amounts.retain(|resource, _| !is_sized(resource));
        amounts.extend(of(old).into_iter().filter(|(resource, _)| is_sized(resource)));
        if !amounts.is_empty() {
            masked.insert(kind.to_owned(), Value::Object(amounts));
        }
    }
    Value::Object(masked)
}

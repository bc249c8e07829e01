//! What may change in a pod: with a write of itself, of its ephemeral containers, and with a resize.

use std::collections::BTreeSet;

use serde_json::Value;

use super::checks::{list, text};
use super::{ROOT, containers};
use crate::builtin::prepare::quality_of_service;
use crate::findings::{Field, Findings};

const UPDATE_MESSAGE: &str = "pod updates may not change fields other than `spec.containers[*].image`,\
    `spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing \
    tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";

/// What may not change in a pod.
pub(super) fn change(new: &Value, old: &Value, found: &mut Findings) {
    let none = Value::Null;
    let (new, old) = (new.get("spec").unwrap_or(&none), old.get("spec").unwrap_or(&none));
    let at = ROOT.child("spec");
    for field in ["containers", "initContainers"] {
        if list(new, field).len() != list(old, field).len() {
            found.forbidden(&at.child(field), "pod updates may not add or remove containers");
            return;
        }
    }
    containers::validate_ephemeral(new, &at, found);
    deadline_change(new, old, &at, found);
    tolerations_change(new, old, &at, found);
    if fixed(new) != fixed(old) {
        found.forbidden(&at, UPDATE_MESSAGE);
    }
}

/// A specification without what may change.
fn fixed(spec: &Value) -> Value {
    let mut spec = spec.clone();
    let Some(members) = spec.as_object_mut() else {
        return spec;
    };
    for field in ["activeDeadlineSeconds", "tolerations"] {
        members.remove(field);
    }
    for field in ["containers", "initContainers"] {
        let containers = members.get_mut(field).and_then(Value::as_array_mut);
        for container in containers.into_iter().flatten().filter_map(Value::as_object_mut) {
            container.remove("image");
        }
    }
    spec
}

fn deadline_change(new: &Value, old: &Value, at: &Field<'_>, found: &mut Findings) {
    let field = at.child("activeDeadlineSeconds");
    let seconds = |spec: &Value| spec.get("activeDeadlineSeconds").and_then(Value::as_i64);
    match (seconds(new), seconds(old)) {
        (Some(new), Some(old)) if new > old => {
            found.invalid(&field, new, "must be less than or equal to previous value");
        }
        (None, Some(_)) => found.invalid(
            &field,
            Value::Null,
            "must not update from a positive integer to nil value",
        ),
        (Some(_) | None, _) => {}
    }
}

fn tolerations_change(new: &Value, old: &Value, at: &Field<'_>, found: &mut Findings) {
    let key = |toleration: &Value| {
        let mut toleration = toleration.clone();
        if let Some(members) = toleration.as_object_mut() {
            members.remove("tolerationSeconds");
        }
        toleration.to_string()
    };
    let kept: BTreeSet<String> = list(new, "tolerations").iter().map(key).collect();
    if list(old, "tolerations")
        .iter()
        .any(|toleration| !kept.contains(&key(toleration)))
    {
        let detail = "existing toleration can not be modified except its tolerationSeconds";
        found.forbidden(&at.child("tolerations"), detail);
    }
}

/// Ephemeral containers are added, and then stay as they are.
pub(super) fn ephemeral(new: &Value, old: &Value, found: &mut Findings) {
    let none = Value::Null;
    let (new, old) = (new.get("spec").unwrap_or(&none), old.get("spec").unwrap_or(&none));
    containers::validate_ephemeral(new, &ROOT.child("spec"), found);
    let at = ROOT.child("spec.ephemeralContainers");
    for container in list(old, "ephemeralContainers") {
        let name = text(container, "name");
        let now = list(new, "ephemeralContainers")
            .iter()
            .find(|other| text(other, "name") == name);
        if now != Some(container) {
            let what = if now.is_some() { "changed" } else { "removed" };
            let detail = format!("existing ephemeral containers {name:?} may not be {what}\n");
            found.forbidden(&at, &detail);
        }
    }
}

/// A resize changes how much processor and memory containers ask for, and nothing else; of what was sent,
/// [`crate::builtin::prepare`] has taken only their resources.
pub(super) fn resize(new: &Value, old: &Value, found: &mut Findings) {
    let none = Value::Null;
    let (new, old) = (new.get("spec").unwrap_or(&none), old.get("spec").unwrap_or(&none));
    let at = ROOT.child("spec");
    for field in ["containers", "initContainers"] {
        if list(new, field).len() != list(old, field).len() {
            found.forbidden(&at.child(field), "containers may not be added or removed on resize");
            return;
        }
    }
    let before = found.len();
    containers::validate(new, &at, found);
    if found.len() > before {
        return;
    }
    let class = quality_of_service(old);
    if quality_of_service(new) != class {
        found.invalid(&at, class, "Pod QOS Class may not change as a result of resizing");
    }
    let containers_at = at.child("containers");
    for (index, (new, old)) in list(new, "containers").iter().zip(list(old, "containers")).enumerate() {
        let at = containers_at.item(index);
        let at = at.child("resources");
        for (kind, detail) in [
            ("requests", "resource requests cannot be removed"),
            ("limits", "resource limits cannot be removed"),
        ] {
            let resources = |container: &'_ Value| -> BTreeSet<String> {
                let amounts = container
                    .get("resources")
                    .and_then(|resources| resources.get(kind)?.as_object());
                amounts
                    .into_iter()
                    .flatten()
                    .map(|(resource, _)| resource.clone())
                    .collect()
            };
            if !resources(old).is_subset(&resources(new)) {
                found.forbidden(&at.child(kind), detail);
            }
        }
    }
    if unresized(new) != unresized(old) {
        found.forbidden(&at, "only cpu and memory resources are mutable");
    }
}

/// A specification without what a resize may change.
fn unresized(spec: &Value) -> Value {
    let mut spec = spec.clone();
    for field in ["containers", "initContainers"] {
        let containers = spec.get_mut(field).and_then(Value::as_array_mut);
        for container in containers.into_iter().flatten() {
            for kind in ["requests", "limits"] {
                let amounts = container
                    .get_mut("resources")
                    .and_then(|resources| resources.get_mut(kind));
                if let Some(amounts) = amounts.and_then(Value::as_object_mut) {
                    amounts.retain(|resource, _| resource != "cpu" && resource != "memory");
                }
            }
            if let Some(resources) = container.get_mut("resources").and_then(Value::as_object_mut) {
                resources.retain(|_, amounts| amounts.as_object().is_none_or(|amounts| !amounts.is_empty()));
            }
        }
    }
    spec
}

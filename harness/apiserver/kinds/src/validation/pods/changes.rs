//! Changes of a pod.

use std::collections::BTreeSet;

use baton_apimachinery::field::{ErrorList, FieldPath};
use serde_json::Value;

use super::containers;
use crate::members::copy;
use crate::validation::ROOT;
use crate::validation::checks::{list, text};

const UPDATE_MESSAGE: &str = "pod updates may not change fields other than `spec.containers[*].image`,\
    `spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing \
    tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";

/// Validates a change of a pod.
pub(crate) fn change(new: &Value, old: &Value, found: &mut ErrorList) {
    let none = Value::Null;
    let (new, old) = (new.get("spec").unwrap_or(&none), old.get("spec").unwrap_or(&none));
    let at = ROOT.child("spec");
    for field in ["containers", "initContainers"] {
        let at = at.child(field);
        let containers = list(new, field);
        if containers.len() != list(old, field).len() {
            found.forbidden(&at, "pod updates may not add or remove containers");
            return;
        }
        for (index, container) in containers.iter().enumerate() {
            let (at, image) = (at.item(index), text(container, "image"));
            if image.is_empty() {
                found.required(&at.child("image"), "");
            }
            containers::trimmed_image(container, &at, found);
        }
    }
    if !deadline_change(new, old, &at, found) {
        return;
    }
    tolerations_change(new, old, &at, found);
    if without_mutable(new, old) != *old {
        found.forbidden(&at, UPDATE_MESSAGE);
    }
}

/// Returns the new specification with the old values of mutable fields.
fn without_mutable(new: &Value, old: &Value) -> Value {
    let mut spec = new.clone();
    let (Some(members), Some(before)) = (spec.as_object_mut(), old.as_object()) else {
        return spec;
    };
    for field in ["activeDeadlineSeconds", "tolerations"] {
        copy(members, before, field);
    }
    for field in ["containers", "initContainers"] {
        let containers = members.get_mut(field).and_then(Value::as_array_mut);
        for (container, before) in containers.into_iter().flatten().zip(list(old, field)) {
            if let (Some(container), Some(before)) = (container.as_object_mut(), before.as_object()) {
                copy(container, before, "image");
            }
        }
    }
    spec
}

/// Validates a change of `activeDeadlineSeconds`, which can be set and can decrease. Returns `true` if validation of
/// the other fields continues.
fn deadline_change(new: &Value, old: &Value, at: &FieldPath<'_>, found: &mut ErrorList) -> bool {
    let field = at.child("activeDeadlineSeconds");
    let seconds = |spec: &Value| spec.get("activeDeadlineSeconds").and_then(Value::as_i64);
    match (seconds(new), seconds(old)) {
        (Some(new), _) if !(0..=i64::from(i32::MAX)).contains(&new) => {
            found.invalid(&field, new, "must be between 0 and 2147483647, inclusive");
            return false;
        }
        (Some(new), Some(old)) if new > old => {
            found.invalid(&field, new, "must be less than or equal to previous value");
            return false;
        }
        (None, Some(_)) => found.invalid(
            &field,
            Value::Null,
            "must not update from a positive integer to nil value",
        ),
        (Some(_) | None, _) => {}
    }
    true
}

fn tolerations_change(new: &Value, old: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
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
        return;
    }
    crate::validation::pods::tolerations(new, at, found);
}

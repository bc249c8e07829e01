//! Claims to persistent volumes.

use baton_apimachinery::field::{ErrorList, FieldPath};
use baton_apimachinery::metadata::names;
use baton_apimachinery::quantity::Quantity;
use serde_json::Value;

use super::ROOT;
use super::checks::Check::{Do, In, Named, OneOfIfSet, Selector};
use super::checks::{Check, list, run, texts};
use crate::members::copy;

const ACCESS_MODES: &[&str] = &["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];

const CLAIM: &[Check] = &[
    Do(access_modes),
    Selector("selector"),
    Do(storage),
    Named("storageClassName", names::dns_subdomain),
    OneOfIfSet("volumeMode", &["Block", "Filesystem"]),
];

/// Validates the specification of a claim, or of a template of claims.
pub(super) fn claim(object: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    run(&[In("spec", CLAIM)], object, at, found);
}

/// Validates a `PersistentVolumeClaim`.
pub(super) fn body(object: &Value, found: &mut ErrorList) {
    claim(object, &ROOT, found);
}

/// Validates a change: a bound claim may request another size, and nothing else.
pub(super) fn change(new: &Value, old: &Value, found: &mut ErrorList) {
    let none = Value::Null;
    let before = old.get("spec").unwrap_or(&none);
    let mut after = new.get("spec").cloned().unwrap_or_default();
    if let (Some(after), Some(before)) = (after.as_object_mut(), before.as_object()) {
        // The name of the volume and the class can be set once.
        for field in ["volumeName", "storageClassName"] {
            if !before.contains_key(field) {
                after.remove(field);
            }
        }
        if old.pointer("/status/phase").is_some_and(|phase| phase == "Bound") {
            for field in ["resources", "volumeAttributesClassName"] {
                copy(after, before, field);
            }
        }
    }
    if after != *before {
        let detail = "spec is immutable after creation except resources.requests and volumeAttributesClassName for \
            bound claims";
        found.forbidden(&ROOT.child("spec"), detail);
    }
}

fn access_modes(spec: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let at = at.child("accessModes");
    if list(spec, "accessModes").is_empty() {
        found.required(&at, "at least 1 access mode is required");
    }
    for mode in texts(spec, "accessModes") {
        if !ACCESS_MODES.contains(&mode) {
            found.not_supported(&at, mode, ACCESS_MODES);
        }
    }
}

fn storage(spec: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let at = at.child("resources");
    let at = at.key("storage");
    let Some(size) = spec.pointer("/resources/requests/storage") else {
        found.required(&at, "");
        return;
    };
    let nanos = size.as_str().and_then(Quantity::parse).map_or(0, Quantity::nanos);
    if nanos <= 0 {
        found.invalid(&at, size.clone(), "must be greater than zero");
    }
}

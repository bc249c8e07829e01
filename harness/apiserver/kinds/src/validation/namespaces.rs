//! Namespaces: finalizers and phase.

use baton_apimachinery::field::{ErrorList, FieldPath};
use baton_apimachinery::meta;
use baton_apimachinery::metadata::{STANDARD_FINALIZERS, names};
use serde_json::Value;

use super::ROOT;

/// Validates the finalizers of a new namespace, whose errors name the list.
pub(super) fn created(namespace: &Value, found: &mut ErrorList) {
    finalizers(namespace).for_each(|each| finalizer(each, &ROOT.child("spec.finalizers"), found));
}

/// Validates the finalizers in a write of the subresource `finalize`.
pub(super) fn held(namespace: &Value, found: &mut ErrorList) {
    let at = ROOT.child("spec.finalizers");
    for (index, each) in finalizers(namespace).enumerate() {
        finalizer(each, &at.item(index), found);
    }
}

fn finalizers(namespace: &Value) -> impl Iterator<Item = &str> {
    let finalizers = namespace.pointer("/spec/finalizers").and_then(Value::as_array);
    finalizers.into_iter().flatten().filter_map(Value::as_str)
}

fn finalizer(finalizer: &str, at: &FieldPath<'_>, found: &mut ErrorList) {
    found.invalid_each(at, finalizer, names::qualified_name(finalizer));
    if !finalizer.contains('/') && !STANDARD_FINALIZERS.contains(&finalizer) {
        let detail = "name is neither a standard finalizer name nor is it fully qualified";
        found.invalid(at, finalizer, detail);
    }
}

/// Checks that the phase of a namespace agrees with its deletion timestamp.
pub(super) fn status(object: &Value, found: &mut ErrorList) {
    let phase = meta::str_at(object, &["status", "phase"]).unwrap_or_default();
    let is_deleted = meta::deletion_timestamp(object).is_some();
    let at = ROOT.child("status.Phase");
    if is_deleted && phase != "Terminating" {
        found.invalid(
            &at,
            phase,
            "may only be 'Terminating' if `deletionTimestamp` is not empty",
        );
    } else if !is_deleted && phase != "Active" {
        found.invalid(&at, phase, "may only be 'Active' if `deletionTimestamp` is empty");
    }
}

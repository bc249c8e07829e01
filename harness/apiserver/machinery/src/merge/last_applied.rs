//! Migration from client-side to server-side apply: kubectl may take over the fields that its annotation records as
//! last applied.

use serde_json::Value;

use super::managed_fields::ManagerKey;
use super::set::Set;
use super::typed::{compare, fields_of};
use super::types::TypeModel;

/// The conflicting managers and the fields of each.
pub(super) type Refused = Vec<(ManagerKey, Set)>;

/// The manager that kubectl uses for server-side apply.
pub(super) const MANAGER: &str = "kubectl";

const ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Returns the conflicts that the annotation does not resolve.
pub(super) fn without_allowed(model: &TypeModel, live: &Value, refused: Refused) -> Refused {
    let Some(allowed) = allowed(model, live) else {
        return refused;
    };
    let left = refused
        .into_iter()
        .map(|(manager, set)| (manager, set.difference(&allowed)));
    left.filter(|(_, set)| !set.is_empty()).collect()
}

/// Returns the fields that were applied last and have not changed since.
fn allowed(model: &TypeModel, live: &Value) -> Option<Set> {
    let annotations = live.get("metadata")?.get("annotations")?;
    let text = annotations.get(ANNOTATION)?.as_str()?;
    let last: Value = serde_json::from_str(text).ok()?;
    let changes = compare(model, &last, live);
    let fields = fields_of(model, &last);
    let same = fields.difference(&changes.modified).difference(&changes.added);
    Some(same.difference(&changes.removed))
}

/// Updates the annotation, if the object has one.
pub(super) fn renew(object: &mut Value, applied: &Value) {
    let annotations = object
        .get_mut("metadata")
        .and_then(|metadata| metadata.get_mut("annotations"))
        .and_then(Value::as_object_mut);
    let Some(slot) = annotations.and_then(|annotations| annotations.get_mut(ANNOTATION)) else {
        return;
    };
    let mut document = applied.clone();
    if let Some(metadata) = document.get_mut("metadata").and_then(Value::as_object_mut)
        && let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut)
    {
        annotations.remove(ANNOTATION);
        if annotations.is_empty() {
            metadata.remove("annotations");
        }
    }
    *slot = Value::from(format!("{document}\n"));
}

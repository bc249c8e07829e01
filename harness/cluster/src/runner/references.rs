//! Objects and clusters that a step refers to.

use baton_core::{
    case::model::{ObjectRef, Place},
    names::ClusterName,
    pattern::{Bindings, resolve},
    select,
    watch::Known,
};
use serde_json::Value;

/// Clusters at a place.
pub(super) fn clusters(place: &Place, known: &Known) -> Vec<ClusterName> {
    select::clusters(place, &known.bindings, &known.members)
}

/// Replaces references in all strings of a value.
pub(super) fn with_references(value: &Value, bindings: &Bindings) -> Value {
    match value {
        Value::String(text) => Value::String(resolve(text, bindings)),
        Value::Array(items) => items.iter().map(|item| with_references(item, bindings)).collect(),
        Value::Object(map) => Value::Object(
            map.iter()
                .map(|(key, value)| (key.clone(), with_references(value, bindings)))
                .collect(),
        ),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

/// Reference to an object that a step applies; objects without a namespace are in `namespace`.
pub(super) fn named(object: &Value, namespace: &str) -> Option<ObjectRef> {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
    Some(ObjectRef {
        api_version: text("/apiVersion")?,
        kind: text("/kind")?,
        namespace: text("/metadata/namespace").or_else(|| Some(namespace.to_owned())),
        name: text("/metadata/name")?,
    })
}

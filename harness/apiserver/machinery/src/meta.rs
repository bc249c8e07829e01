//! Reading and writing `metadata` of objects that are plain JSON.

use jiff::Timestamp;
use serde_json::{Map, Value};

/// The member at a path of object keys.
pub fn at<'a>(value: &'a Value, path: &[&str]) -> Option<&'a Value> {
    path.iter().try_fold(value, |value, key| value.get(*key))
}

/// The text in a member; empty if there is none.
pub fn text<'v>(object: &'v Value, key: &str) -> &'v str {
    object.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// The list in a member; empty if there is none.
pub fn list<'v>(object: &'v Value, key: &str) -> &'v [Value] {
    object.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The string at a path of object keys, if it is one and not empty.
pub fn str_at<'a>(value: &'a Value, path: &[&str]) -> Option<&'a str> {
    at(value, path).and_then(Value::as_str).filter(|text| !text.is_empty())
}

fn meta_str<'a>(object: &'a Value, key: &str) -> Option<&'a str> {
    object
        .get("metadata")?
        .get(key)?
        .as_str()
        .filter(|text| !text.is_empty())
}

/// `metadata.name`, if it is set.
pub fn name(object: &Value) -> Option<&str> {
    meta_str(object, "name")
}

/// `metadata.namespace`, if it is set.
pub fn namespace(object: &Value) -> Option<&str> {
    meta_str(object, "namespace")
}

/// `metadata.uid`, if it is set.
pub fn uid(object: &Value) -> Option<&str> {
    meta_str(object, "uid")
}

/// `metadata.resourceVersion`, if it is set.
pub fn resource_version(object: &Value) -> Option<&str> {
    meta_str(object, "resourceVersion")
}

/// `metadata.deletionTimestamp`, if it is set.
pub fn deletion_timestamp(object: &Value) -> Option<&str> {
    meta_str(object, "deletionTimestamp")
}

/// The value of a label.
pub fn label<'a>(object: &'a Value, key: &str) -> Option<&'a str> {
    object.get("metadata")?.get("labels")?.get(key)?.as_str()
}

/// The value of an annotation.
pub fn annotation<'a>(object: &'a Value, key: &str) -> Option<&'a str> {
    object.get("metadata")?.get("annotations")?.get(key)?.as_str()
}

/// Returns `true` if two objects have the same members, ignoring the member `but`.
pub fn same_but(left: Option<&Value>, right: Option<&Value>, but: &str) -> bool {
    match (left.and_then(Value::as_object), right.and_then(Value::as_object)) {
        (Some(left), Some(right)) => {
            let others = |members: &'_ Map<String, Value>| members.iter().filter(|(name, _)| *name != but).count();
            others(left) == others(right)
                && left
                    .iter()
                    .all(|(name, value)| name == but || right.get(name) == Some(value))
        }
        _ => false,
    }
}

/// Returns `metadata` for writing; created if it is missing or not an object.
pub(crate) fn metadata_mut(object: &mut Value) -> Option<&mut Map<String, Value>> {
    let object = object.as_object_mut()?;
    let metadata = object.entry("metadata").or_insert_with(|| Value::Object(Map::new()));
    if !metadata.is_object() {
        *metadata = Value::Object(Map::new());
    }
    metadata.as_object_mut()
}

/// Sets a member of `metadata`.
pub fn set(object: &mut Value, key: &str, value: impl Into<Value>) {
    if let Some(metadata) = metadata_mut(object) {
        metadata.insert(key.to_owned(), value.into());
    }
}

/// Sets an annotation.
pub fn set_annotation(object: &mut Value, key: &str, text: &str) {
    let Some(metadata) = metadata_mut(object) else { return };
    let annotations = metadata
        .entry("annotations")
        .or_insert_with(|| Value::Object(Map::new()));
    if let Some(annotations) = annotations.as_object_mut() {
        annotations.insert(key.to_owned(), text.into());
    }
}

/// Removes a member of `metadata`.
pub fn unset(object: &mut Value, key: &str) {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove(key);
    }
}

/// The finalizers, in order.
pub fn finalizers(object: &Value) -> impl Iterator<Item = &str> {
    at(object, &["metadata", "finalizers"])
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
}

/// Returns `true` if the object has the finalizer.
pub fn has_finalizer(object: &Value, finalizer: &str) -> bool {
    finalizers(object).any(|each| each == finalizer)
}

/// Replaces the finalizers; an empty list removes the member.
pub fn set_finalizers(object: &mut Value, finalizers: Vec<String>) {
    if finalizers.is_empty() {
        unset(object, "finalizers");
    } else {
        set(object, "finalizers", finalizers);
    }
}

/// One entry of `metadata.ownerReferences`.
#[derive(Debug, Clone, Copy)]
pub struct Owner<'a> {
    /// `apiVersion` of the owner.
    pub api_version: &'a str,
    /// The kind of the owner.
    pub kind: &'a str,
    /// The name of the owner.
    pub name: &'a str,
    /// The uid of the owner.
    pub uid: &'a str,
    /// `true` if foreground deletion of the owner waits for the object.
    pub block_owner_deletion: bool,
}

/// Returns the entries of `metadata.ownerReferences`.
pub fn owners(object: &Value) -> impl Iterator<Item = Owner<'_>> {
    at(object, &["metadata", "ownerReferences"])
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(|owner| {
            let text = |key: &str| owner.get(key).and_then(Value::as_str);
            Some(Owner {
                api_version: text("apiVersion").unwrap_or_default(),
                kind: text("kind").unwrap_or_default(),
                name: text("name").unwrap_or_default(),
                uid: text("uid")?,
                block_owner_deletion: owner
                    .get("blockOwnerDeletion")
                    .and_then(Value::as_bool)
                    .unwrap_or_default(),
            })
        })
}

/// A time as `metadata` has it: whole seconds, UTC.
pub fn time(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

//! Changing the members of objects.

use serde_json::{Map, Value};

/// Returns the object in a member; created if it is missing.
pub(crate) fn object_in<'a>(members: &'a mut Map<String, Value>, key: &str) -> Option<&'a mut Map<String, Value>> {
    let value = members.entry(key).or_insert_with(|| Value::Object(Map::new()));
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    value.as_object_mut()
}

/// Sets a value at a path of keys, and creates the objects on the way.
pub(crate) fn put(members: &mut Map<String, Value>, path: &[&str], value: Value) {
    match path {
        [] => {}
        [key] => {
            members.insert((*key).to_owned(), value);
        }
        [key, rest @ ..] => {
            if let Some(inner) = object_in(members, key) {
                put(inner, rest, value);
            }
        }
    }
}

/// Removes a member of `metadata`.
pub(crate) fn unset(members: &mut Map<String, Value>, key: &str) {
    if let Some(metadata) = members.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove(key);
    }
}

/// Restores a member to its old value.
pub(crate) fn copy(members: &mut Map<String, Value>, before: &Map<String, Value>, key: &str) {
    match before.get(key) {
        Some(value) => members.insert(key.to_owned(), value.clone()),
        None => members.remove(key),
    };
}

/// Labels a namespace with its name, once it has one.
pub fn name_label(members: &mut Map<String, Value>) {
    let name = members
        .get("metadata")
        .and_then(|metadata| metadata.get("name"))
        .cloned();
    if let Some(name) = name.filter(|name| name.as_str().is_some_and(|name| !name.is_empty())) {
        put(members, &["metadata", "labels", "kubernetes.io/metadata.name"], name);
    }
}

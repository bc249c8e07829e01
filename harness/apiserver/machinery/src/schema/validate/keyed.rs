//! Lists that are sets or maps: no item occurs twice.

use serde_json::{Map, Value};

use super::super::node::{ListType, Node};
use super::super::path::Path;
use super::quoted_value;
use crate::field::{FieldError, FieldErrorType};

/// Finds repeated items of set and map lists anywhere in `value`.
pub fn check(node: &Node, value: &Value, old: Option<&Value>, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    if !node.below.keyed_lists || old == Some(value) {
        return;
    }
    match value {
        Value::Array(items) => {
            let repeated = match node.list_type {
                ListType::Set => repeated(items.iter().enumerate(), path),
                ListType::Map => {
                    let objects = items.iter().enumerate().filter(|(_, item)| item.is_object());
                    let keys: Vec<(usize, Value)> = objects.map(|(index, item)| (index, keys_of(node, item))).collect();
                    errors.extend(no_objects(items, path));
                    repeated(keys.iter().map(|(index, keys)| (*index, keys)), path)
                }
                ListType::Atomic => Vec::new(),
            };
            errors.extend(repeated);
            if let Some(schema) = node.items.as_deref() {
                for (index, item) in items.iter().enumerate() {
                    check(schema, item, None, &path.index(index), errors);
                }
            }
        }
        Value::Object(map) => {
            let old = old.and_then(Value::as_object);
            for (key, value) in map {
                let old = old.and_then(|old| old.get(key));
                if let Some(property) = node.properties.get(key) {
                    check(property, value, old, &path.field(key), errors);
                } else if let Some(schema) = node.additional_schema() {
                    check(schema, value, old, &path.key(key), errors);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Returns the duplicates of equal values, each one once.
fn repeated<'v>(values: impl Iterator<Item = (usize, &'v Value)>, path: &Path<'_>) -> Vec<FieldError> {
    let mut order: Vec<(usize, String, &Value)> =
        values.map(|(index, value)| (index, value.to_string(), value)).collect();
    order.sort_by(|left, right| left.1.cmp(&right.1).then(left.0.cmp(&right.0)));
    let mut found: Vec<(usize, &Value)> = Vec::new();
    for group in order.chunk_by(|left, right| left.1 == right.1) {
        // A third item with the same value is not reported again.
        if let Some((index, _, value)) = group.get(1) {
            found.push((*index, value));
        }
    }
    found.sort_by_key(|(index, _)| *index);
    let finding = |(index, value): (usize, &Value)| FieldError {
        error_type: FieldErrorType::Duplicate,
        field: path.index(index).bracketed_field(),
        message: format!("Duplicate value: {}", quoted_value(value)),
    };
    found.into_iter().map(finding).collect()
}

/// Returns errors for items of a map list that are not objects and therefore have no keys.
fn no_objects(items: &[Value], path: &Path<'_>) -> Vec<FieldError> {
    let others = items.iter().enumerate().filter(|(_, item)| !item.is_object());
    let finding = |(index, item): (usize, &Value)| FieldError {
        error_type: FieldErrorType::Invalid,
        field: path.index(index).bracketed_field(),
        message: format!(
            "Invalid value: {}: must be an object for an array of list-type map",
            quoted_value(item)
        ),
    };
    others.map(finding).collect()
}

/// Returns the part of an item that identifies it.
fn keys_of(node: &Node, item: &Value) -> Value {
    let mut keys = Map::new();
    for key in &node.map_keys {
        if let Some(value) = item.get(key) {
            keys.insert(key.clone(), value.clone());
        }
    }
    Value::Object(keys)
}

/// The item of `items` that has the same keys.
pub fn find_by_keys<'v>(node: &Node, items: &'v [Value], item: &Value) -> Option<&'v Value> {
    items
        .iter()
        .find(|other| node.map_keys.iter().all(|key| other.get(key) == item.get(key)))
}

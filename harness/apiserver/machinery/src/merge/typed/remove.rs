//! Removal of fields from a value.

use serde_json::{Map, Value};

use super::{NodeId, Shape, TypeModel, item_element, member};
use crate::merge::set::{Set, field};

/// Removes the members of the set and all fields below them. A value that becomes empty stays.
pub fn remove(model: &TypeModel, value: &Value, set: &Set) -> Value {
    if set.is_empty() {
        return value.clone();
    }
    below(model, model.root, value, set)
}

fn below(model: &TypeModel, id: NodeId, value: &Value, set: &Set) -> Value {
    let shape = Shape::of(model, id, value);
    match (shape, value) {
        (Shape::List { .. }, Value::Array(_)) if shape.is_atomic() => Value::Array(Vec::new()),
        (Shape::Map(_), Value::Object(_)) if shape.is_atomic() => Value::Object(Map::new()),
        (Shape::List { items, kind }, Value::Array(list)) => {
            let mut kept = Vec::with_capacity(list.len());
            for item in list {
                let element = item_element(kind, item).unwrap_or_default();
                if !set.has(&element) {
                    kept.push(match set.below(&element) {
                        Some(inner) => below(model, items, item, inner),
                        None => item.clone(),
                    });
                }
            }
            Value::Array(kept)
        }
        (Shape::Map(map), Value::Object(members)) => {
            let mut kept = Map::new();
            for (name, value) in members {
                let element = field(name);
                if !set.has(&element) {
                    let left = match set.below(&element) {
                        Some(inner) => below(model, member(map, name), value, inner),
                        None => value.clone(),
                    };
                    kept.insert(name.clone(), left);
                }
            }
            Value::Object(kept)
        }
        (Shape::Scalar(_) | Shape::List { .. } | Shape::Map(_), _) => value.clone(),
    }
}

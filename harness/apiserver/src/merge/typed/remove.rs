//! A value without some of its fields.

use serde_json::{Map, Value};

use super::{NodeId, Shape, TypeModel, item_element, member};
use crate::merge::set::{Set, field};

/// Removes the members of the set and what is below them. What is left empty by that goes as well.
pub(crate) fn remove(model: &TypeModel, value: &Value, set: &Set) -> Value {
    if set.is_empty() {
        return value.clone();
    }
    below(model, model.root, value, set).unwrap_or(Value::Null)
}

fn below(model: &TypeModel, id: NodeId, value: &Value, set: &Set) -> Option<Value> {
    let shape = Shape::of(model, id, value);
    match (shape, value) {
        (Shape::List { items, kind }, Value::Array(list)) if !shape.is_atomic() => {
            let mut kept = Vec::with_capacity(list.len());
            for item in list {
                let element = item_element(kind, item).unwrap_or_default();
                if set.has(&element) {
                    continue;
                }
                kept.extend(match set.below(&element) {
                    Some(inner) => below(model, items, item, inner),
                    None => Some(item.clone()),
                });
            }
            (!kept.is_empty()).then_some(Value::Array(kept))
        }
        (Shape::Map(map), Value::Object(members)) => {
            let mut kept = Map::new();
            for (name, value) in members {
                let element = field(name);
                if set.has(&element) {
                    continue;
                }
                let left = match set.below(&element) {
                    Some(inner) => below(model, member(map, name), value, inner),
                    None => Some(value.clone()),
                };
                if let Some(left) = left {
                    kept.insert(name.clone(), left);
                }
            }
            (!kept.is_empty()).then_some(Value::Object(kept))
        }
        (Shape::List { .. }, Value::Array(_)) => None,
        (Shape::Scalar(_) | Shape::List { .. } | Shape::Map(_), _) => Some(value.clone()),
    }
}

//! The set of fields in a value.

use serde_json::Value;

use super::{NodeId, Shape, TypeModel, is_field, item_element, member};
use crate::merge::set::{Set, field};
use crate::merge::types::{Node, UNTYPED};

/// The fields of a value: leaves, items of lists, keys of maps.
pub fn fields_of(model: &TypeModel, value: &Value) -> Set {
    let mut set = Set::default();
    collect(model, model.root, value, &mut set);
    set
}

/// Collects the members below a value; returns `true` if the value itself becomes a member.
fn collect(model: &TypeModel, id: NodeId, value: &Value, below: &mut Set) -> bool {
    let shape = Shape::of(model, id, value);
    match (shape, value) {
        (Shape::List { items, kind }, Value::Array(list)) if !shape.is_atomic() => {
            let named = |item| Some((item_element(kind, item).ok()?, item));
            let mut named: Vec<_> = list.iter().filter_map(named).collect();
            // In the order of sets.
            named.sort_by(|(left, _), (right, _)| left.cmp(right));
            for (element, item) in named {
                let mut inner = Set::default();
                collect(model, items, item, &mut inner);
                below.insert(element.clone());
                below.insert_below(element, inner);
            }
            false
        }
        (Shape::Map(map), Value::Object(members)) if !shape.is_atomic() => {
            for (name, value) in members {
                let mut inner = Set::default();
                let itself = collect(model, member(map, name), value, &mut inner);
                let empty = value.is_null() || value.as_object().is_some_and(serde_json::Map::is_empty);
                if itself || empty || !is_field(map, name) {
                    below.insert(field(name));
                }
                below.insert_below(field(name), inner);
            }
            false
        }
        (Shape::List { .. } | Shape::Map(_), Value::Null) => false,
        (Shape::Scalar(_) | Shape::List { .. } | Shape::Map(_), _) => true,
    }
}

/// Returns the set with every struct field added that has a member below.
pub fn with_named_fields(model: &TypeModel, set: &Set) -> Set {
    named(model, model.root, set)
}

fn named(model: &TypeModel, id: NodeId, set: &Set) -> Set {
    let mut out = Set::default();
    for (element, is_member, below) in set.steps() {
        let (next, of_struct) = match (model.node(id), element.strip_prefix("f:")) {
            (Node::Map(map), Some(name)) => (member(Some(map), name), is_field(Some(map), name)),
            (Node::List(list), None) => (list.items, false),
            _ => (UNTYPED, false),
        };
        if is_member || (of_struct && !below.is_empty()) {
            out.insert(element.into());
        }
        out.insert_below(element.into(), named(model, next, below));
    }
    out
}

//! Merging of an applied value into the live one.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde_json::{Map, Value};

use super::{ListKind, NodeId, Shape, TypeModel, is_vacant, item_element, member};
use crate::merge::set::Element;
use crate::merge::types::MapNode;

/// Merges an applied value into the live one: applied values win, all others stay.
pub fn combine(model: &TypeModel, live: &Value, applied: &Value) -> Value {
    values(model, model.root, Some(live), Some(applied)).unwrap_or(Value::Null)
}

fn values(model: &TypeModel, id: NodeId, live: Option<&Value>, applied: Option<&Value>) -> Option<Value> {
    let winner = applied.or(live)?;
    // With deduced types, a value of another type has no counterpart to merge with.
    let live = live.filter(|live| live.is_null() || winner.is_null() || alike(live, winner));
    let shape = Shape::of(model, id, winner);
    if shape.is_atomic() || (is_vacant(live) && is_vacant(applied)) {
        return Some(winner.clone());
    }
    match shape {
        Shape::Scalar(_) => Some(winner.clone()),
        Shape::List { items, kind } => {
            let [live, applied] =
                [live, applied].map(|value| value.and_then(Value::as_array).map_or(&[][..], Vec::as_slice));
            let out = lists(model, items, kind, live, applied);
            (!out.is_empty()).then_some(Value::Array(out))
        }
        Shape::Map(map) => {
            let [live, applied] = [live, applied].map(|value| value.and_then(Value::as_object));
            let out = maps(model, map, live, applied);
            (!out.is_empty()).then_some(Value::Object(out))
        }
    }
}

/// Returns `true` if both are lists, both are objects, or both are scalars.
fn alike(left: &Value, right: &Value) -> bool {
    left.is_array() == right.is_array() && left.is_object() == right.is_object()
}

fn maps(
    model: &TypeModel,
    map: Option<&MapNode>,
    live: Option<&Map<String, Value>>,
    applied: Option<&Map<String, Value>>,
) -> Map<String, Value> {
    let mut out = Map::new();
    for (name, value) in live.into_iter().flatten() {
        let over = applied.and_then(|applied| applied.get(name));
        if let Some(merged) = values(model, member(map, name), Some(value), over) {
            out.insert(name.clone(), merged);
        }
    }
    for (name, value) in applied.into_iter().flatten() {
        if live.is_none_or(|live| !live.contains_key(name))
            && let Some(merged) = values(model, member(map, name), None, Some(value))
        {
            out.insert(name.clone(), merged);
        }
    }
    out
}

/// Merges two lists so that both orders are kept as far as they agree; where they disagree, the order of the applied
/// list wins.
fn lists(model: &TypeModel, items: NodeId, kind: &ListKind, live: &[Value], applied: &[Value]) -> Vec<Value> {
    let known = |list: &'_ [Value]| -> Vec<(Element, usize)> {
        let with_index = list.iter().enumerate();
        with_index
            .filter_map(|(index, item)| item_element(kind, item).ok().map(|element| (element, index)))
            .collect()
    };
    let (ours, theirs) = (known(live), known(applied));
    let first = |side: &'_ [(Element, usize)]| -> BTreeMap<Element, usize> { side.iter().rev().cloned().collect() };
    let (in_live, in_applied) = (first(&ours), first(&theirs));
    let mut shared: VecDeque<&Element> = theirs
        .iter()
        .map(|(element, _)| element)
        .filter(|element| in_live.contains_key(*element))
        .collect();
    let mut next_shared = shared.pop_front();
    let mut merged: BTreeSet<&Element> = BTreeSet::new();
    let mut out = Vec::with_capacity(ours.len().max(theirs.len()));
    let mut take = |live_index: Option<usize>, applied_index: Option<usize>| {
        let live = live_index.and_then(|index| live.get(index));
        let applied = applied_index.and_then(|index| applied.get(index));
        out.extend(values(model, items, live, applied));
    };
    let (mut left, mut right) = (0, 0);
    while left < ours.len() || right < theirs.len() {
        let (our, their) = (ours.get(left), theirs.get(right));
        if let (Some((our, our_index)), Some((their, their_index))) = (our, their) {
            if our == their {
                merged.insert(our);
                take(Some(*our_index), Some(*their_index));
                (left, right) = (left + 1, right + 1);
                next_shared = shared.pop_front();
                continue;
            }
            if in_applied.contains_key(our) && next_shared.is_some_and(|next| next != our) {
                left += 1;
                continue;
            }
        }
        if let Some((our, index)) = our {
            if !in_applied.contains_key(our) {
                take(Some(*index), None);
                left += 1;
                continue;
            }
            if merged.contains(our) {
                left += 1;
            }
        }
        if let Some((their, index)) = their {
            merged.insert(their);
            take(in_live.get(their).copied(), Some(*index));
            right += 1;
            if next_shared == Some(their) {
                next_shared = shared.pop_front();
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::merge::types::custom;
    use serde_json::json;

    #[test]
    fn lists_keep_both_orders() {
        let schema = json!({"type": "object", "properties": {
            "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
            "map": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
                    "items": {"type": "object", "properties": {"name": {"type": "string"}, "v": {"type": "string"}, "e": {"type": "string"}}}}}});
        let model = custom(&schema, false, None);
        for (live, applied, merged) in [
            (json!(["a", "b"]), json!(["c", "b"]), json!(["a", "c", "b"])),
            (json!(["c", "b"]), json!(["b", "c"]), json!(["b", "c"])),
            (json!(["a"]), json!([]), json!(["a"])),
            (
                json!(["a", "b", "c"]),
                json!(["c", "x", "a"]),
                json!(["b", "c", "x", "a"]),
            ),
        ] {
            assert_eq!(
                combine(&model, &json!({"set": live}), &json!({"set": applied})),
                json!({"set": merged}),
                "{live} {applied}"
            );
        }
        let live = json!({"map": [{"name": "x", "v": "1"}, {"name": "y", "v": "2"}]});
        let applied = json!({"map": [{"name": "z", "v": "3"}, {"name": "x", "e": "e"}]});
        assert_eq!(
            combine(&model, &live, &applied),
            json!({"map": [{"name": "z", "v": "3"}, {"name": "x", "v": "1", "e": "e"}, {"name": "y", "v": "2"}]})
        );
    }
}

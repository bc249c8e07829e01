//! The differences between two values of a type.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::{ListKind, NodeId, Shape, TypeModel, is_vacant, item_element, member};
use crate::merge::set::{Element, Set, field};
use crate::merge::types::MapNode;

/// The fields that differ between an old and a new value.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    /// Only in the new value.
    pub added: Set,
    /// In both, but different.
    pub modified: Set,
    /// Only in the old value.
    pub removed: Set,
}

impl Comparison {
    /// Removes the fields in `ignored` and all fields below them.
    pub(crate) fn without(self, ignored: &Set) -> Self {
        if ignored.is_empty() {
            return self;
        }
        let kept = |set: Set| {
            if set.is_empty() {
                set
            } else {
                set.recursive_difference(ignored)
            }
        };
        Self {
            added: kept(self.added),
            modified: kept(self.modified),
            removed: kept(self.removed),
        }
    }

    fn put(&mut self, element: &Element, inner: Self, itself: Itself) {
        match itself {
            Itself::Same => {}
            Itself::Added => self.added.insert(element.clone()),
            Itself::Modified => self.modified.insert(element.clone()),
            Itself::Removed => self.removed.insert(element.clone()),
        }
        self.added.insert_below(element.clone(), inner.added);
        self.modified.insert_below(element.clone(), inner.modified);
        self.removed.insert_below(element.clone(), inner.removed);
    }
}

/// The difference of a value itself, apart from the values below it.
#[derive(Clone, Copy)]
enum Itself {
    Same,
    Added,
    Modified,
    Removed,
}

/// The differences between two values.
pub fn compare(model: &TypeModel, old: &Value, new: &Value) -> Comparison {
    let mut out = Comparison::default();
    if old != new {
        values(model, model.root, Some(old), Some(new), &mut out);
    }
    out
}

fn leaf(old: Option<&Value>, new: Option<&Value>) -> Itself {
    match (old, new) {
        (None, _) => Itself::Added,
        (_, None) => Itself::Removed,
        (Some(old), Some(new)) if old == new => Itself::Same,
        _ => Itself::Modified,
    }
}

/// Compares the values below, and returns the difference of the values themselves.
fn values(model: &TypeModel, id: NodeId, old: Option<&Value>, new: Option<&Value>, out: &mut Comparison) -> Itself {
    let shapes = [old, new].map(|value| value.map(|value| Shape::of(model, id, value)));
    let whole = match shapes {
        [Some(before), Some(after)] if !before.same(after) => {
            // If deduced types differ, all of the old value is removed and all of the new one added.
            below(model, before, old, None, out);
            below(model, after, None, new, out);
            return leaf(old, new);
        }
        [_, Some(shape)] | [Some(shape), None] => shape,
        [None, None] => return Itself::Same,
    };
    if whole.is_atomic() || (is_vacant(old) && is_vacant(new)) {
        return leaf(old, new);
    }
    below(model, whole, old, new, out);
    match (old, new) {
        (None, _) => Itself::Added,
        (_, None) => Itself::Removed,
        _ => Itself::Same,
    }
}

fn below(model: &TypeModel, shape: Shape<'_>, old: Option<&Value>, new: Option<&Value>, out: &mut Comparison) {
    match shape {
        Shape::Scalar(_) => {}
        Shape::List { items, kind } => {
            let [old, new] = [old, new].map(|value| value.and_then(Value::as_array).map_or(&[][..], Vec::as_slice));
            if *kind != ListKind::Atomic {
                lists(model, items, kind, old, new, out);
            }
        }
        Shape::Map(map) => {
            let [old, new] = [old, new].map(|value| value.and_then(Value::as_object));
            maps(model, map, old, new, out);
        }
    }
}

fn maps(
    model: &TypeModel,
    map: Option<&MapNode>,
    old: Option<&Map<String, Value>>,
    new: Option<&Map<String, Value>>,
    out: &mut Comparison,
) {
    let mut one = |name: &str, old: Option<&Value>, new: Option<&Value>| {
        // Most members are unchanged; comparing them first is cheaper than walking them.
        if old == new {
            return;
        }
        let mut inner = Comparison::default();
        let itself = values(model, member(map, name), old, new, &mut inner);
        let nothing = matches!(itself, Itself::Same) && inner == Comparison::default();
        if !nothing {
            out.put(&field(name), inner, itself);
        }
    };
    // Both are sorted, so the result is, too.
    let mut after = new.into_iter().flatten().peekable();
    for (name, before) in old.into_iter().flatten() {
        while let Some((added, value)) = after.next_if(|(each, _)| *each < name) {
            one(added, None, Some(value));
        }
        one(
            name,
            Some(before),
            after.next_if(|(each, _)| *each == name).map(|(_, value)| value),
        );
    }
    for (added, value) in after {
        one(added, None, Some(value));
    }
}

fn lists(model: &TypeModel, items: NodeId, kind: &ListKind, old: &[Value], new: &[Value], out: &mut Comparison) {
    let mut pairs: BTreeMap<Element, [Vec<&Value>; 2]> = BTreeMap::new();
    for (side, list) in [old, new].into_iter().enumerate() {
        for item in list {
            if let Ok(element) = item_element(kind, item)
                && let Some(found) = pairs.entry(element).or_default().get_mut(side)
            {
                found.push(item);
            }
        }
    }
    for (element, [before, after]) in pairs {
        if before == after {
            continue;
        }
        let mut inner = Comparison::default();
        let first = |side: &[&Value], other: &[&Value], inner: &mut Comparison, swapped: bool| {
            let (old, new) = (side.first().copied(), other.first().copied());
            let (old, new) = if swapped { (new, old) } else { (old, new) };
            values(model, items, old, new, inner)
        };
        let itself = match (before.len(), after.len()) {
            (0..=1, 0..=1) => first(&before, &after, &mut inner, false),
            (2.., 2..) => Itself::Modified,
            (2.., _) => {
                if !after.is_empty() {
                    first(&after, &[], &mut inner, true);
                }
                Itself::Removed
            }
            (_, _) => {
                if !before.is_empty() {
                    first(&before, &[], &mut inner, false);
                }
                Itself::Added
            }
        };
        out.put(&element, inner, itself);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn empty_values_are_leaves() {
        let model = TypeModel::deduced();
        let differences = compare(&model, &json!({}), &json!({"a": {}, "b": [], "c": {"d": null}}));
        assert_eq!(differences.added.paths(), [".a", ".b", ".c", ".c.d"]);
    }
}

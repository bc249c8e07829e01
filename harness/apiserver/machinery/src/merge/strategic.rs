//! Strategic merge patch: maps are merged, lists are replaced or, where the type says so, merged by a key.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::order::{self, Order};
use super::types::{Node, NodeId, Patch, TypeModel, UNTYPED};
use crate::go_fmt;

pub use super::error::MergeError;

const DIRECTIVE: &str = "$patch";
const RETAIN_KEYS: &str = "$retainKeys";
const DELETE_PREFIX: &str = "$deleteFromPrimitiveList/";
const ORDER_PREFIX: &str = "$setElementOrder/";

type Members = Map<String, Value>;

/// Applies a strategic merge patch to an object.
pub fn merge(model: &TypeModel, original: &Value, patch: &Value) -> Result<Value, MergeError> {
    let (Value::Object(original), Value::Object(patch)) = (original, patch) else {
        return Err(MergeError::bad("invalid JSON document"));
    };
    let merger = Merger { model };
    merger
        .maps(Some(model.root), original.clone(), patch.clone())
        .map(Value::Object)
}

struct Merger<'m> {
    model: &'m TypeModel,
}

/// A member's type and patch strategy.
struct Place {
    id: NodeId,
    patch: Patch,
}

impl Merger<'_> {
    fn place(&self, id: Option<NodeId>, name: &str) -> Place {
        let unknown = Place {
            id: UNTYPED,
            patch: Patch::default(),
        };
        match id.map(|id| self.model.node(id)) {
            Some(Node::Map(map)) => match (map.fields.get(name), map.others) {
                (Some(field), _) => Place {
                    id: field.node,
                    patch: field.patch,
                },
                (None, Some(others)) => Place { id: others, ..unknown },
                (None, None) => unknown,
            },
            _ => unknown,
        }
    }

    fn items(&self, id: NodeId) -> NodeId {
        match self.model.node(id) {
            Node::List(list) => list.items,
            Node::Untyped | Node::Scalar(_) | Node::Map(_) => UNTYPED,
        }
    }

    fn maps(&self, id: Option<NodeId>, mut original: Members, mut patch: Members) -> Result<Members, MergeError> {
        if let Some(directive) = patch.get(DIRECTIVE) {
            return match directive.as_str() {
                Some("replace") => {
                    patch.remove(DIRECTIVE);
                    Ok(patch)
                }
                Some("delete") => Ok(Members::new()),
                _ => Err(MergeError::Internal(format!(
                    "unknown patch type: {} in map: {}",
                    go_fmt::plain(directive),
                    go_fmt::plain(&Value::Object(patch.clone()))
                ))),
            };
        }
        retain_keys(&mut original, &mut patch)?;
        self.ordered_lists(id, &mut original, &mut patch)?;
        for (key, value) in patch {
            let deleted = key.strip_prefix(DELETE_PREFIX);
            if key.starts_with(DELETE_PREFIX.trim_end_matches('/')) && (deleted.is_none() || !value.is_array()) {
                return Err(MergeError::bad("invalid patch format of primitive list"));
            }
            let name = deleted.unwrap_or(&key);
            if value.is_null() {
                original.remove(name);
                continue;
            }
            let Some(present) = original.get_mut(name) else {
                if deleted.is_none() {
                    original.insert(key, without_directives(value));
                }
                continue;
            };
            let place = self.place(id, name);
            match (present, value) {
                (Value::Object(present), Value::Object(value)) if !place.patch.replace => {
                    *present = self.maps(Some(place.id), std::mem::take(present), value)?;
                }
                (Value::Array(present), Value::Array(value)) if deleted.is_some() => {
                    present.retain(|item| !value.contains(item));
                }
                (Value::Array(present), Value::Array(value)) if place.patch.merge => {
                    *present = self.lists(&place, std::mem::take(present), value)?;
                }
                (present, value) if deleted.is_none() => *present = without_directives(value),
                _ => {}
            }
        }
        Ok(original)
    }

    /// Merges the lists whose order the patch sets, and removes them from the patch.
    fn ordered_lists(&self, id: Option<NodeId>, original: &mut Members, patch: &mut Members) -> Result<(), MergeError> {
        let directives: Vec<String> = patch
            .keys()
            .filter(|key| key.starts_with(ORDER_PREFIX.trim_end_matches('/')))
            .cloned()
            .collect();
        for directive in directives {
            let order = patch.remove(&directive).unwrap_or_default();
            let (Some(name), Value::Array(order)) = (directive.strip_prefix(ORDER_PREFIX), order) else {
                return Err(MergeError::bad("invalid patch format of setElementOrder list"));
            };
            let list = |value: Option<Value>| match value {
                None => Ok(None),
                Some(Value::Array(items)) => Ok(Some(items)),
                Some(other) => Err(MergeError::type_mismatch("[]interface {}", &other)),
            };
            let place = self.place(id, name);
            let wanted = list(patch.remove(name).filter(|value| !value.is_null()))?;
            let present = list(original.get(name).cloned())?;
            let by = Order { key: place.patch.key };
            order::check(by, wanted.as_deref().unwrap_or_default(), &order)?;
            let server_order = present.clone().unwrap_or_default();
            let merged = match (present, wanted) {
                (None, None) => continue,
                (Some(present), None) => present,
                (None, Some(wanted)) => match without_directives(Value::Array(wanted)) {
                    Value::Array(wanted) => wanted,
                    _ => Vec::new(),
                },
                (Some(present), Some(wanted)) if place.patch.merge => self.lists(&place, present, wanted)?,
                (Some(_), Some(wanted)) => wanted,
            };
            let ordered = order::arrange(by, merged, &order, &server_order)?;
            original.insert(name.to_owned(), Value::Array(ordered));
        }
        Ok(())
    }

    fn lists(&self, place: &Place, original: Vec<Value>, patch: Vec<Value>) -> Result<Vec<Value>, MergeError> {
        let Some(first) = original.first().or(patch.first()) else {
            return Ok(original);
        };
        let of_maps = first.is_object();
        if first.is_array() {
            return Err(MergeError::Unprocessable("lists of lists are not supported".to_owned()));
        }
        if let Some(other) = original
            .iter()
            .chain(&patch)
            .find(|item| go_fmt::type_name(item) != go_fmt::type_name(first))
        {
            return Err(MergeError::Internal(format!(
                "list element types are not identical: {}, {}",
                go_fmt::type_name(first),
                go_fmt::type_name(other)
            )));
        }
        let by = Order { key: place.patch.key };
        if !of_maps {
            let mut merged = original.clone();
            for item in &patch {
                if !merged.contains(item) {
                    merged.push(item.clone());
                }
            }
            return order::arrange(by, merged, &patch, &original);
        }
        if place.patch.key.is_empty() {
            return Err(MergeError::Internal(
                "cannot merge lists without merge key for ".to_owned(),
            ));
        }
        let (original, patch) = self.special_items(place, original, patch)?;
        let server_order = original.clone();
        let mut merged = original;
        let items = self.items(place.id);
        for item in &patch {
            let known_by = order::key_of(item, place.patch.key)?;
            let found = merged
                .iter_mut()
                .find(|present| present.get(place.patch.key) == Some(known_by));
            match (found, item) {
                (Some(Value::Object(present)), Value::Object(item)) => {
                    *present = self.maps(Some(items), std::mem::take(present), item.clone())?;
                }
                _ => merged.push(without_directives(item.clone())),
            }
        }
        order::arrange(by, merged, &patch, &server_order)
    }

    /// Carries out `$patch` in items of a list.
    #[expect(
        clippy::unused_self,
        reason = "a step of the merge of two lists, called like the other steps"
    )]
    fn special_items(
        &self,
        place: &Place,
        mut original: Vec<Value>,
        patch: Vec<Value>,
    ) -> Result<(Vec<Value>, Vec<Value>), MergeError> {
        let mut rest = Vec::with_capacity(patch.len());
        let mut replace = false;
        for item in patch {
            match item.get(DIRECTIVE) {
                None => rest.push(item),
                Some(Value::String(directive)) if directive == "delete" => {
                    let known_by = order::key_of(&item, place.patch.key)?;
                    original.retain(|present| present.get(place.patch.key) != Some(known_by));
                }
                Some(Value::String(directive)) if directive == "replace" => replace = true,
                Some(Value::String(directive)) if directive == "merge" => {
                    return Err(MergeError::Internal(
                        "merging lists cannot yet be specified in the patch".to_owned(),
                    ));
                }
                Some(directive) => {
                    return Err(MergeError::Internal(format!(
                        "unknown patch type: {} in map: {}",
                        go_fmt::plain(directive),
                        go_fmt::plain(&item)
                    )));
                }
            }
        }
        Ok(if replace { (rest, Vec::new()) } else { (original, rest) })
    }
}

/// Removes the members that `$retainKeys` does not name. A patch may set only members that it retains.
fn retain_keys(original: &mut Members, patch: &mut Members) -> Result<(), MergeError> {
    let Some(retained) = patch.remove(RETAIN_KEYS) else {
        return Ok(());
    };
    let invalid = || MergeError::bad("invalid patch format of retainKeys");
    let Value::Array(retained) = retained else {
        return Err(invalid());
    };
    let retained: BTreeSet<&str> = retained.iter().filter_map(Value::as_str).collect();
    let stray = patch.iter().any(|(key, value)| {
        let directive = key.starts_with(DELETE_PREFIX) || key.starts_with(ORDER_PREFIX);
        !value.is_null() && !directive && !retained.contains(key.as_str())
    });
    if stray {
        return Err(invalid());
    }
    original.retain(|key, _| retained.contains(key.as_str()));
    Ok(())
}

/// Returns a value of a patch in the form in which it is set if there was none: without directives and nulls.
fn without_directives(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let kept = members
                .into_iter()
                .filter(|(key, value)| !value.is_null() && !is_directive(key));
            Value::Object(kept.map(|(key, value)| (key, without_directives(value))).collect())
        }
        Value::Array(items) => {
            let kept = items.into_iter().filter(|item| item.get(DIRECTIVE).is_none());
            Value::Array(kept.map(without_directives).collect())
        }
        scalar @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) => scalar,
    }
}

fn is_directive(key: &str) -> bool {
    key == DIRECTIVE || key == RETAIN_KEYS || key.starts_with(DELETE_PREFIX) || key.starts_with(ORDER_PREFIX)
}

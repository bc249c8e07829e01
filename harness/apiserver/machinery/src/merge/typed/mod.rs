//! The operations of structured merge on a value and its type: [`check`] against the type, the set of its fields
//! ([`fields_of`]), [`compare`] for two values, [`combine`] for a live and an applied value, [`remove`] for fields.
//!
//! Values come from parsers that bound their depth, so recursion is bounded as well.

mod check;
mod combine;
mod compare;
mod fields;
mod remove;

use serde_json::{Map, Value};

use super::set::Element;
use super::types::{ListKind, MapNode, Node, NodeId, Scalar, TypeModel, UNTYPED};

pub use check::{TypeErrors, check};
pub use combine::combine;
pub use compare::{Comparison, compare};
pub use fields::{fields_of, with_named_fields};
pub use remove::remove;

/// The shape of a value: given by its type or, without a type, by the value.
#[derive(Clone, Copy)]
enum Shape<'m> {
    Scalar(Scalar),
    List {
        items: NodeId,
        kind: &'m ListKind,
    },
    /// A map with its type, or a map without a type.
    Map(Option<&'m MapNode>),
}

impl<'m> Shape<'m> {
    fn of(model: &'m TypeModel, id: NodeId, value: &Value) -> Self {
        match (model.node(id), value) {
            (Node::Scalar(scalar), _) => Self::Scalar(*scalar),
            (Node::List(list), _) => Self::List {
                items: list.items,
                kind: &list.kind,
            },
            (Node::Map(map), _) => Self::Map(Some(map)),
            (Node::Untyped, Value::Array(_)) => Self::List {
                items: UNTYPED,
                kind: &ListKind::Atomic,
            },
            (Node::Untyped, Value::Object(_)) => Self::Map(None),
            (Node::Untyped, _) => Self::Scalar(Scalar::Any),
        }
    }

    fn is_atomic(self) -> bool {
        match self {
            Self::Scalar(_) => true,
            Self::List { kind, .. } => *kind == ListKind::Atomic,
            Self::Map(map) => map.is_some_and(|map| map.atomic),
        }
    }

    fn same(self, other: Self) -> bool {
        matches!(
            (self, other),
            (Self::Scalar(_), Self::Scalar(_)) | (Self::List { .. }, Self::List { .. }) | (Self::Map(_), Self::Map(_))
        )
    }
}

/// Returns the type of a member of a map; members of untyped maps are untyped.
fn member(map: Option<&MapNode>, name: &str) -> NodeId {
    map.map_or(UNTYPED, |map| map.member(name).unwrap_or(UNTYPED))
}

/// Returns `true` if the name is a field of the struct, not merely a key of a map.
fn is_field(map: Option<&MapNode>, name: &str) -> bool {
    map.is_some_and(|map| map.fields.contains_key(name))
}

/// Returns `true` if the value is an empty list or map, or neither a list nor a map.
fn is_vacant(value: Option<&Value>) -> bool {
    match value {
        None | Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) => true,
        Some(Value::Array(items)) => items.is_empty(),
        Some(Value::Object(members)) => members.is_empty(),
    }
}

/// Reason for which an item of a list has no identity.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
enum ItemError {
    #[error("associative list without keys has an element that's an explicit null")]
    NullInSet,
    #[error("associative list without keys has an element that's a map type")]
    MapInSet,
    #[error("not supported: associative list with lists as elements")]
    ListInSet,
    #[error("associative list with keys may not have a null element")]
    NullInMap,
    #[error("associative list with keys may not have non-map elements")]
    NotAMap,
    #[error(
        "associative list with keys has an element that omits all key fields [{0}] (and doesn't have default values for any key fields)"
    )]
    NoKeys(String),
}

/// Returns the element that identifies an item of a list that is merged item by item.
fn item_element(kind: &ListKind, item: &Value) -> Result<Element, ItemError> {
    let ListKind::Map(keys) = kind else {
        return match item {
            Value::Null => Err(ItemError::NullInSet),
            Value::Object(_) => Err(ItemError::MapInSet),
            Value::Array(_) => Err(ItemError::ListInSet),
            Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(format!("v:{item}").into()),
        };
    };
    let members = match item {
        Value::Object(members) => members,
        Value::Null => return Err(ItemError::NullInMap),
        _ => return Err(ItemError::NotAMap),
    };
    let mut element = Map::new();
    for key in keys {
        if let Some(value) = members.get(&*key.name).or(key.default.as_ref()) {
            element.insert(key.name.to_string(), value.clone());
        }
    }
    if element.is_empty() {
        let names: Vec<String> = keys.iter().map(|key| format!("{:?}", key.name)).collect();
        return Err(ItemError::NoKeys(names.join(" ")));
    }
    Ok(format!("k:{}", Value::Object(element)).into())
}

//! What the API server knows about the types of a kind: which fields there are, which lists are sets or maps, what is
//! merged and what is replaced as a whole.
//!
//! A [`TypeModel`] is an arena of nodes. `builtin` makes it from the schemas of `k8s-openapi` and the `tables` of what
//! those lack, once per kind and on first use; `custom` makes it from the schema of a `CustomResourceDefinition`.

mod builtin;
mod custom;
pub(crate) mod registry;
pub(crate) mod tables;

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use serde_json::{Map, Value};

use super::set::Set;
use crate::builtin::codec;

pub use builtin::builtin;
pub(crate) use builtin::{definitions, reference};
pub use custom::custom;

/// Index of a node in the arena of its model.
pub(crate) type NodeId = usize;

/// The node of everything that has no schema; it is in every model.
pub(crate) const UNTYPED: NodeId = 0;

/// The types of a kind.
#[derive(Debug)]
pub struct TypeModel {
    pub(super) nodes: Vec<Node>,
    pub(super) root: NodeId,
    pub(super) origin: Origin,
    zero: OnceLock<Value>,
}

/// Where a model comes from, and what differs by that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// A built-in kind: objects are as if they had been Go structs.
    Builtin {
        /// Group of the kind.
        group: &'static str,
        /// Its version.
        version: &'static str,
        /// The kind.
        kind: &'static str,
    },
    /// A custom resource, with or without a status subresource.
    Custom {
        /// Whether the version has the subresource `status`.
        status: bool,
    },
}

/// A type.
#[derive(Debug)]
pub(super) enum Node {
    /// No schema: scalars, lists (atomic) and maps (of the same) as they come.
    Untyped,
    /// A value without members.
    Scalar(Scalar),
    /// A list.
    List(ListNode),
    /// A map, or a struct, or both.
    Map(MapNode),
}

/// The types of scalars. Go's decoder needs more than the schema tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scalar {
    /// Any scalar: int-or-string and what says no type.
    Any,
    /// `IntOrString` of the built-in kinds.
    IntOrString,
    /// `Quantity` of the built-in kinds.
    Quantity,
    /// A string.
    String,
    /// Base64 of bytes.
    Bytes,
    /// RFC 3339 with seconds.
    Time,
    /// RFC 3339 with microseconds.
    MicroTime,
    /// A boolean.
    Boolean,
    /// A whole number of 32 bits.
    Int32,
    /// A whole number of 64 bits, or any number in a schema of a custom resource.
    Int64,
    /// Any number.
    Number,
}

/// A list.
#[derive(Debug)]
pub(super) struct ListNode {
    pub(super) items: NodeId,
    pub(super) kind: ListKind,
}

/// How a list is merged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ListKind {
    /// As a whole.
    Atomic,
    /// Item by item; items are scalars and occur once.
    Set,
    /// Item by item; items are known by the values of these keys.
    Map(Vec<Key>),
}

/// A key of the items of a list, and its value where an item leaves it out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) name: Box<str>,
    pub(super) default: Option<Value>,
}

/// A map or struct.
#[derive(Debug, Default)]
pub(super) struct MapNode {
    /// The definition it comes from: `io.k8s.api.core.v1.PodSpec`; empty for maps and schemas of custom resources.
    pub(super) name: Box<str>,
    pub(super) fields: BTreeMap<Box<str>, Field>,
    /// The type of members that are not among the fields; `None` if there may be none.
    pub(super) others: Option<NodeId>,
    /// Whether it is merged as a whole.
    pub(super) atomic: bool,
    /// `x-kubernetes-embedded-resource` or the root: has `apiVersion`, `kind` and `metadata`.
    pub(super) resource: bool,
}

/// A field of a struct.
#[derive(Debug)]
pub(super) struct Field {
    pub(super) node: NodeId,
    pub(super) patch: Patch,
}

/// `patchStrategy` and `patchMergeKey` of a field.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Patch {
    /// `merge`: items of the list are merged, not replaced.
    pub(crate) merge: bool,
    /// `replace`: a patch of the struct is all of the new one.
    pub(crate) replace: bool,
    /// `retainKeys`: a patch may say which members stay.
    pub(crate) retain_keys: bool,
    /// What tells the items apart; empty for lists of scalars.
    pub(crate) key: &'static str,
}

impl TypeModel {
    /// A model without any schema: types are deduced from values.
    pub fn deduced() -> Arc<Self> {
        Arc::new(Self {
            nodes: vec![Node::Untyped],
            root: UNTYPED,
            origin: Origin::Custom { status: false },
            zero: OnceLock::new(),
        })
    }

    pub(super) fn node(&self, id: NodeId) -> &Node {
        self.nodes.get(id).unwrap_or(&Node::Untyped)
    }

    /// Whether it is a built-in kind.
    pub fn is_builtin(&self) -> bool {
        matches!(self.origin, Origin::Builtin { .. })
    }

    /// The object as it is before anything was set: for built-in kinds with the structs that Go always writes, so that
    /// whoever creates an object does not own them.
    pub(super) fn skeleton(&self) -> &Value {
        self.zero.get_or_init(|| match self.origin {
            Origin::Custom { .. } => Value::Object(Map::new()),
            Origin::Builtin { group, version, kind } => codec::empty(group, version, kind).unwrap_or_default(),
        })
    }

    /// The fields that a write to this subresource (empty: to the object itself) cannot change, and so never owns.
    pub(super) fn ignored(&self, subresource: &str) -> Set {
        let paths: &[&[&str]] = match (self.origin, subresource) {
            (Origin::Custom { status: true }, "") => &[&["status"]],
            (Origin::Custom { .. }, "status") => return self.all_but("status"),
            (Origin::Builtin { kind, .. }, "") if tables::has_status_subresource(kind) => &[&["status"]],
            (Origin::Builtin { group, kind, .. }, "status") => tables::ignored_by_status(group, kind),
            (Origin::Custom { .. } | Origin::Builtin { .. }, _) => &[],
        };
        let mut set = Set::default();
        for path in paths {
            set.insert_path(path);
        }
        set
    }
}

impl TypeModel {
    /// The fields of an object but one.
    fn all_but(&self, kept: &str) -> Set {
        let mut set = Set::default();
        if let Node::Map(root) = self.node(self.root) {
            for name in root.fields.keys().filter(|name| ***name != *kept) {
                set.insert_path(&[name]);
            }
        }
        set.insert_path(&["metadata"]);
        set.insert_path(&["spec"]);
        set
    }
}

impl MapNode {
    /// The type of a member; `None` if there can be no such member.
    pub(super) fn member(&self, name: &str) -> Option<NodeId> {
        self.fields.get(name).map(|field| field.node).or(self.others)
    }
}

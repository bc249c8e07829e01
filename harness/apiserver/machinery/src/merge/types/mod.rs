//! The types of a kind as the API server uses them to merge: the fields, which lists are sets or maps, which values are
//! merged and which are replaced as a whole.
//!
//! A [`TypeModel`] is an arena of nodes. [`custom`] makes it from the schema of a `CustomResourceDefinition`; for
//! built-in kinds, call [`TypeModel::builtin`].

mod custom;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::set::Set;

pub use custom::custom;

/// Index of a node in the arena of its model.
pub type NodeId = usize;

/// The node of everything that has no schema; it is in every model.
pub const UNTYPED: NodeId = 0;

/// The types of a kind.
#[derive(Debug)]
pub struct TypeModel {
    nodes: Vec<Node>,
    /// The type of the whole object.
    pub root: NodeId,
    origin: Origin,
    skeleton: Value,
}

/// The origin of a model and the settings that depend on it.
#[derive(Debug, Clone, Copy)]
enum Origin {
    /// A built-in kind: objects behave as Go structs.
    Builtin {
        ignored: &'static [Path],
        ignored_by_status: &'static [Path],
    },
    /// A custom resource, with or without a status subresource.
    Custom { status: bool },
}

/// The names of the fields on the path to a field.
pub type Path = &'static [&'static str];

/// The parts of a built-in kind's model that its types do not contain.
#[derive(Debug)]
pub struct Builtin {
    /// The object before any field is set: the structs that Go always writes.
    pub skeleton: Value,
    /// Fields that a write of the object itself cannot change.
    pub ignored: &'static [Path],
    /// Fields that a write of the status cannot change.
    pub ignored_by_status: &'static [Path],
}

/// A type.
#[derive(Debug)]
pub enum Node {
    /// No schema: scalars, atomic lists, and maps of untyped values.
    Untyped,
    /// A value without members.
    Scalar(Scalar),
    /// A list.
    List(ListNode),
    /// A map, or a struct, or both.
    Map(MapNode),
}

/// The types of scalars. Go's decoder distinguishes more types than the schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scalar {
    /// Any scalar: int-or-string, and values without a type.
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
pub struct ListNode {
    /// The type of its items.
    pub items: NodeId,
    /// The way in which the list is merged.
    pub kind: ListKind,
}

/// The way in which a list is merged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListKind {
    /// Merged as a whole.
    Atomic,
    /// Item by item; items are scalars and occur once.
    Set,
    /// Item by item; the values of these keys identify an item.
    Map(Vec<Key>),
}

/// A key of the items of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    /// The field of an item.
    pub name: Box<str>,
    /// Its value if an item leaves it out.
    pub default: Option<Value>,
}

/// A map or struct.
#[derive(Debug, Default)]
pub struct MapNode {
    /// The name of its definition: `io.k8s.api.core.v1.PodSpec`; empty for maps and for schemas of custom resources.
    pub name: Box<str>,
    /// The fields of a struct by their names in JSON.
    pub fields: BTreeMap<Box<str>, Field>,
    /// The type of members that are not among the fields; `None` if there may be none.
    pub others: Option<NodeId>,
    /// `true` if the map is merged as a whole.
    pub atomic: bool,
    /// `x-kubernetes-embedded-resource` or the root: has `apiVersion`, `kind` and `metadata`.
    pub resource: bool,
}

/// A field of a struct.
#[derive(Debug)]
pub struct Field {
    /// The type of the field.
    pub node: NodeId,
    /// The treatment of the field in strategic patches.
    pub patch: Patch,
}

/// `patchStrategy` and `patchMergeKey` of a field.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Patch {
    /// `merge`: items of the list are merged, not replaced.
    pub merge: bool,
    /// `replace`: a patch of the struct replaces it as a whole.
    pub replace: bool,
    /// `retainKeys`: a patch may name the members that stay.
    pub retain_keys: bool,
    /// The field that identifies an item; empty for lists of scalars.
    pub key: &'static str,
}

impl TypeModel {
    /// A model without any schema: types are deduced from values.
    pub fn deduced() -> Arc<Self> {
        Arc::new(Self::of_custom(vec![Node::Untyped], UNTYPED, false))
    }

    /// The model of a built-in kind; the first of its nodes is [`UNTYPED`].
    pub fn builtin(nodes: Vec<Node>, root: NodeId, kind: Builtin) -> Self {
        let origin = Origin::Builtin {
            ignored: kind.ignored,
            ignored_by_status: kind.ignored_by_status,
        };
        let skeleton = kind.skeleton;
        Self {
            nodes,
            root,
            origin,
            skeleton,
        }
    }

    fn of_custom(nodes: Vec<Node>, root: NodeId, status: bool) -> Self {
        Self {
            nodes,
            root,
            origin: Origin::Custom { status },
            skeleton: Value::Object(Map::new()),
        }
    }

    /// The type with an index.
    pub fn node(&self, id: NodeId) -> &Node {
        self.nodes.get(id).unwrap_or(&Node::Untyped)
    }

    /// Returns `true` for a built-in kind.
    pub fn is_builtin(&self) -> bool {
        matches!(self.origin, Origin::Builtin { .. })
    }

    /// Returns the object before any field is set. For built-in kinds, it contains the structs that Go always writes,
    /// so that the creator of an object does not own them.
    pub fn skeleton(&self) -> &Value {
        &self.skeleton
    }

    /// Returns the fields that a write to this subresource (empty: to the object itself) cannot change and therefore
    /// never owns.
    pub fn ignored(&self, subresource: &str) -> Set {
        let paths: &[Path] = match (self.origin, subresource) {
            (Origin::Custom { status: true }, "") => &[&["status"]],
            (Origin::Custom { .. }, "status") => return self.all_but("status"),
            (Origin::Builtin { ignored, .. }, "") => ignored,
            (Origin::Builtin { ignored_by_status, .. }, "status") => ignored_by_status,
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
    /// Returns all fields of an object except one.
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

impl Field {
    /// Returns a field without patch strategy.
    pub fn plain(node: NodeId) -> Self {
        let patch = Patch::default();
        Self { node, patch }
    }
}

impl MapNode {
    /// Returns the type of a member, or `None` if the map cannot have it.
    pub fn member(&self, name: &str) -> Option<NodeId> {
        self.fields.get(name).map(|field| field.node).or(self.others)
    }
}

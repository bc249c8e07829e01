//! Models of custom resources, from the `openAPIV3Schema` of their version.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::{Field, Key, ListKind, ListNode, MapNode, Node, NodeId, Scalar, TypeModel, UNTYPED};

/// Maximum depth of a schema; types below are deduced.
const MAX_DEPTH: usize = 200;

/// Returns the model of a version of a custom resource. `status` says whether it has that subresource; the types of the
/// metadata come from `with_metadata`.
pub fn custom(open_api_v3: &Value, status: bool, with_metadata: Option<&TypeModel>) -> Arc<TypeModel> {
    let mut builder = Builder {
        nodes: vec![Node::Untyped],
        with_metadata,
        metadata: None,
    };
    let mut root = builder.schema(open_api_v3, 0);
    builder.metadata = Some(builder.graft_metadata());
    if root == UNTYPED {
        root = builder.add(Node::Map(MapNode {
            others: Some(UNTYPED),
            ..MapNode::default()
        }));
    }
    builder.make_resource(root);
    Arc::new(TypeModel::of_custom(builder.nodes, root, status))
}

struct Builder<'a> {
    with_metadata: Option<&'a TypeModel>,
    nodes: Vec<Node>,
    metadata: Option<NodeId>,
}

fn flag(schema: &Value, name: &str) -> bool {
    schema.get(name).and_then(Value::as_bool).unwrap_or(false)
}

impl Builder<'_> {
    fn add(&mut self, node: Node) -> NodeId {
        self.nodes.push(node);
        self.nodes.len() - 1
    }

    fn schema(&mut self, schema: &Value, depth: usize) -> NodeId {
        if depth > MAX_DEPTH {
            return UNTYPED;
        }
        if flag(schema, "x-kubernetes-int-or-string") {
            return self.add(Node::Scalar(Scalar::Any));
        }
        let scalar = match schema.get("type").and_then(Value::as_str) {
            Some("string") => Scalar::String,
            Some("boolean") => Scalar::Boolean,
            Some("integer") => Scalar::Int64,
            Some("number") => Scalar::Number,
            Some("array") => return self.list(schema, depth),
            Some("object") => return self.map(schema, depth),
            _ => return UNTYPED,
        };
        self.add(Node::Scalar(scalar))
    }

    fn list(&mut self, schema: &Value, depth: usize) -> NodeId {
        let items_schema = schema.get("items");
        let items = items_schema.map_or(UNTYPED, |items| self.schema(items, depth + 1));
        let kind = match schema.get("x-kubernetes-list-type").and_then(Value::as_str) {
            Some("set") => ListKind::Set,
            Some("map") => ListKind::Map(keys(schema, items_schema)),
            _ => ListKind::Atomic,
        };
        self.add(Node::List(ListNode { items, kind }))
    }

    fn map(&mut self, schema: &Value, depth: usize) -> NodeId {
        let empty = Map::new();
        let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&empty);
        let fields: BTreeMap<Box<str>, Field> = properties
            .iter()
            .map(|(name, inner)| (name.as_str().into(), Field::plain(self.schema(inner, depth + 1))))
            .collect();
        let preserve = flag(schema, "x-kubernetes-preserve-unknown-fields");
        let others = match schema.get("additionalProperties") {
            Some(Value::Bool(allowed)) => allowed.then_some(UNTYPED),
            Some(inner) => Some(self.schema(inner, depth + 1)),
            None => (preserve || fields.is_empty()).then_some(UNTYPED),
        };
        let id = self.add(Node::Map(MapNode {
            fields,
            others,
            atomic: schema.get("x-kubernetes-map-type").and_then(Value::as_str) == Some("atomic"),
            ..MapNode::default()
        }));
        if flag(schema, "x-kubernetes-embedded-resource") {
            if self.metadata.is_none() {
                self.metadata = Some(self.graft_metadata());
            }
            self.make_resource(id);
        }
        id
    }

    /// Gives a struct `apiVersion`, `kind` and `metadata`.
    fn make_resource(&mut self, id: NodeId) {
        let string = self.add(Node::Scalar(Scalar::String));
        let metadata = self.metadata.unwrap_or(UNTYPED);
        if let Some(Node::Map(map)) = self.nodes.get_mut(id) {
            map.resource = true;
            for (name, node) in [("apiVersion", string), ("kind", string), ("metadata", metadata)] {
                map.fields.insert(name.into(), Field::plain(node));
            }
        }
    }

    /// Copies the metadata of the built-in kinds.
    fn graft_metadata(&mut self) -> NodeId {
        if let Some(id) = self.metadata {
            return id;
        }
        let Some(model) = self.with_metadata else {
            return UNTYPED;
        };
        let Node::Map(root) = model.node(model.root) else {
            return UNTYPED;
        };
        root.fields
            .get("metadata")
            .map_or(UNTYPED, |field| self.graft(model, field.node))
    }

    /// Copies a node and what is below it; the metadata has no cycles.
    fn graft(&mut self, model: &TypeModel, id: NodeId) -> NodeId {
        let copy = match model.node(id) {
            Node::Untyped => return UNTYPED,
            Node::Scalar(scalar) => Node::Scalar(*scalar),
            Node::List(list) => Node::List(ListNode {
                items: self.graft(model, list.items),
                kind: list.kind.clone(),
            }),
            Node::Map(map) => {
                let fields = map
                    .fields
                    .iter()
                    .map(|(name, field)| {
                        let node = self.graft(model, field.node);
                        (name.clone(), Field { node, ..*field })
                    })
                    .collect();
                Node::Map(MapNode {
                    name: map.name.clone(),
                    fields,
                    others: map.others.map(|others| self.graft(model, others)),
                    atomic: map.atomic,
                    resource: map.resource,
                })
            }
        };
        self.add(copy)
    }
}

/// Returns the keys of a list of type map, with the defaults from the schema of the items.
fn keys(schema: &Value, items: Option<&Value>) -> Vec<Key> {
    let names = schema.get("x-kubernetes-list-map-keys").and_then(Value::as_array);
    names
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .map(|name| Key {
            name: name.into(),
            default: items
                .and_then(|items| items.get("properties")?.get(name)?.get("default"))
                .cloned(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn with_metadata() -> Arc<TypeModel> {
        let name = json!({"type": "object", "properties": {"name": {"type": "string"}}});
        let schema = json!({"type": "object", "properties": {"metadata": name}});
        let mut builder = Builder {
            nodes: vec![Node::Untyped],
            with_metadata: None,
            metadata: None,
        };
        let root = builder.schema(&schema, 0);
        Arc::new(TypeModel::of_custom(builder.nodes, root, false))
    }

    #[test]
    fn a_schema_becomes_a_model() {
        let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
            "list": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name", "port"],
                     "items": {"type": "object", "properties": {"name": {"type": "string"}, "port": {"type": "integer", "default": 80}}}},
            "free": {"type": "object"},
        }}}});
        let model = custom(&schema, true, Some(&with_metadata()));
        let Node::Map(root) = model.node(model.root) else {
            panic!("no struct");
        };
        assert!(root.member("metadata").is_some() && root.member("nope").is_none());
        let Some(Node::Map(spec)) = root.member("spec").map(|id| model.node(id)) else {
            panic!("no spec");
        };
        let Some(Node::List(list)) = spec.member("list").map(|id| model.node(id)) else {
            panic!("no list");
        };
        assert!(matches!(&list.kind, ListKind::Map(keys) if keys.len() == 2 && keys[1].default == Some(json!(80))));
        assert!(matches!(spec.member("free").map(|id| model.node(id)), Some(Node::Map(free)) if free.others.is_some()));
    }

    #[test]
    fn a_schema_that_preserves_everything_has_metadata_still() {
        let model = custom(
            &json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}),
            false,
            Some(&with_metadata()),
        );
        let Node::Map(root) = model.node(model.root) else {
            panic!("no struct");
        };
        assert_eq!(root.member("spec"), Some(UNTYPED));
        assert_ne!(root.member("metadata"), Some(UNTYPED));
    }
}

//! Pruning: removes fields that the schema does not know, and names them for warnings.

use serde_json::{Map, Value};

use super::node::{Additional, Node};
use super::path::Path;

/// The members of every Kubernetes object that a schema need not declare.
const META_FIELDS: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// The members of `metadata`; all others are dropped from embedded resources.
pub const OBJECT_META_FIELDS: [&str; 15] = [
    "name",
    "generateName",
    "namespace",
    "selfLink",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "labels",
    "annotations",
    "ownerReferences",
    "finalizers",
    "managedFields",
];

/// Removes fields that `node` does not know and returns the removed paths, sorted; those in embedded metadata come
/// last.
pub fn prune(node: &Node, object: &mut Value) -> Vec<String> {
    let mut removed = Vec::new();
    if let Value::Object(map) = object {
        prune_object(node, true, map, &Path::root(""), &mut removed);
    }
    removed.sort_unstable();
    if node.below.embedded {
        let mut inside = Vec::new();
        prune_embedded_metadata(node, object, &Path::root(""), &mut inside);
        inside.sort_unstable();
        removed.append(&mut inside);
    }
    removed
}

/// Removes fields that `node` does not know from a value that is not a whole object.
pub(super) fn prune_inside(node: &Node, value: &mut Value) {
    prune_value(Some(node), value, &Path::root(""), &mut Vec::new());
}

fn prune_value(node: Option<&Node>, value: &mut Value, path: &Path<'_>, removed: &mut Vec<String>) {
    match (value, node) {
        (Value::Object(map), None) => remove_all(map, path, removed),
        (Value::Object(map), Some(node)) => prune_object(node, node.embedded, map, path, removed),
        (Value::Array(items), node) => {
            let below = node.and_then(|node| node.items.as_deref());
            let keep = node.is_some_and(|node| node.preserve) && below.is_none();
            if !keep {
                for (index, item) in items.iter_mut().enumerate() {
                    prune_value(below, item, &path.index(index), removed);
                }
            }
        }
        (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_), _) => {}
    }
}

fn remove_all(map: &mut Map<String, Value>, path: &Path<'_>, removed: &mut Vec<String>) {
    removed.extend(map.keys().map(|key| path.field(key).dotted()));
    map.clear();
}

fn prune_object(
    node: &Node,
    is_resource: bool,
    map: &mut Map<String, Value>,
    path: &Path<'_>,
    removed: &mut Vec<String>,
) {
    map.retain(|key, value| {
        if is_resource && META_FIELDS.contains(&key.as_str()) {
            return true;
        }
        let path = path.field(key);
        if let Some(property) = node.properties.get(key) {
            prune_value(Some(property), value, &path, removed);
            return true;
        }
        match &node.additional {
            Some(Additional::Schema(schema)) => prune_value(Some(schema), value, &path, removed),
            // `additionalProperties: true` keeps the keys and nothing below them.
            Some(Additional::Any(_)) if !node.preserve => prune_value(None, value, &path, removed),
            Some(Additional::Any(_)) => {}
            None if node.preserve => {}
            None => {
                removed.push(path.dotted());
                return false;
            }
        }
        true
    });
}

fn prune_embedded_metadata(node: &Node, value: &mut Value, path: &Path<'_>, removed: &mut Vec<String>) {
    if !node.below.embedded {
        return;
    }
    match value {
        Value::Object(map) => {
            if node.embedded
                && let Some(Value::Object(metadata)) = map.get_mut("metadata")
            {
                let path = path.field("metadata");
                metadata.retain(|key, _| {
                    let known = OBJECT_META_FIELDS.contains(&key.as_str());
                    if !known {
                        removed.push(path.field(key).dotted());
                    }
                    known
                });
            }
            for (key, value) in map.iter_mut() {
                if let Some(below) = node.member(key) {
                    prune_embedded_metadata(below, value, &path.field(key), removed);
                }
            }
        }
        Value::Array(items) => {
            if let Some(below) = node.items.as_deref() {
                for (index, item) in items.iter_mut().enumerate() {
                    prune_embedded_metadata(below, item, &path.index(index), removed);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::super::node::Node;
    use super::prune;
    use serde_json::json;

    #[test]
    fn unknown_fields_go_and_are_named() {
        let node = Node::build(
            &json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
                "known": {"type": "object", "properties": {"a": {"type": "string"}}},
                "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true,
                         "properties": {"typed": {"type": "object", "properties": {"x": {"type": "integer"}}}}},
                "list": {"type": "array", "items": {"type": "object", "properties": {"n": {"type": "string"}}}},
                "map": {"type": "object", "additionalProperties": {"type": "object", "properties": {"v": {"type": "integer"}}}},
                "any": {"x-kubernetes-preserve-unknown-fields": true},
                "typed": {"type": "object", "x-kubernetes-embedded-resource": true,
                          "properties": {"spec": {"type": "object", "properties": {"a": {"type": "string"}}}}}
            }}}}),
        );
        let mut object = json!({"apiVersion": "v1", "kind": "W", "metadata": {"name": "a"}, "extraroot": {"x": 1}, "spec": {
            "known": {"a": "1", "b": 2}, "unknown": 1, "free": {"x": {"y": 1}, "typed": {"x": 1, "pruned": 2}},
            "list": [{"n": "1", "z": 2}], "map": {"k": {"v": 1, "w": 2}}, "any": [1, {"a": "b"}],
            "typed": {"apiVersion": "v1", "kind": "X", "metadata": {"name": "n", "nope": 1}, "spec": {"a": "1", "b": 2}}
        }});
        let removed = prune(&node, &mut object);
        assert_eq!(
            removed,
            [
                "extraroot",
                "spec.free.typed.pruned",
                "spec.known.b",
                "spec.list[0].z",
                "spec.map.k.w",
                "spec.typed.spec.b",
                "spec.unknown",
                "spec.typed.metadata.nope"
            ]
        );
        assert_eq!(
            object,
            json!({"apiVersion": "v1", "kind": "W", "metadata": {"name": "a"}, "spec": {
                "known": {"a": "1"}, "free": {"x": {"y": 1}, "typed": {"x": 1}}, "list": [{"n": "1"}],
                "map": {"k": {"v": 1}}, "any": [1, {"a": "b"}],
                "typed": {"apiVersion": "v1", "kind": "X", "metadata": {"name": "n"}, "spec": {"a": "1"}}
            }})
        );
    }
}

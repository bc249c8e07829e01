//! Models of the built-in kinds, made on first use from the schemas of `k8s-openapi` and the [`Facts`] about their
//! fields.

pub mod kinds;

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock, OnceLock};

use baton_apimachinery::merge::types::{
    self, Builtin, Field, Key, ListKind, ListNode, MapNode, Node, NodeId, Scalar, TypeModel, UNTYPED,
};
use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

use crate::codec::{self, Definition, Facts, List, Merging};
use crate::resources;
use kinds::{KINDS, Kind, position};

/// One cell per kind, in the order of [`KINDS`].
static MODELS: LazyLock<Vec<OnceLock<Arc<TypeModel>>>> =
    LazyLock::new(|| KINDS.iter().map(|_| OnceLock::new()).collect());

/// The model of a built-in kind, `None` if there is no such kind.
pub fn builtin(group: &str, version: &str, kind: &str) -> Option<Arc<TypeModel>> {
    let index = position(group, version, kind)?;
    let (cell, entry) = (MODELS.get(index)?, KINDS.get(index)?);
    Some(Arc::clone(cell.get_or_init(|| Arc::new(build(entry)))))
}

/// Returns the schema of a kind (usually a reference) and the definitions it needs.
pub fn definitions<'a>(kinds: impl Iterator<Item = &'a Kind>) -> (Vec<Value>, Map<String, Value>) {
    let mut generator = SchemaGenerator::new(SchemaSettings::draft2020_12());
    let roots: Vec<Value> = kinds.map(|entry| (entry.schema)(&mut generator).to_value()).collect();
    let all = generator.take_definitions(true);
    let mut known = Map::new();
    for root in &roots {
        take_known(root, &all, &mut known);
    }
    (roots, known)
}

/// Takes the definitions that a schema needs, without fields that the table of types does not have.
fn take_known(schema: &Value, all: &Map<String, Value>, known: &mut Map<String, Value>) {
    match schema {
        Value::Object(members) => {
            if let Some(name) = reference(schema)
                && let Some(found) = all.get(name)
                && !known.contains_key(name)
            {
                let mut definition = found.clone();
                if let Some(properties) = definition.get_mut("properties").and_then(Value::as_object_mut)
                    && let Some(served) = Definition::named(name)
                {
                    properties.retain(|field, _| served.field(field).is_some());
                }
                known.insert(name.to_owned(), definition.clone());
                take_known(&definition, all, known);
            }
            members.values().for_each(|inner| take_known(inner, all, known));
        }
        Value::Array(items) => items.iter().for_each(|inner| take_known(inner, all, known)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn build(entry: &Kind) -> TypeModel {
    let (roots, definitions) = definitions(std::iter::once(entry));
    let mut builder = Builder {
        definitions: &definitions,
        known: BTreeMap::new(),
        nodes: vec![Node::Untyped],
    };
    let root = roots.first().map_or(UNTYPED, |schema| builder.schema(schema, None));
    if let Some(Node::Map(map)) = builder.nodes.get_mut(root) {
        map.resource = true;
    }
    let (group, kind) = (entry.group, entry.name);
    let resource = resources::by_kind(group, entry.version, kind);
    let has_status = resource.is_some_and(|resource| resource.subresource("status").is_some());
    let of_kind = Builtin {
        skeleton: codec::empty(group, entry.version, kind).unwrap_or_default(),
        ignored: if has_status { &[&["status"]] } else { &[] },
        ignored_by_status: ignored_by_status(group, kind),
    };
    TypeModel::builtin(builder.nodes, root, of_kind)
}

/// Returns the model of a version of a custom resource. `status` says whether it has that subresource.
pub fn custom(open_api_v3: &Value, status: bool) -> Arc<TypeModel> {
    let with_metadata = builtin("", "v1", "ConfigMap");
    types::custom(open_api_v3, status, with_metadata.as_deref())
}

/// The name of the definition that a schema refers to.
pub fn reference(schema: &Value) -> Option<&str> {
    schema.get("$ref")?.as_str()?.rsplit('/').next()
}

/// The last part of a definition's name.
pub fn short(definition: &str) -> &str {
    definition.rsplit('.').next().unwrap_or(definition)
}

/// The fields that a write to the subresource `status` cannot change.
fn ignored_by_status(group: &str, kind: &str) -> &'static [types::Path] {
    match (group, kind) {
        ("apps", "Deployment") => &[&["spec"], &["metadata", "labels"]],
        ("", "Pod") => &[
            &["spec"],
            &["metadata", "deletionTimestamp"],
            &["metadata", "ownerReferences"],
        ],
        ("apiextensions.k8s.io", _) => &[&["spec"], &["metadata"]],
        _ => &[&["spec"]],
    }
}

struct Builder<'a> {
    definitions: &'a Map<String, Value>,
    known: BTreeMap<&'a str, NodeId>,
    nodes: Vec<Node>,
}

impl<'a> Builder<'a> {
    fn add(&mut self, node: Node) -> NodeId {
        self.nodes.push(node);
        self.nodes.len() - 1
    }

    /// Returns the node of a schema; `facts` are about the field with this schema.
    fn schema(&mut self, schema: &'a Value, facts: Option<&Facts>) -> NodeId {
        if let Some(name) = reference(schema) {
            return self.definition(name);
        }
        let format = schema.get("format").and_then(Value::as_str);
        let scalar = match (schema.get("type").and_then(Value::as_str), format) {
            (Some("string"), Some("byte")) => Scalar::Bytes,
            (Some("string"), _) => Scalar::String,
            (Some("boolean"), _) => Scalar::Boolean,
            (Some("integer"), Some("int32")) => Scalar::Int32,
            (Some("integer"), _) => Scalar::Int64,
            (Some("number"), _) => Scalar::Number,
            (Some("array"), _) => return self.list(schema, facts),
            (Some("object"), _) => return self.map(schema, facts),
            _ if schema.get("x-kubernetes-int-or-string").is_some() => Scalar::Any,
            _ => return UNTYPED,
        };
        self.add(Node::Scalar(scalar))
    }

    fn definition(&mut self, name: &'a str) -> NodeId {
        if let Some(id) = self.known.get(name) {
            return *id;
        }
        let scalar = match short(name) {
            "IntOrString" => Some(Scalar::IntOrString),
            "Quantity" => Some(Scalar::Quantity),
            "Time" => Some(Scalar::Time),
            "MicroTime" => Some(Scalar::MicroTime),
            _ => None,
        };
        if let Some(scalar) = scalar {
            let id = self.add(Node::Scalar(scalar));
            self.known.insert(name, id);
            return id;
        }
        let known = self.definitions.get(name);
        if known.and_then(|schema| schema.get("properties")).is_none() {
            // RawExtension, JSON, FieldsV1 and the unions of JSONSchemaProps.
            self.known.insert(name, UNTYPED);
            return UNTYPED;
        }
        // The definition may be used before it is complete, because definitions refer to themselves.
        let id = self.add(Node::Untyped);
        self.known.insert(name, id);
        let complete = self.structure(name, Definition::named(name).is_some_and(Definition::is_atomic));
        self.nodes.swap(id, complete);
        id
    }

    /// A new node for a struct.
    fn structure(&mut self, name: &'a str, atomic: bool) -> NodeId {
        let properties = self.definitions.get(name).and_then(|schema| schema.get("properties"));
        let fields = properties
            .and_then(Value::as_object)
            .map(|properties| self.fields(name, properties));
        self.add(Node::Map(MapNode {
            name: name.into(),
            fields: fields.unwrap_or_default(),
            others: None,
            atomic,
            resource: false,
        }))
    }

    fn fields(&mut self, name: &'a str, properties: &'a Map<String, Value>) -> BTreeMap<Box<str>, Field> {
        let known = Definition::named(name);
        let mut fields = BTreeMap::new();
        for (field, schema) in properties {
            let facts = known.and_then(|known| known.field(field));
            let granular = facts.is_some_and(|facts| facts.map == Some(Merging::Granular));
            let node = match reference(schema) {
                Some(target) if granular => self.structure(target, false),
                _ => self.schema(schema, facts),
            };
            let patch = facts.map(|facts| facts.patch).unwrap_or_default();
            fields.insert(field.as_str().into(), Field { node, patch });
        }
        fields
    }

    fn list(&mut self, schema: &'a Value, facts: Option<&Facts>) -> NodeId {
        let items = schema.get("items").map_or(UNTYPED, |items| self.schema(items, None));
        let kind = match facts.and_then(|facts| facts.list.as_ref()) {
            None | Some(List::Atomic) => ListKind::Atomic,
            Some(List::Set) => ListKind::Set,
            Some(List::Map(keys)) => {
                let of = schema.get("items").and_then(reference).and_then(Definition::named);
                let key = |name: &&'static str| Key {
                    name: (*name).into(),
                    default: of.and_then(|of| of.field(name)?.default.clone()),
                };
                ListKind::Map(keys.iter().map(key).collect())
            }
        };
        self.add(Node::List(ListNode { items, kind }))
    }

    fn map(&mut self, schema: &'a Value, facts: Option<&Facts>) -> NodeId {
        let others = match schema.get("additionalProperties") {
            Some(inner) if inner.is_object() => self.schema(inner, None),
            _ => UNTYPED,
        };
        let fields = match schema.get("properties").and_then(Value::as_object) {
            None => BTreeMap::new(),
            Some(properties) => properties
                .iter()
                .map(|(field, inner)| {
                    let node = self.schema(inner, None);
                    let field = field.as_str().into();
                    (field, Field::plain(node))
                })
                .collect(),
        };
        let others = (fields.is_empty() || schema.get("additionalProperties").is_some()).then_some(others);
        self.add(Node::Map(MapNode {
            fields,
            others,
            atomic: facts.is_some_and(|facts| facts.map == Some(Merging::Atomic)),
            ..MapNode::default()
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_kind_has_a_model_with_metadata() {
        for entry in KINDS {
            let model = builtin(entry.group, entry.version, entry.name).expect("model");
            let Node::Map(root) = model.node(model.root) else {
                panic!("{} is not a struct", entry.name);
            };
            assert!(root.fields.contains_key("kind"), "{}", entry.name);
            assert!(root.fields.contains_key("metadata"), "{}", entry.name);
        }
        assert!(builtin("apps", "v1", "Nope").is_none());
    }

    #[test]
    fn lists_and_structs_are_merged_as_the_documents_say() {
        let model = builtin("apps", "v1", "Deployment").expect("model");
        let at = |path: &[&str]| {
            path.iter().fold(model.root, |id, step| match model.node(id) {
                Node::Map(map) => map.member(step).expect("member"),
                Node::List(list) => list.items,
                Node::Untyped | Node::Scalar(_) => panic!("no {step}"),
            })
        };
        let Node::List(ports) = model.node(at(&["spec", "template", "spec", "containers", "*", "ports"])) else {
            panic!("ports are not a list");
        };
        let key = |name: &str, default: Option<Value>| Key {
            name: name.into(),
            default,
        };
        assert_eq!(
            ports.kind,
            ListKind::Map(vec![
                key("containerPort", Some(json!(0))),
                key("protocol", Some(json!("TCP")))
            ])
        );
        assert!(matches!(model.node(at(&["spec", "selector"])), Node::Map(map) if map.atomic));
        assert!(matches!(
            model.node(at(&["spec", "replicas"])),
            Node::Scalar(Scalar::Int32)
        ));
    }

    #[test]
    fn structs_that_go_always_writes_are_in_the_skeleton() {
        let skeleton = builtin("apps", "v1", "Deployment").expect("model");
        assert_eq!(
            *skeleton.skeleton(),
            json!({"metadata": {}, "spec": {"strategy": {}, "template": {"metadata": {}, "spec": {"containers": null}}}, "status": {}})
        );
    }
}

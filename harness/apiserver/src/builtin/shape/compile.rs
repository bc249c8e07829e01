//! From the JSON schema of a Rust type to its [`Shape`].

use std::collections::BTreeMap;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;

use super::presence::presence;
use super::{Member, Node, Presence, Shape, Struct};
use crate::builtin::newer::is_newer;
use crate::meta;

const DEFINITIONS: &str = "#/$defs/";

/// Compiles the types of one kind.
pub(super) fn compile<T: JsonSchema>() -> Shape {
    let mut root = SchemaSettings::draft2020_12()
        .into_generator()
        .into_root_schema_for::<T>()
        .to_value();
    let definitions = root.get_mut("$defs").map(Value::take).unwrap_or_default();
    let mut compiler = Compiler {
        definitions,
        nodes: Vec::new(),
        known: BTreeMap::new(),
    };
    compiler.structure(&T::schema_name(), &root, true);
    Shape { nodes: compiler.nodes }
}

struct Compiler {
    definitions: Value,
    nodes: Vec<Node>,
    /// Nodes of definitions, by their name.
    known: BTreeMap<String, usize>,
}

impl Compiler {
    fn push(&mut self, node: Node) -> usize {
        self.nodes.push(node);
        self.nodes.len() - 1
    }

    fn structure(&mut self, definition: &str, schema: &Value, is_root: bool) -> usize {
        let index = self.push(Node::Any);
        self.known.insert(definition.to_owned(), index);
        let mut parts = definition.rsplit('.');
        let name = parts.next().unwrap_or_default().to_owned();
        let package = parts.next().unwrap_or_default().to_owned();
        let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
            return index;
        };
        let required: Vec<&str> = schema
            .get("required")
            .and_then(Value::as_array)
            .map(|list| list.iter().filter_map(Value::as_str).collect())
            .unwrap_or_default();
        let mut fields = BTreeMap::new();
        for (field, schema) in properties.iter().filter(|(field, _)| !is_newer(definition, field)) {
            let node = self.node(schema);
            let is_required = required.contains(&field.as_str());
            let presence = presence(&name, field, self.nodes.get(node), is_required, is_root);
            fields.insert(field.clone(), Member { node, presence });
        }
        let written = fields
            .iter()
            .filter(|(_, member): &(_, &Member)| match member.presence {
                Presence::Always | Presence::Null => true,
                Presence::Kept | Presence::Omitted => false,
            });
        let written_if_missing = written.map(|(field, _)| field.clone()).collect();
        self.nodes[index] = Node::Struct(Struct {
            name,
            package,
            fields,
            written_if_missing,
        });
        index
    }

    fn node(&mut self, schema: &Value) -> usize {
        let wrapped = schema
            .get("allOf")
            .and_then(Value::as_array)
            .and_then(|all| all.first());
        let schema = wrapped.unwrap_or(schema);
        if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
            return self.definition(reference.strip_prefix(DEFINITIONS).unwrap_or(reference));
        }
        let format = meta::text(schema, "format");
        match schema.get("type").and_then(Value::as_str) {
            Some("string") if format == "byte" => self.push(Node::Bytes),
            Some("string") => self.push(Node::Text),
            Some("integer") => self.push(Node::Integer {
                bits: if format == "int64" { 64 } else { 32 },
            }),
            Some("number") => self.push(Node::Number),
            Some("boolean") => self.push(Node::Boolean),
            Some("array") => {
                let items = match schema.get("items") {
                    Some(items) => self.node(items),
                    None => self.push(Node::Any),
                };
                self.push(Node::List(items))
            }
            Some("object") => match schema.get("additionalProperties") {
                Some(values) if values.is_object() => {
                    let values = self.node(values);
                    self.push(Node::Map(values))
                }
                _ => self.push(Node::Any),
            },
            _ => self.push(Node::Any),
        }
    }

    fn definition(&mut self, name: &str) -> usize {
        if let Some(known) = self.known.get(name) {
            return *known;
        }
        let node = match name.rsplit('.').next().unwrap_or_default() {
            "Quantity" => Node::Quantity,
            "Time" => Node::Time,
            "MicroTime" => Node::MicroTime,
            "IntOrString" => Node::IntOrString,
            "ManagedFieldsEntry" | "FieldsV1" | "RawExtension" | "JSON" => Node::Any,
            _ => {
                let schema = self.definitions.get_mut(name).map(Value::take).unwrap_or_default();
                return self.structure(name, &schema, false);
            }
        };
        let index = self.push(node);
        self.known.insert(name.to_owned(), index);
        index
    }
}

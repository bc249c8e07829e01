//! One compiled schema: the keywords of an `openAPIV3Schema` as types, so that walking a value does not read the
//! schema's JSON.

use std::collections::BTreeMap;

use regex::Regex;
use serde_json::{Map, Value};

use super::formats::Format;
use super::pattern;
use super::rule::Rule;

/// Maximum depth of a schema; deeper ones are refused, because every walk recurses as deep as the schema.
pub const MAX_DEPTH: usize = 128;

/// `x-kubernetes-list-type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ListType {
    /// The list is one value.
    #[default]
    Atomic,
    /// The items are unique scalars.
    Set,
    /// The items are objects, identified by the keys.
    Map,
}

/// `additionalProperties`.
#[derive(Debug, Clone)]
pub enum Additional {
    /// Values must match this schema.
    Schema(Box<Node>),
    /// Any key is allowed (`true`) or none (`false`).
    Any(bool),
}

/// A pattern as written and as compiled; `None` if this engine cannot compile it.
#[derive(Debug, Clone)]
pub struct Pattern {
    /// The text, as messages quote it.
    pub source: String,
    /// The compiled expression.
    pub regex: Option<Regex>,
}

/// One level of a schema. Nested value validations (`allOf`, `not`, …) use the same type.
#[derive(Debug, Clone, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "they are the keywords of the schema language"
)]
pub struct Node {
    /// `type`, or `integer` and `string` for `x-kubernetes-int-or-string`; empty if any type is allowed.
    pub types: Vec<String>,
    /// `nullable`.
    pub nullable: bool,
    /// `x-kubernetes-int-or-string`.
    pub int_or_string: bool,
    /// `x-kubernetes-preserve-unknown-fields`.
    pub preserve: bool,
    /// `x-kubernetes-embedded-resource`.
    pub embedded: bool,
    /// `format` as written.
    pub format_name: String,
    /// The check for `format`, if it is a format for strings.
    pub format: Option<Format>,
    /// `properties`.
    pub properties: BTreeMap<String, Node>,
    /// `additionalProperties`.
    pub additional: Option<Additional>,
    /// `items`.
    pub items: Option<Box<Node>>,
    /// `default`.
    pub default: Option<Value>,
    /// `required`.
    pub required: Vec<String>,
    /// `enum`; empty if there is none.
    pub enumeration: Vec<Value>,
    /// `minimum` and whether it is exclusive.
    pub minimum: Option<(f64, bool)>,
    /// `maximum` and whether it is exclusive.
    pub maximum: Option<(f64, bool)>,
    /// `multipleOf`.
    pub multiple_of: Option<f64>,
    /// `minLength`.
    pub min_length: Option<u64>,
    /// `maxLength`.
    pub max_length: Option<u64>,
    /// `pattern`.
    pub pattern: Option<Pattern>,
    /// `minItems`.
    pub min_items: Option<u64>,
    /// `maxItems`.
    pub max_items: Option<u64>,
    /// `minProperties`.
    pub min_properties: Option<u64>,
    /// `maxProperties`.
    pub max_properties: Option<u64>,
    /// `allOf`.
    pub all_of: Vec<Node>,
    /// `anyOf`.
    pub any_of: Vec<Node>,
    /// `oneOf`.
    pub one_of: Vec<Node>,
    /// `not`.
    pub not: Option<Box<Node>>,
    /// `x-kubernetes-list-type`.
    pub list_type: ListType,
    /// `x-kubernetes-list-map-keys`.
    pub map_keys: Vec<String>,
    /// `true` if `x-kubernetes-map-type` is `atomic`.
    pub atomic_map: bool,
    /// `x-kubernetes-validations`.
    pub rules: Vec<Rule>,
    /// Features of the nodes below, so that whole branches can be skipped.
    pub below: Below,
}

/// The features that occur in a node or anywhere below it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Below {
    /// Rules in CEL.
    pub rules: bool,
    /// Lists that are sets or maps.
    pub keyed_lists: bool,
    /// Embedded resources.
    pub embedded: bool,
}

impl Node {
    /// Compiles a schema. Keywords of the wrong JSON type count as absent, because typed decoding has refused them
    /// before.
    pub fn build(schema: &Value) -> Self {
        Self::build_at(schema, 0)
    }

    fn build_at(schema: &Value, depth: usize) -> Self {
        let Some(map) = schema.as_object().filter(|_| depth < MAX_DEPTH) else {
            return Self::default();
        };
        let mut node = Self {
            nullable: flag(map, "nullable"),
            int_or_string: flag(map, "x-kubernetes-int-or-string"),
            preserve: flag(map, "x-kubernetes-preserve-unknown-fields"),
            embedded: flag(map, "x-kubernetes-embedded-resource"),
            default: map.get("default").filter(|value| !value.is_null()).cloned(),
            required: strings(map, "required"),
            map_keys: strings(map, "x-kubernetes-list-map-keys"),
            atomic_map: map.get("x-kubernetes-map-type").and_then(Value::as_str) == Some("atomic"),
            ..Self::default()
        };
        node.read_types(map);
        node.read_bounds(map);
        node.read_children(map, depth + 1);
        node.rules = Rule::read_all(map);
        node.below = node.look_below();
        node
    }

    fn read_types(&mut self, map: &Map<String, Value>) {
        if self.int_or_string {
            self.types = vec!["integer".to_owned(), "string".to_owned()];
        } else if let Some(name) = map.get("type").and_then(Value::as_str).filter(|name| !name.is_empty()) {
            self.types = vec![name.to_owned()];
        }
        if let Some(name) = map.get("format").and_then(Value::as_str) {
            self.format = Format::named(name);
            let number = matches!(name, "int32" | "int64" | "float" | "double");
            if self.format.is_some() || number {
                name.clone_into(&mut self.format_name);
            }
        }
        self.list_type = match map.get("x-kubernetes-list-type").and_then(Value::as_str) {
            Some("set") => ListType::Set,
            Some("map") => ListType::Map,
            Some(_) | None => ListType::Atomic,
        };
    }

    fn read_bounds(&mut self, map: &Map<String, Value>) {
        let number = |key: &str| map.get(key).and_then(Value::as_f64);
        let count = |key: &str| map.get(key).and_then(as_count);
        self.minimum = number("minimum").map(|bound| (bound, flag(map, "exclusiveMinimum")));
        self.maximum = number("maximum").map(|bound| (bound, flag(map, "exclusiveMaximum")));
        self.multiple_of = number("multipleOf").filter(|factor| *factor != 0.0);
        self.min_length = count("minLength");
        self.max_length = count("maxLength");
        self.min_items = count("minItems");
        self.max_items = count("maxItems");
        self.min_properties = count("minProperties");
        self.max_properties = count("maxProperties");
        if let Some(values) = map.get("enum").and_then(Value::as_array) {
            self.enumeration.clone_from(values);
        }
        if let Some(source) = map
            .get("pattern")
            .and_then(Value::as_str)
            .filter(|text| !text.is_empty())
        {
            self.pattern = Some(Pattern {
                source: source.to_owned(),
                regex: pattern::compile(source).ok(),
            });
        }
    }

    fn read_children(&mut self, map: &Map<String, Value>, depth: usize) {
        let list = |key: &str| -> Vec<Node> {
            let schemas = map.get(key).and_then(Value::as_array);
            schemas
                .into_iter()
                .flatten()
                .map(|schema| Self::build_at(schema, depth))
                .collect()
        };
        if let Some(properties) = map.get("properties").and_then(Value::as_object) {
            let built = properties
                .iter()
                .map(|(name, schema)| (name.clone(), Self::build_at(schema, depth)));
            self.properties = built.collect();
        }
        self.additional = match map.get("additionalProperties") {
            Some(Value::Bool(any)) => Some(Additional::Any(*any)),
            Some(schema @ Value::Object(_)) => Some(Additional::Schema(Box::new(Self::build_at(schema, depth)))),
            Some(_) | None => None,
        };
        let one = |key: &str| {
            let schema = map.get(key).filter(|schema| schema.is_object());
            schema.map(|schema| Box::new(Self::build_at(schema, depth)))
        };
        self.items = one("items");
        self.not = one("not");
        self.all_of = list("allOf");
        self.any_of = list("anyOf");
        self.one_of = list("oneOf");
    }

    fn look_below(&self) -> Below {
        let mut below = Below {
            rules: !self.rules.is_empty(),
            keyed_lists: self.list_type != ListType::Atomic,
            embedded: self.embedded,
        };
        let additional = self.additional_schema().into_iter();
        for child in self.properties.values().chain(additional).chain(self.items.as_deref()) {
            below.rules |= child.below.rules;
            below.keyed_lists |= child.below.keyed_lists;
            below.embedded |= child.below.embedded;
        }
        below
    }

    /// Returns the schema of the values of a map.
    pub fn additional_schema(&self) -> Option<&Self> {
        match &self.additional {
            Some(Additional::Schema(schema)) => Some(schema),
            Some(Additional::Any(_)) | None => None,
        }
    }

    /// The schema of a member of an object: a property, or the schema of a map's values.
    pub fn member(&self, key: &str) -> Option<&Self> {
        self.properties.get(key).or_else(|| self.additional_schema())
    }

    /// Returns `true` if this is the only type of the node.
    pub fn is(&self, name: &str) -> bool {
        matches!(self.types.as_slice(), [only] if only == name)
    }
}

fn flag(map: &Map<String, Value>, key: &str) -> bool {
    map.get(key).and_then(Value::as_bool).unwrap_or(false)
}

fn strings(map: &Map<String, Value>, key: &str) -> Vec<String> {
    let values = map.get(key).and_then(Value::as_array);
    let texts = values.into_iter().flatten().filter_map(Value::as_str);
    texts.map(str::to_owned).collect()
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "checked to be a whole number in range"
)]
fn as_count(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| {
        let float = value.as_f64()?;
        (float >= 0.0 && float.fract() == 0.0 && float < 9.0e15).then_some(float as u64)
    })
}

//! Schemas and versions as messages quote them: all fields of the server's own types, in their order.

use serde_json::Value;

use crate::gofmt;
use crate::meta::text;

/// How the type of a field is written.
#[derive(Debug, Clone, Copy)]
enum Kind {
    /// A text; an empty one if there is none.
    Text,
    /// A boolean; false if there is none.
    Flag,
    /// A number; zero if there is none.
    Number,
    /// What was written, or null.
    Given,
    /// Something that has these fields, or null.
    Struct(&'static [Field]),
    /// A list of such.
    Structs(&'static [Field]),
    /// A schema, or null.
    Schema,
    /// A list of schemas.
    Schemas,
    /// Schemas by name.
    Named,
    /// A schema, or a boolean.
    OrBool,
    /// A schema, or a list of them.
    OrList,
    /// By name a schema or a list of texts.
    Dependencies,
}

/// The name in the server's type, the one in JSON, and the type.
type Field = (&'static str, &'static str, Kind);

const SCHEMA: &[Field] = &[
    ("ID", "id", Kind::Text),
    ("Schema", "$schema", Kind::Text),
    ("Ref", "$ref", Kind::Given),
    ("Description", "description", Kind::Text),
    ("Type", "type", Kind::Text),
    ("Nullable", "nullable", Kind::Flag),
    ("Format", "format", Kind::Text),
    ("Title", "title", Kind::Text),
    ("Default", "default", Kind::Given),
    ("Maximum", "maximum", Kind::Given),
    ("ExclusiveMaximum", "exclusiveMaximum", Kind::Flag),
    ("Minimum", "minimum", Kind::Given),
    ("ExclusiveMinimum", "exclusiveMinimum", Kind::Flag),
    ("MaxLength", "maxLength", Kind::Given),
    ("MinLength", "minLength", Kind::Given),
    ("Pattern", "pattern", Kind::Text),
    ("MaxItems", "maxItems", Kind::Given),
    ("MinItems", "minItems", Kind::Given),
    ("UniqueItems", "uniqueItems", Kind::Flag),
    ("MultipleOf", "multipleOf", Kind::Given),
    ("Enum", "enum", Kind::Given),
    ("MaxProperties", "maxProperties", Kind::Given),
    ("MinProperties", "minProperties", Kind::Given),
    ("Required", "required", Kind::Given),
    ("Items", "items", Kind::OrList),
    ("AllOf", "allOf", Kind::Schemas),
    ("OneOf", "oneOf", Kind::Schemas),
    ("AnyOf", "anyOf", Kind::Schemas),
    ("Not", "not", Kind::Schema),
    ("Properties", "properties", Kind::Named),
    ("AdditionalProperties", "additionalProperties", Kind::OrBool),
    ("PatternProperties", "patternProperties", Kind::Named),
    ("Dependencies", "dependencies", Kind::Dependencies),
    ("AdditionalItems", "additionalItems", Kind::OrBool),
    ("Definitions", "definitions", Kind::Named),
    (
        "ExternalDocs",
        "externalDocs",
        Kind::Struct(&[("Description", "description", Kind::Text), ("URL", "url", Kind::Text)]),
    ),
    ("Example", "example", Kind::Given),
    (
        "XPreserveUnknownFields",
        "x-kubernetes-preserve-unknown-fields",
        Kind::Given,
    ),
    ("XEmbeddedResource", "x-kubernetes-embedded-resource", Kind::Flag),
    ("XIntOrString", "x-kubernetes-int-or-string", Kind::Flag),
    ("XListMapKeys", "x-kubernetes-list-map-keys", Kind::Given),
    ("XListType", "x-kubernetes-list-type", Kind::Given),
    ("XMapType", "x-kubernetes-map-type", Kind::Given),
    ("XValidations", "x-kubernetes-validations", Kind::Structs(RULE)),
];

const RULE: &[Field] = &[
    ("Rule", "rule", Kind::Text),
    ("Message", "message", Kind::Text),
    ("MessageExpression", "messageExpression", Kind::Text),
    ("Reason", "reason", Kind::Given),
    ("FieldPath", "fieldPath", Kind::Text),
    ("OptionalOldSelf", "optionalOldSelf", Kind::Given),
];

const VERSION: &[Field] = &[
    ("Name", "name", Kind::Text),
    ("Served", "served", Kind::Flag),
    ("Storage", "storage", Kind::Flag),
    ("Deprecated", "deprecated", Kind::Flag),
    ("DeprecationWarning", "deprecationWarning", Kind::Given),
    (
        "Schema",
        "schema",
        Kind::Struct(&[("OpenAPIV3Schema", "openAPIV3Schema", Kind::Schema)]),
    ),
    (
        "Subresources",
        "subresources",
        Kind::Struct(&[
            ("Status", "status", Kind::Struct(&[])),
            ("Scale", "scale", Kind::Struct(SCALE)),
        ]),
    ),
    (
        "AdditionalPrinterColumns",
        "additionalPrinterColumns",
        Kind::Structs(COLUMN),
    ),
    (
        "SelectableFields",
        "selectableFields",
        Kind::Structs(&[("JSONPath", "jsonPath", Kind::Text)]),
    ),
];

const SCALE: &[Field] = &[
    ("SpecReplicasPath", "specReplicasPath", Kind::Text),
    ("StatusReplicasPath", "statusReplicasPath", Kind::Text),
    ("LabelSelectorPath", "labelSelectorPath", Kind::Given),
];

const COLUMN: &[Field] = &[
    ("Name", "name", Kind::Text),
    ("Type", "type", Kind::Text),
    ("Format", "format", Kind::Text),
    ("Description", "description", Kind::Text),
    ("Priority", "priority", Kind::Number),
    ("JSONPath", "jsonPath", Kind::Text),
];

/// A schema.
pub(crate) fn schema(schema: &Value) -> String {
    gofmt::escaped(structure(SCHEMA, schema))
}

/// An entry of `spec.versions`.
pub(crate) fn version(version: &Value) -> String {
    gofmt::escaped(structure(VERSION, version))
}

/// A rule.
pub(crate) fn rule(rule: &Value) -> String {
    gofmt::escaped(structure(RULE, rule))
}

/// What stands in `items`.
pub(crate) fn items(items: &Value) -> String {
    gofmt::escaped(or_list(items))
}

fn structure(fields: &[Field], value: &Value) -> String {
    let member = |(name, key, kind): &Field| format!("\"{name}\":{}", written(*kind, value, key));
    let members: Vec<String> = fields.iter().map(member).collect();
    format!("{{{}}}", members.join(","))
}

fn written(kind: Kind, of: &Value, key: &str) -> String {
    let value = of.get(key).filter(|value| !value.is_null());
    match (kind, value) {
        (Kind::Text, _) => Value::from(text(of, key)).to_string(),
        (Kind::Flag, value) => (value == Some(&Value::Bool(true))).to_string(),
        (Kind::Number, None) => "0".to_owned(),
        (_, None) => "null".to_owned(),
        (Kind::Number | Kind::Given, Some(value)) => given(value),
        (Kind::Struct(fields), Some(value)) => structure(fields, value),
        (Kind::Structs(fields), Some(value)) => structures(fields, value),
        (Kind::Schema, Some(value)) => structure(SCHEMA, value),
        (Kind::Schemas, Some(value)) => structures(SCHEMA, value),
        (Kind::Named, Some(value)) => named(value, |value| structure(SCHEMA, value)),
        (Kind::OrBool, Some(Value::Bool(allows))) => format!("{{\"Allows\":{allows},\"Schema\":null}}"),
        (Kind::OrBool, Some(schema)) => format!("{{\"Allows\":true,\"Schema\":{}}}", structure(SCHEMA, schema)),
        (Kind::OrList, Some(items)) => or_list(items),
        (Kind::Dependencies, Some(all)) => named(all, |each| match each {
            Value::Array(_) => format!("{{\"Schema\":null,\"Property\":{each}}}"),
            _ => format!("{{\"Schema\":{},\"Property\":null}}", structure(SCHEMA, each)),
        }),
    }
}

fn given(value: &Value) -> String {
    // A whole number has no fraction, however it was written.
    match value.as_f64().filter(|number| value.is_f64() && number.fract() == 0.0) {
        Some(number) => gofmt::float(number),
        None => value.to_string(),
    }
}

fn structures(fields: &[Field], list: &Value) -> String {
    let all: Vec<String> = list
        .as_array()
        .into_iter()
        .flatten()
        .map(|each| structure(fields, each))
        .collect();
    format!("[{}]", all.join(","))
}

fn named(map: &Value, written: impl Fn(&Value) -> String) -> String {
    let all: Vec<String> = map
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, each)| format!("{}:{}", Value::from(name.as_str()), written(each)))
        .collect();
    format!("{{{}}}", all.join(","))
}

fn or_list(items: &Value) -> String {
    if items.is_array() {
        format!("{{\"Schema\":null,\"JSONSchemas\":{}}}", structures(SCHEMA, items))
    } else {
        format!("{{\"Schema\":{},\"JSONSchemas\":null}}", structure(SCHEMA, items))
    }
}

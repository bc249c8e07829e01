//! The rules of structural schemas: the core of the schema gives every field a type; `allOf`, `anyOf`, `oneOf` and
//! `not` only constrain values, and only of fields that the core declares.

use serde_json::{Map, Value, json};

use super::super::pattern;
use super::{flag, forbidden, invalid, present, required};
use crate::field::FieldError;
use crate::meta::{list, text};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Root,
    Item,
    Field,
}

/// All errors, sorted by their text.
pub fn check(schema: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    invariants(schema, Level::Root, path, &mut errors);
    complete(schema, schema, path, path, &mut errors);
    errors.sort_by_cached_key(ToString::to_string);
    errors
}

fn properties(schema: &Value) -> impl Iterator<Item = (&String, &Value)> {
    schema
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
}

fn object<'s>(schema: &'s Value, key: &str) -> Option<&'s Value> {
    schema.get(key).filter(|child| child.is_object())
}

fn invariants(schema: &Value, level: Level, path: &str, errors: &mut Vec<FieldError>) {
    let kind = text(schema, "type");
    if kind == "array" && !present(schema, "items") {
        errors.push(required(&format!("{path}.items"), "must be specified"));
    }
    if let Some(items) = object(schema, "items") {
        invariants(items, Level::Item, &format!("{path}.items"), errors);
    }
    for (name, property) in properties(schema) {
        invariants(property, Level::Field, &format!("{path}.properties[{name}]"), errors);
    }
    if level == Level::Root && present(schema, "additionalProperties") {
        let field = format!("{path}.additionalProperties");
        errors.push(forbidden(&field, "must not be used at the root"));
    }
    if let Some(additional) = object(schema, "additionalProperties") {
        invariants(
            additional,
            Level::Field,
            &format!("{path}.additionalProperties"),
            errors,
        );
    }
    check_type(schema, kind, level, path, errors);
    let (skip_any_of, skip_first_all_of) = int_or_string_exceptions(schema);
    values(schema, skip_any_of, skip_first_all_of, path, errors);
    let embedded = flag(schema, "x-kubernetes-embedded-resource");
    if level == Level::Root || embedded {
        check_metadata(schema, level, path, errors);
    }
    let declares_nothing = properties(schema).next().is_none();
    if embedded && !flag(schema, "x-kubernetes-preserve-unknown-fields") && declares_nothing {
        let detail =
            "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields";
        errors.push(required(&format!("{path}.properties"), detail));
    }
}

fn check_type(schema: &Value, kind: &str, level: Level, path: &str, errors: &mut Vec<FieldError>) {
    let field = format!("{path}.type");
    let embedded = flag(schema, "x-kubernetes-embedded-resource");
    let int_or_string = flag(schema, "x-kubernetes-int-or-string");
    let preserve = flag(schema, "x-kubernetes-preserve-unknown-fields");
    let expect_object = if embedded {
        Some("must be object if x-kubernetes-embedded-resource is true")
    } else if level == Level::Root {
        Some("must be object at the root")
    } else {
        None
    };
    match (kind, expect_object) {
        ("", Some(_)) if level == Level::Root => errors.push(required(&field, "must not be empty at the root")),
        ("", Some(detail)) => errors.push(required(&field, detail)),
        ("object", Some(_)) => {}
        (other, Some(detail)) => errors.push(invalid(&field, &Value::from(other), detail)),
        ("", None) if !int_or_string && !preserve => {
            let what = if level == Level::Item {
                "array items"
            } else {
                "object fields"
            };
            errors.push(required(&field, &format!("must not be empty for specified {what}")));
        }
        (_, None) => {}
    }
    if int_or_string {
        for (set, key) in [
            (preserve, "x-kubernetes-preserve-unknown-fields"),
            (embedded, "x-kubernetes-embedded-resource"),
        ] {
            if set {
                let detail = "must be false if x-kubernetes-int-or-string is true";
                errors.push(invalid(&format!("{path}.{key}"), &Value::Bool(true), detail));
            }
        }
    }
}

/// Returns the two ways in which `anyOf` may repeat the types of an int-or-string.
fn int_or_string_exceptions(schema: &Value) -> (bool, bool) {
    if !flag(schema, "x-kubernetes-int-or-string") {
        return (false, false);
    }
    let both = json!([{"type": "integer"}, {"type": "string"}]);
    let any_of = |schema: &Value| schema.get("anyOf") == Some(&both);
    let first = list(schema, "allOf").first();
    let alone = |schema: &Value| schema.as_object().is_some_and(|map| map.len() == 1);
    (any_of(schema), first.is_some_and(|first| any_of(first) && alone(first)))
}

fn check_metadata(schema: &Value, level: Level, path: &str, errors: &mut Vec<FieldError>) {
    for name in ["kind", "apiVersion"] {
        let property = schema.get("properties").and_then(|properties| properties.get(name));
        if let Some(kind) = property
            .map(|property| text(property, "type"))
            .filter(|kind| *kind != "string")
        {
            let field = format!("{path}.properties[{name}].type");
            errors.push(invalid(&field, &Value::from(kind), "must be string"));
        }
    }
    let Some(metadata) = schema
        .get("properties")
        .and_then(|properties| properties.get("metadata"))
    else {
        return;
    };
    let field = format!("{path}.properties[metadata]");
    match text(metadata, "type") {
        "object" => {}
        "" => errors.push(required(&format!("{field}.type"), "must be object")),
        other => errors.push(invalid(&format!("{field}.type"), &Value::from(other), "must be object")),
    }
    if level != Level::Root {
        return;
    }
    let mut rest = metadata.as_object().cloned().unwrap_or_default();
    rest.retain(|key, value| !matches!(key.as_str(), "type" | "default") && !value.is_null());
    let only_names = rest.get("properties").and_then(Value::as_object);
    if only_names.is_some_and(|map| map.keys().all(|key| matches!(key.as_str(), "name" | "generateName"))) {
        rest.remove("properties");
    }
    let described = rest
        .get("description")
        .and_then(Value::as_str)
        .is_some_and(str::is_empty);
    if described {
        rest.remove("description");
    }
    if !rest.is_empty() {
        let detail = "must not specify anything other than name and generateName, but metadata is implicitly specified";
        errors.push(forbidden(&field, detail));
    }
}

/// Checks the value validations of one level.
fn values(schema: &Value, skip_any_of: bool, skip_first_all_of: bool, path: &str, errors: &mut Vec<FieldError>) {
    if !skip_any_of {
        for (index, child) in list(schema, "anyOf").iter().enumerate() {
            nested(child, false, &format!("{path}.anyOf[{index}]"), errors);
        }
    }
    for (index, child) in list(schema, "allOf").iter().enumerate() {
        nested(
            child,
            skip_first_all_of && index == 0,
            &format!("{path}.allOf[{index}]"),
            errors,
        );
    }
    for (index, child) in list(schema, "oneOf").iter().enumerate() {
        nested(child, false, &format!("{path}.oneOf[{index}]"), errors);
    }
    if let Some(child) = object(schema, "not") {
        nested(child, false, &format!("{path}.not"), errors);
    }
    let source = text(schema, "pattern");
    if let Err(error) = pattern::compile(source) {
        let detail = format!("must be a valid regular expression, but isn't: {error}");
        errors.push(invalid(&format!("{path}.pattern"), &Value::from(source), &detail));
    }
}

/// Checks a schema inside `allOf`, `anyOf`, `oneOf` or `not`: it may only validate values.
fn nested(schema: &Value, skip_any_of: bool, path: &str, errors: &mut Vec<FieldError>) {
    values(schema, skip_any_of, false, path, errors);
    if let Some(items) = object(schema, "items") {
        nested(items, false, &format!("{path}.items"), errors);
    }
    for (name, property) in properties(schema) {
        nested(property, false, &format!("{path}.properties[{name}]"), errors);
    }
    let empty_keys = [
        "type",
        "title",
        "description",
        "x-kubernetes-list-map-keys",
        "x-kubernetes-validations",
    ];
    let undefined_keys = [
        "additionalProperties",
        "default",
        "x-kubernetes-list-type",
        "x-kubernetes-map-type",
    ];
    let false_keys = [
        "nullable",
        "x-kubernetes-preserve-unknown-fields",
        "x-kubernetes-embedded-resource",
        "x-kubernetes-int-or-string",
    ];
    for key in empty_keys {
        let empty = match schema.get(key) {
            None | Some(Value::Null) => true,
            Some(Value::String(text)) => text.is_empty(),
            Some(Value::Array(items)) => items.is_empty(),
            Some(_) => false,
        };
        if !empty {
            errors.push(forbidden(&format!("{path}.{key}"), "must be empty to be structural"));
        }
    }
    for key in undefined_keys.into_iter().filter(|key| present(schema, key)) {
        errors.push(forbidden(
            &format!("{path}.{key}"),
            "must be undefined to be structural",
        ));
    }
    for key in false_keys.into_iter().filter(|key| flag(schema, key)) {
        errors.push(forbidden(&format!("{path}.{key}"), "must be false to be structural"));
    }
    if schema
        .get("properties")
        .and_then(Value::as_object)
        .is_some_and(|map: &Map<_, _>| map.contains_key("metadata"))
    {
        errors.push(forbidden(
            &format!("{path}.properties[metadata]"),
            "must not be specified in a nested context",
        ));
    }
}

/// Checks that the core declares every field that a nested schema of the root constrains. Schemas of fields are not
/// checked.
fn complete(core: &Value, values: &Value, core_path: &str, path: &str, errors: &mut Vec<FieldError>) {
    for key in ["allOf", "anyOf", "oneOf"] {
        for (index, child) in list(values, key).iter().enumerate() {
            declared(core, child, core_path, &format!("{path}.{key}[{index}]"), errors);
        }
    }
    if let Some(child) = object(values, "not") {
        declared(core, child, core_path, &format!("{path}.not"), errors);
    }
}

fn declared(core: &Value, values: &Value, core_path: &str, path: &str, errors: &mut Vec<FieldError>) {
    complete(core, values, core_path, path, errors);
    if let Some(items) = object(values, "items") {
        let (core_path, path) = (format!("{core_path}.items"), format!("{path}.items"));
        match object(core, "items") {
            Some(core) => declared(core, items, &core_path, &path, errors),
            None => errors.push(required(&core_path, &format!("because it is defined in {path}"))),
        }
    }
    for (name, property) in properties(values) {
        let (core_path, path) = (
            format!("{core_path}.properties[{name}]"),
            format!("{path}.properties[{name}]"),
        );
        match core.get("properties").and_then(|properties| properties.get(name)) {
            Some(core) => declared(core, property, &core_path, &path, errors),
            None => errors.push(required(&core_path, &format!("because it is defined in {path}"))),
        }
    }
}

//! Keywords that no CRD may use, and list and map types that do not fit their schema.

use serde_json::{Map, Value};

use super::{children, flag, forbidden, invalid, invalid_text, not_supported, present, required};
use crate::field::FieldError;
use crate::go_values;
use crate::meta::text;

const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];
const UNSUPPORTED: [&str; 6] = [
    "id",
    "additionalItems",
    "patternProperties",
    "definitions",
    "dependencies",
    "$ref",
];
/// The keywords allowed at the root of a schema with a status subresource; the status would lose all others.
const AT_ROOT: [(&str, &str); 22] = [
    ("description", "Description"),
    ("type", "Type"),
    ("format", "Format"),
    ("title", "Title"),
    ("maximum", "Maximum"),
    ("exclusiveMaximum", "ExclusiveMaximum"),
    ("minimum", "Minimum"),
    ("exclusiveMinimum", "ExclusiveMinimum"),
    ("maxLength", "MaxLength"),
    ("minLength", "MinLength"),
    ("pattern", "Pattern"),
    ("maxItems", "MaxItems"),
    ("minItems", "MinItems"),
    ("uniqueItems", "UniqueItems"),
    ("multipleOf", "MultipleOf"),
    ("required", "Required"),
    ("items", "Items"),
    ("properties", "Properties"),
    ("externalDocs", "ExternalDocs"),
    ("example", "Example"),
    ("x-kubernetes-preserve-unknown-fields", "XPreserveUnknownFields"),
    ("x-kubernetes-validations", "XValidations"),
];

/// Returns `true` if the schema uses a keyword that prevents reading it as a structural schema at all.
pub(super) fn has_unsupported(schema: &Value) -> bool {
    UNSUPPORTED.iter().any(|key| present(schema, key))
        || present(schema, "$schema")
        || schema.get("items").is_some_and(Value::is_array)
        || children(schema, "").iter().any(|(_, child)| has_unsupported(child))
}

/// Returns `true` if the schema declares its language with `$schema`.
pub(super) fn names_language(schema: &Value) -> bool {
    present(schema, "$schema") || children(schema, "").iter().any(|(_, child)| names_language(child))
}

/// Checks the restrictions that apply to the root only.
pub(super) fn check_root(schema: &Value, path: &str, status_subresource: bool, errors: &mut Vec<FieldError>) {
    if status_subresource {
        let kind = text(schema, "type");
        if !kind.is_empty() && kind != "object" {
            let detail =
                "only \"object\" is allowed as the type at the root of the schema if the status subresource is enabled";
            errors.push(invalid(&format!("{path}.type"), &Value::from(kind), detail));
        } else if has_more_at_root(schema) {
            let names: Vec<&str> = AT_ROOT.iter().map(|(_, name)| *name).collect();
            let detail = format!(
                "only [{}] fields are allowed at the root of the schema if the status subresource is enabled",
                names.join(" ")
            );
            errors.push(invalid_text(
                path,
                &go_values::text("apiextensions.JSONSchemaProps", schema),
                &detail,
            ));
        }
    }
    if flag(schema, "nullable") {
        errors.push(forbidden(
            &format!("{path}.nullable"),
            "nullable cannot be true at the root",
        ));
    }
}

fn has_more_at_root(schema: &Value) -> bool {
    let empty = |value: &Value| match value {
        Value::Null | Value::Bool(false) => true,
        Value::String(_) | Value::Array(_) | Value::Object(_) | Value::Bool(true) | Value::Number(_) => false,
    };
    let members = schema.as_object().into_iter().flatten();
    members
        .into_iter()
        .any(|(key, value)| !empty(value) && !AT_ROOT.iter().any(|(allowed, _)| allowed == key))
}

/// The position of a schema, as far as it decides which keywords are allowed.
#[derive(Clone, Copy, Default)]
struct Place {
    root: bool,
    inside_meta: bool,
    no_defaults: Option<&'static str>,
}

/// All errors about keywords, at any depth.
pub fn check(schema: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let root = Place {
        root: true,
        ..Place::default()
    };
    walk(schema, path, root, &mut errors);
    errors
}

fn walk(schema: &Value, path: &str, place: Place, errors: &mut Vec<FieldError>) {
    check_standard(schema, path, place, errors);
    if flag(schema, "uniqueItems") {
        let detail = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
        errors.push(forbidden(&format!("{path}.uniqueItems"), detail));
    }
    let properties = schema
        .get("properties")
        .and_then(Value::as_object)
        .filter(|map| !map.is_empty());
    let additional = schema.get("additionalProperties").filter(|value| !value.is_null());
    if properties.is_some() && additional.is_some_and(|additional| additional != &Value::Bool(true)) {
        let detail = "additionalProperties and properties are mutual exclusive";
        errors.push(forbidden(&format!("{path}.additionalProperties"), detail));
    }
    check_extensions(schema, path, errors);
    check_map_keys(schema, path, errors);
    check_keyed_items(schema, path, errors);
    let embedded = flag(schema, "x-kubernetes-embedded-resource");
    let resource = place.root || embedded;
    for (child_path, child) in children(schema, path) {
        let mut below = Place { root: false, ..place };
        let name = child_path.strip_prefix(path).unwrap_or_default();
        let meta = match name {
            ".properties[metadata]" => Some("in top-level metadata"),
            ".properties[kind]" => Some("in top-level kind"),
            ".properties[apiVersion]" => Some("in top-level apiVersion"),
            ".additionalProperties" if place.inside_meta => {
                below.no_defaults = Some("inside additionalProperties applying to object metadata");
                None
            }
            _ => None,
        };
        if resource && meta.is_some() {
            below.inside_meta = true;
            below.no_defaults = if place.root { meta } else { place.no_defaults };
        }
        walk(child, &child_path, below, errors);
    }
}

fn check_standard(schema: &Value, path: &str, place: Place, errors: &mut Vec<FieldError>) {
    let kind = text(schema, "type");
    if !kind.is_empty() && !TYPES.contains(&kind) {
        errors.push(not_supported(&format!("{path}.type"), kind, &TYPES));
    }
    if present(schema, "default")
        && let Some(reason) = place.no_defaults
    {
        errors.push(forbidden(
            &format!("{path}.default"),
            &format!("must not be set {reason}"),
        ));
    }
    for key in UNSUPPORTED {
        let empty = schema.get(key).and_then(Value::as_object).is_some_and(Map::is_empty)
            && !matches!(key, "additionalItems" | "dependencies");
        if present(schema, key) && !empty {
            errors.push(forbidden(&format!("{path}.{key}"), &format!("{key} is not supported")));
        }
    }
    if kind == "null" {
        let detail = "type cannot be set to null, use nullable as an alternative";
        errors.push(forbidden(&format!("{path}.type"), detail));
    }
    if schema.get("items").is_some_and(Value::is_array) {
        errors.push(forbidden(
            &format!("{path}.items"),
            "items must be a schema object and not an array",
        ));
    }
    if place.inside_meta && flag(schema, "x-kubernetes-embedded-resource") {
        let detail = "must not be used inside of resource meta";
        errors.push(forbidden(&format!("{path}.x-kubernetes-embedded-resource"), detail));
    }
}

fn check_extensions(schema: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let kind = text(schema, "type");
    if schema.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(false)) {
        let field = format!("{path}.x-kubernetes-preserve-unknown-fields");
        errors.push(invalid(&field, &Value::Bool(false), "must be true or undefined"));
    }
    for (key, expected, supported) in [
        ("x-kubernetes-map-type", "object", ["atomic", "granular"].as_slice()),
        ("x-kubernetes-list-type", "array", ["atomic", "set", "map"].as_slice()),
    ] {
        let Some(value) = schema.get(key).and_then(Value::as_str) else {
            continue;
        };
        if kind != expected {
            let detail = format!("must be {expected} if {key} is specified");
            let field = format!("{path}.type");
            errors.push(match kind {
                "" => required(&field, &detail),
                other => invalid(&field, &Value::from(other), &detail),
            });
        }
        if !supported.contains(&value) {
            errors.push(not_supported(&format!("{path}.{key}"), value, supported));
        }
    }
    let items = schema.get("items").filter(|items| items.is_object());
    if kind == "array"
        && text(schema, "x-kubernetes-list-type") == "set"
        && let Some(items) = items
    {
        let detail = "must be atomic as item of a list with x-kubernetes-list-type=set";
        let list_type = items.get("x-kubernetes-list-type").unwrap_or(&Value::Null);
        if text(items, "type") == "array" && !matches!(list_type.as_str(), None | Some("atomic")) {
            errors.push(invalid(
                &format!("{path}.items.x-kubernetes-list-type"),
                list_type,
                detail,
            ));
        }
        if text(items, "type") == "object" && text(items, "x-kubernetes-map-type") != "atomic" {
            errors.push(invalid(
                &format!("{path}.items.x-kubernetes-map-type"),
                list_type,
                detail,
            ));
        }
    }
}

fn map_keys(schema: &Value) -> &[Value] {
    schema
        .get("x-kubernetes-list-map-keys")
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

fn check_map_keys(schema: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let keys = map_keys(schema);
    let list_type = schema.get("x-kubernetes-list-type").and_then(Value::as_str);
    let type_field = format!("{path}.x-kubernetes-list-type");
    let keys_field = format!("{path}.x-kubernetes-list-map-keys");
    if !keys.is_empty() {
        let detail = "must be map if x-kubernetes-list-map-keys is non-empty";
        match list_type {
            None => errors.push(required(&type_field, detail)),
            Some("map") => {}
            Some(other) => errors.push(invalid(&type_field, &Value::from(other), detail)),
        }
    }
    if list_type != Some("map") {
        return;
    }
    if keys.is_empty() {
        errors.push(required(
            &keys_field,
            "must not be empty if x-kubernetes-list-type is map",
        ));
    }
    let field = format!("{path}.items");
    let items = match schema.get("items") {
        Some(items) if items.is_object() => items,
        Some(items) if !items.is_null() => {
            let detail = "must only have a single schema if x-kubernetes-list-type is map";
            errors.push(invalid_text(
                &field,
                &go_values::text("apiextensions.JSONSchemaPropsOrArray", items),
                detail,
            ));
            return;
        }
        Some(_) | None => {
            let detail = "must have a schema if x-kubernetes-list-type is map";
            errors.push(required(&field, detail));
            return;
        }
    };
    let kind = text(items, "type");
    if kind != "object" {
        let detail = "must be object if parent array's x-kubernetes-list-type is map";
        errors.push(invalid(&format!("{path}.items.type"), &Value::from(kind), detail));
        return;
    }
    let all = Value::from(keys);
    for (index, key) in keys.iter().enumerate() {
        let name = key.as_str().unwrap_or_default();
        match items.get("properties").and_then(|properties| properties.get(name)) {
            Some(property) if matches!(text(property, "type"), "array" | "object") => {
                let detail = "must be a scalar type if parent array's x-kubernetes-list-type is map";
                let field = format!("{path}.items.properties[{name}].type");
                errors.push(invalid(&field, &Value::from(kind), detail));
            }
            Some(_) => {}
            None => errors.push(invalid(
                &keys_field,
                &all,
                "entries must all be names of item properties",
            )),
        }
        if keys.iter().take(index).any(|other| other == key) {
            errors.push(invalid(&keys_field, &all, "must not contain duplicate entries"));
        }
    }
}

fn check_keyed_items(schema: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let list_type = text(schema, "x-kubernetes-list-type");
    let Some(items) = schema.get("items").filter(|items| items.is_object()) else {
        return;
    };
    if !matches!(list_type, "set" | "map") {
        return;
    }
    if flag(items, "nullable") {
        let detail = format!("cannot be nullable when x-kubernetes-list-type is {list_type}");
        errors.push(forbidden(&format!("{path}.items.nullable"), &detail));
    }
    if list_type == "set" {
        return;
    }
    let needed = items
        .get("required")
        .and_then(Value::as_array)
        .map_or(&[][..], Vec::as_slice);
    for key in map_keys(schema) {
        let name = key.as_str().unwrap_or_default();
        let Some(property) = items.get("properties").and_then(|properties| properties.get(name)) else {
            continue;
        };
        let field = format!("{path}.items.properties[{name}]");
        if !needed.contains(key) && !present(property, "default") {
            let detail =
                "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property";
            errors.push(required(&format!("{field}.default"), detail));
        }
        if flag(property, "nullable") {
            let detail = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable";
            errors.push(forbidden(&format!("{field}.nullable"), detail));
        }
    }
}

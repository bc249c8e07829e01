//! Embedded resources: their `apiVersion`, `kind` and `metadata` must be valid as those of an object.

use serde_json::{Map, Value};

use super::super::node::Node;
use super::super::path::Path;
use crate::field::{FieldError, FieldErrorType};
use crate::metadata::names;

/// Checks every embedded resource in `value`.
pub fn check(node: &Node, value: &Value, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    if !node.below.embedded {
        return;
    }
    match value {
        Value::Object(map) => {
            if node.embedded {
                check_resource(map, path, errors);
            }
            for (key, value) in map {
                if let Some(property) = node.properties.get(key) {
                    check(property, value, &path.field(key), errors);
                } else if let Some(schema) = node.additional_schema() {
                    check(schema, value, &path.key(key), errors);
                }
            }
        }
        Value::Array(items) => {
            if let Some(schema) = node.items.as_deref() {
                for (index, item) in items.iter().enumerate() {
                    check(schema, item, &path.index(index), errors);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn check_resource(map: &Map<String, Value>, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    if let Some(value) = map.get("apiVersion") {
        let detail = match value.as_str() {
            None => Some("must be a string".to_owned()),
            Some("") => Some("must not be empty".to_owned()),
            Some(text) if text.matches('/').count() > 1 => Some(format!("unexpected GroupVersion string: {text}")),
            Some(_) => None,
        };
        invalid(path.field("apiVersion"), value, detail, errors);
    }
    if let Some(value) = map.get("kind") {
        let detail = match value.as_str() {
            None => Some("must be a string".to_owned()),
            Some("") => Some("must not be empty".to_owned()),
            Some(text) => names::dns_1035_in_one(&text.to_lowercase())
                .map(|detail| format!("may have mixed case, but should otherwise match: {detail}")),
        };
        invalid(path.field("kind"), value, detail, errors);
    }
    if let Some(Value::Object(metadata)) = map.get("metadata") {
        check_metadata(metadata, &path.field("metadata"), errors);
    }
}

fn invalid(path: Path<'_>, value: &Value, detail: Option<String>, errors: &mut Vec<FieldError>) {
    if let Some(detail) = detail {
        let field = path.bracketed_field();
        errors.push(FieldError::with_value(FieldErrorType::Invalid, field, value, &detail));
    }
}

fn check_metadata(metadata: &Map<String, Value>, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    for key in ["generateName", "name"] {
        if let Some(value) = metadata.get(key)
            && let Some(text) = value.as_str()
        {
            for detail in names::path_segment(text, key == "generateName") {
                invalid(path.field(key), value, Some(detail), errors);
            }
        }
    }
    if let Some(value) = metadata.get("namespace")
        && let Some(text) = value.as_str().filter(|text| !text.is_empty())
    {
        for detail in names::dns_label(text) {
            invalid(path.field("namespace"), value, Some(detail), errors);
        }
    }
    for key in ["labels", "annotations"] {
        let Some(Value::Object(pairs)) = metadata.get(key) else {
            continue;
        };
        let field = path.field(key).bracketed_field();
        for (name, value) in pairs {
            let lower = name.to_lowercase();
            let checked = if key == "labels" { name } else { &lower };
            for detail in names::qualified_name(checked) {
                let name = Value::from(name.as_str());
                errors.push(FieldError::with_value(
                    FieldErrorType::Invalid,
                    field.clone(),
                    &name,
                    &detail,
                ));
            }
            if key == "labels" {
                for detail in names::label_value(value.as_str().unwrap_or_default()) {
                    errors.push(FieldError::with_value(
                        FieldErrorType::Invalid,
                        field.clone(),
                        value,
                        &detail,
                    ));
                }
            }
        }
    }
}

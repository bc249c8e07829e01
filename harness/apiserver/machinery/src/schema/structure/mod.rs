//! Validation of an `openAPIV3Schema`: the errors when a CRD is written, in the server's words.
//!
//! `keywords` refuses forbidden keywords, `structural` enforces the rules of structural schemas, `defaults` checks that
//! defaults obey their own schema, `rules` checks `x-kubernetes-validations`.

mod defaults;
mod keywords;
pub(crate) mod rules;
mod structural;

use serde_json::Value;

use super::memory::Memory;
use super::node::{MAX_DEPTH, Node};
use crate::field::{FieldError, FieldErrorType};

/// Returns all errors of a schema; `path` is its position in the CRD.
pub fn check(schema: &Value, path: &str, status_subresource: bool) -> Vec<FieldError> {
    static SOUND: [Memory<()>; 2] = [const { Memory::new() }; 2];
    let sound = &SOUND[usize::from(status_subresource)];
    if sound.of(schema).is_some() {
        return Vec::new();
    }
    let errors = look(schema, path, status_subresource);
    if errors.is_empty() {
        sound.keep(schema, ());
    }
    errors
}

fn look(schema: &Value, path: &str, status_subresource: bool) -> Vec<FieldError> {
    if nests_too_deeply(schema, 0) {
        let detail = format!("must not nest deeper than {MAX_DEPTH} levels");
        return vec![FieldError::without_value(FieldErrorType::Forbidden, path, &detail)];
    }
    let mut errors = Vec::new();
    keywords::check_root(schema, path, status_subresource, &mut errors);
    let mut sound = Vec::new();
    if !keywords::has_unsupported(schema) {
        sound = structural::check(schema, path);
        if sound.is_empty() {
            sound = defaults::check(&Node::build(schema), path);
        }
    }
    let rules_too = sound.is_empty();
    errors.append(&mut sound);
    let keyword_errors = keywords::check(schema, path);
    let rules_too = rules_too && keyword_errors.is_empty();
    errors.extend(keyword_errors);
    if rules_too {
        errors.extend(rules::check(schema, path));
    } else {
        errors.extend(rules::check_texts(schema, path));
    }
    if errors.is_empty() && keywords::names_language(schema) {
        let detail = "OpenAPIV3Schema 'schema' is not supported";
        errors.push(invalid(path, &Value::from(""), detail));
    }
    errors
}

fn nests_too_deeply(value: &Value, depth: usize) -> bool {
    let deeper = |value: &Value| nests_too_deeply(value, depth + 1);
    depth > MAX_DEPTH
        || match value {
            Value::Object(map) => map.values().any(deeper),
            Value::Array(items) => items.iter().any(deeper),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
        }
}

/// The keywords that hold one schema, those that hold a list, and those that hold schemas by name.
pub(super) fn children<'s>(schema: &'s Value, path: &str) -> Vec<(String, &'s Value)> {
    let mut found = Vec::new();
    for key in ["items", "additionalProperties", "not"] {
        if let Some(child) = schema.get(key).filter(|child| child.is_object()) {
            found.push((format!("{path}.{key}"), child));
        }
    }
    for key in ["properties", "definitions", "patternProperties"] {
        for (name, child) in schema.get(key).and_then(Value::as_object).into_iter().flatten() {
            found.push((format!("{path}.{key}[{name}]"), child));
        }
    }
    for key in ["allOf", "anyOf", "oneOf"] {
        for (index, child) in schema
            .get(key)
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .enumerate()
        {
            found.push((format!("{path}.{key}[{index}]"), child));
        }
    }
    found
}

/// Returns `true` if a keyword is `true`.
pub(super) fn flag(schema: &Value, key: &str) -> bool {
    schema.get(key).and_then(Value::as_bool).unwrap_or(false)
}

/// Returns `true` if a keyword is set and not null.
pub(super) fn present(schema: &Value, key: &str) -> bool {
    schema.get(key).is_some_and(|value| !value.is_null())
}

pub(super) fn required(path: &str, detail: &str) -> FieldError {
    FieldError::without_value(FieldErrorType::Required, path, detail)
}

pub(super) fn forbidden(path: &str, detail: &str) -> FieldError {
    FieldError::without_value(FieldErrorType::Forbidden, path, detail)
}

/// Returns an error that quotes the value as the server's own types print it.
pub(super) fn invalid_text(path: &str, quoted: &str, detail: &str) -> FieldError {
    FieldError {
        error_type: FieldErrorType::Invalid,
        field: path.to_owned(),
        message: format!("Invalid value: {quoted}: {detail}"),
    }
}

pub(super) fn invalid(path: &str, value: &Value, detail: &str) -> FieldError {
    FieldError::with_value(FieldErrorType::Invalid, path, value, detail)
}

/// `Unsupported value: "x": supported values: "a", "b"`.
pub fn not_supported(path: &str, value: &str, supported: &[&str]) -> FieldError {
    let supported: Vec<String> = supported.iter().map(|name| format!("\"{name}\"")).collect();
    let detail = format!("supported values: {}", supported.join(", "));
    FieldError::with_value(FieldErrorType::NotSupported, path, &Value::from(value), &detail)
}

#[cfg(test)]
mod tests;

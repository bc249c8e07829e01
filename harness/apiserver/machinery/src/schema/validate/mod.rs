//! Validation of a value against the keywords of a schema, in the words of the API server's OpenAPI validator.
//!
//! `types` and `scalars` check one value, `containers` lists and objects, `composite` `allOf` and its kin; `keyed`
//! (sets and maps among lists) and `embedded` (metadata of embedded resources) walk the value separately.

mod composite;
mod containers;
pub mod embedded;
pub mod keyed;
mod scalars;
mod types;

use serde_json::Value;

use super::node::Node;
use super::path::Path;
use crate::field::{FieldError, FieldErrorType};
use crate::go_fmt;

/// The errors of a walk and the number of checks that ran: of several failing alternatives, the best is the one with
/// the most checks.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) errors: Vec<FieldError>,
    checks: usize,
}

impl Outcome {
    fn merge(&mut self, other: Self) {
        self.errors.extend(other.errors);
        self.checks += other.checks;
    }

    /// Adds an error about the value at the path: `spec.x: Invalid value: 5: spec.x in body …`.
    fn invalid(&mut self, path: &Path<'_>, value: &Value, rest: &str) {
        let detail = format!("{} in body {rest}", path.dotted());
        let message = format!("Invalid value: {}: {detail}", quoted_value(value));
        self.errors.push(FieldError {
            error_type: FieldErrorType::Invalid,
            field: path.dotted_field(),
            message,
        });
    }

    /// Adds an error about a wrong type; `actual` replaces the value.
    fn wrong_type(&mut self, path: &Path<'_>, expected: &str, actual: &str) {
        let actual = go_fmt::quoted(actual);
        let message = format!(
            "Invalid value: {actual}: {} in body must be of type {expected}: {actual}",
            path.dotted()
        );
        self.errors.push(FieldError {
            error_type: FieldErrorType::TypeInvalid,
            field: path.dotted_field(),
            message,
        });
    }

    /// Adds an error that the API server cannot attach to a field.
    fn detached(&mut self, message: &str) {
        self.errors.push(FieldError {
            error_type: FieldErrorType::Invalid,
            field: "<nil>".to_owned(),
            message: format!("Invalid value: \"\": {message}"),
        });
    }

    fn too_many(&mut self, path: &Path<'_>, actual: usize, most: u64) {
        let items = if most == 1 { "item" } else { "items" };
        self.errors.push(FieldError {
            error_type: FieldErrorType::TooMany,
            field: path.dotted_field(),
            message: format!("Too many: {actual}: must have at most {most} {items}"),
        });
    }
}

/// Validates `value`; skips parts that equal `old`, so that tightened schemas do not lock objects.
pub fn check(node: &Node, value: &Value, old: Option<&Value>, path: &Path<'_>, out: &mut Outcome) {
    if old == Some(value) {
        return;
    }
    types::check(node, value, path, out);
    if value.is_null() {
        scalars::check_enum(node, value, path, out);
        return;
    }
    composite::check(node, value, old, path, out);
    match value {
        Value::String(text) => scalars::check_string(node, value, text, path, out),
        Value::Number(_) => scalars::check_number(node, value, path, out),
        Value::Array(items) => {
            let old = old.and_then(Value::as_array);
            containers::check_list(node, items, old, path, out);
        }
        Value::Object(_) | Value::Bool(_) | Value::Null => {}
    }
    scalars::check_enum(node, value, path, out);
    if let Value::Object(map) = value {
        let old = old.and_then(Value::as_object);
        containers::check_object(node, map, old, path, out);
    }
    out.checks += 3;
}

/// Formats a value as the messages quote it: text quoted, numbers and booleans plain, the rest as JSON.
pub(crate) fn quoted_value(value: &Value) -> String {
    match value {
        Value::String(text) => go_fmt::quoted(text),
        Value::Null => "null".to_owned(),
        Value::Bool(_) | Value::Number(_) => go_fmt::plain(value),
        Value::Array(_) | Value::Object(_) => value.to_string(),
    }
}

#[cfg(test)]
mod tests;

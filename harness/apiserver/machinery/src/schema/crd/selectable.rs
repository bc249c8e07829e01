//! `selectableFields`: fields by which clients may select custom resources.

use serde_json::Value;

use super::super::field_path::resolve_field_path;
use crate::field::{FieldError, FieldErrorType};
use crate::meta::text;

/// Maximum number of selectable fields per version.
const MOST: usize = 8;

/// The selectable fields of an entry of `spec.versions`, as selectors name them: `spec.color`.
pub fn fields(version: &Value) -> Vec<String> {
    let fields = version.get("selectableFields").and_then(Value::as_array);
    let paths = fields.into_iter().flatten().map(|field| text(field, "jsonPath"));
    paths.map(|path| path.trim_start_matches('.').to_owned()).collect()
}

/// Returns the value that selectors match; empty if the field is not set.
pub fn value(object: &Value, field: &str) -> String {
    let mut at = object;
    for name in field.split('.') {
        match at.get(name) {
            Some(next) => at = next,
            None => return String::new(),
        }
    }
    match at {
        Value::String(text) => text.clone(),
        Value::Bool(_) | Value::Number(_) => at.to_string(),
        Value::Null | Value::Array(_) | Value::Object(_) => String::new(),
    }
}

/// Validates the selectable fields of a definition.
pub fn check(fields: &Value, schema: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut seen: Vec<String> = Vec::new();
    for (index, field) in fields.as_array().into_iter().flatten().enumerate() {
        let place = format!("{path}[{index}].jsonPath");
        let json_path = text(field, "jsonPath");
        let value = Value::from(json_path);
        let invalid = |detail: &str| FieldError::with_value(FieldErrorType::Invalid, place.clone(), &value, detail);
        if json_path.is_empty() {
            errors.push(FieldError::without_value(FieldErrorType::Required, place, ""));
            continue;
        }
        let (written, found) = match resolve_field_path(schema, json_path, false) {
            Ok(resolved) => resolved,
            Err(error) => {
                errors.push(invalid(&format!("is an invalid path: {error}")));
                continue;
            }
        };
        if written.split('.').next() == Some("metadata") {
            errors.push(invalid("must not point to fields in metadata"));
        }
        if !matches!(text(found, "type"), "string" | "boolean" | "integer") {
            errors.push(invalid(
                "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.",
            ));
        }
        if seen.contains(&written) {
            errors.push(FieldError::with_value(FieldErrorType::Duplicate, place, &value, ""));
        } else {
            seen.push(written);
        }
    }
    if seen.len() > MOST {
        let message = format!("Too many: {}: must have at most {MOST} items", seen.len());
        errors.push(FieldError {
            error_type: FieldErrorType::TooMany,
            field: path.to_owned(),
            message,
        });
    }
    errors
}

//! Collecting [`FieldError`]s while walking through an object.

use serde_json::Value;

use super::error::{FieldError, FieldErrorType};
use super::path::FieldPath;

/// The errors found so far.
#[derive(Debug, Default)]
pub struct ErrorList(Vec<FieldError>);

impl ErrorList {
    /// Returns all errors.
    pub fn into_vec(self) -> Vec<FieldError> {
        self.0
    }

    /// Returns the number of errors.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns `true` if there are no errors.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns `true` if there is an error about the field or about anything below it.
    pub fn is_about(&self, field: &FieldPath<'_>) -> bool {
        let field = field.to_string();
        let is_in = |rest: &str| rest.is_empty() || rest.starts_with(['.', '[']);
        self.0
            .iter()
            .any(|error| error.field.strip_prefix(&field).is_some_and(is_in))
    }

    /// Adds the errors of another validation.
    pub fn extend(&mut self, findings: Vec<FieldError>) {
        self.0.extend(findings);
    }

    /// Sorts the errors found so far.
    pub fn sort_with(&mut self, sort: impl FnOnce(&mut [FieldError])) {
        sort(&mut self.0);
    }

    /// `Invalid value: VALUE: DETAIL`.
    pub fn invalid(&mut self, field: &FieldPath<'_>, value: impl Into<Value>, detail: &str) {
        self.with_value(FieldErrorType::Invalid, field, &value.into(), detail);
    }

    /// Adds `Invalid value: TEXT: DETAIL` for a value that is already written as text.
    pub fn invalid_text(&mut self, field: &FieldPath<'_>, text: &str, detail: &str) {
        self.0.push(FieldError {
            error_type: FieldErrorType::Invalid,
            field: field.to_string(),
            message: if detail.is_empty() {
                format!("Invalid value: {text}")
            } else {
                format!("Invalid value: {text}: {detail}")
            },
        });
    }

    /// Adds `Invalid value` for every message.
    pub fn invalid_each(&mut self, field: &FieldPath<'_>, value: &str, details: Vec<String>) {
        for detail in details {
            self.invalid(field, value, &detail);
        }
    }

    /// Adds `Required value` if there is no value, else `Invalid value`, for every message.
    pub fn required_each(&mut self, field: &FieldPath<'_>, value: &str, details: Vec<String>) {
        if value.is_empty() {
            self.required(field, "");
        } else {
            self.invalid_each(field, value, details);
        }
    }

    /// Adds `Required value`, with `: DETAIL` if there is one.
    pub fn required(&mut self, field: &FieldPath<'_>, detail: &str) {
        self.0.push(FieldError::without_value(
            FieldErrorType::Required,
            field.to_string(),
            detail,
        ));
    }

    /// Adds `Forbidden: DETAIL`.
    pub fn forbidden(&mut self, field: &FieldPath<'_>, detail: &str) {
        self.0.push(FieldError::without_value(
            FieldErrorType::Forbidden,
            field.to_string(),
            detail,
        ));
    }

    /// Adds `Duplicate value: VALUE`.
    pub fn duplicate(&mut self, field: &FieldPath<'_>, value: impl Into<Value>) {
        self.with_value(FieldErrorType::Duplicate, field, &value.into(), "");
    }

    /// As [`Self::duplicate`], for a value that is already written as text.
    pub fn duplicate_text(&mut self, field: &FieldPath<'_>, text: &str) {
        self.0.push(FieldError {
            error_type: FieldErrorType::Duplicate,
            field: field.to_string(),
            message: format!("Duplicate value: {text}"),
        });
    }

    /// Adds `Not found: VALUE`.
    pub fn not_found(&mut self, field: &FieldPath<'_>, value: impl Into<Value>) {
        self.with_value(FieldErrorType::NotFound, field, &value.into(), "");
    }

    /// `Unsupported value: VALUE: supported values: …`.
    pub fn not_supported(&mut self, field: &FieldPath<'_>, value: impl Into<Value>, supported: &[&str]) {
        self.not_supported_text(field, &value.into().to_string(), supported);
    }

    /// As [`Self::not_supported`], for a value that is already written as text.
    pub fn not_supported_text(&mut self, field: &FieldPath<'_>, text: &str, supported: &[&str]) {
        let quoted: Vec<String> = supported.iter().map(|value| format!("{value:?}")).collect();
        self.0.push(FieldError {
            error_type: FieldErrorType::NotSupported,
            field: field.to_string(),
            message: format!("Unsupported value: {text}: supported values: {}", quoted.join(", ")),
        });
    }

    /// `Too long: may not be more than MAX bytes`.
    pub fn too_long(&mut self, field: &FieldPath<'_>, max: usize) {
        let detail = format!("may not be more than {max} bytes");
        self.0.push(FieldError::without_value(
            FieldErrorType::TooLong,
            field.to_string(),
            &detail,
        ));
    }

    /// Adds any other error that quotes its value.
    pub fn with_value(&mut self, error_type: FieldErrorType, field: &FieldPath<'_>, value: &Value, detail: &str) {
        self.0
            .push(FieldError::with_value(error_type, field.to_string(), value, detail));
    }
}

//! Errors about single fields.

use serde_json::Value;

use crate::go_fmt;

/// The type of an error; each has the `reason` that the `causes` of a `Status` carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FieldErrorType {
    /// A required field is missing.
    Required,
    /// The value is of the right type but not allowed.
    Invalid,
    /// A value that must be unique occurs twice.
    Duplicate,
    /// The value is not in the enumeration.
    NotSupported,
    /// The field must not be set, or must not change.
    Forbidden,
    /// The value has too many characters or bytes.
    TooLong,
    /// The list or map has too many items.
    TooMany,
    /// The list or map has too few items.
    TooFew,
    /// The value has the wrong JSON type.
    TypeInvalid,
    /// The value refers to an object that does not exist.
    NotFound,
    /// An internal error of the server.
    Internal,
}

impl FieldErrorType {
    /// The `reason` of a cause, such as `FieldValueInvalid`.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Required => "FieldValueRequired",
            Self::Invalid => "FieldValueInvalid",
            Self::Duplicate => "FieldValueDuplicate",
            Self::NotSupported => "FieldValueNotSupported",
            Self::Forbidden => "FieldValueForbidden",
            Self::TooLong => "FieldValueTooLong",
            Self::TooMany => "FieldValueTooMany",
            Self::TooFew => "FieldValueTooFew",
            Self::TypeInvalid => "FieldValueTypeInvalid",
            Self::NotFound => "FieldValueNotFound",
            Self::Internal => "InternalError",
        }
    }

    /// The first words of a message of this type, such as `Invalid value`.
    pub fn words(self) -> &'static str {
        match self {
            Self::Required => "Required value",
            Self::Invalid | Self::TypeInvalid => "Invalid value",
            Self::Duplicate => "Duplicate value",
            Self::NotSupported => "Unsupported value",
            Self::Forbidden => "Forbidden",
            Self::TooLong => "Too long",
            Self::TooMany => "Too many",
            Self::TooFew => "Too few",
            Self::NotFound => "Not found",
            Self::Internal => "Internal error",
        }
    }
}

/// One error about one field: `spec.replicas: Invalid value: -1: must be …`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldError {
    /// The type of the error.
    pub error_type: FieldErrorType,
    /// The field as the API writes it: `spec.containers[0].name`, `metadata.labels`, `data[key]`.
    pub field: String,
    /// The whole message without the field: `Invalid value: -1: must be greater than or equal to 0`.
    pub message: String,
}

impl FieldError {
    /// Returns an error whose message consists of the type's words, the value (as JSON) and a detail.
    pub fn with_value(error_type: FieldErrorType, field: impl Into<String>, value: &Value, detail: &str) -> Self {
        let start = format!("{}: {}", error_type.words(), go_fmt::json(value));
        Self::beginning_with(start, error_type, field, detail)
    }

    /// Returns an error whose message does not quote the value: `Required value`, `Forbidden: …`.
    pub fn without_value(error_type: FieldErrorType, field: impl Into<String>, detail: &str) -> Self {
        Self::beginning_with(error_type.words().to_owned(), error_type, field, detail)
    }

    fn beginning_with(mut message: String, error_type: FieldErrorType, field: impl Into<String>, detail: &str) -> Self {
        if !detail.is_empty() {
            message.push_str(": ");
            message.push_str(detail);
        }
        Self {
            error_type,
            field: field.into(),
            message,
        }
    }
}

impl std::fmt::Display for FieldError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.field, self.message)
    }
}

/// Joins several errors into one text; writes repeated errors once.
pub fn aggregate(errors: &[FieldError]) -> String {
    let mut texts: Vec<String> = Vec::new();
    for error in errors {
        let text = error.to_string();
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    match texts.as_slice() {
        [] => "[]".to_owned(),
        [one] => one.clone(),
        more => format!("[{}]", more.join(", ")),
    }
}

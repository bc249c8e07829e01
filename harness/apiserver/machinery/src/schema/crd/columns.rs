//! `additionalPrinterColumns`: the columns of a custom resource in tables.

use serde_json::Value;

use super::jsonpath::{self, JsonPath};
use crate::field::{FieldError, FieldErrorType};
use crate::meta::text;

const TYPES: [&str; 5] = ["boolean", "date", "integer", "number", "string"];
const FORMATS: [&str; 8] = [
    "byte",
    "date",
    "date-time",
    "double",
    "float",
    "int32",
    "int64",
    "password",
];

/// One column, its path parsed.
#[derive(Debug, Clone)]
pub struct Column {
    /// The heading of the column.
    pub name: String,
    /// `integer`, `number`, `string`, `boolean` or `date`.
    pub kind: String,
    /// The `format` of the column.
    pub format: String,
    /// The description for users.
    pub description: String,
    /// Columns above 0 are shown in wide output only.
    pub priority: i64,
    path: Option<JsonPath>,
}

impl Column {
    /// Returns the columns of an entry of `spec.versions`; without columns, the server shows the age.
    pub fn of_version(version: &Value) -> Vec<Self> {
        let columns = version.get("additionalPrinterColumns").and_then(Value::as_array);
        columns.into_iter().flatten().map(Self::read).collect()
    }

    fn read(column: &Value) -> Self {
        let description = text(column, "description");
        let otherwise = format!(
            "Custom resource definition column (in JSONPath format): {}",
            text(column, "jsonPath")
        );
        Self {
            name: text(column, "name").to_owned(),
            kind: text(column, "type").to_owned(),
            format: text(column, "format").to_owned(),
            description: if description.is_empty() {
                otherwise
            } else {
                description.to_owned()
            },
            priority: column.get("priority").and_then(Value::as_i64).unwrap_or(0),
            path: JsonPath::parse(text(column, "jsonPath")),
        }
    }

    /// Returns the cell of an object. Dates are returned as written, for the caller to turn into ages. Null if there is
    /// no value of the column's type.
    pub fn cell(&self, object: &Value) -> Value {
        let Some(path) = &self.path else { return Value::Null };
        let found = path.find(object);
        let Some(value) = found.first() else { return Value::Null };
        match self.kind.as_str() {
            "integer" => value.as_i64().map_or_else(|| whole(value), Value::from),
            "number" => {
                if value.is_number() {
                    (*value).clone()
                } else {
                    Value::Null
                }
            }
            "boolean" => {
                if value.is_boolean() {
                    (*value).clone()
                } else {
                    Value::Null
                }
            }
            "date" => {
                if value.is_string() {
                    (*value).clone()
                } else {
                    Value::Null
                }
            }
            _ => Value::from(jsonpath::printed(value)),
        }
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the server truncates as well")]
fn whole(value: &Value) -> Value {
    value.as_f64().map_or(Value::Null, |number| Value::from(number as i64))
}

/// Validates the printer columns of a definition.
pub fn check(columns: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (index, column) in columns.as_array().into_iter().flatten().enumerate() {
        let path = format!("{path}[{index}]");
        if text(column, "name").is_empty() {
            errors.push(FieldError::without_value(
                FieldErrorType::Required,
                format!("{path}.name"),
                "",
            ));
        }
        let kind = text(column, "type");
        let types = format!("must be one of {}", TYPES.join(","));
        if kind.is_empty() {
            errors.push(FieldError::without_value(
                FieldErrorType::Required,
                format!("{path}.type"),
                &types,
            ));
        } else if !TYPES.contains(&kind) {
            let field = format!("{path}.type");
            errors.push(FieldError::with_value(
                FieldErrorType::Invalid,
                field,
                &Value::from(kind),
                &types,
            ));
        }
        let format = text(column, "format");
        if !format.is_empty() && !FORMATS.contains(&format) {
            let detail = format!("must be one of {}", FORMATS.join(","));
            let field = format!("{path}.format");
            errors.push(FieldError::with_value(
                FieldErrorType::Invalid,
                field,
                &Value::from(format),
                &detail,
            ));
        }
        errors.extend(jsonpath::check_simple(
            text(column, "jsonPath"),
            &format!("{path}.JSONPath"),
        ));
    }
    errors
}

//! Values passed from step to step, and the remaining work budget.

use serde_json::Value;

use crate::error::EvaluateErrorKind;
use crate::limits::MAX_WORK;

/// A value between two steps: a part of the evaluated value, or a literal of the template.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Item<'a> {
    Json(&'a Value),
    /// No value: the input of a template that is evaluated against null.
    Nothing,
    /// A byte of a text that a wildcard split.
    Byte(u8),
    Text(&'a str),
    Int(i64),
    Float(f64),
    Bool(bool),
}

impl<'a> Item<'a> {
    /// Returns the initial value of a template or of the body of a range.
    pub fn start(value: &'a Value) -> Self {
        if value.is_null() {
            Self::Nothing
        } else {
            Self::Json(value)
        }
    }

    /// Returns the initial value of a range body for this result.
    pub fn as_start(self) -> Self {
        match self {
            Self::Json(value) => Self::start(value),
            other => other,
        }
    }

    /// Returns the value of a key, if this is an object with that key.
    pub fn get(&self, key: &str) -> Option<Self> {
        match self {
            Self::Json(value) => value.get(key).map(Self::Json),
            _ => None,
        }
    }

    /// Returns the keys of an object in order; empty for other values.
    pub fn keys(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        let object = match self {
            Self::Json(value) => value.as_object(),
            _ => None,
        };
        object.into_iter().flat_map(|object| object.keys().map(String::as_str))
    }

    /// Returns the direct children: the values of an object in the order of its keys, the bytes of a text.
    pub fn children(&self) -> Vec<Self> {
        match self {
            Self::Json(Value::Object(object)) => object.values().map(Self::Json).collect(),
            Self::Json(Value::Array(list)) => list.iter().map(Self::Json).collect(),
            Self::Json(Value::String(text)) => text.bytes().map(Self::Byte).collect(),
            Self::Text(text) => text.bytes().map(Self::Byte).collect(),
            Self::Json(_) | Self::Nothing | Self::Byte(_) | Self::Int(_) | Self::Float(_) | Self::Bool(_) => Vec::new(),
        }
    }

    /// Returns the type name in the words of the original's messages, because users search for them.
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::Json(Value::Object(_)) => "map[string]interface {}",
            Self::Json(Value::Array(_)) => "[]interface {}",
            Self::Json(Value::String(_)) | Self::Text(_) => "string",
            Self::Json(Value::Number(number)) if number.is_f64() => "float64",
            Self::Json(Value::Number(_)) => "int64",
            Self::Json(Value::Bool(_)) | Self::Bool(_) => "bool",
            Self::Json(Value::Null) | Self::Nothing => "null",
            Self::Byte(_) => "uint8",
            Self::Int(_) => "int",
            Self::Float(_) => "float64",
        }
    }
}

/// Remaining work budget of an evaluation.
#[derive(Debug)]
pub(crate) struct Work(u64);

impl Work {
    pub fn new() -> Self {
        Self(MAX_WORK)
    }

    /// Charges one step that touches `values` values.
    pub fn spend(&mut self, values: usize) -> Result<(), EvaluateErrorKind> {
        let cost = u64::try_from(values).unwrap_or(u64::MAX).saturating_add(1);
        self.0 = self.0.checked_sub(cost).ok_or(EvaluateErrorKind::TooMuchWork)?;
        Ok(())
    }
}

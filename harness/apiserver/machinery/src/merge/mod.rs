//! Merging: field ownership and patches.
//!
//! Read [`types`] first: the [`types::TypeModel`] says which lists are sets or maps and which values are atomic. On it
//! build `typed` (validate, field sets, compare, merge, remove: the operations of structured merge), [`apply`]
//! (managers of updates, server-side apply), `versioned` (owners in other versions), [`strategic`], [`json_patch`] and
//! [`merge_patch`] (the types of patches), and [`field_validation`] (unknown and duplicate fields). Everything is a
//! pure function of JSON values.

pub mod apply;
pub mod conflict;
mod error;
pub mod field_validation;
pub mod json_patch;
mod last_applied;
mod managed_fields;
pub mod merge_patch;
mod order;
pub mod set;
pub mod strategic;
pub mod typed;
pub mod types;
mod versioned;
mod write;

/// The JSON type of a value in the words of Go's decoder.
pub fn go_type(value: &serde_json::Value) -> &'static str {
    match value {
        serde_json::Value::Null => "null",
        serde_json::Value::Bool(_) => "bool",
        serde_json::Value::Number(_) => "number",
        serde_json::Value::String(_) => "string",
        serde_json::Value::Array(_) => "array",
        serde_json::Value::Object(_) => "object",
    }
}

//! Lists, texts and maps in the fields of an object.

pub(super) use baton_apimachinery::meta::{list, text};
use serde_json::{Map, Value};

/// The texts in a list.
pub(super) fn texts<'a>(object: &'a Value, field: &str) -> Vec<&'a str> {
    list(object, field).iter().filter_map(Value::as_str).collect()
}

/// The members of an object in a field.
pub(super) fn members<'a>(object: &'a Value, field: &str) -> Option<&'a Map<String, Value>> {
    object.get(field).and_then(Value::as_object)
}

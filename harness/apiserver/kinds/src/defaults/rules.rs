//! The language in which defaults are written.

use serde_json::{Map, Value};

/// A JSON object.
pub(super) type Object = Map<String, Value>;

/// One default. Names are fields of the object at hand; existing fields never change.
#[derive(Debug)]
pub(super) enum Rule {
    /// A text.
    Text(&'static str, &'static str),
    /// A text for which empty and missing differ.
    TextIfNone(&'static str, &'static str),
    /// A whole number.
    Int(&'static str, i64),
    /// A boolean.
    Bool(&'static str, bool),
    /// An empty object.
    Empty(&'static str),
    /// Rules for the object in a field, if there is one.
    In(&'static str, &'static [Rule]),
    /// Rules for every object in a list.
    Each(&'static str, &'static [Rule]),
    /// Rules that apply if a field has this text.
    If(&'static str, &'static str, &'static [Rule]),
    /// A shared list of rules.
    Also(&'static [Rule]),
    /// A default that the other rules cannot express.
    Do(fn(&mut Object)),
}

/// Applies rules in their order.
pub(super) fn apply(rules: &[Rule], object: &mut Object) {
    for rule in rules {
        match rule {
            Rule::Text(field, value) => set(object, field, || Value::from(*value)),
            Rule::TextIfNone(field, value) => fill_in(object, field, Value::from(*value)),
            Rule::Int(field, value) => fill_in(object, field, Value::from(*value)),
            Rule::Bool(field, value) => set(object, field, || Value::from(*value)),
            Rule::Empty(field) => set(object, field, || Value::Object(Map::new())),
            Rule::In(field, rules) => {
                if let Some(inner) = object.get_mut(*field).and_then(Value::as_object_mut) {
                    apply(rules, inner);
                }
            }
            Rule::Each(field, rules) => {
                let items = object.get_mut(*field).and_then(Value::as_array_mut);
                for item in items.into_iter().flatten().filter_map(Value::as_object_mut) {
                    apply(rules, item);
                }
            }
            Rule::If(field, value, rules) => {
                if object.get(*field).and_then(Value::as_str) == Some(*value) {
                    apply(rules, object);
                }
            }
            Rule::Also(rules) => apply(rules, object),
            Rule::Do(function) => function(object),
        }
    }
}

/// Sets a field that is missing.
fn fill_in(object: &mut Object, field: &str, value: Value) {
    let found = object.entry(field).or_insert(Value::Null);
    if found.is_null() {
        *found = value;
    }
}

/// Sets a field that is missing or `null`, or an empty text.
pub(super) fn set(object: &mut Object, field: &str, value: impl FnOnce() -> Value) {
    let is_missing = object
        .get(field)
        .is_none_or(|value| value.is_null() || value.as_str() == Some(""));
    if is_missing {
        object.insert(field.to_owned(), value());
    }
}

//! Values as Go prints them; some messages of the API server quote them so.

use std::fmt::Write as _;

use serde_json::Value;

/// `%v`: `map[image:x name:y]`, `[a b]`, `<nil>`.
pub(crate) fn value(value: &Value) -> String {
    let mut text = String::new();
    print(value, &mut text);
    text
}

fn print(value: &Value, text: &mut String) {
    match value {
        Value::Null => text.push_str("<nil>"),
        Value::Bool(_) | Value::Number(_) => {
            let _ = write!(text, "{value}");
        }
        Value::String(string) => text.push_str(string),
        Value::Array(items) => list(items, text),
        Value::Object(members) => {
            text.push_str("map[");
            for (position, (name, inner)) in members.iter().enumerate() {
                let space = if position == 0 { "" } else { " " };
                let _ = write!(text, "{space}{name}:");
                print(inner, text);
            }
            text.push(']');
        }
    }
}

fn list(items: &[Value], text: &mut String) {
    text.push('[');
    for (position, item) in items.iter().enumerate() {
        if position > 0 {
            text.push(' ');
        }
        print(item, text);
    }
    text.push(']');
}

/// `%v` of a list.
pub(crate) fn items(items: &[Value]) -> String {
    let mut text = String::new();
    list(items, &mut text);
    text
}

/// `%#v`, as far as scalars go.
pub(crate) fn go_syntax(value: &Value) -> String {
    match value {
        Value::Null => "interface {}(nil)".to_owned(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => value.to_string(),
        Value::Array(items) => {
            let inner: Vec<String> = items.iter().map(go_syntax).collect();
            format!("[]interface {{}}{{{}}}", inner.join(", "))
        }
        Value::Object(members) => {
            let inner: Vec<String> = members
                .iter()
                .map(|(name, inner)| format!("{name:?}:{}", go_syntax(inner)))
                .collect();
            format!("map[string]interface {{}}{{{}}}", inner.join(", "))
        }
    }
}

/// `%T` of what the decoder makes of it.
pub(crate) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

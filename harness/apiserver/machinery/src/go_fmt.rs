//! Values as Go's `fmt` prints them in messages.

use std::fmt::Write as _;

use serde_json::Value;

/// A number as `%v` prints it: shortest digits, an exponent from 1e+06 on and below 1e-4.
pub(crate) fn float(number: f64) -> String {
    let size = number.abs();
    if number.is_nan() {
        return "NaN".to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    if size != 0.0 && !(1e-4..1e6).contains(&size) {
        let text = format!("{number:e}");
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let (sign, exponent) = exponent.strip_prefix('-').map_or(('+', exponent), |rest| ('-', rest));
        return format!("{digits}e{sign}{exponent:0>2}");
    }
    format!("{number}")
}

/// Formats a JSON value as `%v` formats the decoded value.
pub fn plain(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) => match number.as_f64().filter(|_| number.is_f64()) {
            Some(real) => float(real),
            None => number.to_string(),
        },
        Value::String(text) => text.clone(),
        Value::Array(list) => items(list),
        Value::Object(map) => {
            let members: Vec<String> = map
                .iter()
                .map(|(key, value)| format!("{key}:{}", plain(value)))
                .collect();
            format!("map[{}]", members.join(" "))
        }
    }
}

/// A list as `%v` prints it.
pub(crate) fn items(items: &[Value]) -> String {
    let items: Vec<String> = items.iter().map(plain).collect();
    format!("[{}]", items.join(" "))
}

/// Formats a scalar as `%#v`.
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

/// Returns the `%T` of the decoded value.
pub fn type_name(value: &Value) -> &'static str {
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

/// Formats a value as `encoding/json` does: escapes characters that could end a script in a page.
pub(crate) fn json(value: &Value) -> String {
    let text = value.to_string();
    match value {
        Value::Array(_) | Value::Object(_) => escaped(text),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => text,
    }
}

/// Escapes characters in JSON that could end a script in a page.
pub(crate) fn escaped(json: String) -> String {
    if !json.contains(['<', '>', '&']) {
        return json;
    }
    json.replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
}

/// A text as `%q` prints it.
pub fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for letter in text.chars() {
        match letter {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\u{b}' => out.push_str("\\v"),
            control if control < ' ' || control == '\u{7f}' => {
                let _ = write!(out, "\\x{:02x}", u32::from(control));
            }
            other => out.push(other),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::{float, plain};
    use serde_json::json;

    #[test]
    fn numbers_print_as_in_go() {
        let cases = [
            (1.0, "1"),
            (1.3, "1.3"),
            (1e21, "1e+21"),
            (1e20, "1e+20"),
            (1_234_567.5, "1.2345675e+06"),
            (999_999.0, "999999"),
            (1e-7, "1e-07"),
            (-0.5, "-0.5"),
        ];
        for (number, text) in cases {
            assert_eq!(float(number), text);
        }
        assert_eq!(plain(&json!({"a": [1, true, null]})), "map[a:[1 true <nil>]]");
    }
}

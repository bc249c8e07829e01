//! Values as Go's `fmt` prints them in messages.

use std::fmt::Write as _;

use serde_json::Value;

/// A number as `%v` prints it: shortest digits, an exponent from 1e+21 on and below 1e-4.
pub fn float(number: f64) -> String {
    let size = number.abs();
    if number.is_nan() {
        return "NaN".to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    if size != 0.0 && !(1e-4..1e21).contains(&size) {
        let text = format!("{number:e}");
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let (sign, exponent) = exponent.strip_prefix('-').map_or(('+', exponent), |rest| ('-', rest));
        return format!("{digits}e{sign}{exponent:0>2}");
    }
    format!("{number}")
}

/// A JSON value as `%v` prints what it decodes to.
pub fn plain(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) => match number.as_f64().filter(|_| number.is_f64()) {
            Some(real) => float(real),
            None => number.to_string(),
        },
        Value::String(text) => text.clone(),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(plain).collect();
            format!("[{}]", items.join(" "))
        }
        Value::Object(map) => {
            let members: Vec<String> = map
                .iter()
                .map(|(key, value)| format!("{key}:{}", plain(value)))
                .collect();
            format!("map[{}]", members.join(" "))
        }
    }
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
            (1e20, "100000000000000000000"),
            (1e-7, "1e-07"),
            (-0.5, "-0.5"),
        ];
        for (number, text) in cases {
            assert_eq!(float(number), text);
        }
        assert_eq!(plain(&json!({"a": [1, true, null]})), "map[a:[1 true <nil>]]");
    }
}

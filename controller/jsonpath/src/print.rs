//! Prints values as Kubernetes does: texts without quotes, objects and lists as compact JSON, floats as in Go.

use serde_json::{Number, Value};

use crate::error::EvaluateErrorKind;
use crate::item::Item;
use crate::limits::{MAX_DEPTH, MAX_OUTPUT_BYTES};

/// Below this limit, a whole float represents exactly the number that was written.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// Output so far; `None` until something is printed.
pub(crate) struct Printer(Option<String>);

impl Printer {
    pub fn new() -> Self {
        Self(None)
    }

    pub fn into_text(self) -> Option<String> {
        self.0
    }

    /// Prints the results of one action, separated by spaces.
    pub fn print(&mut self, results: &[Item<'_>]) -> Result<(), EvaluateErrorKind> {
        for (index, item) in results.iter().enumerate() {
            if index > 0 {
                self.push(" ")?;
            }
            self.item(item)?;
        }
        Ok(())
    }

    fn item(&mut self, item: &Item<'_>) -> Result<(), EvaluateErrorKind> {
        match item {
            Item::Json(Value::String(text)) => self.push(text),
            Item::Json(Value::Number(number)) => self.push(&number_text(number)),
            Item::Json(value) => self.json(value, 0),
            Item::Nothing => self.push("<no value>"),
            Item::Byte(byte) => self.push(&byte.to_string()),
            Item::Text(text) => self.push(text),
            Item::Int(int) => self.push(&int.to_string()),
            Item::Float(float) => self.push(&go_float(*float)),
            Item::Bool(value) => self.push(if *value { "true" } else { "false" }),
        }
    }

    fn json(&mut self, value: &Value, depth: usize) -> Result<(), EvaluateErrorKind> {
        if depth > MAX_DEPTH {
            return Err(EvaluateErrorKind::TooDeep);
        }
        match value {
            Value::Null => self.push("null"),
            Value::Bool(value) => self.push(if *value { "true" } else { "false" }),
            Value::Number(number) => self.push(&json_number(number)),
            Value::String(text) => self.push(&json_text(text)),
            Value::Array(list) => {
                for (index, value) in list.iter().enumerate() {
                    self.push(if index == 0 { "[" } else { "," })?;
                    self.json(value, depth + 1)?;
                }
                self.push(if list.is_empty() { "[]" } else { "]" })
            }
            Value::Object(object) => {
                let mut entries: Vec<_> = object.iter().collect();
                entries.sort_unstable_by_key(|(key, _)| *key);
                for (index, (key, value)) in entries.iter().enumerate() {
                    self.push(if index == 0 { "{" } else { "," })?;
                    self.push(&json_text(key))?;
                    self.push(":")?;
                    self.json(value, depth + 1)?;
                }
                self.push(if object.is_empty() { "{}" } else { "}" })
            }
        }
    }

    fn push(&mut self, text: &str) -> Result<(), EvaluateErrorKind> {
        let printed = self.0.get_or_insert_default();
        if printed.len() + text.len() > MAX_OUTPUT_BYTES {
            return Err(EvaluateErrorKind::TooLong);
        }
        printed.push_str(text);
        Ok(())
    }
}

/// Formats a value for a message, as Go's `%v` does: `map[a:1 b:[x <nil>]]`. Long values are cut.
pub(crate) fn shortened(item: &Item<'_>) -> String {
    const LONGEST: usize = 1_000;
    let mut text = String::new();
    match item {
        Item::Json(value) => go_value(value, LONGEST, &mut text),
        Item::Nothing => text.push_str("<invalid reflect.Value>"),
        Item::Byte(byte) => text.push_str(&byte.to_string()),
        Item::Text(inside) => text.push_str(inside),
        Item::Int(int) => text.push_str(&int.to_string()),
        Item::Float(float) => text.push_str(&go_float(*float)),
        Item::Bool(value) => text.push_str(if *value { "true" } else { "false" }),
    }
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// Each level appends text before it recurses, so the length limit bounds the depth as well.
fn go_value(value: &Value, longest: usize, text: &mut String) {
    if text.len() > 4 * longest {
        return;
    }
    match value {
        Value::Null => text.push_str("<nil>"),
        Value::Bool(value) => text.push_str(if *value { "true" } else { "false" }),
        Value::Number(number) => text.push_str(&number_text(number)),
        Value::String(inside) => text.extend(inside.chars().take(longest + 1)),
        Value::Array(list) => {
            text.push('[');
            for (index, value) in list.iter().enumerate().take(longest) {
                text.push_str(if index == 0 { "" } else { " " });
                go_value(value, longest, text);
            }
            text.push(']');
        }
        Value::Object(object) => {
            text.push_str("map[");
            let mut entries: Vec<_> = object.iter().collect();
            entries.sort_unstable_by_key(|(key, _)| *key);
            for (index, (key, value)) in entries.into_iter().enumerate().take(longest) {
                text.push_str(if index == 0 { "" } else { " " });
                text.extend(key.chars().take(longest + 1));
                text.push(':');
                go_value(value, longest, text);
            }
            text.push(']');
        }
    }
}

/// Formats a number of the value. Whole floats are printed with all digits (STP-07): Kubernetes API servers write them
/// without a decimal point, and clients read them as whole numbers.
fn number_text(number: &Number) -> String {
    match number.as_f64() {
        // Zero is whole too, including `-0`; its sign is not printed.
        Some(0.0) => "0".to_owned(),
        Some(float) if number.is_f64() && !(float.fract() == 0.0 && float.abs() < EXACT) => go_float(float),
        Some(_) | None => json_number(number),
    }
}

/// Formats a float as Go's `%v` does: the fewest digits that identify it, with an exponent of two digits or more
/// outside of 0.0001 to 999999.9….
fn go_float(float: f64) -> String {
    let scientific = format!("{float:e}");
    let Some((digits, exponent)) = scientific.split_once('e') else {
        return scientific;
    };
    match exponent.parse::<i32>() {
        Ok(exponent) if !(-4..6).contains(&exponent) => {
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{digits}e{sign}{:02}", exponent.unsigned_abs())
        }
        Ok(_) | Err(_) => format!("{float}"),
    }
}

/// Formats a number as Go's JSON encoder does: with an exponent only below 1e-6 and from 1e21 on.
fn json_number(number: &Number) -> String {
    let Some(float) = number.as_f64().filter(|_| number.is_f64()) else {
        return number.to_string();
    };
    if float == 0.0 {
        return "0".to_owned();
    }
    if (1e-6..1e21).contains(&float.abs()) {
        return format!("{float}");
    }
    let scientific = format!("{float:e}");
    if scientific.contains("e-") {
        scientific
    } else {
        scientific.replacen('e', "e+", 1)
    }
}

/// Formats a text as Go's JSON encoder does, which also escapes characters with a meaning in HTML.
fn json_text(text: &str) -> String {
    let mut json = String::with_capacity(text.len() + 2);
    json.push('"');
    for c in text.chars() {
        match c {
            '"' => json.push_str("\\\""),
            '\\' => json.push_str("\\\\"),
            '\n' => json.push_str("\\n"),
            '\r' => json.push_str("\\r"),
            '\t' => json.push_str("\\t"),
            '\u{8}' => json.push_str("\\b"),
            '\u{c}' => json.push_str("\\f"),
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' | '\0'..='\u{1f}' => {
                json.push_str("\\u");
                json.extend(
                    (0..4)
                        .rev()
                        .filter_map(|nibble| char::from_digit(u32::from(c) >> (4 * nibble) & 0xf, 16)),
                );
            }
            _ => json.push(c),
        }
    }
    json.push('"');
    json
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Printer, go_float, json_text};
    use crate::item::Item;

    #[test]
    fn floats_are_printed_as_go_prints_them() {
        let floats = [
            (0.0, "0"),
            (1.5, "1.5"),
            (8.95, "8.95"),
            (0.0001, "0.0001"),
            (0.000_012, "1.2e-05"),
            (1e-7, "1e-07"),
            (123_456.7, "123456.7"),
            (1_234_567.8, "1.2345678e+06"),
            (1e21, "1e+21"),
            (-2.5e-10, "-2.5e-10"),
            (1e100, "1e+100"),
        ];
        for (float, text) in floats {
            assert_eq!(go_float(float), text);
        }
    }

    #[test]
    fn whole_numbers_keep_their_digits() {
        let value = json!([-0.0, 1e6, 1_734_462_491_693.0, u64::MAX]);
        let mut printer = Printer::new();
        let items: Vec<_> = value.as_array().into_iter().flatten().map(Item::Json).collect();
        assert_eq!(printer.print(&items), Ok(()));
        assert_eq!(printer.print(&[Item::Json(&value)]), Ok(()));
        assert_eq!(
            printer.into_text().as_deref(),
            Some("0 1000000 1734462491693 18446744073709551615[0,1000000,1734462491693,18446744073709551615]")
        );
    }

    #[test]
    fn json_escapes_what_go_escapes() {
        assert_eq!(
            json_text("a<b>&\"\\\n\u{1}é\u{2028}"),
            "\"a\\u003cb\\u003e\\u0026\\\"\\\\\\n\\u0001é\\u2028\""
        );
    }
}

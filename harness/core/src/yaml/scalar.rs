//! Values of texts without quotes, by the core schema of YAML 1.2: `yes` is a text, `0x1f` a number.

use serde_json::{Number, Value};

/// The value of a text without quotes.
pub fn plain(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        _ => number(text).map_or_else(|| Value::String(text.to_owned()), Value::Number),
    }
}

/// The number that a text stands for. What JSON has no number for (`.inf`, `1e999`) stays a text.
fn number(text: &str) -> Option<Number> {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let first = unsigned.bytes().next()?;
    if !first.is_ascii_digit() && first != b'.' {
        return None;
    }
    let radix = |prefix: &str, radix| {
        let digits = text.strip_prefix(prefix).filter(|digits| !digits.starts_with('+'))?;
        u64::from_str_radix(digits, radix).ok().map(Number::from)
    };
    if let Some(number) = radix("0x", 16).or_else(|| radix("0o", 8)) {
        return Some(number);
    }
    let decimal = text.strip_prefix('+').unwrap_or(text);
    let whole = decimal
        .parse::<i64>()
        .map(Number::from)
        .or_else(|_| decimal.parse::<u64>().map(Number::from));
    whole.ok().or_else(|| {
        let has_digit = unsigned.bytes().any(|byte| byte.is_ascii_digit());
        decimal
            .parse::<f64>()
            .ok()
            .filter(|_| has_digit)
            .and_then(Number::from_f64)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::plain;

    #[test]
    fn numbers_are_those_of_the_core_schema() {
        let numbers = [
            ("0", json!(0)),
            ("-7", json!(-7)),
            ("+7", json!(7)),
            ("012", json!(12)),
            ("0x1F", json!(31)),
            ("0o17", json!(15)),
            ("18446744073709551615", json!(u64::MAX)),
            (".5", json!(0.5)),
            ("1e3", json!(1000.0)),
        ];
        for (text, value) in numbers {
            assert_eq!(plain(text), value, "{text}");
        }
        for text in [
            "++1", "-+1", "0x", "0x+1", ".", "-", ".inf", "1e999", "nan", "infinity", "1_000", "1.2.3", "yes",
        ] {
            assert_eq!(plain(text), json!(text), "{text}");
        }
    }
}

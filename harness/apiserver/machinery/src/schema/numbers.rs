//! Numbers as Go's JSON writes them: a float without a fraction becomes an integer.

use serde_json::{Number, Value};

/// Limit below which Go writes floats without an exponent.
const PLAIN: f64 = 1e18;

/// Rewrites whole floats as integers and integers beyond 64 bits signed as floats, everywhere in the value.
pub fn normalize(value: &mut Value) {
    match value {
        Value::Number(number) => {
            if let Some(plain) = plain(number) {
                *number = plain;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(normalize),
        Value::Object(map) => map.values_mut().for_each(normalize),
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "whole and in range; beyond 64 bits Go rounds too"
)]
fn plain(number: &Number) -> Option<Number> {
    if number.as_i64().is_some() {
        return None;
    }
    if let Some(large) = number.as_u64() {
        return Number::from_f64(large as f64);
    }
    let float = number.as_f64()?;
    (float.fract() == 0.0 && float.abs() < PLAIN).then(|| Number::from(float as i64))
}

#[cfg(test)]
mod tests {
    use super::normalize;
    use serde_json::{Value, json};

    #[test]
    fn whole_floats_become_integers() {
        let text = r#"{"big": 9007199254740993, "exp": 1e3, "negzero": -0.0, "float": 1.5, "huge": 123456789012345678901234567890}"#;
        let mut value: Value = serde_json::from_str(text).unwrap();
        normalize(&mut value);
        assert_eq!(
            value,
            json!({"big": 9_007_199_254_740_993_i64, "exp": 1000, "negzero": 0, "float": 1.5, "huge": 1.234_567_890_123_456_8e29})
        );
    }
}

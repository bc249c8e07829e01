//! `type`, `nullable` and the formats of numbers that replace a type.

use serde_json::Value;

use super::super::node::Node;
use super::super::path::Path;
use super::Outcome;

/// The largest whole number that a float holds exactly.
const MAX_SAFE: f64 = 9_007_199_254_740_991.0;

pub fn check(node: &Node, value: &Value, path: &Path<'_>, out: &mut Outcome) {
    if node.types.is_empty() && node.format_name.is_empty() {
        return;
    }
    out.checks += 1;
    if value.is_null() {
        if !node.types.is_empty() && !node.nullable && !has(node, "null") {
            out.wrong_type(path, &node.types.join(","), "null");
        }
        return;
    }
    let (kind, format) = kind_of(value);
    let whole_float = kind == "number" && has(node, "integer") && is_whole(value);
    let fits = has(node, kind) || whole_float || (kind == "integer" && has(node, "number"));
    let textual = matches!(value, Value::String(_) | Value::Array(_));
    if !node.format_name.is_empty() && !textual && !fits && node.format_name != format {
        out.wrong_type(path, &node.format_name, format);
        return;
    }
    let numeric = has(node, "number") || has(node, "integer");
    if !numeric && !node.format_name.is_empty() && textual {
        return;
    }
    if !fits && !node.types.is_empty() {
        out.wrong_type(path, &node.types.join(","), kind);
    }
}

fn has(node: &Node, kind: &str) -> bool {
    node.types.iter().any(|name| name == kind)
}

/// The JSON type of a value and the format that its machine type implies.
fn kind_of(value: &Value) -> (&'static str, &'static str) {
    match value {
        Value::Null => ("null", ""),
        Value::Bool(_) => ("boolean", ""),
        Value::Number(number) if number.is_f64() => ("number", "double"),
        Value::Number(_) => ("integer", "int64"),
        Value::String(_) => ("string", ""),
        Value::Array(_) => ("array", ""),
        Value::Object(_) => ("object", ""),
    }
}

fn is_whole(value: &Value) -> bool {
    value
        .as_f64()
        .is_some_and(|number| number.fract() == 0.0 && number.abs() <= MAX_SAFE)
}

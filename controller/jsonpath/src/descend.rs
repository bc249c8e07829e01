//! Implements `..`: Kubernetes visits every non-empty object, list and text, parents before children.

use serde_json::Value;

use crate::error::EvaluateErrorKind;
use crate::item::{Item, Work};
use crate::limits::MAX_DEPTH;

/// Returns everything that `..` visits from each input, in order.
pub(crate) fn descend<'a>(input: &[Item<'a>], work: &mut Work) -> Result<Vec<Item<'a>>, EvaluateErrorKind> {
    let mut visited = Vec::new();
    let mut waiting: Vec<Item<'a>> = input.iter().rev().copied().collect();
    while let Some(item) = waiting.pop() {
        work.spend(0)?;
        match item {
            Item::Json(Value::Object(object)) if !object.is_empty() => {
                waiting.extend(object.values().rev().map(Item::Json));
            }
            Item::Json(Value::Array(list)) if !list.is_empty() => waiting.extend(list.iter().rev().map(Item::Json)),
            Item::Json(Value::String(text)) if !text.is_empty() => {}
            Item::Text(text) if !text.is_empty() => {}
            _ => continue,
        }
        visited.push(item);
    }
    Ok(visited)
}

/// Checks that a query may descend into `value`. A query recurses for each level and keeps the path of each value as
/// text, so a very deep value, or a very long key above many values, is refused.
pub(crate) fn check_query(value: &Value, work: &mut Work) -> Result<(), EvaluateErrorKind> {
    const BYTES_PER_WORK: usize = 64;
    let mut waiting = vec![(value, 1_usize, 1_usize)];
    while let Some((value, depth, path_bytes)) = waiting.pop() {
        work.spend(path_bytes / BYTES_PER_WORK)?;
        if depth > MAX_DEPTH {
            return Err(EvaluateErrorKind::TooDeep);
        }
        match value {
            Value::Object(object) => {
                let inside = object
                    .iter()
                    .map(|(key, value)| (value, depth + 1, path_bytes + key.len() + 4));
                waiting.extend(inside);
            }
            Value::Array(list) => waiting.extend(list.iter().map(|value| (value, depth + 1, path_bytes + 8))),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    Ok(())
}

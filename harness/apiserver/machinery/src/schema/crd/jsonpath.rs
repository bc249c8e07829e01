//! The JSONPath of printer columns: `.spec.x`, `.status.conditions[?(@.type=="Ready")].status`, `.items[*].name`.

use serde_json::Value;

use crate::field::{FieldError, FieldErrorType};
use crate::go_fmt;

/// One step of a path.
#[derive(Debug, Clone, PartialEq)]
enum Step {
    Field(String),
    Index(i64),
    Slice(Option<i64>, Option<i64>),
    All,
    Deep(String),
    Filter {
        left: Vec<Step>,
        operator: Operator,
        right: Value,
    },
    Exists(Vec<Step>),
}

/// A comparison in a filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// A parsed path.
#[derive(Debug, Clone, PartialEq)]
pub struct JsonPath {
    steps: Vec<Step>,
}

impl JsonPath {
    /// Parses a path that starts with a dot; returns `None` if it is malformed.
    pub fn parse(text: &str) -> Option<Self> {
        Some(Self { steps: steps(text)? })
    }

    /// Returns the values at the path; none if a part of the path is missing.
    pub fn find<'v>(&self, object: &'v Value) -> Vec<&'v Value> {
        follow(&self.steps, object)
    }
}

fn steps(text: &str) -> Option<Vec<Step>> {
    let mut rest = text;
    let mut found = Vec::new();
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix("..") {
            let (name, after) = name(after);
            found.push(Step::Deep(name));
            rest = after;
        } else if let Some(after) = rest.strip_prefix('.') {
            if after.starts_with('[') {
                rest = after;
                continue;
            }
            let (name, after) = name(after);
            match name.as_str() {
                "" => {}
                "*" => found.push(Step::All),
                _ => found.push(Step::Field(name)),
            }
            rest = after;
        } else if let Some(after) = rest.strip_prefix('[') {
            let end = closing(after)?;
            found.push(bracket(after.get(..end).unwrap_or_default())?);
            rest = after.get(end + 1..).unwrap_or_default();
        } else {
            return None;
        }
    }
    Some(found)
}

/// Reads a name up to the next dot or bracket; a backslash escapes the character after it.
fn name(text: &str) -> (String, &str) {
    let mut name = String::new();
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '\\' => name.extend(letters.next().map(|(_, escaped)| escaped)),
            '.' | '[' => return (name, text.get(at..).unwrap_or_default()),
            other => name.push(other),
        }
    }
    (name, "")
}

/// Returns the position of the bracket that closes the one already open; skips quotes and inner brackets.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0_u32;
    let mut quote: Option<char> = None;
    for (at, letter) in text.char_indices() {
        match (quote, letter) {
            (Some(open), letter) if letter == open => quote = None,
            (None, '\'' | '"') => quote = Some(letter),
            (None, '[' | '(') => depth += 1,
            (None, ']') if depth == 0 => return Some(at),
            (None, ']' | ')') => depth = depth.saturating_sub(1),
            (Some(_) | None, _) => {}
        }
    }
    None
}

fn bracket(text: &str) -> Option<Step> {
    let text = text.trim();
    if text == "*" {
        return Some(Step::All);
    }
    if let Some(filter) = text.strip_prefix("?(").and_then(|rest| rest.strip_suffix(')')) {
        return self::filter(filter);
    }
    if let Some(name) = unquoted(text) {
        return Some(Step::Field(name));
    }
    let number = |part: &str| part.trim().parse::<i64>().ok();
    if let Some((from, to)) = text.split_once(':') {
        let bound = |part: &str| {
            if part.trim().is_empty() {
                Some(None)
            } else {
                number(part).map(Some)
            }
        };
        return Some(Step::Slice(bound(from)?, bound(to)?));
    }
    number(text).map(Step::Index)
}

fn unquoted(text: &str) -> Option<String> {
    let quote = text.chars().next().filter(|first| matches!(first, '\'' | '"'))?;
    let inner = text.strip_prefix(quote)?.strip_suffix(quote)?;
    Some(inner.replace(&format!("\\{quote}"), &quote.to_string()))
}

fn filter(text: &str) -> Option<Step> {
    let operators = [
        ("==", Operator::Equal),
        ("!=", Operator::NotEqual),
        ("<=", Operator::LessOrEqual),
        (">=", Operator::GreaterOrEqual),
        ("<", Operator::Less),
        (">", Operator::Greater),
    ];
    let side = |text: &str| steps(text.trim().strip_prefix('@')?);
    for (sign, operator) in operators {
        if let Some((left, right)) = text.split_once(sign) {
            let right = right.trim();
            let right = match unquoted(right) {
                Some(text) => Value::from(text),
                None => serde_json::from_str(right).ok()?,
            };
            let left = side(left)?;
            return Some(Step::Filter { left, operator, right });
        }
    }
    side(text).map(Step::Exists)
}

fn follow<'v>(steps: &[Step], object: &'v Value) -> Vec<&'v Value> {
    let mut at = vec![object];
    for step in steps {
        at = at.into_iter().flat_map(|value| take(step, value)).collect();
    }
    at
}

fn take<'v>(step: &Step, value: &'v Value) -> Vec<&'v Value> {
    let items = || value.as_array().map_or(&[][..], Vec::as_slice);
    let place = |index: i64| {
        let index = if index < 0 {
            index + i64::try_from(items().len()).unwrap_or(0)
        } else {
            index
        };
        usize::try_from(index).unwrap_or(0)
    };
    match step {
        Step::Field(name) => value.get(name).into_iter().collect(),
        Step::Index(index) => items().get(place(*index)).into_iter().collect(),
        Step::Slice(from, to) => {
            let from = from.map_or(0, place);
            let to = to.map_or(items().len(), place).min(items().len());
            items().get(from..to).unwrap_or_default().iter().collect()
        }
        Step::All => members(value),
        Step::Deep(name) => {
            let mut found: Vec<&Value> = value.get(name).into_iter().collect();
            found.extend(members(value).into_iter().flat_map(|member| take(step, member)));
            found
        }
        Step::Exists(left) => items().iter().filter(|item| !follow(left, item).is_empty()).collect(),
        Step::Filter { left, operator, right } => items()
            .iter()
            .filter(|item| follow(left, item).iter().any(|left| holds(left, *operator, right)))
            .collect(),
    }
}

fn members(value: &Value) -> Vec<&Value> {
    match value {
        Value::Array(items) => items.iter().collect(),
        Value::Object(map) => map.values().collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    }
}

fn holds(left: &Value, operator: Operator, right: &Value) -> bool {
    let order = match (left, right) {
        (Value::Number(left), Value::Number(right)) => left.as_f64().partial_cmp(&right.as_f64()),
        (Value::String(left), Value::String(right)) => Some(left.cmp(right)),
        (left, right) if left == right => Some(std::cmp::Ordering::Equal),
        _ => None,
    };
    match operator {
        Operator::Equal => order.is_some_and(std::cmp::Ordering::is_eq),
        Operator::NotEqual => !order.is_some_and(std::cmp::Ordering::is_eq),
        Operator::Less => order.is_some_and(std::cmp::Ordering::is_lt),
        Operator::LessOrEqual => order.is_some_and(std::cmp::Ordering::is_le),
        Operator::Greater => order.is_some_and(std::cmp::Ordering::is_gt),
        Operator::GreaterOrEqual => order.is_some_and(std::cmp::Ordering::is_ge),
    }
}

/// Formats a value for a column of type string: text plain, lists and objects as JSON.
pub fn printed(value: &Value) -> String {
    match value {
        Value::Array(_) | Value::Object(_) => value.to_string(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => go_fmt::plain(value),
    }
}

/// Validates a path when a definition is written.
pub(super) fn check_simple(path: &str, field: &str) -> Vec<FieldError> {
    if path.is_empty() {
        return vec![FieldError::without_value(FieldErrorType::Required, field, "")];
    }
    if !path.starts_with('.') {
        let detail = "must be a simple json path starting with .";
        return vec![FieldError::with_value(
            FieldErrorType::Invalid,
            field,
            &Value::from(path),
            detail,
        )];
    }
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::JsonPath;
    use serde_json::json;

    #[test]
    fn paths_find_values() {
        let object = json!({"spec": {"x": 1, "a.b": 2, "l": [{"n": "a", "v": 1}, {"n": "b", "v": 2}]}});
        let cases = [
            (".spec.x", json!([1])),
            (".spec.nope.x", json!([])),
            (".spec['a.b']", json!([2])),
            (".spec.a\\.b", json!([2])),
            (".spec.l[0].n", json!(["a"])),
            (".spec.l[-1].n", json!(["b"])),
            (".spec.l[*].v", json!([1, 2])),
            (".spec.l[?(@.n==\"b\")].v", json!([2])),
            (".spec.l[?(@.v>1)].n", json!(["b"])),
            ("..n", json!(["a", "b"])),
        ];
        for (path, expected) in cases {
            let found = JsonPath::parse(path).unwrap_or_else(|| panic!("{path}"));
            assert_eq!(json!(found.find(&object)), expected, "{path}");
        }
        for bad in ["spec", ".l[", ".l[x]", ".l[?(x)]"] {
            assert!(JsonPath::parse(bad).is_none(), "{bad}");
        }
    }
}

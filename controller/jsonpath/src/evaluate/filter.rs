//! Evaluates `[?(@.a=="b")]`: compares one value with one value of the same type, as Go templates do.

use std::cmp::Ordering;

use serde_json::Value;

use super::list;
use crate::error::{EvaluateErrorKind, Failure};
use crate::item::Item;
use crate::lookup;
use crate::node::{Filter, Node, Operator};
use crate::print::shortened;

/// Returns the elements of every input list for which the condition holds.
pub(crate) fn filter<'a>(
    filter: &'a Filter,
    at: usize,
    input: &[Item<'a>],
    run: &mut super::Run,
) -> Result<Vec<Item<'a>>, Failure> {
    let mut results = Vec::new();
    for item in input {
        let Item::Json(value @ Value::Array(elements)) = item else {
            let kind = EvaluateErrorKind::NotFilterable { found: shortened(item) };
            return Err(Failure::with_values(at, kind, true));
        };
        run.work.spend(elements.len()).map_err(|kind| Failure::new(at, kind))?;
        match filter {
            Filter::HasKeys(query) => {
                results.extend(lookup::run(query, value).map_err(|kind| Failure::new(at, kind))?);
            }
            Filter::Exists(condition) => {
                for element in elements.iter().map(Item::Json) {
                    if exists(condition, element, run)? {
                        results.push(element);
                    }
                }
            }
            Filter::Compare { left, operator, right } => {
                for element in elements.iter().map(Item::Json) {
                    // Without a left side, the right side is not evaluated and its errors do not matter.
                    let Some(left) = operand(left, element, at, run)? else {
                        continue;
                    };
                    let Some(right) = operand(right, element, at, run)? else {
                        continue;
                    };
                    let holds = compare(operator, left, right)
                        .map_err(|kind| Failure::with_values(at, kind, !results.is_empty()))?;
                    if holds {
                        results.push(element);
                    }
                }
            }
        }
    }
    Ok(results)
}

/// Returns true if the condition yields a value. Its errors are ignored; values that a failed step would return count.
fn exists<'a>(condition: &'a [Node], element: Item<'a>, run: &mut super::Run) -> Result<bool, Failure> {
    match list(condition, vec![element], run) {
        Ok(found) => Ok(!found.is_empty()),
        Err(failure) if failure.kind.is_fatal() => Err(failure),
        Err(failure) => Ok(failure.has_values),
    }
}

fn operand<'a>(
    side: &'a [Node],
    element: Item<'a>,
    at: usize,
    run: &mut super::Run,
) -> Result<Option<Item<'a>>, Failure> {
    let with_values = |failure: Failure| Failure {
        has_values: true,
        ..failure
    };
    let found = list(side, vec![element], run).map_err(with_values)?;
    match found.as_slice() {
        [] => Ok(None),
        [one] => Ok(Some(*one)),
        [_, _, ..] => Err(Failure::with_values(at, EvaluateErrorKind::SeveralOperands, true)),
    }
}

fn compare(operator: &Operator, left: Item<'_>, right: Item<'_>) -> Result<bool, EvaluateErrorKind> {
    match operator {
        Operator::Equal => equal(left, right),
        Operator::NotEqual => equal(left, right).map(|equal| !equal),
        Operator::Less => less(left, right),
        Operator::GreaterOrEqual => less(left, right).map(|less| !less),
        Operator::LessOrEqual => Ok(less(left, right)? || equal(left, right)?),
        Operator::Greater => Ok(!(less(left, right)? || equal(left, right)?)),
        Operator::Unknown(text) => Err(EvaluateErrorKind::UnknownOperator(text.clone())),
    }
}

fn equal(left: Item<'_>, right: Item<'_>) -> Result<bool, EvaluateErrorKind> {
    match (Operand::of(left)?, Operand::of(right)?) {
        (Operand::Bool(left), Operand::Bool(right)) => Ok(left == right),
        (Operand::Int(left), Operand::Int(right)) => Ok(left == right),
        (Operand::Float(left), Operand::Float(right)) => Ok(left.partial_cmp(&right) == Some(Ordering::Equal)),
        (Operand::Text(left), Operand::Text(right)) => Ok(left == right),
        _ => Err(EvaluateErrorKind::IncompatibleTypes),
    }
}

fn less(left: Item<'_>, right: Item<'_>) -> Result<bool, EvaluateErrorKind> {
    match (Operand::of(left)?, Operand::of(right)?) {
        (Operand::Bool(_), Operand::Bool(_)) => Err(EvaluateErrorKind::InvalidTypeForComparison),
        (Operand::Int(left), Operand::Int(right)) => Ok(left < right),
        (Operand::Float(left), Operand::Float(right)) => Ok(left < right),
        (Operand::Text(left), Operand::Text(right)) => Ok(left < right),
        _ => Err(EvaluateErrorKind::IncompatibleTypes),
    }
}

/// One side of a comparison.
enum Operand<'a> {
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(&'a str),
}

impl<'a> Operand<'a> {
    fn of(item: Item<'a>) -> Result<Self, EvaluateErrorKind> {
        match item {
            Item::Bool(value) | Item::Json(&Value::Bool(value)) => Ok(Self::Bool(value)),
            Item::Int(value) => Ok(Self::Int(value)),
            Item::Byte(value) => Ok(Self::Int(value.into())),
            Item::Float(value) => Ok(Self::Float(value)),
            Item::Text(text) => Ok(Self::Text(text)),
            Item::Json(Value::String(text)) => Ok(Self::Text(text)),
            // Beyond 64 bits with a sign Kubernetes has only floats, in values as in templates.
            Item::Json(Value::Number(number)) => number
                .as_i64()
                .map(Self::Int)
                .or_else(|| number.as_f64().map(Self::Float))
                .ok_or(EvaluateErrorKind::InvalidTypeForComparison),
            Item::Json(Value::Null | Value::Array(_) | Value::Object(_)) | Item::Nothing => {
                Err(EvaluateErrorKind::InvalidTypeForComparison)
            }
        }
    }
}

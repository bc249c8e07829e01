//! Equality, order and arithmetic of CEL values.

use std::cmp::Ordering;
use std::rc::Rc;

use super::super::node::ListType;
use super::error::CelError;
use super::value::{List, Val, equal, numbers};

/// Returns the order of two values, for `<` and similar operators.
pub fn compare(left: &Val<'_>, right: &Val<'_>) -> Result<Option<Ordering>, CelError> {
    Ok(match (left, right) {
        (Val::Bool(a), Val::Bool(b)) => Some(a.cmp(b)),
        (Val::Str(a), Val::Str(b)) => Some(a.as_str().cmp(b.as_str())),
        (Val::Bytes(a), Val::Bytes(b)) => Some(a.cmp(b)),
        (Val::Timestamp(a), Val::Timestamp(b)) => Some(a.cmp(b)),
        (Val::Duration(a), Val::Duration(b)) => Some(a.cmp(b)),
        _ if is_number(left) && is_number(right) => numbers(left, right),
        _ => return Err(CelError::no_overload()),
    })
}

fn is_number(value: &Val<'_>) -> bool {
    matches!(value, Val::Int(_) | Val::Uint(_) | Val::Double(_))
}

/// Evaluates `+`.
pub fn add<'a>(left: Val<'a>, right: Val<'a>) -> Result<Val<'a>, CelError> {
    match (left, right) {
        (Val::Int(a), Val::Int(b)) => a.checked_add(b).map(Val::Int).ok_or_else(|| overflow("integer")),
        (Val::Uint(a), Val::Uint(b)) => a
            .checked_add(b)
            .map(Val::Uint)
            .ok_or_else(|| overflow("unsigned integer")),
        (Val::Double(a), Val::Double(b)) => Ok(Val::Double(a + b)),
        (Val::Str(a), Val::Str(b)) => Ok(Val::text([a.as_str(), b.as_str()].concat())),
        (Val::Bytes(a), Val::Bytes(b)) => Ok(Val::Bytes([&a[..], &b[..]].concat().into())),
        (Val::List(a), Val::List(b)) => Ok(concat(a, &b)),
        (Val::Timestamp(at), Val::Duration(by)) | (Val::Duration(by), Val::Timestamp(at)) => at
            .checked_add(by)
            .map(Val::Timestamp)
            .map_err(|_| overflow("timestamp")),
        (Val::Duration(a), Val::Duration(b)) => a.checked_add(b).map(Val::Duration).ok_or_else(|| overflow("duration")),
        _ => Err(CelError::no_overload()),
    }
}

fn concat<'a>(left: List<'a>, right: &List<'a>) -> Val<'a> {
    let set = matches!(&left, List::Json(_, Some(node)) if node.list_type == ListType::Set);
    let mut items = match left {
        List::Made(items) => Rc::try_unwrap(items).unwrap_or_else(|items| items.as_ref().clone()),
        json @ List::Json(..) => json.iter().collect(),
    };
    for item in right.iter() {
        if !set || !items.iter().any(|other| equal(other, &item)) {
            items.push(item);
        }
    }
    Val::list(items)
}

/// Evaluates `-`.
pub fn subtract<'a>(left: Val<'a>, right: Val<'a>) -> Result<Val<'a>, CelError> {
    match (left, right) {
        (Val::Int(a), Val::Int(b)) => a.checked_sub(b).map(Val::Int).ok_or_else(|| overflow("integer")),
        (Val::Uint(a), Val::Uint(b)) => a
            .checked_sub(b)
            .map(Val::Uint)
            .ok_or_else(|| overflow("unsigned integer")),
        (Val::Double(a), Val::Double(b)) => Ok(Val::Double(a - b)),
        (Val::Timestamp(a), Val::Timestamp(b)) => Ok(Val::Duration(a.duration_since(b))),
        (Val::Timestamp(at), Val::Duration(by)) => at
            .checked_sub(by)
            .map(Val::Timestamp)
            .map_err(|_| overflow("timestamp")),
        (Val::Duration(a), Val::Duration(b)) => a.checked_sub(b).map(Val::Duration).ok_or_else(|| overflow("duration")),
        _ => Err(CelError::no_overload()),
    }
}

/// Evaluates `*`, `/` and `%`, by their operator.
pub fn multiply<'a>(operator: &str, left: &Val<'a>, right: &Val<'a>) -> Result<Val<'a>, CelError> {
    let zero = || {
        CelError::Eval(
            if operator == "_/_" {
                "division by zero"
            } else {
                "modulus by zero"
            }
            .to_owned(),
        )
    };
    match (operator, left, right) {
        ("_*_", Val::Int(a), Val::Int(b)) => a.checked_mul(*b).map(Val::Int).ok_or_else(|| overflow("integer")),
        ("_*_", Val::Uint(a), Val::Uint(b)) => a
            .checked_mul(*b)
            .map(Val::Uint)
            .ok_or_else(|| overflow("unsigned integer")),
        ("_*_", Val::Double(a), Val::Double(b)) => Ok(Val::Double(a * b)),
        ("_/_", Val::Double(a), Val::Double(b)) => Ok(Val::Double(a / b)),
        ("_/_" | "_%_", Val::Int(_), Val::Int(0)) | ("_/_" | "_%_", Val::Uint(_), Val::Uint(0)) => Err(zero()),
        ("_/_", Val::Int(a), Val::Int(b)) => a.checked_div(*b).map(Val::Int).ok_or_else(|| overflow("integer")),
        ("_%_", Val::Int(a), Val::Int(b)) => a.checked_rem(*b).map(Val::Int).ok_or_else(|| overflow("integer")),
        ("_/_", Val::Uint(a), Val::Uint(b)) => Ok(Val::Uint(a / b)),
        ("_%_", Val::Uint(a), Val::Uint(b)) => Ok(Val::Uint(a % b)),
        _ => Err(CelError::no_overload()),
    }
}

/// Evaluates unary `-`.
pub fn negate<'a>(value: &Val<'a>) -> Result<Val<'a>, CelError> {
    match value {
        Val::Int(number) => number.checked_neg().map(Val::Int).ok_or_else(|| overflow("integer")),
        Val::Double(number) => Ok(Val::Double(-number)),
        Val::Duration(duration) => duration
            .checked_neg()
            .map(Val::Duration)
            .ok_or_else(|| overflow("duration")),
        _ => Err(CelError::no_overload()),
    }
}

fn overflow(kind: &str) -> CelError {
    CelError::Eval(format!("{kind} overflow"))
}

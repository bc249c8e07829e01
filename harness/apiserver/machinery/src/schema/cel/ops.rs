//! Equality, order and arithmetic of CEL values.

use std::cmp::Ordering;
use std::rc::Rc;

use super::super::node::{ListType, Node};
use super::eval::CelError;
use super::value::{List, MapVal, Val};

/// Returns `true` if two values are equal; values of different types are not.
pub fn equal(left: &Val<'_>, right: &Val<'_>) -> bool {
    match (left, right) {
        (Val::Null, Val::Null) | (Val::Authorizer, Val::Authorizer) | (Val::Optional(None), Val::Optional(None)) => {
            true
        }
        (Val::Bool(a), Val::Bool(b)) => a == b,
        (Val::Str(a), Val::Str(b)) => a.as_str() == b.as_str(),
        (Val::Bytes(a), Val::Bytes(b)) => a == b,
        (Val::List(a), Val::List(b)) => equal_lists(a, b),
        (Val::Map(a), Val::Map(b)) => equal_maps(a, b),
        (Val::Timestamp(a), Val::Timestamp(b)) => a == b,
        (Val::Duration(a), Val::Duration(b)) => a == b,
        (Val::Optional(Some(a)), Val::Optional(Some(b))) => equal(a, b),
        (Val::Type(a), Val::Type(b)) | (Val::Format(a), Val::Format(b)) => a == b,
        (Val::Ip(a), Val::Ip(b)) => a == b,
        (Val::Cidr(a, x), Val::Cidr(b, y)) => a == b && x == y,
        (Val::Url(a), Val::Url(b)) => a.text == b.text,
        (Val::Quantity(a), Val::Quantity(b)) => a.order(b).is_eq(),
        (Val::Semver(a), Val::Semver(b)) => a.cmp_precedence(b).is_eq(),
        _ => numbers(left, right) == Some(Ordering::Equal),
    }
}

fn equal_lists(left: &List<'_>, right: &List<'_>) -> bool {
    if left.count() != right.count() {
        return false;
    }
    let kind = |list: &List<'_>| match list {
        List::Json(_, Some(node)) => node.list_type,
        List::Json(_, None) | List::Made(_) => ListType::Atomic,
    };
    match (kind(left), kind(right)) {
        (ListType::Atomic, ListType::Atomic) => left.iter().zip(right.iter()).all(|(a, b)| equal(&a, &b)),
        // Sets and maps among lists have no order.
        _ => left.iter().all(|a| right.iter().any(|b| equal(&a, &b))),
    }
}

fn equal_maps(left: &MapVal<'_>, right: &MapVal<'_>) -> bool {
    if let (MapVal::Json(a, x), MapVal::Json(b, y)) = (left, right)
        && std::ptr::eq(
            x.map_or(std::ptr::null(), std::ptr::from_ref::<Node>),
            y.map_or(std::ptr::null(), std::ptr::from_ref),
        )
        && a == b
    {
        return true;
    }
    left.count() == right.count()
        && left.keys().iter().all(|key| match (left.get(key), right.get(key)) {
            (Some(a), Some(b)) => equal(&a, &b),
            (_, None) | (None, _) => false,
        })
}

/// Returns the order of two numbers of any types.
#[expect(
    clippy::cast_precision_loss,
    reason = "CEL compares numbers of different kinds as doubles"
)]
fn numbers(left: &Val<'_>, right: &Val<'_>) -> Option<Ordering> {
    match (left, right) {
        (Val::Int(a), Val::Int(b)) => Some(a.cmp(b)),
        (Val::Uint(a), Val::Uint(b)) => Some(a.cmp(b)),
        (Val::Int(a), Val::Uint(b)) => Some(u64::try_from(*a).map_or(Ordering::Less, |a| a.cmp(b))),
        (Val::Uint(a), Val::Int(b)) => Some(u64::try_from(*b).map_or(Ordering::Greater, |b| a.cmp(&b))),
        (Val::Double(a), Val::Double(b)) => a.partial_cmp(b),
        (Val::Double(a), Val::Int(b)) => a.partial_cmp(&(*b as f64)),
        (Val::Int(a), Val::Double(b)) => (*a as f64).partial_cmp(b),
        (Val::Double(a), Val::Uint(b)) => a.partial_cmp(&(*b as f64)),
        (Val::Uint(a), Val::Double(b)) => (*a as f64).partial_cmp(b),
        _ => None,
    }
}

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

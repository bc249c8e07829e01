//! The functions of CEL and of Kubernetes: one table from names to the implementations in the submodules.

pub mod convert;
mod lists;
mod net;
mod optional;
pub mod quantity;
mod semver;
mod strings;
mod time;
pub mod url;

use std::cmp::Ordering;

use super::budget::Budget;
use super::error::{CelError, Outcome};
use super::members::member;
use super::ops;
use super::value::{List, Val, equal};

/// Calls a function; the target of a member call is the first value.
pub fn call<'a>(budget: &mut Budget, name: &str, is_member: bool, args: &[Val<'a>]) -> Outcome<'a> {
    if let Some(outcome) = operator(budget, name, args) {
        return outcome;
    }
    for text in args.iter().filter_map(Val::as_str) {
        budget.spend(text.len() as u64 / 10)?;
    }
    if matches!(args.first(), Some(Val::Authorizer)) {
        return Ok(match name {
            "allowed" => Val::Bool(true),
            "errored" => Val::Bool(false),
            "reason" | "error" => Val::text(""),
            _ => Val::Authorizer,
        });
    }
    convert::call(budget, name, is_member, args)
        .or_else(|| strings::call(budget, name, is_member, args))
        .or_else(|| lists::call(budget, name, is_member, args))
        .or_else(|| optional::call(budget, name, is_member, args))
        .or_else(|| time::call(budget, name, is_member, args))
        .or_else(|| net::call(budget, name, is_member, args))
        .or_else(|| url::call(budget, name, is_member, args))
        .or_else(|| quantity::call(budget, name, is_member, args))
        .or_else(|| semver::call(budget, name, is_member, args))
        .unwrap_or_else(|| Err(CelError::no_overload()))
}

fn operator<'a>(budget: &mut Budget, name: &str, args: &[Val<'a>]) -> Option<Outcome<'a>> {
    Some(match (name, args) {
        ("_==_", [left, right]) => spend_on(budget, left, right).map(|()| Val::Bool(equal(left, right))),
        ("_!=_", [left, right]) => spend_on(budget, left, right).map(|()| Val::Bool(!equal(left, right))),
        ("_<_", [left, right]) => ops::compare(left, right).map(|order| Val::Bool(order.is_some_and(Ordering::is_lt))),
        ("_<=_", [left, right]) => ops::compare(left, right).map(|order| Val::Bool(order.is_some_and(Ordering::is_le))),
        ("_>_", [left, right]) => ops::compare(left, right).map(|order| Val::Bool(order.is_some_and(Ordering::is_gt))),
        ("_>=_", [left, right]) => ops::compare(left, right).map(|order| Val::Bool(order.is_some_and(Ordering::is_ge))),
        ("_+_", [left, right]) => spend_on(budget, left, right).and_then(|()| ops::add(left.clone(), right.clone())),
        ("_-_", [left, right]) => ops::subtract(left.clone(), right.clone()),
        ("_*_" | "_/_" | "_%_", [left, right]) => ops::multiply(name, left, right),
        ("-_", [value]) => ops::negate(value),
        ("!_", [Val::Bool(value)]) => Ok(Val::Bool(!value)),
        ("!_", [_]) => Err(CelError::no_overload()),
        ("@in" | "_in_", [item, container]) => contains(budget, item, container),
        ("_[_]", [container, index]) => at(container, index),
        ("_[?_]", [container, index]) => optional_at(container, index),
        ("_?._", [operand, field]) => optional_select(operand, field),
        _ => return None,
    })
}

/// Charges for comparing and joining: they cost as much as the size of the values.
fn spend_on(budget: &mut Budget, left: &Val<'_>, right: &Val<'_>) -> Result<(), CelError> {
    budget.spend((size_of(left) + size_of(right)) / 10)
}

/// Returns the size of a value at its first level.
fn size_of(value: &Val<'_>) -> u64 {
    let size = match value {
        Val::Str(text) => text.as_str().len(),
        Val::Bytes(bytes) => bytes.len(),
        Val::List(list) => list.count().saturating_mul(10),
        Val::Map(map) => map.count().saturating_mul(10),
        _ => 0,
    };
    size as u64
}

fn contains<'a>(budget: &mut Budget, item: &Val<'a>, container: &Val<'a>) -> Outcome<'a> {
    match container {
        Val::List(list) => {
            budget.spend(list.count() as u64)?;
            Ok(Val::Bool(list.iter().any(|other| equal(&other, item))))
        }
        Val::Map(map) => Ok(Val::Bool(map.get(item).is_some())),
        _ => Err(CelError::no_overload()),
    }
}

fn at<'a>(container: &Val<'a>, index: &Val<'a>) -> Outcome<'a> {
    match (container, index) {
        (Val::List(list), index) => item_at(list, index)?
            .ok_or_else(|| CelError::Eval(format!("index out of bounds: {}", convert::display(index)))),
        (Val::Map(map), key) => map.get(key).ok_or_else(|| CelError::no_key(&convert::display(key))),
        (Val::Optional(_), _) => optional_at(container, index),
        _ => Err(CelError::no_overload()),
    }
}

#[expect(clippy::cast_possible_truncation, reason = "a fraction is refused")]
fn item_at<'a>(list: &List<'a>, index: &Val<'a>) -> Result<Option<Val<'a>>, CelError> {
    let index = match index {
        Val::Int(index) => *index,
        Val::Uint(index) => i64::try_from(*index).unwrap_or(-1),
        Val::Double(index) if index.fract() == 0.0 => *index as i64,
        _ => return Err(CelError::no_overload()),
    };
    Ok(usize::try_from(index).ok().and_then(|index| list.get(index)))
}

fn optional_at<'a>(container: &Val<'a>, index: &Val<'a>) -> Outcome<'a> {
    let found = match container {
        Val::List(list) => item_at(list, index)?,
        Val::Map(map) => map.get(index),
        Val::Optional(Some(inner)) => return optional_at(inner, index),
        Val::Optional(None) => None,
        _ => return Err(CelError::no_overload()),
    };
    Ok(found.map_or(Val::Optional(None), Val::some))
}

fn optional_select<'a>(operand: &Val<'a>, field: &Val<'a>) -> Outcome<'a> {
    let Some(name) = field.as_str() else {
        return Err(CelError::no_overload());
    };
    if let Val::Optional(_) = operand {
        return member(operand, name, false);
    }
    match member(operand, name, true)? {
        Val::Bool(true) => member(operand, name, false).map(Val::some),
        _ => Ok(Val::Optional(None)),
    }
}

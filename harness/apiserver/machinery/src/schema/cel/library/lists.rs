//! Functions of lists and sets.

use std::cmp::Ordering;

use super::super::budget::Budget;
use super::super::error::{CelError, Outcome};
use super::super::ops;
use super::super::value::{List, Val, equal};

pub(super) fn call<'a>(budget: &mut Budget, name: &str, is_member: bool, args: &[Val<'a>]) -> Option<Outcome<'a>> {
    match (is_member, args) {
        (true, [Val::List(list)]) => {
            if let Err(error) = budget.spend(list.count() as u64) {
                return Some(Err(error));
            }
            Some(match name {
                "isSorted" => is_sorted(list),
                "sum" => sum(list),
                "min" => extreme(list, Ordering::Less, "min"),
                "max" => extreme(list, Ordering::Greater, "max"),
                "distinct" => quadratic(budget, list).map(|()| distinct(list)),
                "sort" => sort(list),
                "reverse" => Ok(Val::list(list.iter().collect::<Vec<_>>().into_iter().rev().collect())),
                "flatten" => Ok(flatten(list)),
                "first" => Ok(list.get(0).map_or(Val::Optional(None), Val::some)),
                "last" => Ok(list
                    .count()
                    .checked_sub(1)
                    .and_then(|at| list.get(at))
                    .map_or(Val::Optional(None), Val::some)),
                _ => return None,
            })
        }
        (true, [Val::List(list), item]) if matches!(name, "indexOf" | "lastIndexOf") => {
            if let Err(error) = budget.spend(list.count() as u64) {
                return Some(Err(error));
            }
            let mut places = list
                .iter()
                .enumerate()
                .filter(|(_, other)| equal(other, item))
                .map(|(at, _)| at);
            let place = if name == "indexOf" {
                places.next()
            } else {
                places.last()
            };
            Some(Ok(Val::Int(place.and_then(|at| i64::try_from(at).ok()).unwrap_or(-1))))
        }
        (true, [Val::List(list), Val::Int(from), Val::Int(to)]) if name == "slice" => Some(slice(list, *from, *to)),
        (false, [Val::List(left), Val::List(right)]) => {
            let cost = (left.count() as u64).saturating_mul(right.count() as u64);
            if let Err(error) = budget.spend(cost) {
                return Some(Err(error));
            }
            Some(Ok(Val::Bool(match name {
                "sets.contains" => includes(left, right),
                "sets.equivalent" => includes(left, right) && includes(right, left),
                "sets.intersects" => left.iter().any(|item| has(right, &item)),
                _ => return None,
            })))
        }
        _ => None,
    }
}

fn quadratic(budget: &mut Budget, list: &List<'_>) -> Result<(), CelError> {
    budget.spend((list.count() as u64).saturating_mul(list.count() as u64))
}

fn has<'a>(list: &List<'a>, item: &Val<'a>) -> bool {
    list.iter().any(|other| equal(&other, item))
}

fn includes<'a>(whole: &List<'a>, part: &List<'a>) -> bool {
    part.iter().all(|item| has(whole, &item))
}

fn is_sorted<'a>(list: &List<'a>) -> Outcome<'a> {
    let mut previous: Option<Val<'a>> = None;
    for item in list.iter() {
        if let Some(previous) = &previous
            && !ops::compare(previous, &item)?.is_some_and(Ordering::is_le)
        {
            return Ok(Val::Bool(false));
        }
        previous = Some(item);
    }
    Ok(Val::Bool(true))
}

fn sum<'a>(list: &List<'a>) -> Outcome<'a> {
    let mut total: Option<Val<'a>> = None;
    for item in list.iter() {
        if !matches!(item, Val::Int(_) | Val::Uint(_) | Val::Double(_) | Val::Duration(_)) {
            return Err(CelError::no_overload());
        }
        total = Some(match total {
            Some(total) => ops::add(total, item)?,
            None => item,
        });
    }
    Ok(total.unwrap_or(Val::Int(0)))
}

fn extreme<'a>(list: &List<'a>, wanted: Ordering, name: &str) -> Outcome<'a> {
    let mut best: Option<Val<'a>> = None;
    for item in list.iter() {
        let better = match &best {
            Some(best) => ops::compare(&item, best)? == Some(wanted),
            None => true,
        };
        if better {
            best = Some(item);
        }
    }
    best.ok_or_else(|| CelError::Eval(format!("{name} called on empty list")))
}

fn distinct<'a>(list: &List<'a>) -> Val<'a> {
    let mut items: Vec<Val<'a>> = Vec::new();
    for item in list.iter() {
        if !items.iter().any(|other| equal(other, &item)) {
            items.push(item);
        }
    }
    Val::list(items)
}

fn sort<'a>(list: &List<'a>) -> Outcome<'a> {
    let mut items: Vec<Val<'a>> = list.iter().collect();
    for pair in items.windows(2) {
        if let [left, right] = pair {
            ops::compare(left, right)?;
        }
    }
    items.sort_by(|left, right| ops::compare(left, right).ok().flatten().unwrap_or(Ordering::Equal));
    Ok(Val::list(items))
}

fn flatten<'a>(list: &List<'a>) -> Val<'a> {
    let mut items = Vec::new();
    for item in list.iter() {
        match item {
            Val::List(inner) => items.extend(inner.iter()),
            other => items.push(other),
        }
    }
    Val::list(items)
}

fn slice<'a>(list: &List<'a>, from: i64, to: i64) -> Outcome<'a> {
    let length = i64::try_from(list.count()).unwrap_or(i64::MAX);
    if from < 0 || to < 0 || from > to || to > length {
        return Err(CelError::Eval(format!(
            "cannot slice({from}, {to}), list is length {length}"
        )));
    }
    let (from, to) = (usize::try_from(from).unwrap_or(0), usize::try_from(to).unwrap_or(0));
    Ok(Val::list((from..to).filter_map(|at| list.get(at)).collect()))
}

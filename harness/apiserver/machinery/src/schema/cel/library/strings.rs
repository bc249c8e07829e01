//! Functions of texts, regular expressions among them.

use std::fmt::Write as _;

use super::super::super::pattern;
use super::super::budget::Budget;
use super::super::error::{CelError, Outcome};
use super::super::value::{List, Val};
use super::convert::display;
use crate::go_fmt;

pub(super) fn call<'a>(budget: &mut Budget, name: &str, is_member: bool, args: &[Val<'a>]) -> Option<Outcome<'a>> {
    if name == "matches" || is_member {
        let text = args.first()?.as_str();
        let rest = args.get(1..).unwrap_or_default();
        return match text {
            Some(text) => simple(name, text, rest)
                .map(Ok)
                .or_else(|| indexed(name, text, rest))
                .or_else(|| expressions(budget, name, text, rest))
                .or_else(|| (name == "format").then(|| format(budget, text, rest))),
            None => joined(name, args),
        };
    }
    match (name, args) {
        ("strings.quote", [Val::Str(text)]) => Some(Ok(Val::text(go_fmt::quoted(text.as_str())))),
        _ => None,
    }
}

fn simple<'a>(name: &str, text: &str, args: &[Val<'a>]) -> Option<Val<'a>> {
    let arg = args.first().and_then(Val::as_str);
    Some(match (name, arg, args.len()) {
        ("contains", Some(part), 1) => Val::Bool(text.contains(part)),
        ("startsWith", Some(part), 1) => Val::Bool(text.starts_with(part)),
        ("endsWith", Some(part), 1) => Val::Bool(text.ends_with(part)),
        ("lowerAscii", None, 0) => Val::text(text.to_ascii_lowercase()),
        ("upperAscii", None, 0) => Val::text(text.to_ascii_uppercase()),
        ("trim", None, 0) => Val::text(text.trim()),
        ("reverse", None, 0) => Val::text(text.chars().rev().collect::<String>()),
        ("split", Some(separator), 1) => Val::list(split(text, separator, None)),
        ("split", Some(separator), 2) => match args.get(1) {
            Some(Val::Int(limit)) => Val::list(split(text, separator, Some(*limit))),
            _ => return None,
        },
        ("replace", Some(from), 2) => Val::text(text.replace(from, args.get(1)?.as_str()?)),
        ("replace", Some(from), 3) => match args.get(2) {
            Some(Val::Int(count)) => {
                let to = args.get(1)?.as_str()?;
                Val::text(
                    usize::try_from(*count)
                        .map_or_else(|_| text.replace(from, to), |count| text.replacen(from, to, count)),
                )
            }
            _ => return None,
        },
        _ => return None,
    })
}

fn split<'a>(text: &str, separator: &str, limit: Option<i64>) -> Vec<Val<'a>> {
    let all = |parts: Vec<&str>| parts.into_iter().map(Val::text).collect();
    match limit {
        Some(0) => Vec::new(),
        Some(limit) if limit > 0 => all(text
            .splitn(usize::try_from(limit).unwrap_or(usize::MAX), separator)
            .collect()),
        Some(_) | None if separator.is_empty() => text.chars().map(|letter| Val::text(letter.to_string())).collect(),
        Some(_) | None => all(text.split(separator).collect()),
    }
}

/// Evaluates functions that count characters.
fn indexed<'a>(name: &str, text: &str, args: &[Val<'a>]) -> Option<Outcome<'a>> {
    let letters = || text.chars().collect::<Vec<char>>();
    let number = |place: usize| match args.get(place) {
        Some(Val::Int(number)) => Some(*number),
        _ => None,
    };
    let out_of_range = |index: i64| Err(CelError::Eval(format!("index out of range: {index}")));
    Some(match (name, args.len()) {
        ("charAt", 1) => {
            let (index, letters) = (number(0)?, letters());
            match usize::try_from(index) {
                Ok(at) if at < letters.len() => Ok(Val::text(letters[at].to_string())),
                Ok(at) if at == letters.len() => Ok(Val::text("")),
                Ok(_) | Err(_) => out_of_range(index),
            }
        }
        ("substring", 1 | 2) => {
            let letters = letters();
            let length = i64::try_from(letters.len()).unwrap_or(i64::MAX);
            let (from, to) = (number(0)?, if args.len() == 2 { number(1)? } else { length });
            if from < 0 || from > length {
                return Some(out_of_range(from));
            }
            if to < 0 || to > length {
                return Some(out_of_range(to));
            }
            if from > to {
                return Some(Err(CelError::Eval(format!(
                    "invalid substring range. start: {from}, end: {to}"
                ))));
            }
            let range = usize::try_from(from).ok()?..usize::try_from(to).ok()?;
            Ok(Val::text(letters[range].iter().collect::<String>()))
        }
        ("indexOf" | "lastIndexOf", 1 | 2) => {
            let (letters, part) = (letters(), args.first()?.as_str()?.chars().collect::<Vec<char>>());
            Ok(Val::Int(find(
                &letters,
                &part,
                name == "lastIndexOf",
                if args.len() == 2 { Some(number(1)?) } else { None },
            )))
        }
        _ => return None,
    })
}

fn find(letters: &[char], part: &[char], last: bool, offset: Option<i64>) -> i64 {
    let starts = |at: &usize| letters.get(*at..*at + part.len()).is_some_and(|window| window == part);
    let end = (letters.len() + 1).saturating_sub(part.len());
    let offset = offset.map(|offset| usize::try_from(offset).unwrap_or(0));
    let found = if last {
        (0..end.min(offset.map_or(end, |offset| offset + 1))).rev().find(starts)
    } else {
        (offset.unwrap_or(0)..end).find(starts)
    };
    found.and_then(|at| i64::try_from(at).ok()).unwrap_or(-1)
}

fn expressions<'a>(budget: &mut Budget, name: &str, text: &str, args: &[Val<'a>]) -> Option<Outcome<'a>> {
    if !matches!(name, "matches" | "find" | "findAll") {
        return None;
    }
    let source = args.first()?.as_str()?;
    let cost = (text.len() as u64 / 10 + 1).saturating_mul(source.len() as u64 / 4 + 1);
    if let Err(error) = budget.spend(cost) {
        return Some(Err(error));
    }
    let regex = match pattern::compile(source) {
        Ok(regex) => regex,
        Err(error) => return Some(Err(CelError::Eval(error.to_string()))),
    };
    Some(Ok(match (name, args.get(1)) {
        ("matches", None) => Val::Bool(regex.is_match(text)),
        ("find", None) => Val::text(regex.find(text).map_or("", |found| found.as_str())),
        ("findAll", limit) => {
            let limit = match limit {
                Some(Val::Int(limit)) => usize::try_from(*limit).unwrap_or(usize::MAX),
                Some(_) => return None,
                None => usize::MAX,
            };
            Val::list(
                regex
                    .find_iter(text)
                    .take(limit)
                    .map(|found| Val::text(found.as_str()))
                    .collect(),
            )
        }
        _ => return None,
    }))
}

fn joined<'a>(name: &str, args: &[Val<'a>]) -> Option<Outcome<'a>> {
    let (Val::List(list), "join") = (args.first()?, name) else {
        return None;
    };
    let separator = match args.get(1) {
        Some(separator) => separator.as_str()?,
        None => "",
    };
    let mut parts = Vec::with_capacity(list.count());
    for item in list.iter() {
        match item.as_str() {
            Some(text) => parts.push(text.to_owned()),
            None => return Some(Err(CelError::no_overload())),
        }
    }
    Some(Ok(Val::text(parts.join(separator))))
}

/// `'%s is %d'.format([a, 1])`
fn format<'a>(budget: &mut Budget, text: &str, args: &[Val<'a>]) -> Outcome<'a> {
    let [Val::List(values)] = args else {
        return Err(CelError::no_overload());
    };
    let mut out = String::new();
    let mut next = 0;
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        if letter != '%' {
            out.push(letter);
            continue;
        }
        let mut precision = String::new();
        let verb = loop {
            match letters.next() {
                Some('%') => break '%',
                Some(digit) if digit.is_ascii_digit() || digit == '.' => precision.push(digit),
                Some(verb) => break verb,
                None => return Err(CelError::Eval("unexpected end of string".to_owned())),
            }
        };
        if verb == '%' {
            out.push('%');
            continue;
        }
        let value = item(values, next)?;
        next += 1;
        out.push_str(&formatted(
            verb,
            precision.trim_start_matches('.').parse().ok(),
            &value,
        )?);
        budget.spend(out.len() as u64 / 10)?;
    }
    Ok(Val::text(out))
}

fn item<'a>(values: &List<'a>, index: usize) -> Outcome<'a> {
    values
        .get(index)
        .ok_or_else(|| CelError::Eval(format!("index {index} out of range")))
}

fn formatted(verb: char, precision: Option<usize>, value: &Val<'_>) -> Result<String, CelError> {
    // A float has no more digits than that.
    let digits = precision.unwrap_or(6).min(100);
    Ok(match (verb, value) {
        ('s', value) | ('d', value @ (Val::Int(_) | Val::Uint(_))) => display(value),
        ('f', Val::Double(number)) => format!("{number:.digits$}"),
        ('e', Val::Double(number)) => format!("{number:.digits$e}"),
        ('b', Val::Int(number)) => format!("{number:b}"),
        ('b', Val::Uint(number)) => format!("{number:b}"),
        ('b', Val::Bool(flag)) => u8::from(*flag).to_string(),
        ('o', Val::Int(number)) => format!("{number:o}"),
        ('o', Val::Uint(number)) => format!("{number:o}"),
        ('x', Val::Int(number)) => format!("{number:x}"),
        ('x', Val::Uint(number)) => format!("{number:x}"),
        ('x', Val::Str(text)) => text.as_str().bytes().fold(String::new(), |mut out, byte| {
            let _ = write!(out, "{byte:02x}");
            out
        }),
        ('X', Val::Int(number)) => format!("{number:X}"),
        ('X', Val::Uint(number)) => format!("{number:X}"),
        (verb, _) => return Err(CelError::Eval(format!("could not format value with %{verb}"))),
    })
}

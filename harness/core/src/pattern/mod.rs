//! Patterns: what an object must look like, by subset.
//!
//! A map matches if every member that it names matches; what else is there does not matter. A member that is `null`
//! in the pattern must be absent or empty. Lists say how they are meant: `{contains: […]}`, `{exactly: […]}` or
//! `{lacks: […]}`. `{present: true}` matches anything that is there, `{mentions: […]}` a text that has all of these in it,
//! `{atLeast: 2}` and `{atMost: 5}` a number in that range, `{oneOf: […]}` one of some values, `{any: […]}` what matches
//! one of some patterns, `{pattern: "^a"}` a text by a regular expression, `{after: …}` a time so long after another one,
//! `{total: …}` a list by the sum of one of its fields. A text may refer to roles and captured values as `${origin}`;
//! they are put in when it is matched.
//!
//! - here: what a pattern is, how it is read and said;
//! - `after`: times by how long they are after others;
//! - `compare`: where an object differs from it, and by how much; `difference`: the kinds of differences;
//! - [`path`]: the places of an object, as texts.

mod after;
mod compare;
mod difference;
pub mod path;

pub use after::After;
pub use compare::weight;
pub use difference::DifferenceKind;

use std::{collections::BTreeMap, fmt};

use serde::Serialize;
use serde_json::Value;

use crate::redact::{REDACTED, is_secret_name};

/// Pattern for an object or a part of one.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub enum Pattern {
    /// Nothing may be there, except an empty list or map.
    Absent,
    /// Something must be there, whatever it is.
    Present,
    /// This text, with references put in.
    Text(String),
    /// This number, truth value or empty map, as it is.
    Exact(Value),
    /// A text that has all of these in it, with references put in.
    Mentions(Vec<String>),
    /// A number that is not smaller.
    AtLeast(f64),
    /// A number that is not greater.
    AtMost(f64),
    /// One of these values.
    OneOf(Vec<Value>),
    /// At least one of these patterns matches.
    Any(Vec<Pattern>),
    /// A text that this regular expression matches.
    Regex(String),
    /// A time that is so long after another one.
    After(After),
    /// A list of which this field, a path with dots, adds up to what the pattern says.
    Total {
        /// The field of each element; an element without it counts as 0.
        of: String,
        /// The expected sum.
        is: Box<Pattern>,
    },
    /// Every member matches its pattern.
    Map(BTreeMap<String, Pattern>),
    /// Every pattern matches some element.
    Contains(Vec<Pattern>),
    /// As many elements as patterns, each matching in order.
    Exactly(Vec<Pattern>),
    /// No element matches any of the patterns.
    Lacks(Vec<Pattern>),
}

/// Values of the references in texts: members by role, captured values by name.
pub type Bindings = BTreeMap<String, String>;

/// One place where an object is not as its pattern says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mismatch {
    /// Path, such as `metadata.labels["a.b/c"]`.
    pub path: String,
    /// Expected value.
    pub expected: String,
    /// Actual value.
    pub seen: String,
    /// How what is there differs.
    pub kind: DifferenceKind,
    /// Number of the pattern's demands that are not met here; a missing element counts all demands on it.
    pub weight: usize,
}

impl Mismatch {
    /// Takes out what a case expects where a secret is: what is seen there has been taken out before.
    fn cover(&mut self) {
        let open = ["abels[", "abels.", "preservedLabelState"]
            .iter()
            .any(|it| self.path.contains(it));
        let name = self.path.rsplit(['.', '[']).next().unwrap_or_default();
        if !open && is_secret_name(name.trim_matches(['"', ']'])) {
            REDACTED.clone_into(&mut self.expected);
        }
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: expected {}, seen {}", self.path, self.expected, self.seen)
    }
}

impl Pattern {
    /// Makes a pattern of what stands in a case.
    ///
    /// # Errors
    /// The path and the text of what is wrong: a list that does not say how it is meant.
    pub fn from_value(value: &Value) -> Result<Self, (String, String)> {
        Self::build(value, "")
    }

    fn build(value: &Value, path: &str) -> Result<Self, (String, String)> {
        let all = |items: &[Value]| {
            items
                .iter()
                .enumerate()
                .map(|(i, item)| Self::build(item, &format!("{path}[{i}]")))
                .collect::<Result<Vec<_>, _>>()
        };
        Ok(match value {
            Value::Null => Self::Absent,
            Value::String(text) => Self::Text(text.clone()),
            Value::Bool(_) | Value::Number(_) => Self::Exact(value.clone()),
            Value::Array(_) => {
                return Err((
                    path.to_owned(),
                    "a list must say how it is matched: {contains: […]}, {exactly: […]} or {lacks: […]}".to_owned(),
                ));
            }
            Value::Object(map) => match (map.len(), map.iter().next()) {
                (1, Some((key, Value::Array(items)))) if key == "contains" => Self::Contains(all(items)?),
                (1, Some((key, Value::Array(items)))) if key == "exactly" => Self::Exactly(all(items)?),
                (1, Some((key, Value::Array(items)))) if key == "lacks" => Self::Lacks(all(items)?),
                (1, Some((key, Value::Array(items)))) if key == "mentions" => Self::Mentions(
                    items
                        .iter()
                        .map(|item| item.as_str().map(ToOwned::to_owned))
                        .collect::<Option<_>>()
                        .ok_or_else(|| (path.to_owned(), "what a text must mention is given as texts".to_owned()))?,
                ),
                (1, Some((key, Value::Bool(true)))) if key == "present" => Self::Present,
                (1, Some((key, Value::Array(items)))) if key == "any" && !items.is_empty() => Self::Any(all(items)?),
                (1, Some((key, Value::Array(items)))) if key == "oneOf" && items.iter().all(is_scalar) => {
                    Self::OneOf(items.clone())
                }
                (1, Some((key, Value::Number(bound)))) if key == "atLeast" || key == "atMost" => {
                    let bound = bound.as_f64().unwrap_or_default();
                    if key == "atLeast" {
                        Self::AtLeast(bound)
                    } else {
                        Self::AtMost(bound)
                    }
                }
                (1, Some((key, Value::String(text)))) if key == "pattern" => {
                    regex::Regex::new(text)
                        .map_err(|error| (path.to_owned(), format!("no regular expression: {error}")))?;
                    Self::Regex(text.clone())
                }
                (1, Some((key, Value::Object(inner)))) if key == "after" && inner.contains_key("time") => {
                    Self::After(after::read(inner).ok_or_else(|| (path.to_owned(), after::EXPECTED.to_owned()))?)
                }
                (1, Some((key, Value::Object(inner)))) if key == "total" && inner.contains_key("of") => {
                    let (Some(of), Some(is), 2) = (inner["of"].as_str(), inner.get("is"), inner.len()) else {
                        let expected = "a total is {total: {of: FIELD, is: NUMBER}}";
                        return Err((path.to_owned(), expected.to_owned()));
                    };
                    Self::Total {
                        of: of.to_owned(),
                        is: Box::new(Self::build(is, path)?),
                    }
                }
                _ => Self::Map(
                    map.iter()
                        .map(|(key, value)| {
                            Self::build(value, &path::join(path, key)).map(|pattern| (key.clone(), pattern))
                        })
                        .collect::<Result<_, _>>()?,
                ),
            },
        })
    }

    /// Returns `true` if a value matches.
    pub fn matches(&self, value: Option<&Value>, bindings: &Bindings) -> bool {
        self.mismatches(value, bindings).is_empty()
    }

    /// Every place where a value is not as the pattern says; none if it matches.
    pub fn mismatches(&self, value: Option<&Value>, bindings: &Bindings) -> Vec<Mismatch> {
        let mut found = Vec::new();
        self.compare(value, bindings, "", &mut found);
        found.iter_mut().for_each(Mismatch::cover);
        found
    }

    /// The names that its texts refer to.
    pub fn references(&self) -> Vec<&str> {
        match self {
            Self::Absent | Self::Present | Self::Exact(_) | Self::AtLeast(_) | Self::AtMost(_) | Self::Regex(_) => {
                Vec::new()
            }
            Self::After(after) => references(&after.time),
            Self::Total { is, .. } => is.references(),
            Self::Text(text) => references(text),
            Self::OneOf(values) => values.iter().filter_map(Value::as_str).flat_map(references).collect(),
            Self::Mentions(texts) => texts.iter().flat_map(|text| references(text)).collect(),
            Self::Map(map) => map.values().flat_map(Self::references).collect(),
            Self::Contains(items) | Self::Exactly(items) | Self::Lacks(items) | Self::Any(items) => {
                items.iter().flat_map(Self::references).collect()
            }
        }
    }

    /// The places that it speaks of, inner ones included; an element of a list has the place of its list.
    pub fn places(&self) -> Vec<Vec<String>> {
        let mut places = Vec::new();
        self.note_places(&mut Vec::new(), &mut places);
        places
    }

    fn note_places(&self, here: &mut Vec<String>, places: &mut Vec<Vec<String>>) {
        if !here.is_empty() && !places.contains(here) {
            places.push(here.clone());
        }
        match self {
            Self::Map(members) => {
                for (key, member) in members {
                    here.push(key.clone());
                    member.note_places(here, places);
                    here.pop();
                }
            }
            Self::Contains(items) | Self::Exactly(items) | Self::Lacks(items) | Self::Any(items) => {
                for item in items {
                    item.note_places(here, places);
                }
            }
            Self::Absent
            | Self::Present
            | Self::Text(_)
            | Self::Exact(_)
            | Self::Mentions(_)
            | Self::AtLeast(_)
            | Self::AtMost(_)
            | Self::OneOf(_)
            | Self::Regex(_)
            | Self::After(_)
            | Self::Total { .. } => {}
        }
    }

    /// The place that it is about, as [`path::field`] writes it: the innermost one that all its demands share. Nothing if
    /// that is the whole object.
    pub fn field(&self) -> Option<String> {
        let mut place = String::new();
        let mut inner = self;
        loop {
            inner = match inner {
                Self::Map(members) if members.len() == 1 => {
                    let (key, member) = members.iter().next()?;
                    place = path::join(&place, key);
                    member
                }
                Self::Contains(items) | Self::Exactly(items) | Self::Lacks(items) if items.len() == 1 => {
                    place.push_str("[0]");
                    &items[0]
                }
                _ => break,
            };
        }
        (!place.is_empty()).then(|| path::field(&place, &|_| false))
    }

    /// The keys that lead to what must be there, whichever of its alternatives matches.
    pub fn needed(&self) -> Vec<Vec<String>> {
        let mut needed = Vec::new();
        self.note_needed(&mut Vec::new(), &mut needed);
        needed
    }

    fn note_needed(&self, here: &mut Vec<String>, needed: &mut Vec<Vec<String>>) {
        match self {
            Self::Map(members) => {
                for (key, member) in members {
                    here.push(key.clone());
                    member.note_needed(here, needed);
                    here.pop();
                }
            }
            Self::Contains(items) | Self::Exactly(items) => {
                for item in items {
                    item.note_needed(here, needed);
                }
            }
            Self::OneOf(values) if values.contains(&Value::Null) => {}
            Self::Absent | Self::Lacks(_) | Self::Any(_) => {}
            Self::Present
            | Self::Text(_)
            | Self::Exact(_)
            | Self::Mentions(_)
            | Self::AtLeast(_)
            | Self::AtMost(_)
            | Self::OneOf(_)
            | Self::Regex(_)
            | Self::After(_)
            | Self::Total { .. } => needed.push(here.clone()),
        }
    }

    /// The pattern in words of JSON, with references put in.
    pub fn describe(&self, bindings: &Bindings) -> String {
        let all = |items: &[Self]| {
            items
                .iter()
                .map(|item| item.describe(bindings))
                .collect::<Vec<_>>()
                .join(", ")
        };
        match self {
            Self::Absent => "nothing".to_owned(),
            Self::Present => "anything".to_owned(),
            Self::Text(text) => format!("{:?}", resolve(text, bindings)),
            Self::Exact(value) => value.to_string(),
            Self::Mentions(texts) => {
                let texts = texts.iter().map(|text| format!("{:?}", resolve(text, bindings)));
                format!("a text with {}", texts.collect::<Vec<_>>().join(", "))
            }
            Self::Map(map) => {
                // `{name: API_TOKEN, value: …}`, as in env.
                let secret = matches!(map.get("name"), Some(Self::Text(name)) if is_secret_name(name));
                let members = map.iter().map(|(key, value)| match value {
                    Self::Text(_) if is_secret_name(key) || (secret && key == "value") => {
                        format!("{key}: {REDACTED:?}")
                    }
                    value => format!("{key}: {}", value.describe(bindings)),
                });
                format!("{{{}}}", members.collect::<Vec<_>>().join(", "))
            }
            Self::AtLeast(bound) => format!("at least {bound}"),
            Self::AtMost(bound) => format!("at most {bound}"),
            Self::OneOf(values) => {
                let values = values.iter().map(|value| match value {
                    Value::String(text) => format!("{:?}", resolve(text, bindings)),
                    other => other.to_string(),
                });
                format!("one of {}", values.collect::<Vec<_>>().join(", "))
            }
            Self::Any(items) => {
                let items = items.iter().map(|item| item.describe(bindings));
                format!("either {}", items.collect::<Vec<_>>().join(" or "))
            }
            Self::Regex(text) => format!("a text like /{text}/"),
            Self::After(after) => after.describe(bindings),
            Self::Total { of, is } => format!("a list with a total of {of}: {}", is.describe(bindings)),
            Self::Contains(items) => format!("[… {} …]", all(items)),
            Self::Exactly(items) => format!("[{}]", all(items)),
            Self::Lacks(items) => format!("a list without {}", all(items)),
        }
    }
}

/// Puts what references stand for into a text; a reference that stands for nothing stays as it is.
pub fn resolve(text: &str, bindings: &Bindings) -> String {
    let mut resolved = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        resolved.push_str(before);
        match after.split_once('}') {
            Some((name, behind)) if bindings.contains_key(name) => {
                resolved.push_str(&bindings[name]);
                rest = behind;
            }
            _ => {
                resolved.push_str("${");
                rest = after;
            }
        }
    }
    resolved.push_str(rest);
    resolved
}

/// Name of the reference `${namespace}`: the namespace of the case. A field of an object uses `default` instead; the reference
/// is for texts that contain a namespace.
pub const NAMESPACE: &str = "namespace";

/// The names that a text refers to, in order.
pub fn references(text: &str) -> Vec<&str> {
    text.split("${")
        .skip(1)
        .filter_map(|part| part.split_once('}'))
        .map(|(name, _)| name)
        .collect()
}

/// The sum of a field of the elements of a list.
fn total(items: &[Value], of: &str) -> Value {
    let field = |item: &Value| {
        let found = of.split('.').try_fold(item, |value, key| value.get(key));
        found.and_then(Value::as_f64).unwrap_or_default()
    };
    let sum: f64 = items.iter().map(field).sum();
    #[expect(clippy::cast_possible_truncation, reason = "whole and small enough")]
    if sum.fract() == 0.0 && sum.abs() < 1e15 {
        Value::from(sum as i64)
    } else {
        Value::from(sum)
    }
}

/// Returns `true` if a value is neither a list nor a map.
fn is_scalar(value: &Value) -> bool {
    !matches!(value, Value::Array(_) | Value::Object(_))
}

#[cfg(test)]
mod tests;

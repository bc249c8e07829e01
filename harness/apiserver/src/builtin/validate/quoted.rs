//! Objects in messages: the API server quotes them under the names that it has for their fields inside.

use serde_json::Value;

use super::checks::text;
use crate::gofmt;

/// A field inside, the same field outside, and what is written of it.
pub(super) type Member = (&'static str, &'static str, Sort);

/// What is written of a field.
#[derive(Debug)]
pub(super) enum Sort {
    /// A text, which is empty where it is missing.
    Text,
    /// Whatever it is, `null` where it is missing.
    OrNull,
    /// An object with names of its own inside, `null` where it is missing.
    Object(&'static [Member]),
}

/// An object as messages quote it.
pub(super) fn object(value: &Value, members: &[Member]) -> String {
    gofmt::escaped(written(value, members))
}

fn written(value: &Value, members: &[Member]) -> String {
    let member = |(inside, outside, sort): &Member| {
        let given = value.get(*outside);
        let given = match sort {
            Sort::Text => Value::from(text(value, outside)).to_string(),
            Sort::OrNull => given.unwrap_or(&Value::Null).to_string(),
            Sort::Object(members) => given.map_or_else(|| "null".to_owned(), |given| written(given, members)),
        };
        format!("{inside:?}:{given}")
    };
    let members: Vec<String> = members.iter().map(member).collect();
    format!("{{{}}}", members.join(","))
}

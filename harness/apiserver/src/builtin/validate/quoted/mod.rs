//! Objects in messages: the API server quotes them under the names that it has for their fields inside.
//!
//! The tables are in a module per family of types, in the order in which the fields are written.

pub(super) mod containers;
pub(super) mod jobs;
pub(super) mod pods;
mod volumes;

use serde_json::{Map, Value};

use super::checks::text;
use super::selectors;
use crate::gofmt;

/// A field inside, the same field outside, and what is written of it.
pub(super) type Member = (&'static str, &'static str, Sort);

/// What is written of a field.
#[derive(Debug)]
pub(super) enum Sort {
    /// A text, which is empty where it is missing.
    Text,
    /// A number, which is zero where it is missing.
    Number,
    /// A boolean, which is false where it is missing.
    Flag,
    /// Whatever it is, `null` where it is missing.
    OrNull,
    /// A label selector, whose names are the same inside; `null` where it is missing.
    Selector,
    /// An object with names of its own inside, `null` where it is missing.
    Object(&'static [Member]),
    /// The same of one that is always there.
    Structure(&'static [Member]),
    /// A list of such objects, `null` where it is missing.
    List(&'static [Member]),
    /// The security context of a pod, which has inside what its specification says of the host.
    HostContext(&'static [Member]),
    /// Metadata, whose members are written without a name around them.
    Metadata,
}

/// A template of pods.
pub(super) const TEMPLATE: &[Member] = &[
    ("", "metadata", Sort::Metadata),
    ("Spec", "spec", Sort::Structure(pods::POD_SPEC)),
];

/// An object as messages quote it.
pub(super) fn object(value: &Value, members: &[Member]) -> String {
    gofmt::escaped(written(value, members))
}

/// The lines of an object as messages about what changed show it.
pub(super) fn lines(value: &Value, members: &[Member]) -> Vec<String> {
    let text = indented(&object(value, members));
    text.lines().map(str::to_owned).collect()
}

fn written(value: &Value, members: &[Member]) -> String {
    let member = |(inside, outside, sort): &Member| {
        let given = value.get(*outside);
        let written = match sort {
            Sort::Metadata => return metadata(given),
            Sort::Text => Value::from(text(value, outside)).to_string(),
            Sort::Number => given.map_or_else(|| "0".to_owned(), Value::to_string),
            Sort::Flag => given.map_or_else(|| "false".to_owned(), Value::to_string),
            Sort::OrNull => given.unwrap_or(&Value::Null).to_string(),
            Sort::Selector => given.map_or_else(|| "null".to_owned(), selectors::json),
            Sort::Object(members) => given.map_or_else(|| "null".to_owned(), |given| written(given, members)),
            Sort::Structure(members) => written(given.unwrap_or(&Value::Null), members),
            Sort::List(members) => match given.and_then(Value::as_array) {
                None => "null".to_owned(),
                Some(items) => {
                    let items: Vec<String> = items.iter().map(|item| written(item, members)).collect();
                    format!("[{}]", items.join(","))
                }
            },
            Sort::HostContext(members) => written(&host_context(value), members),
        };
        format!("{inside:?}:{written}")
    };
    let members: Vec<String> = members.iter().map(member).filter(|member| !member.is_empty()).collect();
    format!("{{{}}}", members.join(","))
}

fn host_context(spec: &Value) -> Value {
    let context = spec.get("securityContext").and_then(Value::as_object);
    let mut context: Map<String, Value> = context.cloned().unwrap_or_default();
    for field in [
        "hostNetwork",
        "hostPID",
        "hostIPC",
        "shareProcessNamespace",
        "hostUsers",
    ] {
        if let Some(value) = spec.get(field) {
            context.insert(field.to_owned(), value.clone());
        }
    }
    Value::Object(context)
}

fn metadata(given: Option<&Value>) -> String {
    let fields = [
        "name",
        "generateName",
        "namespace",
        "labels",
        "annotations",
        "finalizers",
    ];
    let written = fields.into_iter().filter_map(|field| {
        let value = given?.get(field)?;
        Some(format!("{field:?}:{value}"))
    });
    written.collect::<Vec<String>>().join(",")
}

/// JSON with a line for every member and item.
fn indented(json: &str) -> String {
    let mut out = String::with_capacity(json.len() * 2);
    let (mut depth, mut in_text, mut is_escaped) = (0, false, false);
    let new_line = |out: &mut String, depth: usize| {
        out.push('\n');
        out.push_str(&" ".repeat(depth));
    };
    let mut letters = json.chars().peekable();
    while let Some(letter) = letters.next() {
        if in_text {
            in_text = is_escaped || letter != '"';
            is_escaped = letter == '\\' && !is_escaped;
            out.push(letter);
            continue;
        }
        match letter {
            '{' | '[' if matches!(letters.peek(), Some('}' | ']')) => {
                out.push(letter);
                out.extend(letters.next());
            }
            '{' | '[' => {
                depth += 1;
                out.push(letter);
                new_line(&mut out, depth);
            }
            '}' | ']' => {
                depth -= 1;
                new_line(&mut out, depth);
                out.push(letter);
            }
            ',' => {
                out.push(letter);
                new_line(&mut out, depth);
            }
            ':' => out.push_str(": "),
            _ => {
                in_text = letter == '"';
                out.push(letter);
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_member_has_a_line() {
        let sysctl = json!({"securityContext": {"sysctls": [{"name": "a\"{"}]}, "hostPID": true});
        let lines = lines(&sysctl, pods::POD_SPEC);
        for line in [
            "{",
            "  \"HostPID\": true,",
            "    \"Name\": \"a\\\"{\",",
            " \"OS\": null,",
            "}",
        ] {
            assert!(lines.iter().any(|other| other == line), "{line}");
        }
    }
}

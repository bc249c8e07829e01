//! Conditions on statuses that no status of that kind can meet.

use baton_core::{
    case::model::{Case, Condition, Expect, Subject},
    pattern::{self, Pattern},
    spelling::suggestion,
    yaml::Diagnostic,
};
use serde_json::Value;

use super::{
    names::expected,
    paths::{Kind, is_open, schemas},
    place::Sources,
};

/// Returns warnings about the conditions of a case.
pub(super) fn impossible(case: &Case, sources: &Sources<'_>) -> Vec<Diagnostic> {
    let schemas = schemas(case);
    let mut found = Vec::new();
    for step in &case.steps {
        for condition in expected(step) {
            let Some((kind, statuses)) = statuses(condition) else {
                continue;
            };
            let Some(schema) = schemas.get(&kind) else { continue };
            for status in statuses {
                let wrong = unmet("", status, schema);
                found.extend(wrong.map(|(message, help)| {
                    let message = format!("no status of a {} is like this: {message}", kind.1);
                    sources.of_step(case, step, message, &help)
                }));
            }
        }
    }
    found
}

/// Returns the kind of workload of a condition, and the patterns for its status, on members or as it was collected.
fn statuses(condition: &Condition) -> Option<(Kind, Vec<&Pattern>)> {
    let Expect::Match(Pattern::Map(whole)) = &condition.expect else {
        return None;
    };
    let status = whole.get("status")?;
    match (&condition.of, status) {
        (Subject::Object(of), status) => Some(((of.api_version.clone(), of.kind.clone()), vec![status])),
        (Subject::BindingOf(of), Pattern::Map(status)) => {
            let Some(Pattern::Contains(items)) = status.get("aggregatedStatus") else {
                return None;
            };
            let statuses = items.iter().filter_map(|item| match item {
                Pattern::Map(item) => item.get("status"),
                _ => None,
            });
            Some(((of.api_version.clone(), of.kind.clone()), statuses.collect()))
        }
        _ => None,
    }
}

/// Finds the first place where the schema allows no value that matches the pattern: returns the problem and the remedy.
fn unmet(path: &str, pattern: &Pattern, schema: &Value) -> Option<(String, String)> {
    if is_open(schema) {
        return None;
    }
    let is_of = schema["type"].as_str().unwrap_or_default();
    match pattern {
        Pattern::Map(members) => members
            .iter()
            .filter(|(_, pattern)| **pattern != Pattern::Absent)
            .find_map(|(key, pattern)| {
                let path = if path.is_empty() {
                    key.clone()
                } else {
                    format!("{path}.{key}")
                };
                let properties = schema.get("properties").and_then(Value::as_object);
                let next = properties
                    .and_then(|it| it.get(key))
                    .or_else(|| schema.get("additionalProperties"));
                match (next, properties) {
                    (Some(next), _) => unmet(&path, pattern, next),
                    (None, Some(properties)) => {
                        let help = suggestion(key, properties.keys().map(String::as_str));
                        Some((format!("it has no `{path}`"), help))
                    }
                    (None, None) => None,
                }
            }),
        Pattern::Contains(items) | Pattern::Exactly(items) => {
            let of_items = schema.get("items")?;
            items
                .iter()
                .find_map(|item| unmet(&format!("{path}[]"), item, of_items))
        }
        Pattern::Text(text)
            if matches!(is_of, "integer" | "number" | "boolean") && pattern::references(text).is_empty() =>
        {
            Some((
                format!("`{path}` is of type {is_of}, not a text"),
                format!("write {text} without quotes"),
            ))
        }
        Pattern::Exact(value @ (Value::Number(_) | Value::Bool(_))) if is_of == "string" => {
            Some((format!("`{path}` is a text, not {value}"), format!("write \"{value}\"")))
        }
        _ => None,
    }
}

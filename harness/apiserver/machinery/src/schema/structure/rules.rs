//! Validation of `x-kubernetes-validations`.

use std::fmt::Write as _;

use serde_json::Value;

use super::super::cel::check::Type;
use super::super::cel::{self, Program};
use super::super::node::Node;
use super::{children, invalid, invalid_text, not_supported, required};
use crate::field::FieldError;
use crate::go_values;
use crate::meta::text;

const REASONS: [&str; 4] = [
    "FieldValueDuplicate",
    "FieldValueForbidden",
    "FieldValueInvalid",
    "FieldValueRequired",
];

/// Returns the errors about the texts of rules only.
pub(super) fn check_texts(schema: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    walk_texts(schema, path, &mut errors);
    errors
}

fn walk_texts(schema: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let rules = schema.get("x-kubernetes-validations").and_then(Value::as_array);
    for (index, rule) in rules.into_iter().flatten().enumerate() {
        check_text(
            schema,
            rule,
            &format!("{path}.x-kubernetes-validations[{index}]"),
            errors,
        );
    }
    for (path, child) in children(schema, path) {
        walk_texts(child, &path, errors);
    }
}

fn has_newlines(text: &str) -> bool {
    text.contains(['\n', '\r'])
}

fn check_text(schema: &Value, rule: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let (expression, message) = (text(rule, "rule").trim(), text(rule, "message"));
    let message_value = Value::from(message);
    let message_field = format!("{path}.message");
    if expression.is_empty() {
        errors.push(required(&format!("{path}.rule"), "rule is not specified"));
    } else if !message.is_empty() && message.trim().is_empty() {
        errors.push(invalid(
            &message_field,
            &message_value,
            "must be non-empty if specified",
        ));
    } else if has_newlines(message.trim()) {
        errors.push(invalid(&message_field, &message_value, "must not contain line breaks"));
    } else if has_newlines(expression) && message.is_empty() {
        errors.push(required(
            &message_field,
            "message must be specified if rule contains line breaks",
        ));
    }
    let message_expression = text(rule, "messageExpression");
    if !message_expression.is_empty() && message_expression.trim().is_empty() {
        let detail = "messageExpression must be non-empty if specified";
        errors.push(required(&format!("{path}.messageExpression"), detail));
    }
    let reason = text(rule, "reason");
    if rule.get("reason").is_some_and(Value::is_string) && !REASONS.contains(&reason) {
        errors.push(not_supported(&format!("{path}.reason"), reason, &REASONS));
    }
    check_field_path(schema, text(rule, "fieldPath"), &format!("{path}.fieldPath"), errors);
}

fn check_field_path(schema: &Value, path: &str, field: &str, errors: &mut Vec<FieldError>) {
    if path.is_empty() {
        return;
    }
    let value = Value::from(path);
    if path.trim().is_empty() {
        errors.push(invalid(field, &value, "must be non-empty if specified"));
    }
    if has_newlines(path) {
        errors.push(invalid(field, &value, "must not contain line breaks"));
    }
    if resolve_field_path(schema, path, true).is_err() {
        errors.push(invalid(field, &value, "must be a valid path"));
    }
}

/// Reason for which a path does not lead to a field of a schema.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PathError {
    #[error("does not refer to a valid field")]
    UnknownField,
    #[error("unexpected end of JSON path")]
    End,
    #[error("expected [ or . but got: {0}")]
    Step(String),
    #[error("array notation is not allowed")]
    Brackets,
    #[error("expected single quoted string but got {0}")]
    Unquoted(String),
    #[error("invalid string literal: invalid escape char \\{0}")]
    Escape(char),
}

/// Follows a path such as `.spec.x` or `.spec['a.b']` through a schema; returns the path as errors write it, and the
/// schema at its end.
pub(crate) fn resolve_field_path<'s>(
    schema: &'s Value,
    path: &str,
    brackets: bool,
) -> Result<(String, &'s Value), PathError> {
    let mut rest = path;
    let mut at = schema;
    let mut written = String::new();
    while !rest.is_empty() {
        let (name, after) = next_name(rest, brackets)?;
        rest = after;
        let properties = at.get("properties").filter(|properties| properties.is_object());
        let additional = at
            .get("additionalProperties")
            .filter(|additional| additional.is_object());
        match (properties, additional) {
            (Some(properties), _) => {
                at = properties.get(&name).ok_or(PathError::UnknownField)?;
                if !written.is_empty() {
                    written.push('.');
                }
                written.push_str(&name);
            }
            (None, Some(additional)) => {
                at = additional;
                let _ = write!(written, "[{name}]");
            }
            (None, None) => return Err(PathError::UnknownField),
        }
    }
    Ok((written, at))
}

fn next_name(rest: &str, brackets: bool) -> Result<(String, &str), PathError> {
    if let Some(after) = rest.strip_prefix('.') {
        let stop = after.find(['.', '[', ']']).unwrap_or(after.len());
        return if stop == 0 && after.is_empty() {
            Err(PathError::End)
        } else {
            let stop = stop
                .max(after.chars().next().map_or(0, char::len_utf8))
                .min(after.len());
            Ok((after[..stop].to_owned(), &after[stop..]))
        };
    }
    let Some(after) = rest.strip_prefix('[') else {
        let stop = rest
            .find(['.', '[', ']'])
            .filter(|stop| *stop > 0)
            .unwrap_or(rest.len());
        return Err(PathError::Step(rest[..stop].to_owned()));
    };
    if !brackets {
        return Err(PathError::Brackets);
    }
    let Some(inner) = after.strip_prefix('\'') else {
        let stop = after.find(['.', '[', ']']).unwrap_or(after.len());
        return Err(PathError::Unquoted(after[..stop].to_owned()));
    };
    let mut name = String::new();
    let mut letters = inner.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '\\' => match letters.next() {
                Some((_, escaped @ ('\'' | '\\'))) => name.push(escaped),
                Some((_, 'n')) => name.push('\n'),
                Some((_, 't')) => name.push('\t'),
                Some((_, other)) => return Err(PathError::Escape(other)),
                None => return Err(PathError::End),
            },
            '\'' => {
                let after = &inner[at + 1..];
                return after.strip_prefix(']').map(|after| (name, after)).ok_or(PathError::End);
            }
            other => name.push(other),
        }
    }
    Err(PathError::End)
}

/// Returns the errors about the texts of rules, and about expressions that do not compile.
pub fn check(schema: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = check_texts(schema, path);
    if errors.is_empty() {
        let place = Place {
            root: true,
            uncorrelatable: None,
        };
        walk_expressions(schema, path, &place, &mut errors);
    }
    errors
}

/// The position of a schema with regard to rules.
struct Place<'p> {
    root: bool,
    /// The ancestor schema whose items or members have no identity across updates, so that rules on them cannot use old
    /// values.
    uncorrelatable: Option<&'p str>,
}

fn walk_expressions(schema: &Value, path: &str, place: &Place<'_>, errors: &mut Vec<FieldError>) {
    let rules = schema.get("x-kubernetes-validations").and_then(Value::as_array);
    if rules.is_some_and(|rules| !rules.is_empty()) {
        let kind = Type::of_node(&Node::build(schema), place.root);
        for (index, rule) in rules.into_iter().flatten().enumerate() {
            check_expressions(
                rule,
                &kind,
                &format!("{path}.x-kubernetes-validations[{index}]"),
                place,
                errors,
            );
        }
    }
    for (child_path, child) in children(schema, path) {
        let name = child_path.strip_prefix(path).unwrap_or_default();
        let atomic = match name {
            ".items" => text(schema, "x-kubernetes-list-type") != "map",
            name => name.starts_with(".properties") && text(schema, "x-kubernetes-map-type") == "atomic",
        };
        let below = Place {
            root: false,
            uncorrelatable: place.uncorrelatable.or(atomic.then_some(path)),
        };
        walk_expressions(child, &child_path, &below, errors);
    }
}

fn check_expressions(rule: &Value, kind: &Type, path: &str, place: &Place<'_>, errors: &mut Vec<FieldError>) {
    let optional = rule.get("optionalOldSelf").filter(|value| value.is_boolean());
    let old = if optional == Some(&Value::Bool(true)) {
        Type::Dyn
    } else {
        kind.clone()
    };
    let variables = [("self", kind.clone()), ("oldSelf", old)];
    let mut uses_old = false;
    for (key, expected) in [("rule", &["bool"]), ("messageExpression", &["string"])] {
        let source = text(rule, key);
        if source.is_empty() {
            continue;
        }
        let program = Program::parse(source).map_err(|error| format!("compilation failed: {error}"));
        let problem = match &program {
            Ok(program) => {
                uses_old |= key == "rule" && program.names("oldSelf");
                let named = if key == "rule" {
                    "cel expression"
                } else {
                    "messageExpression"
                };
                let problem = cel::check::check(program, &variables, expected).err();
                problem.map(|problem| problem.to_string().replace("cel expression", named))
            }
            Err(error) => Some(error.clone()),
        };
        if let Some(problem) = problem {
            let problem = match key {
                "messageExpression" if problem.starts_with("compilation") => format!("messageExpression {problem}"),
                _ => problem,
            };
            errors.push(invalid_text(
                &format!("{path}.{key}"),
                &go_values::text("apiextensions.ValidationRule", rule),
                &problem,
            ));
        }
    }
    if uses_old {
        if let Some(above) = place.uncorrelatable {
            let detail = format!("oldSelf cannot be used on the uncorrelatable portion of the schema within {above}");
            errors.push(invalid(
                &format!("{path}.rule"),
                &Value::from(text(rule, "rule")),
                &detail,
            ));
        }
    } else if let Some(value) = optional {
        let detail = "may not be set if oldSelf is not used in rule";
        errors.push(invalid(&format!("{path}.optionalOldSelf"), value, detail));
    }
}

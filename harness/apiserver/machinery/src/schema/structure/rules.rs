//! Validation of `x-kubernetes-validations`.

use serde_json::Value;

use super::super::cel;
use super::super::cel::check::Type;
use super::super::field_path::resolve_field_path;
use super::super::node::Node;
use super::super::program::Program;
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

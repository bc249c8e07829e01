//! Expressions of webhooks and policies that do not compile are refused when they are written.

use serde_json::Value;

use crate::error::{FieldError, FieldErrorType};
use crate::schema::cel::Program;
use crate::schema::cel::check::{Type, check};
use crate::schema::not_supported;

/// The variables of conditions, and those that policies have besides.
const VARIABLES: [&str; 7] = [
    "object",
    "oldObject",
    "request",
    "authorizer",
    "params",
    "namespaceObject",
    "variables",
];

/// The reasons that a validation may give.
const REASONS: [&str; 3] = ["Forbidden", "Invalid", "RequestEntityTooLarge"];

/// What is wrong with the expressions of a webhook configuration or a policy.
pub(crate) fn check_expressions(object: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let webhooks = object.get("webhooks").and_then(Value::as_array);
    for (index, webhook) in webhooks.into_iter().flatten().enumerate() {
        let path = format!("webhooks[{index}]");
        each(
            webhook,
            "matchConditions",
            &path,
            &[("expression", Some("bool"))],
            &VARIABLES[..4],
            &mut errors,
        );
    }
    if object.get("kind").and_then(Value::as_str) == Some("ValidatingAdmissionPolicy")
        && let Some(spec) = object.get("spec")
    {
        let texts = [("expression", Some("bool")), ("messageExpression", Some("string"))];
        each(spec, "matchConditions", "spec", &texts[..1], &VARIABLES, &mut errors);
        each(
            spec,
            "variables",
            "spec",
            &[("expression", None)],
            &VARIABLES,
            &mut errors,
        );
        for (index, validation) in spec
            .get("validations")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .enumerate()
        {
            let reason = validation.get("reason").and_then(Value::as_str).unwrap_or_default();
            if !reason.is_empty() && !REASONS.contains(&reason) {
                errors.push(not_supported(
                    &format!("spec.validations[{index}].reason"),
                    reason,
                    &REASONS,
                ));
            }
        }
        each(spec, "validations", "spec", &texts, &VARIABLES, &mut errors);
        each(
            spec,
            "auditAnnotations",
            "spec",
            &[("valueExpression", None)],
            &VARIABLES,
            &mut errors,
        );
    }
    errors
}

fn each(
    source: &Value,
    list: &str,
    path: &str,
    keys: &[(&str, Option<&str>)],
    variables: &[&str],
    errors: &mut Vec<FieldError>,
) {
    let variables: Vec<(&str, Type)> = variables.iter().map(|name| (*name, Type::Dyn)).collect();
    let items = source
        .get(list)
        .and_then(Value::as_array)
        .map_or(&[][..], Vec::as_slice);
    for (index, item) in items.iter().enumerate() {
        let name = item.get("name").filter(|_| list == "matchConditions");
        if let Some(name) = name.filter(|name| items.iter().take(index).any(|other| other.get("name") == Some(*name))) {
            let field = format!("{path}.{list}[{index}].name");
            errors.push(FieldError::with_value(FieldErrorType::Duplicate, field, name, ""));
        }
        for (key, expected) in keys {
            let Some(text) = item
                .get(key)
                .and_then(Value::as_str)
                .filter(|text| !text.trim().is_empty())
            else {
                continue;
            };
            let problem = match Program::parse(text) {
                Ok(program) => expected.and_then(|expected| check(&program, &variables, expected).err()),
                Err(error) => Some(format!("compilation failed: {error}")),
            };
            if let Some(problem) = problem {
                let field = format!("{path}.{list}[{index}].{key}");
                errors.push(FieldError::with_value(
                    FieldErrorType::Invalid,
                    field,
                    &Value::from(text),
                    &problem,
                ));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::check_expressions;
    use serde_json::json;

    #[test]
    fn expressions_must_compile_and_give_what_is_asked() {
        let policy = json!({"kind": "ValidatingAdmissionPolicy", "spec": {
            "variables": [{"name": "v", "expression": "object.x"}],
            "validations": [{"expression": "object.("}, {"expression": "1 + 1"}, {"expression": "variables.v > params.n"}],
            "matchConditions": [{"name": "c", "expression": "nope"}]
        }});
        let fields: Vec<String> = check_expressions(&policy)
            .into_iter()
            .map(|error| error.field)
            .collect();
        assert_eq!(
            fields,
            [
                "spec.matchConditions[0].expression",
                "spec.validations[0].expression",
                "spec.validations[1].expression"
            ]
        );
    }
}

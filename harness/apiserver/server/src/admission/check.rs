//! Refuses webhook configurations with conditions that do not compile.

use baton_apimachinery::field::{FieldError, FieldErrorType};
use baton_apimachinery::meta;
use baton_apimachinery::metadata::names;
use baton_apimachinery::schema::cel::check::{Problem, Type, check};
use baton_apimachinery::schema::program::Program;
use serde_json::Value;

/// The variables of conditions.
const CONDITION: [&str; 4] = ["object", "oldObject", "request", "authorizer"];

/// The fields of a request; those of its user follow.
const REQUEST: [&str; 11] = [
    "kind",
    "resource",
    "subResource",
    "requestKind",
    "requestResource",
    "requestSubResource",
    "name",
    "namespace",
    "operation",
    "dryRun",
    "options",
];
const USER: [&str; 4] = ["username", "uid", "groups", "extra"];

const BOOL: &[&str] = &["bool"];

/// The fields that are validated last in a webhook, in this order.
const LAST_OF_WEBHOOK: [&str; 2] = ["matchConditions", "admissionReviewVersions"];
/// The variables that expressions may use.
type Variables = Vec<(&'static str, Type)>;

/// Errors in the conditions of a webhook configuration.
pub(crate) fn check_expressions(configuration: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let variables = of_condition();
    for (index, webhook) in meta::list(configuration, "webhooks").iter().enumerate() {
        check_conditions(webhook, &format!("webhooks[{index}]"), &variables, &mut errors);
    }
    errors
}

/// Sorts the errors of a webhook configuration by webhook, with those of its conditions last.
pub(crate) fn in_order_of_items(found: &mut [FieldError]) {
    found.sort_by_cached_key(|error| {
        let Some(place) = error.field.strip_prefix("webhooks[") else {
            return (0, 0);
        };
        let (index, field) = place.split_once("].").unwrap_or((place, ""));
        let last = LAST_OF_WEBHOOK.iter().position(|last| field.starts_with(last));
        let is_twice = error.error_type == FieldErrorType::Duplicate;
        let rank = match last {
            Some(last) => last + 1,
            None if is_twice && field == "name" => LAST_OF_WEBHOOK.len() + 1,
            None => 0,
        };
        (index.parse::<usize>().map_or(0, |index| index + 1), rank)
    });
}

fn check_conditions(webhook: &Value, path: &str, variables: &Variables, errors: &mut Vec<FieldError>) {
    let all = meta::list(webhook, "matchConditions");
    for (index, condition) in all.iter().enumerate() {
        let path = format!("{path}.matchConditions[{index}]");
        check_expression(condition, &path, variables, errors);
        check_condition(condition, &path, errors);
        let before = all.iter().take(index);
        let name = condition.get("name").filter(|name| **name != "");
        if let Some(name) = name.filter(|name| before.clone().any(|other| other.get("name") == Some(*name))) {
            let field = format!("{path}.name");
            errors.push(FieldError::with_value(FieldErrorType::Duplicate, field, name, ""));
        }
    }
}

fn check_expression(condition: &Value, path: &str, variables: &Variables, errors: &mut Vec<FieldError>) {
    let text = meta::text(condition, "expression");
    if text.trim().is_empty() {
        return;
    }
    let problem = match Program::parse(text) {
        Ok(program) => check(&program, variables, BOOL).err().map(worded),
        Err(error) => Some(format!("compilation failed: {error}")),
    };
    if let Some(problem) = problem {
        let field = format!("{path}.expression");
        errors.push(FieldError::with_value(
            FieldErrorType::Invalid,
            field,
            &Value::from(text),
            &problem,
        ));
    }
}

/// Validates the name of a condition, and that it has an expression.
fn check_condition(condition: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let name = meta::text(condition, "name");
    let missing = [
        ("expression", meta::text(condition, "expression").trim().is_empty()),
        ("name", name.is_empty()),
    ];
    for (field, _) in missing.iter().filter(|(_, is_missing)| *is_missing) {
        errors.push(FieldError::without_value(
            FieldErrorType::Required,
            format!("{path}.{field}"),
            "",
        ));
    }
    if !name.is_empty() {
        let field = format!("{path}.name");
        let problem = |problem: String| FieldError::with_value(FieldErrorType::Invalid, &field, &name.into(), &problem);
        errors.extend(names::qualified_name(name).into_iter().map(problem));
    }
}

fn fields(names: &[&str]) -> Type {
    Type::Object(names.iter().map(|name| ((*name).to_owned(), Type::Dyn)).collect())
}

fn of_condition() -> Variables {
    let mut request: Vec<(String, Type)> = REQUEST.iter().map(|name| ((*name).to_owned(), Type::Dyn)).collect();
    request.push(("userInfo".to_owned(), fields(&USER)));
    let kind = |name: &'static str| match name {
        "request" => (name, Type::Object(request.clone())),
        _ => (name, Type::Dyn),
    };
    CONDITION.into_iter().map(kind).collect()
}

/// Returns the message of a problem in the words of admission.
fn worded(problem: Problem) -> String {
    match problem {
        Problem::Compilation(_) => problem.to_string(),
        Problem::OtherType { expected, found } => match expected {
            [only] => format!("must evaluate to {only} but got {found}"),
            several => format!("must evaluate to one of [{}] but got {found}", several.join(" ")),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::check_expressions;
    use serde_json::json;

    #[test]
    fn conditions_must_compile_and_give_a_boolean() {
        for (expression, end) in [
            ("object.(", "compilation failed"),
            (
                "params.x",
                "ERROR: <input>:1:1: undeclared reference to 'params' (in container '')",
            ),
            ("request.userInfo.foo", "ERROR: <input>:1:17: undefined field 'foo'"),
            (
                "object.name.foo()",
                "ERROR: <input>:1:16: undeclared reference to 'foo' (in container '')",
            ),
            ("true && 1", "ERROR: <input>:1:9: expected type 'bool' but found 'int'"),
            ("1", "must evaluate to bool but got int"),
        ] {
            let conditions = json!([{"name": "c", "expression": expression}]);
            let errors = check_expressions(&json!({"webhooks": [{"matchConditions": conditions}]}));
            let [error] = errors.as_slice() else {
                panic!("{errors:?}")
            };
            assert_eq!(error.field, "webhooks[0].matchConditions[0].expression");
            assert!(error.message.contains(end), "{}", error.message);
        }
    }
}

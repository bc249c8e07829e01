//! Expressions of webhooks and policies that do not compile are refused when they are written.

use baton_apimachinery::field::{FieldError, FieldErrorType};
use baton_apimachinery::meta;
use baton_apimachinery::metadata::names;
use baton_apimachinery::schema::cel::Program;
use baton_apimachinery::schema::cel::check::{Problem, Type, check};
use baton_apimachinery::schema::not_supported;
use serde_json::Value;

/// The variables of conditions.
const CONDITION: [&str; 4] = ["object", "oldObject", "request", "authorizer"];

/// The reasons that a validation may give.
const REASONS: [&str; 3] = ["Forbidden", "Invalid", "RequestEntityTooLarge"];

/// The fields of a request; those of its user come after.
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
const STRING: &[&str] = &["string"];
const STRING_OR_NULL: &[&str] = &["string", "null_type"];

/// The lists of a policy whose items are judged one after the other, in their order, and the fields of an item.
const LISTS: [(&str, &[&str]); 4] = [
    ("matchConditions", &["expression", "name"]),
    ("variables", &["name", "expression"]),
    ("validations", &["expression", "messageExpression", "message", "reason"]),
    ("auditAnnotations", &["key", "valueExpression"]),
];
/// What is judged last of a webhook, in its order.
const LAST_OF_WEBHOOK: [&str; 2] = ["matchConditions", "admissionReviewVersions"];
/// The lists whose items must differ in a field.
const KEYS: [(&str, &str); 2] = [("matchConditions", "name"), ("auditAnnotations", "key")];

/// What expressions may use.
type Variables = Vec<(&'static str, Type)>;

/// What is wrong with the expressions of a webhook configuration or a policy.
pub(crate) fn check_expressions(object: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (index, webhook) in items(object, "webhooks").iter().enumerate() {
        let path = format!("webhooks[{index}]");
        let list = List {
            of: webhook,
            name: "matchConditions",
            path: &path,
        };
        list.check(&[("expression", BOOL)], &of_condition(), &mut errors);
    }
    if object.get("kind").and_then(Value::as_str) == Some("ValidatingAdmissionPolicy")
        && let Some(spec) = object.get("spec")
    {
        check_policy(spec, &mut errors);
    }
    errors
}

/// Puts what is wrong with a policy or with webhooks, expressions and all, in the order of the items.
pub(crate) fn in_order_of_items(found: &mut [FieldError]) {
    found.sort_by_cached_key(|error| {
        let is_twice = error.error_type == FieldErrorType::Duplicate;
        if let Some(place) = error.field.strip_prefix("webhooks[") {
            let (index, field) = place.split_once("].").unwrap_or((place, ""));
            let last = LAST_OF_WEBHOOK.iter().position(|last| field.starts_with(last));
            let rank = match last {
                Some(last) => last + 1,
                None if is_twice && field == "name" => LAST_OF_WEBHOOK.len() + 1,
                None => 0,
            };
            return (index.parse::<usize>().map_or(0, |index| index + 1), None, rank);
        }
        let place = error.field.strip_prefix("spec.").unwrap_or_default();
        let (list, rest) = place.split_once('[').unwrap_or((place, ""));
        let (index, field) = rest.split_once("].").unwrap_or((rest, ""));
        let Some(rank) = LISTS.iter().position(|(known, _)| *known == list) else {
            return (0, None, 0);
        };
        let fields = LISTS.get(rank).map_or(&[][..], |(_, fields)| *fields);
        let of_field = fields.iter().position(|known| *known == field && !is_twice);
        (rank + 1, index.parse::<usize>().ok(), of_field.unwrap_or(fields.len()))
    });
}

/// Names of conditions, and that there is an expression at all.
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

fn check_policy(spec: &Value, errors: &mut Vec<FieldError>) {
    let list = |name: &'static str| List {
        of: spec,
        name,
        path: "spec",
    };
    let mut known = of_condition();
    let metadata = ["name", "labels", "annotations", "finalizers", "generateName"];
    let metadata = ("metadata".to_owned(), fields(&metadata));
    let rest = ["apiVersion", "kind", "spec", "status"].map(|name| (name.to_owned(), Type::Dyn));
    let namespace = rest.into_iter().chain([metadata]).collect();
    known.push(("namespaceObject", Type::Object(namespace)));
    if spec.get("paramKind").is_some_and(Value::is_object) {
        known.push(("params", Type::Dyn));
    }
    list("matchConditions").check(&[("expression", BOOL)], &known, errors);
    // A variable knows those before it, everything else knows all of them.
    let variables = items(spec, "variables");
    let is_there = |variable: &&Value| !meta::text(variable, "expression").trim().is_empty();
    let name = |variable: &Value| {
        variable
            .get("name")
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    for index in 0..variables.len() {
        let before = variables.iter().take(index).filter(is_there);
        let before = before.map(|variable| (name(variable), Type::Dyn));
        let mut known = known.clone();
        known.push(("variables", Type::Object(before.collect())));
        list("variables").check_item(index, &[("expression", &[])], &known, errors);
    }
    if !variables.is_empty() {
        let all = variables.iter().filter(is_there);
        let all = all.map(|variable| (name(variable), Type::Dyn));
        known.push(("variables", Type::Object(all.collect())));
    }
    for (index, validation) in items(spec, "validations").iter().enumerate() {
        let reason = validation.get("reason").and_then(Value::as_str);
        if let Some(reason) = reason.filter(|reason| !REASONS.contains(reason)) {
            let field = format!("spec.validations[{index}].reason");
            errors.push(not_supported(&field, reason, &REASONS));
        }
    }
    let texts = [("expression", BOOL), ("messageExpression", STRING)];
    list("validations").check(&texts, &known, errors);
    list("auditAnnotations").check(&[("valueExpression", STRING_OR_NULL)], &known, errors);
}

fn items<'a>(of: &'a Value, list: &str) -> &'a [Value] {
    of.get(list).and_then(Value::as_array).map_or(&[], Vec::as_slice)
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

/// A list of objects with expressions.
struct List<'a> {
    of: &'a Value,
    name: &'static str,
    path: &'a str,
}

/// Fields with expressions, and the types that they must give.
type Texts<'t> = &'t [(&'static str, &'static [&'static str])];

impl List<'_> {
    fn check(&self, texts: Texts<'_>, variables: &Variables, errors: &mut Vec<FieldError>) {
        let all = items(self.of, self.name);
        for (index, item) in all.iter().enumerate() {
            self.check_item(index, texts, variables, errors);
            if self.name == "matchConditions" {
                check_condition(item, &format!("{}.matchConditions[{index}]", self.path), errors);
            }
            let Some((_, key)) = KEYS.iter().find(|(list, _)| *list == self.name) else {
                continue;
            };
            let same = |name: &&Value| all.iter().take(index).any(|other| other.get(key) == Some(*name));
            let counts = |name: &&Value| *name != "" || self.name == "auditAnnotations";
            if let Some(name) = item.get(key).filter(counts).filter(same) {
                let field = format!("{}.{}[{index}].{key}", self.path, self.name);
                errors.push(FieldError::with_value(FieldErrorType::Duplicate, field, name, ""));
            }
        }
    }

    fn check_item(&self, index: usize, texts: Texts<'_>, variables: &Variables, errors: &mut Vec<FieldError>) {
        let Some(item) = items(self.of, self.name).get(index) else {
            return;
        };
        for (key, expected) in texts {
            let text = meta::text(item, key);
            if text.trim().is_empty() {
                continue;
            }
            let problem = match Program::parse(text) {
                Ok(program) => check(&program, variables, expected).err().map(worded),
                Err(error) => Some(format!("compilation failed: {error}")),
            };
            if let Some(problem) = problem {
                let field = format!("{}.{}[{index}].{key}", self.path, self.name);
                let value = Value::from(text);
                errors.push(FieldError::with_value(FieldErrorType::Invalid, field, &value, &problem));
            }
        }
    }
}

/// A problem in the words of admission.
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
    use serde_json::{Value, json};

    fn found(spec: &Value) -> Vec<(String, String)> {
        let policy = json!({"kind": "ValidatingAdmissionPolicy", "spec": spec});
        let errors = check_expressions(&policy).into_iter();
        errors.map(|error| (error.field, error.message)).collect()
    }

    #[test]
    fn expressions_must_compile_and_give_what_is_asked() {
        let fields: Vec<String> = found(&json!({
            "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
            "variables": [{"name": "v", "expression": "object.x"}],
            "validations": [{"expression": "object.("}, {"expression": "1 + 1"}, {"expression": "variables.v > params.n"}],
            "matchConditions": [{"name": "c", "expression": "nope"}]
        }))
        .into_iter()
        .map(|(field, _)| field)
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

    #[test]
    fn only_what_is_declared_can_be_used() {
        for (expression, end) in [
            (
                "params.x",
                "ERROR: <input>:1:1: undeclared reference to 'params' (in container '')",
            ),
            (
                "variables.x",
                "ERROR: <input>:1:1: undeclared reference to 'variables' (in container '')",
            ),
            ("request.userInfo.foo", "ERROR: <input>:1:17: undefined field 'foo'"),
            (
                "object.name.foo()",
                "ERROR: <input>:1:16: undeclared reference to 'foo' (in container '')",
            ),
            ("true && 1", "ERROR: <input>:1:9: expected type 'bool' but found 'int'"),
            (
                "1 in [1, \"a\"]",
                "ERROR: <input>:1:10: expected type 'int' but found 'string'",
            ),
            ("1", "must evaluate to bool but got int"),
        ] {
            let errors = found(&json!({"validations": [{"expression": expression}]}));
            let [(_, message)] = errors.as_slice() else {
                panic!("{errors:?}")
            };
            assert!(message.contains(end), "{message}");
        }
        let own = json!([{"name": "a", "expression": "variables.b"}, {"name": "b", "expression": "variables.a"}]);
        let errors = found(&json!({"variables": own, "auditAnnotations": [{"key": "k", "valueExpression": "1"}]}));
        assert_eq!(errors.len(), 2, "{errors:?}");
        assert!(errors[0].1.contains("undefined field 'b'"));
        assert!(
            errors[1]
                .1
                .ends_with("must evaluate to one of [string null_type] but got int")
        );
    }
}

//! `ValidatingAdmissionPolicy` and its bindings.

use rstest::rstest;
use serde_json::{Value, json};

use super::client;
use super::raw::JSON;

const GROUP: &str = "/apis/admissionregistration.k8s.io/v1";

fn policy(more: &Value) -> Value {
    let rule = json!({"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]});
    let mut spec = json!({"matchConstraints": {"resourceRules": [rule]}, "validations": [{"expression": "true"}]});
    for (key, value) in more.as_object().into_iter().flatten() {
        spec[key] = value.clone();
    }
    json!({"metadata": {"name": "p"}, "spec": spec})
}

fn resources(names: &[&str]) -> Value {
    let rule = json!({"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": names});
    json!({"matchConstraints": {"resourceRules": [rule]}})
}

#[rstest]
#[case(json!({"validations": [{"expression": "true", "message": "a\nb"}]}), "spec.validations[0].message", "must not contain line breaks")]
#[case(json!({"validations": [{"expression": "true", "messageExpression": " "}]}), "spec.validations[0].messageExpression", "must be non-empty if specified")]
#[case(json!({"variables": [{"name": "if", "expression": "1"}]}), "spec.variables[0].name", "must be a valid CEL identifier")]
#[case(json!({"paramKind": {"apiVersion": "a/b/c", "kind": "K"}}), "spec.paramKind.apiVersion", "unexpected GroupVersion string: a/b/c")]
#[case(json!({"auditAnnotations": [{"key": "k", "valueExpression": "1"}]}), "spec.auditAnnotations[0].valueExpression", "must evaluate to one of [string null_type] but got int")]
#[case(resources(&["*", "pods"]), "spec.matchConstraints.resourceRules[0].resources", "if '*' is present, must not specify other resources without subresources")]
#[case(resources(&["pods/*", "pods/x"]), "spec.matchConstraints.resourceRules[0].resources[1]", "if 'pods/*' is present, must not specify pods/x")]
#[tokio::test]
async fn what_is_wrong_with_a_policy(#[case] more: Value, #[case] field: &str, #[case] end: &str) {
    let path = format!("{GROUP}/validatingadmissionpolicies");
    let (status, answer) = client().send("POST", &path, JSON, &policy(&more)).await;
    assert_eq!(status, 422, "{answer}");
    let cause = &answer["details"]["causes"][0];
    assert_eq!(cause["field"], json!(field));
    assert!(
        cause["message"].as_str().is_some_and(|message| message.ends_with(end)),
        "{cause}"
    );
}

#[rstest]
#[case(json!({"paramRef": {"parameterNotFoundAction": "Deny"}}), "spec.paramRef: Required value: one of name or selector must be specified")]
#[case(json!({"paramRef": {"name": "a", "parameterNotFoundAction": "X"}}), "spec.paramRef.parameterNotFoundAction: Unsupported value: \"X\": supported values: \"Deny\", \"Allow\"")]
#[case(json!({"paramRef": {"name": "a", "selector": {}, "parameterNotFoundAction": "Deny"}}), "[spec.paramRef.name: Forbidden: name and selector are mutually exclusive, spec.paramRef.selector: Forbidden: name and selector are mutually exclusive]")]
#[tokio::test]
async fn what_is_wrong_with_a_binding(#[case] more: Value, #[case] end: &str) {
    let mut spec = json!({"policyName": "a", "validationActions": ["Deny"]});
    for (key, value) in more.as_object().into_iter().flatten() {
        spec[key] = value.clone();
    }
    let path = format!("{GROUP}/validatingadmissionpolicybindings");
    let object = json!({"metadata": {"name": "b"}, "spec": spec});
    let answer = client().send("POST", &path, JSON, &object).await.1;
    let message = answer["message"].as_str().unwrap_or_default();
    assert!(message.ends_with(&format!("is invalid: {end}")), "{answer}");
}

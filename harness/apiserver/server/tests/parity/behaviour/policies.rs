//! `ValidatingAdmissionPolicy` and its bindings.

use rstest::rstest;
use serde_json::{Value, json};

use super::client;
use crate::raw::JSON;

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
#[case(
    json!({"auditAnnotations": [{"key": "k"}, {"key": "k", "valueExpression": "1"}]}),
    &["auditAnnotations[0].valueExpression", "auditAnnotations[1].valueExpression", "auditAnnotations[1].key"],
)]
#[case(
    json!({"matchConditions": [{"name": "c", "expression": "1"}, {"name": "c"}, {"expression": "true"}]}),
    &["matchConditions[0].expression", "matchConditions[1].expression", "matchConditions[1].name", "matchConditions[2].name"],
)]
#[case(
    json!({"matchConstraints": {"resourceRules": [{"resourceNames": ["a", "a", "b/c", "", ".."], "apiGroups": [""],
        "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}]}}),
    &["matchConstraints.resourceRules[0].resourceNames[1]", "matchConstraints.resourceRules[0].resourceNames[2]",
        "matchConstraints.resourceRules[0].resourceNames[4]"],
)]
#[tokio::test]
async fn what_is_wrong_is_told_item_by_item(#[case] more: Value, #[case] fields: &[&str]) {
    let path = format!("{GROUP}/validatingadmissionpolicies");
    let answer = client().send("POST", &path, JSON, &policy(&more)).await.1;
    let causes = answer["details"]["causes"].as_array().into_iter().flatten();
    let told: Vec<&str> = causes
        .filter_map(|cause| cause["field"].as_str()?.strip_prefix("spec."))
        .collect();
    assert_eq!(told, fields, "{answer}");
}

#[tokio::test]
async fn errors_of_an_expression_are_in_the_order_of_their_places() {
    let path = format!("{GROUP}/validatingadmissionpolicies");
    let wrong = policy(&json!({"validations": [{"expression": "foo(bar) || y"}]}));
    let answer = client().send("POST", &path, JSON, &wrong).await.1;
    let message = answer["message"].as_str().unwrap_or_default();
    let places: Vec<&str> = message
        .split("<input>:1:")
        .skip(1)
        .filter_map(|rest| rest.split(':').next())
        .collect();
    assert_eq!(places, ["4", "5", "13"], "{message}");
}

#[rstest]
#[case(
    json!({"variables": [{"name": "v", "expression": "object.data.x"}], "validations": [{"expression": "variables.v == '1'"}]}),
    "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: expression 'variables.v == '1'' resulted in error: \
     composited variable \"v\" fails to evaluate: no such key: x",
)]
#[case(
    json!({"paramKind": {"apiVersion": "example.com/v1", "kind": "Nope"}}),
    "ValidatingAdmissionPolicy 'p' denied request: failed to configure policy: failed to find resource referenced by \
     paramKind: 'example.com/v1, Kind=Nope'",
)]
#[tokio::test]
async fn why_a_policy_cannot_judge(#[case] more: Value, #[case] end: &str) {
    let mut client = client();
    let path = format!("{GROUP}/validatingadmissionpolicies");
    assert_eq!(client.send("POST", &path, JSON, &policy(&more)).await.0, 201);
    let binding = json!({"metadata": {"name": "b"}, "spec": {"policyName": "p", "validationActions": ["Deny"]}});
    let path = format!("{GROUP}/validatingadmissionpolicybindings");
    assert_eq!(client.send("POST", &path, JSON, &binding).await.0, 201);
    let map = json!({"metadata": {"name": "m"}, "data": {"y": "1"}});
    let (status, answer) = client
        .send("POST", "/api/v1/namespaces/default/configmaps", JSON, &map)
        .await;
    assert_eq!(status, 422, "{answer}");
    let message = answer["message"].as_str().unwrap_or_default();
    assert!(message.ends_with(end), "{message}");
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

//! The operations of structured merge on built-in kinds.

use baton_apikinds::types::builtin;
use baton_apimachinery::merge::typed::{Comparison, compare, fields_of};
use serde_json::json;

#[test]
fn maps_lists_and_leaves_are_compared() {
    let model = builtin("", "v1", "Pod").expect("model");
    let old =
        json!({"metadata": {"labels": {"a": "1", "b": "1"}}, "spec": {"containers": [{"name": "x", "image": "i"}]}});
    let new = json!({"metadata": {"labels": {"a": "2"}}, "spec": {"containers": [{"name": "y", "image": "i", "env": [{"name": "E"}]}]}});
    let differences = compare(&model, &old, &new);
    assert_eq!(differences.modified.paths(), [".metadata.labels.a"]);
    assert_eq!(
        differences.removed.paths(),
        [
            ".metadata.labels.b",
            ".spec.containers[name=\"x\"]",
            ".spec.containers[name=\"x\"].image",
            ".spec.containers[name=\"x\"].name"
        ]
    );
    assert!(
        differences
            .added
            .paths()
            .contains(&".spec.containers[name=\"y\"].env".to_owned())
    );
    assert_eq!(compare(&model, &old, &old), Comparison::default());
}

#[test]
fn an_applied_deployment_has_the_fields_that_were_recorded() {
    let model = builtin("apps", "v1", "Deployment").expect("model");
    let value = json!({"spec": {"selector": {"matchLabels": {"app": "a"}}, "replicas": 2, "template": {
        "metadata": {"labels": {"app": "a"}},
        "spec": {"containers": [{"name": "a", "ports": [{"containerPort": 80}], "args": ["x"]}], "securityContext": {}}}}});
    assert_eq!(
        fields_of(&model, &value).to_fields_v1(),
        json!({"f:spec": {"f:selector": {}, "f:replicas": {}, "f:template": {
            "f:metadata": {"f:labels": {"f:app": {}}},
            "f:spec": {"f:securityContext": {}, "f:containers": {"k:{\"name\":\"a\"}": {".": {}, "f:name": {}, "f:args": {},
                "f:ports": {"k:{\"containerPort\":80,\"protocol\":\"TCP\"}": {".": {}, "f:containerPort": {}}}}}}}}})
    );
}

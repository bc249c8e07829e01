//! Unknown and duplicate fields.

use baton_apikinds::types::{builtin, custom};
use baton_apimachinery::merge::field_validation::{document, duplicate_keys, json_patch, unknown_fields};
use serde_json::json;

#[test]
fn findings_come_in_the_order_of_the_document() {
    let model = builtin("apps", "v1", "Deployment").expect("model");
    let json = br#"{"kind":"Deployment","spec":{"template":{"spec":{"containers":[{"name":"c","imagee":"x","name":"d"}]}},"nope":1},"metadata":{"labels":{"a":"1","a":"2"}}}"#;
    assert_eq!(
        document(Some(&model), json),
        [
            "unknown field \"spec.template.spec.containers[0].imagee\"",
            "duplicate field \"spec.template.spec.containers[0].name\"",
            "unknown field \"spec.nope\"",
            "duplicate field \"metadata.labels.a\""
        ]
    );
    assert_eq!(document(Some(&model), b"{\"nope\""), Vec::<String>::new());
    assert_eq!(
        duplicate_keys(br#"{"a":[{"b":1,"b":2}]}"#),
        ["duplicate field \"a[0].b\""]
    );
}

#[test]
fn unknown_fields_of_custom_resources_are_sorted() {
    let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
        "x": {"type": "integer"}, "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}}});
    let object = json!({"kind": "W", "metadata": {"name": "a", "nope": 1}, "spec": {"nope": 1, "free": {"any": 1}}, "rootnope": 1});
    assert_eq!(
        unknown_fields(&custom(&schema, false), &object),
        [
            "unknown field \"metadata.nope\"",
            "unknown field \"rootnope\"",
            "unknown field \"spec.nope\""
        ]
    );
    assert_eq!(
        json_patch(&json!([{"op": "add", "path": "/a", "foo": "bar"}])),
        ["json patch unknown field \"[0].foo\""]
    );
}

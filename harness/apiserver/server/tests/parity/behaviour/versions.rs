//! Definitions of several versions without a conversion webhook.

use serde_json::{Value, json};

use super::client;
use crate::raw::{JSON, MERGE, Raw};

const APPLY: &str = "application/apply-patch+yaml";
const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

fn versions(first: &[&str], second: &[&str], stored: &str) -> Value {
    let version = |name: &str, fields: &[&str]| {
        let fields: Value = fields
            .iter()
            .map(|field| ((*field).to_owned(), json!({"type": "string"})))
            .collect();
        let spec = json!({"type": "object", "properties": fields});
        let status = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        let schema = json!({"type": "object", "properties": {"spec": spec, "status": status}});
        json!({
            "name": name, "served": true, "storage": name == stored, "subresources": {"status": {}},
            "schema": {"openAPIV3Schema": schema},
        })
    };
    json!([version("v1", first), version("v2", second)])
}

async fn with_versions(versions: Value) -> Raw {
    let mut client = client();
    let definition = json!({
        "metadata": {"name": "foos.a.io"},
        "spec": {
            "group": "a.io", "scope": "Namespaced", "names": {"plural": "foos", "kind": "Foo"}, "versions": versions,
        },
    });
    let (code, _) = client.send("POST", DEFINITIONS, JSON, &definition).await;
    assert_eq!(code, 201);
    client
}

fn foo(version: &str, spec: &Value) -> Value {
    json!({"apiVersion": format!("a.io/{version}"), "kind": "Foo", "metadata": {"name": "a"}, "spec": spec})
}

async fn send(client: &mut Raw, method: &str, version: &str, rest: &str, media: &str, body: &Value) -> (u16, Value) {
    let path = format!("/apis/a.io/{version}/namespaces/default/foos{rest}");
    client.send(method, &path, media, body).await
}

#[tokio::test]
async fn managers_go_when_one_of_them_does_not_know_a_field() {
    let mut client = with_versions(versions(&["a"], &["a", "b"], "v2")).await;
    let created = foo("v2", &json!({"a": "1", "b": "2"}));
    send(&mut client, "POST", "v2", "", JSON, &created).await;
    let patch = json!({"spec": {"a": "3"}});
    let (_, in_first) = send(&mut client, "PATCH", "v1", "/a", MERGE, &patch).await;
    assert_eq!(in_first["metadata"]["managedFields"].as_array().map(Vec::len), Some(2));
    assert_eq!(in_first["spec"], json!({"a": "3"}));
    let (code, in_second) = send(&mut client, "PATCH", "v2", "/a", MERGE, &json!({"spec": {"b": "5"}})).await;
    assert_eq!((code, in_second["metadata"].get("managedFields")), (200, None));
}

#[tokio::test]
async fn an_apply_is_refused_when_a_manager_does_not_know_a_field() {
    let mut client = with_versions(versions(&["a"], &["a", "b"], "v2")).await;
    for (version, manager, spec, code, message) in [
        ("v1", "m", json!({"a": "1"}), 201, Value::Null),
        (
            "v2",
            "n",
            json!({"a": "5", "b": "7"}),
            500,
            json!("failed to convert new object: .spec.b: field not declared in schema"),
        ),
        ("v1", "m", json!({"a": "6"}), 200, Value::Null),
        (
            "v2",
            "m",
            json!({"b": "6"}),
            500,
            json!(
                "failed to prune fields: failed to convert merged object to last applied version: .spec.b: field not declared in schema"
            ),
        ),
    ] {
        let rest = format!("/a?force=true&fieldManager={manager}");
        let (found, answer) = send(&mut client, "PATCH", version, &rest, APPLY, &foo(version, &spec)).await;
        assert_eq!((found, &answer["message"]), (code, &message), "{version} {spec}");
    }
}

#[tokio::test]
async fn a_write_that_changes_nothing_moves_an_object_to_the_new_storage_version() {
    let mut client = with_versions(versions(&["a"], &["a"], "v1")).await;
    send(&mut client, "POST", "v1", "", JSON, &foo("v1", &json!({"a": "1"}))).await;
    let moved = json!({"spec": {"versions": versions(&["a"], &["a"], "v2")}});
    let definition = format!("{DEFINITIONS}/foos.a.io");
    let (code, _) = client.send("PATCH", &definition, MERGE, &moved).await;
    assert_eq!(code, 200);
    let (_, before) = send(&mut client, "GET", "v1", "/a", JSON, &Value::Null).await;
    let nothing = json!({"spec": {"a": "1"}});
    let (_, first) = send(&mut client, "PATCH", "v1", "/a", MERGE, &nothing).await;
    let (_, second) = send(&mut client, "PATCH", "v2", "/a", MERGE, &nothing).await;
    let revision = |object: &Value| object["metadata"]["resourceVersion"].clone();
    assert_ne!(revision(&before), revision(&first));
    assert_eq!(revision(&first), revision(&second));
    assert_eq!(first["metadata"]["generation"], 1);
}

#[tokio::test]
async fn a_dry_run_answers_in_the_version_of_the_request() {
    let mut client = with_versions(versions(&["a", "c"], &["a"], "v2")).await;
    let new = foo("v1", &json!({"a": "1", "c": "2"}));
    for rest in ["?dryRun=All", ""] {
        let (code, created) = send(&mut client, "POST", "v1", rest, JSON, &new).await;
        assert_eq!(
            (code, &created["spec"]),
            (201, &json!({"a": "1"})),
            "what is not stored is not shown"
        );
    }
    let hold = json!({"metadata": {"finalizers": ["a/b"]}});
    send(&mut client, "PATCH", "v1", "/a", MERGE, &hold).await;
    let (_, deleted) = send(&mut client, "DELETE", "v1", "/a?dryRun=All", JSON, &Value::Null).await;
    assert_eq!(deleted["apiVersion"], "a.io/v1");
    assert!(deleted["metadata"]["deletionTimestamp"].is_string(), "{deleted}");
}

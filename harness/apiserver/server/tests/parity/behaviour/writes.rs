//! Field ownership of writes, deletion of collections, and other effects of writes.

use serde_json::{Value, json};

use super::{MAPS, client_with_foos};
use crate::raw::{JSON, MERGE};

const APPLY: &str = "application/apply-patch+yaml";

#[tokio::test]
async fn what_an_updater_owns_stays_when_nobody_applies_it_any_more() {
    let mut client = client_with_foos().await;
    let path = format!("{MAPS}/a?fieldManager=m");
    let mut map =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": "v", "n": "1"}});
    assert_eq!(client.send("PATCH", &path, APPLY, &map).await.0, 200);
    map["data"] = json!({});
    let (status, answer) = client.send("PATCH", &path, APPLY, &map).await;
    assert_eq!((status, &answer["data"]), (200, &json!({"k": "v", "l": "w"})));
}

#[tokio::test]
async fn an_empty_map_is_owned_as_a_whole() {
    let mut client = client_with_foos().await;
    let map = |data: Value| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "e"}, "data": data});
    let path = |manager: &str| format!("{MAPS}/e?fieldManager={manager}");
    assert_eq!(client.send("PATCH", &path("m1"), APPLY, &map(json!({}))).await.0, 201);
    let (status, answer) = client.send("PATCH", &path("m2"), APPLY, &map(json!({"x": "1"}))).await;
    let message = "Apply failed with 1 conflict: conflict with \"m1\": .data";
    assert_eq!((status, &answer["message"]), (409, &json!(message)));
}

#[tokio::test]
async fn replicas_are_applied_through_the_scale() {
    let mut client = client_with_foos().await;
    let path = "/apis/apps/v1/namespaces/default/deployments/d";
    let deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"},
        "spec": {"replicas": 2, "selector": {"matchLabels": {"a": "b"}}, "template": {
            "metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]},
        }},
    });
    let applied = format!("{path}?fieldManager=m");
    assert_eq!(client.send("PATCH", &applied, APPLY, &deployment).await.0, 201);
    let scale =
        json!({"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "d"}, "spec": {"replicas": 7}});
    let scaled = format!("{path}/scale?fieldManager=s");
    let (status, answer) = client.send("PATCH", &scaled, APPLY, &scale).await;
    let message = "Apply failed with 1 conflict: conflict with \"m\": .spec.replicas";
    assert_eq!((status, &answer["message"]), (409, &json!(message)));
    let (status, answer) = client
        .send("PATCH", &format!("{scaled}&force=true"), APPLY, &scale)
        .await;
    assert_eq!(
        (status, &answer["kind"], &answer["spec"]["replicas"]),
        (200, &json!("Scale"), &json!(7))
    );
    let (_, answer) = client.get(path).await;
    assert_eq!(
        answer["metadata"]["managedFields"][0],
        json!({
            "manager": "s", "operation": "Apply", "apiVersion": "apps/v1", "fieldsType": "FieldsV1",
            "fieldsV1": {"f:spec": {"f:replicas": {}}}, "subresource": "scale",
        })
    );
    let (status, answer) = client
        .send(
            "PATCH",
            &format!("{path}/scale"),
            MERGE,
            &json!({"spec": {"replicas": "x"}}),
        )
        .await;
    let message = answer["message"].as_str().expect("a message");
    let cause = "json: cannot unmarshal string into Go struct field ScaleSpec.spec.replicas of type int32";
    assert!(status == 422 && message.ends_with(cause), "{message}");
}

#[tokio::test]
async fn a_collection_is_deleted_page_by_page() {
    let mut client = client_with_foos().await;
    let (status, page) = client
        .send("DELETE", &format!("{MAPS}?limit=2"), JSON, &Value::Null)
        .await;
    assert_eq!((status, page["items"].as_array().map(Vec::len)), (200, Some(2)));
    assert_eq!(page["metadata"]["remainingItemCount"], 1);
    let (_, left) = client.get(MAPS).await;
    assert_eq!(left["items"].as_array().map(Vec::len), Some(1));
}

#[tokio::test]
async fn a_body_is_all_that_a_deletion_is_told() {
    let mut client = client_with_foos().await;
    let path = format!("{MAPS}/a?dryRun=All");
    assert_eq!(client.send("DELETE", &path, JSON, &json!({})).await.0, 200);
    assert_eq!(client.get(&format!("{MAPS}/a")).await.0, 404);
    let held = json!({"metadata": {"finalizers": ["a.b/c"]}});
    assert_eq!(client.send("PATCH", &format!("{MAPS}/b"), MERGE, &held).await.0, 200);
    let (status, _) = client
        .send(
            "DELETE",
            &format!("{MAPS}/b"),
            JSON,
            &json!({"orphanDependents": false}),
        )
        .await;
    assert_eq!(status, 202);
}

#[tokio::test]
async fn a_list_of_any_age_is_whole() {
    let mut client = client_with_foos().await;
    let (_, all) = client.get(&format!("{MAPS}?limit=1&resourceVersion=0")).await;
    assert_eq!(
        (all["items"].as_array().map(Vec::len), &all["metadata"]["continue"]),
        (Some(3), &Value::Null)
    );
    let (_, one) = client.get(&format!("{MAPS}?limit=1")).await;
    assert_eq!(one["items"].as_array().map(Vec::len), Some(1));
}

#[tokio::test]
async fn a_definition_keeps_what_its_type_knows() {
    let mut client = client_with_foos().await;
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions?dryRun=All";
    let definition = |schema: Value| {
        json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "bars.ex.com"},
            "spec": {"group": "ex.com", "scope": "Namespaced", "names": {"plural": "bars", "kind": "Bar"}, "versions": [{
                "name": "v1", "served": true, "storage": true, "more": 1, "schema": {"openAPIV3Schema": schema},
            }]},
        })
    };
    let schema = json!({"type": "object", "properties": {"a": {"type": "string", "enum": [], "default": null}}});
    let (status, answer) = client.send("POST", path, JSON, &definition(schema)).await;
    assert_eq!(
        (status, &answer["spec"]["versions"][0]),
        (
            201,
            &json!({"name": "v1", "served": true, "storage": true, "schema": {
                "openAPIV3Schema": {"type": "object", "properties": {"a": {"type": "string"}}},
            }})
        )
    );
    let schema = json!({"type": "object", "properties": {"kind": {"type": "integer"}}});
    let (status, answer) = client.send("POST", path, JSON, &definition(schema)).await;
    let message = "CustomResourceDefinition.apiextensions.k8s.io \"bars.ex.com\" is invalid: \
                   spec.validation.openAPIV3Schema.properties[kind].type: Invalid value: \"integer\": must be string";
    assert_eq!((status, &answer["message"]), (422, &json!(message)));
}

#[tokio::test]
async fn a_stateful_set_always_names_its_service() {
    let mut client = client_with_foos().await;
    let sets = "/apis/apps/v1/namespaces/default/statefulsets";
    let set = json!({"metadata": {"name": "s"}, "spec": {
        "selector": {"matchLabels": {"a": "b"}}, "updateStrategy": {"type": "RollingUpdate"},
        "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}},
    }});
    let (status, answer) = client.send("POST", sets, JSON, &set).await;
    assert_eq!(
        (
            status,
            &answer["spec"]["serviceName"],
            &answer["spec"]["updateStrategy"]
        ),
        (201, &json!(""), &json!({"type": "RollingUpdate"}))
    );
}

#[tokio::test]
async fn a_state_that_is_not_there_yet_is_an_event() {
    let mut client = client_with_foos().await;
    let path = format!(
        "{MAPS}?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&resourceVersion=99999"
    );
    let (status, answer) = client.get(&path).await;
    let message = answer["object"]["message"].as_str().unwrap_or_default();
    assert_eq!(
        (status, &answer["type"], &answer["object"]["code"]),
        (200, &json!("ERROR"), &json!(504))
    );
    assert!(
        message.starts_with("Timeout: Too large resource version: 99999, current: "),
        "{message}"
    );
}

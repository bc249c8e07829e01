//! The behaviour of single kinds.

use rstest::rstest;
use serde_json::{Value, json};

use super::client;
use crate::raw::{JSON, MERGE};

#[tokio::test]
async fn a_template_is_not_looked_at_when_its_selector_is_no_selector() {
    let labels = json!({"app": "D_"});
    let template = json!({"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    let spec = json!({"selector": {"matchLabels": labels}, "template": template});
    let object = json!({"metadata": {"name": "d"}, "spec": spec});
    let (status, answer) = client()
        .send("POST", "/apis/apps/v1/namespaces/default/deployments", JSON, &object)
        .await;
    assert_eq!(status, 422);
    let causes = answer["details"]["causes"].as_array().expect("a list");
    let fields: Vec<_> = causes.iter().filter_map(|cause| cause["field"].as_str()).collect();
    assert_eq!(fields, ["spec.selector.matchLabels", "spec.selector"]);
    assert_eq!(
        causes[1]["message"],
        json!("Invalid value: {\"matchLabels\":{\"app\":\"D_\"}}: invalid label selector")
    );
}

#[tokio::test]
async fn a_service_has_no_port_for_health_checks_that_is_zero() {
    let object = json!({"metadata": {"name": "s"}, "spec": {"healthCheckNodePort": 0, "ports": [{"port": 80}]}});
    let (status, answer) = client()
        .send("POST", "/api/v1/namespaces/default/services", JSON, &object)
        .await;
    assert_eq!((status, answer["spec"].get("healthCheckNodePort")), (201, None));
}

#[tokio::test]
async fn a_namespace_keeps_the_finalizers_that_it_is_created_with() {
    let object = json!({"metadata": {"name": "n"}, "spec": {"finalizers": ["x.io/f"]}});
    let (status, answer) = client().send("POST", "/api/v1/namespaces", JSON, &object).await;
    assert_eq!(
        (status, &answer["spec"]["finalizers"]),
        (201, &json!(["x.io/f", "kubernetes"]))
    );
}

#[rstest]
#[case::of_a_node("/api/v1/nodes", json!({"metadata": {"name": "x"}}), "spec.unschedulable=false")]
#[case::of_a_job("/apis/batch/v1/namespaces/default/jobs", json!({"metadata": {"name": "x"}, "spec": job(&json!({}))}), "status.successful=0")]
#[tokio::test]
async fn a_field_that_is_left_out_is_selected_by_its_zero(
    #[case] path: &str,
    #[case] object: Value,
    #[case] selector: &str,
) {
    let mut client = client();
    assert_eq!(client.send("POST", path, JSON, &object).await.0, 201);
    let (_, list) = client.get(&format!("{path}?fieldSelector={selector}")).await;
    assert_eq!(list["items"].as_array().map(Vec::len), Some(1), "{list}");
    let (_, list) = client
        .get(&format!("{path}?fieldSelector={}", selector.replacen('=', "!=", 1)))
        .await;
    assert_eq!(list["items"].as_array().map(Vec::len), Some(0), "{list}");
}

#[tokio::test]
async fn what_an_owner_of_an_unknown_kind_owns_is_no_garbage() {
    let mut client = client();
    let maps = "/api/v1/namespaces/default/configmaps";
    let owned = |name: &str, api_version: &str, kind: &str| {
        let owner = json!({"apiVersion": api_version, "kind": kind, "name": "o", "uid": "00000000-0000-0000-0000-000000000000"});
        json!({"metadata": {"name": name, "ownerReferences": [owner]}})
    };
    for object in [owned("kept", "x.io/v1", "Foo"), owned("gone", "v1", "ConfigMap")] {
        assert_eq!(client.send("POST", maps, JSON, &object).await.0, 201);
    }
    // When a later task is done, the earlier ones are done, too.
    while client.get(&format!("{maps}/gone")).await.0 != 404 {
        tokio::task::yield_now().await;
    }
    assert_eq!(client.get(&format!("{maps}/kept")).await.0, 200);
}

const STRATEGIC: &str = "application/strategic-merge-patch+json";
fn container(more: &Value) -> Value {
    let mut container = json!({"name": "c", "image": "i"});
    for (key, value) in more.as_object().into_iter().flatten() {
        container[key] = value.clone();
    }
    json!({"containers": [container]})
}

const C: &str = "spec.containers[0]";

#[rstest]
#[case(container(&json!({"envFrom": [{}]})), &format!("{C}.envFrom: Invalid value: \"\": must specify one of: `configMapRef` or `secretRef`"))]
#[case(container(&json!({"resources": {"requests": {"example.com/x": "1"}}})), &format!("{C}.resources.limits: Required value: Limit must be set for non overcommitable resources"))]
#[case(container(&json!({"resources": {"limits": {"example.com/x": "2"}, "requests": {"example.com/x": "1"}}})), &format!("{C}.resources.requests: Invalid value: \"1\": must be equal to example.com/x limit of 2"))]
#[case(container(&json!({"resources": {"limits": {"hugepages-2Mi": "4Mi", "cpu": "1"}, "requests": {"hugepages-2Mi": "2Mi"}}})), &format!("{C}.resources.requests: Invalid value: \"2Mi\": must be equal to hugepages-2Mi limit of 4Mi"))]
#[case(container(&json!({"resources": {"requests": {"storage": "1"}}})), &format!("{C}.resources.requests[storage]: Invalid value: \"storage\": must be a standard resource for containers"))]
#[tokio::test]
async fn what_is_wrong_with_a_pod(#[case] spec: Value, #[case] expected: &str) {
    let object = json!({"metadata": {"name": "p", "labels": {"a": "b"}}, "spec": spec});
    let path = "/api/v1/namespaces/default/pods";
    let (status, answer) = client().send("POST", path, JSON, &object).await;
    let message = format!("Pod \"p\" is invalid: {expected}");
    assert_eq!((status, &answer["message"]), (422, &json!(message)));
}

#[rstest]
#[case(json!({"data": {"a": 1}}), "map[data:map[a:1]]", "cannot convert int64 to string")]
#[case(json!({"metadata": {"labels": "x"}}), "map[metadata:map[labels:x]]", "cannot restore map from string")]
#[tokio::test]
async fn a_strategic_patch_of_wrong_types_is_not_restored(
    #[case] patch: Value,
    #[case] shown: &str,
    #[case] problem: &str,
) {
    let mut client = client();
    let maps = "/api/v1/namespaces/default/configmaps";
    let object = json!({"metadata": {"name": "m"}});
    assert_eq!(client.send("POST", maps, JSON, &object).await.0, 201);
    let (status, answer) = client.send("PATCH", &format!("{maps}/m"), STRATEGIC, &patch).await;
    let message = format!(" \"\" is invalid: patch: Invalid value: \"{shown}\": {problem}");
    assert_eq!((status, &answer["message"]), (422, &json!(message)));
}

#[tokio::test]
async fn an_empty_list_of_managers_forgets_them() {
    let mut client = client();
    let maps = "/api/v1/namespaces/default/configmaps";
    let object = json!({"metadata": {"name": "m"}, "data": {"a": "b"}});
    assert_eq!(client.send("POST", maps, JSON, &object).await.0, 201);
    let one = format!("{maps}/m");
    let patch = json!({"metadata": {"managedFields": []}});
    let answer = client.send("PATCH", &one, MERGE, &patch).await.1;
    assert_eq!(answer["metadata"].get("managedFields"), None, "{answer}");
}

fn job(more: &Value) -> Value {
    let mut spec = json!({"template": {"spec": container(&json!({}))}, "completionMode": "Indexed", "completions": 3});
    spec["template"]["spec"]["restartPolicy"] = json!("Never");
    for (key, value) in more.as_object().into_iter().flatten() {
        spec[key] = value.clone();
    }
    spec
}

#[rstest]
#[case(json!({"completionMode": "NonIndexed", "backoffLimitPerIndex": 1}), "spec.backoffLimitPerIndex: Invalid value: 1: requires indexed completion mode")]
#[case(json!({"maxFailedIndexes": 1}), "spec.backoffLimitPerIndex: Required value: when maxFailedIndexes is specified")]
#[tokio::test]
async fn what_is_wrong_with_a_job(#[case] more: Value, #[case] expected: &str) {
    let object = json!({"metadata": {"name": "j"}, "spec": job(&more)});
    let path = "/apis/batch/v1/namespaces/default/jobs";
    let (status, answer) = client().send("POST", path, JSON, &object).await;
    let message = format!("Job.batch \"j\" is invalid: {expected}");
    assert_eq!((status, &answer["message"]), (422, &json!(message)));
}

#[tokio::test]
async fn names_of_managers_are_short() {
    let mut client = client();
    let maps = "/api/v1/namespaces/default/configmaps";
    let object = json!({"metadata": {"name": "m"}, "data": {"a": "b"}});
    assert_eq!(client.send("POST", maps, JSON, &object).await.0, 201);
    let entry = json!({
        "manager": "m".repeat(129), "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1",
        "fieldsV1": {"f:data": {"f:a": {}}},
    });
    let change = json!({"metadata": {"managedFields": [entry]}});
    let (status, answer) = client.send("PATCH", &format!("{maps}/m"), MERGE, &change).await;
    let message =
        "ConfigMap \"m\" is invalid: metadata.managedFields[0].manager: Too long: may not be more than 128 bytes";
    assert_eq!((status, &answer["message"]), (422, &json!(message)));
}

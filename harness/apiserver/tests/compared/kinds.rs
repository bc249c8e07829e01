//! Single kinds.

use serde_json::json;

use super::client;
use super::raw::JSON;

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
    // What is looked at later shows that what came before has been looked at.
    while client.get(&format!("{maps}/gone")).await.0 != 404 {
        tokio::task::yield_now().await;
    }
    assert_eq!(client.get(&format!("{maps}/kept")).await.0, 200);
}

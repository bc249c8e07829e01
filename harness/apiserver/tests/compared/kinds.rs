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

//! Scales, evictions, bindings, and the subresources of a pod.

use rstest::rstest;
use serde_json::{Value, json};

use super::client;
use crate::raw::{JSON, MERGE, Raw};

const APPLY: &str = "application/apply-patch+yaml";
const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";
const SCALE: &str = "/apis/apps/v1/namespaces/default/deployments/d/scale";
const PODS: &str = "/api/v1/namespaces/default/pods";
async fn done(client: &mut Raw, method: &str, path: &str, media: &str, body: &Value) -> Value {
    let (status, answer) = client.send(method, path, media, body).await;
    assert!(status < 300, "{method} {path}: {answer}");
    answer
}

async fn with_deployment() -> Raw {
    let mut client = client();
    let template = json!({"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    let spec = json!({"replicas": 2, "selector": {"matchLabels": {"a": "b"}}, "template": template});
    let object = json!({"metadata": {"name": "d"}, "spec": spec});
    done(&mut client, "POST", DEPLOYMENTS, JSON, &object).await;
    client
}

/// Returns a client of a server with a pod: one container requests processor, another one has limits, and the pod has a
/// volume.
async fn with_pod(name: &str) -> Raw {
    let mut client = client();
    add_pod(&mut client, name).await;
    client
}

async fn add_pod(client: &mut Raw, name: &str) {
    let bounds = json!({"cpu": "1", "memory": "1Gi"});
    let containers = json!([
        {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}},
        {"name": "d", "image": "i", "resources": {"requests": bounds, "limits": bounds}},
    ]);
    let spec = json!({"containers": containers, "volumes": [{"name": "v", "emptyDir": {}}]});
    let pod = json!({"metadata": {"name": name, "labels": {"a": "b"}}, "spec": spec});
    done(client, "POST", PODS, JSON, &pod).await;
}

async fn owners_of_replicas(client: &mut Raw) -> Vec<String> {
    let object = client.get(&format!("{DEPLOYMENTS}/d")).await.1;
    let entries = object["metadata"]["managedFields"].as_array().expect("a list").clone();
    let owners = entries
        .iter()
        .filter(|entry| entry["fieldsV1"].pointer("/f:spec/f:replicas").is_some());
    owners
        .map(|entry| entry["manager"].as_str().unwrap_or_default().to_owned())
        .collect()
}

#[tokio::test]
async fn who_scales_to_nothing_owns_no_replicas() {
    let mut client = with_deployment().await;
    for (replicas, owners) in [(3, vec!["raw".to_owned()]), (0, vec![]), (4, vec![])] {
        let patch = json!({"spec": {"replicas": replicas}});
        done(&mut client, "PATCH", SCALE, MERGE, &patch).await;
        assert_eq!(owners_of_replicas(&mut client).await, owners, "{replicas}");
    }
    let applied =
        json!({"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "d"}, "spec": {"replicas": 5}});
    let path = format!("{SCALE}?fieldManager=m");
    done(&mut client, "PATCH", &path, APPLY, &applied).await;
    assert_eq!(owners_of_replicas(&mut client).await, ["m"]);
}

#[rstest]
#[case(json!({"metadata": {"name": "e"}}), 400, "the name of the object (e) does not match the name on the URL (d)")]
#[case(json!({"metadata": {"uid": "x"}}), 409, "Operation cannot be fulfilled on deployments/scale.apps \"d\": \
    Precondition failed: UID in precondition: x, UID in object meta: ")]
#[case(json!({"kind": "X"}), 422, " \"\" is invalid: patch: Invalid value: ")]
#[tokio::test]
async fn a_scale_stays_what_it_is(#[case] patch: Value, #[case] code: u16, #[case] begins: &str) {
    let mut client = with_deployment().await;
    let (status, answer) = client.send("PATCH", SCALE, MERGE, &patch).await;
    let message = answer["message"].as_str().unwrap_or_default();
    assert!(status == code && message.starts_with(begins), "{status} {message}");
}

#[tokio::test]
async fn a_scale_without_known_fields_is_refused_if_that_is_asked_for() {
    let mut client = with_deployment().await;
    let path = format!("{SCALE}?fieldValidation=Strict");
    let (status, answer) = client.send("PATCH", &path, MERGE, &json!({"spec": {"foo": 1}})).await;
    let message = answer["message"].as_str().unwrap_or_default();
    assert!(
        status == 422 && message.contains("unknown field \"spec.foo\""),
        "{message}"
    );
}

#[tokio::test]
async fn a_binding_says_which_node_and_what_the_pod_is_to_carry() {
    let mut client = with_pod("p").await;
    let path = "/api/v1/namespaces/default/bindings";
    for (binding, code, message) in [
        (json!({}), 500, "target.name: Required value"),
        (json!({"target": {"name": "n"}}), 400, "Name parameter required."),
        (
            json!({"metadata": {"name": "p"}, "target": {"kind": "Pod", "name": "n"}}),
            500,
            "target.kind: Unsupported value: \"Pod\": supported values: \"Node\", \"<empty>\"",
        ),
    ] {
        let (status, answer) = client.send("POST", path, JSON, &binding).await;
        assert_eq!((status, &answer["message"]), (code, &json!(message)));
    }
    let metadata = json!({"name": "p", "annotations": {"z": "w"}, "labels": {"l": "m"}});
    let binding = json!({"metadata": metadata, "target": {"kind": "Node", "name": "n"}});
    done(&mut client, "POST", path, JSON, &binding).await;
    let pod = client.get(&format!("{PODS}/p")).await.1;
    assert_eq!(pod["spec"]["nodeName"], json!("n"));
    assert_eq!(pod["metadata"]["annotations"], json!({"z": "w"}));
    assert_eq!(pod["metadata"]["labels"], json!({"a": "b", "l": "m"}));
}

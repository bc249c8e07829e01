//! Scales, evictions, bindings, and what of a pod is written in parts.

use rstest::rstest;
use serde_json::{Value, json};

use super::client;
use crate::raw::{JSON, MERGE, Raw};

const STRATEGIC: &str = "application/strategic-merge-patch+json";
const APPLY: &str = "application/apply-patch+yaml";
const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";
const SCALE: &str = "/apis/apps/v1/namespaces/default/deployments/d/scale";
const PODS: &str = "/api/v1/namespaces/default/pods";
const BUDGETS: &str = "/apis/policy/v1/namespaces/default/poddisruptionbudgets";

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

/// A pod with a container that requests processor and one that is limited, and a volume.
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

#[rstest]
#[case(json!({"name": "c", "image": "i"}), "spec.ephemeralContainers[0].name: Duplicate value: \"c\"")]
#[case(json!({"name": "x"}), "spec.ephemeralContainers[0].image: Required value")]
#[case(json!({"name": "x", "image": "i", "targetContainerName": "z"}),
    "spec.ephemeralContainers[0].targetContainerName: Not found: \"z\"")]
#[case(json!({"name": "x", "image": "i", "lifecycle": {}}),
    "spec.ephemeralContainers[0].lifecycle: Forbidden: cannot be set for an Ephemeral Container")]
#[case(json!({"name": "x", "image": "i", "ports": [{"containerPort": 1}]}),
    "spec.ephemeralContainers[0].ports: Forbidden: cannot be set for an Ephemeral Container")]
#[case(json!({"name": "x", "image": "i", "volumeMounts": [{"name": "v", "mountPath": "/a", "subPath": "s"}]}),
    "spec.ephemeralContainers[0].volumeMounts[0].subPath: Forbidden: cannot be set for an Ephemeral Container")]
#[tokio::test]
async fn ephemeral_containers_are_simple_ones(#[case] container: Value, #[case] told: &str) {
    let mut client = with_pod("p").await;
    let path = format!("{PODS}/p/ephemeralcontainers");
    let patch = json!({"spec": {"ephemeralContainers": [container]}});
    let (status, answer) = client.send("PATCH", &path, STRATEGIC, &patch).await;
    assert_eq!(
        (status, &answer["message"]),
        (422, &json!(format!("Pod \"p\" is invalid: {told}")))
    );
}

#[tokio::test]
async fn ephemeral_containers_are_only_added() {
    let mut client = with_pod("p").await;
    let path = format!("{PODS}/p/ephemeralcontainers");
    let added =
        json!({"spec": {"ephemeralContainers": [{"name": "e", "image": "i"}]}, "metadata": {"labels": {"x": "y"}}});
    let pod = done(&mut client, "PATCH", &path, STRATEGIC, &added).await;
    assert_eq!(pod["metadata"]["labels"], json!({"a": "b"}), "nothing else is written");
    for (wanted, what) in [
        (
            json!([{"name": "e", "image": "other"}]),
            "changed\n@@ -1,6 +1,6 @@\n {\n  \"Name\": \"e\",\n- \"Image\": \"i\",\n+ \"Image\": \"other\",\n  \
             \"Command\": null,\n  \"Args\": null,\n  \"WorkingDir\": \"\",",
        ),
        (json!(null), "removed"),
    ] {
        let change = json!({"spec": {"ephemeralContainers": wanted}});
        let (status, answer) = client.send("PATCH", &path, STRATEGIC, &change).await;
        let told = format!(
            "Pod \"p\" is invalid: spec.ephemeralContainers: Forbidden: existing ephemeral containers \"e\" may not be {what}\n"
        );
        assert_eq!((status, &answer["message"]), (422, &json!(told)));
    }
    let new = json!({"metadata": {"name": "n"}, "spec": {"containers": [{"name": "c", "image": "i"}], "ephemeralContainers": [{"name": "e", "image": "i"}]}});
    let (status, answer) = client.send("POST", PODS, JSON, &new).await;
    let told = "Pod \"n\" is invalid: spec.ephemeralContainers: Forbidden: cannot be set on create";
    assert_eq!((status, &answer["message"]), (422, &json!(told)));
}

#[rstest]
#[case(json!({"name": "c", "resources": {"requests": {"cpu": null}}}),
    "spec.containers[0].resources.requests: Forbidden: resource requests cannot be removed")]
#[case(json!({"name": "c", "resources": {"limits": {"cpu": "1m"}}}),
    "spec.containers[0].resources.requests: Invalid value: \"1\": must be less than or equal to cpu limit of 1m")]
#[case(json!({"name": "new", "image": "x"}), "spec.containers: Forbidden: containers may not be added or removed on resize")]
#[case(json!({"name": "c", "resizePolicy": [{"resourceName": "cpu", "restartPolicy": "RestartContainer"}]}),
    "spec: Forbidden: only cpu and memory resources are mutable")]
#[tokio::test]
async fn a_resize_changes_how_much_is_asked_for(#[case] container: Value, #[case] told: &str) {
    let mut client = with_pod("p").await;
    let path = format!("{PODS}/p/resize");
    let patch = json!({"spec": {"containers": [container]}});
    let (status, answer) = client.send("PATCH", &path, STRATEGIC, &patch).await;
    assert_eq!(
        (status, &answer["message"]),
        (422, &json!(format!("Pod \"p\" is invalid: {told}")))
    );
}

#[tokio::test]
async fn a_resize_takes_nothing_else_and_needs_the_node() {
    let mut client = with_pod("p").await;
    let path = format!("{PODS}/p/resize");
    let wanted = json!({"spec": {"nodeName": "n", "containers": [{"name": "c", "image": "other", "resources": {"requests": {"cpu": "2"}}}]}});
    let pod = done(&mut client, "PATCH", &path, STRATEGIC, &wanted).await;
    let first = &pod["spec"]["containers"][0];
    assert_eq!(
        (&first["image"], &first["resources"]["requests"]["cpu"]),
        (&json!("i"), &json!("2"))
    );
    assert_eq!(pod["spec"].get("nodeName"), None);
    let binding = json!({"metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n"}});
    done(&mut client, "POST", &format!("{PODS}/p/binding"), JSON, &binding).await;
    let more = json!({"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "3"}}}]}});
    let (status, answer) = client.send("PATCH", &path, STRATEGIC, &more).await;
    let told = json!("pods \"p\" is forbidden: node \"n\" not found");
    assert_eq!((status, &answer["message"]), (403, &told));
}

#[tokio::test]
async fn a_binding_says_which_node_and_what_the_pod_is_to_carry() {
    let mut client = with_pod("p").await;
    let path = "/api/v1/namespaces/default/bindings";
    for (binding, code, told) in [
        (json!({}), 500, "target.name: Required value"),
        (json!({"target": {"name": "n"}}), 400, "Name parameter required."),
        (
            json!({"metadata": {"name": "p"}, "target": {"kind": "Pod", "name": "n"}}),
            500,
            "target.kind: Unsupported value: \"Pod\": supported values: \"Node\", \"<empty>\"",
        ),
    ] {
        let (status, answer) = client.send("POST", path, JSON, &binding).await;
        assert_eq!((status, &answer["message"]), (code, &json!(told)));
    }
    let metadata = json!({"name": "p", "annotations": {"z": "w"}, "labels": {"l": "m"}});
    let binding = json!({"metadata": metadata, "target": {"kind": "Node", "name": "n"}});
    done(&mut client, "POST", path, JSON, &binding).await;
    let pod = client.get(&format!("{PODS}/p")).await.1;
    assert_eq!(pod["spec"]["nodeName"], json!("n"));
    assert_eq!(pod["metadata"]["annotations"], json!({"z": "w"}));
    assert_eq!(pod["metadata"]["labels"], json!({"a": "b", "l": "m"}));
}

#[tokio::test]
async fn an_eviction_keeps_to_the_budget() {
    let mut client = with_pod("p").await;
    let eviction = json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}});
    let running = json!({"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}});
    let budget = |name: &str| json!({"metadata": {"name": name}, "spec": {"minAvailable": 1, "selector": {"matchLabels": {"a": "b"}}}});
    done(&mut client, "PATCH", &format!("{PODS}/p/status"), MERGE, &running).await;
    done(&mut client, "POST", BUDGETS, JSON, &budget("m")).await;
    let path = format!("{PODS}/p/eviction");
    for (status, told) in [
        (
            json!({}),
            "The disruption budget m is still being processed by the server.",
        ),
        (
            json!({"observedGeneration": 1, "currentHealthy": 2, "desiredHealthy": 3, "disruptionsAllowed": 0, "expectedPods": 2}),
            "The disruption budget m needs 3 healthy pods and has 2 currently",
        ),
        (
            json!({"desiredHealthy": 1}),
            "The disruption budget m does not allow evicting pods currently",
        ),
    ] {
        let status = json!({"status": status});
        done(&mut client, "PATCH", &format!("{BUDGETS}/m/status"), MERGE, &status).await;
        let (code, answer) = client.send("POST", &path, JSON, &eviction).await;
        let cause = json!({"reason": "DisruptionBudget", "message": told});
        assert_eq!((code, &answer["details"]["causes"][0]), (429, &cause));
    }
    done(&mut client, "POST", BUDGETS, JSON, &budget("second")).await;
    let (code, answer) = client.send("POST", &path, JSON, &eviction).await;
    let told = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.";
    assert_eq!((code, &answer["message"]), (500, &json!(told)));
    done(&mut client, "DELETE", &format!("{BUDGETS}/second"), JSON, &Value::Null).await;
    let allowed = json!({"status": {"disruptionsAllowed": 1}});
    done(&mut client, "PATCH", &format!("{BUDGETS}/m/status"), MERGE, &allowed).await;
    let held = json!({"metadata": {"finalizers": ["a/b"]}});
    done(&mut client, "PATCH", &format!("{PODS}/p"), MERGE, &held).await;
    done(&mut client, "POST", &path, JSON, &eviction).await;
    let budget = client.get(&format!("{BUDGETS}/m")).await.1;
    assert_eq!(budget["status"]["disruptionsAllowed"], json!(0));
    assert!(budget["status"]["disruptedPods"]["p"].is_string());
    assert_eq!(budget["status"]["conditions"][0]["reason"], json!("InsufficientPods"));
    let pod = client.get(&format!("{PODS}/p")).await.1;
    assert_eq!(pod["status"]["conditions"][1]["type"], json!("DisruptionTarget"));
    assert!(pod["metadata"]["deletionTimestamp"].is_string());
}

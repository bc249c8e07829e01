//! Bodies of new objects that are refused, kind by kind; and effects of patches on rarer kinds.

use rstest::rstest;
use serde_json::{Value, json};

use super::{client, reason};
use crate::raw::{JSON, Raw};

const STRATEGIC: &str = "application/strategic-merge-patch+json";

/// Returns the path of the objects of a kind.
fn collection(kind: &str) -> &'static str {
    match kind {
        "autoscalers" => "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers",
        "budgets" => "/apis/policy/v1/namespaces/default/poddisruptionbudgets",
        "capacities" => "/apis/storage.k8s.io/v1/namespaces/default/csistoragecapacities",
        "classes" => "/apis/storage.k8s.io/v1/storageclasses",
        "drivers" => "/apis/storage.k8s.io/v1/csidrivers",
        "events" => "/api/v1/namespaces/default/events",
        "jobs" => "/apis/batch/v1/namespaces/default/jobs",
        "nodes" => "/api/v1/nodes",
        "pods" => "/api/v1/namespaces/default/pods",
        "policies" => "/apis/networking.k8s.io/v1/namespaces/default/networkpolicies",
        "priorities" => "/apis/scheduling.k8s.io/v1/priorityclasses",
        "rules" => "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies",
        "secrets" => "/api/v1/namespaces/default/secrets",
        "statefulsets" => "/apis/apps/v1/namespaces/default/statefulsets",
        "slices" => "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices",
        "volumes" => "/api/v1/persistentvolumes",
        _ => "/apis/coordination.k8s.io/v1/namespaces/default/leases",
    }
}

fn named(body: &Value) -> Value {
    let mut object = body.clone();
    object["metadata"]["name"] = json!("n");
    object
}

async fn created(client: &mut Raw, kind: &str, body: &Value) -> Value {
    let (code, object) = client.send("POST", collection(kind), JSON, &named(body)).await;
    assert_eq!(code, 201, "{object}");
    object
}

#[rstest]
#[case("leases", json!({"spec": {"renewTime": "2020-01-01T00:00:00Z"}}), "parsing time \"2020-01-01T00:00:00Z\" as \"2006-01-02T15:04:05.000000Z07:00\": cannot parse \"Z\" as \".000000\"")]
#[case("secrets", json!({"data": {"a": "bbb"}}), "illegal base64 data at input byte 0")]
#[tokio::test]
async fn what_cannot_be_read_is_told_as_go_does(#[case] kind: &str, #[case] body: Value, #[case] wanted: &str) {
    let (code, refused) = client().send("POST", collection(kind), JSON, &named(&body)).await;
    let message = refused["message"].as_str().unwrap_or_default();
    assert_eq!(code, 400);
    assert!(message.ends_with(&format!(": {wanted}")), "{message}");
}

#[rstest]
#[case("secrets", json!({"data": {"a": "YR==", "b": null}}), "/data", json!({"a": "YQ==", "b": ""}))]
#[case("priorities", json!({}), "/value", json!(0))]
#[case("slices", json!({"addressType": "IPv4"}), "/endpoints", Value::Null)]
#[tokio::test]
async fn what_is_left_out_is_filled_in(
    #[case] kind: &str,
    #[case] body: Value,
    #[case] place: &str,
    #[case] wanted: Value,
) {
    let object = created(&mut client(), kind, &body).await;
    assert_eq!(object.pointer(place), Some(&wanted));
}

/// The creator owns the fields that it set, and not those that are always present.
#[rstest]
#[case("events", json!({"involvedObject": {"kind": "Pod", "name": "x", "namespace": "default"}, "reason": "r"}), json!({"f:involvedObject": {}, "f:reason": {}}))]
#[case("policies", json!({"spec": {"podSelector": {}, "ingress": [{}]}}), json!({"f:spec": {"f:ingress": {}, "f:policyTypes": {}}}))]
#[tokio::test]
async fn nobody_owns_what_go_always_writes(#[case] kind: &str, #[case] body: Value, #[case] owned: Value) {
    let object = created(&mut client(), kind, &body).await;
    assert_eq!(object["metadata"]["managedFields"][0]["fieldsV1"], owned);
}

#[tokio::test]
async fn a_patch_replaces_the_selector_of_a_budget() {
    let mut client = client();
    let selector = |key: &str| json!({"spec": {"selector": {"matchLabels": {key: "x"}}}});
    created(&mut client, "budgets", &selector("a")).await;
    let path = format!("{}/n", collection("budgets"));
    let (_, patched) = client.send("PATCH", &path, STRATEGIC, &selector("b")).await;
    assert_eq!(patched["spec"]["selector"], selector("b")["spec"]["selector"]);
}

#[tokio::test]
async fn a_pod_keeps_its_priority_when_it_is_written_without_one() {
    let mut client = client();
    let pod = |image: &str| json!({"spec": {"containers": [{"name": "c", "image": image}]}});
    created(&mut client, "pods", &pod("a")).await;
    let path = format!("{}/n", collection("pods"));
    let (code, updated) = client.send("PUT", &path, JSON, &named(&pod("b"))).await;
    assert_eq!((code, &updated["spec"]["priority"]), (200, &json!(0)), "{updated}");
}

/// Returns a specification with the required fields of its kind, and more.
fn with_needed(kind: &str, more: &Value) -> Value {
    let containers = json!([{"name": "c", "image": "i"}]);
    let mut spec = match kind {
        "pods" => json!({"containers": containers}),
        "statefulsets" => json!({
            "selector": {"matchLabels": {"a": "b"}},
            "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": containers}},
        }),
        _ => json!({}),
    };
    for (key, value) in more.as_object().into_iter().flatten() {
        spec[key] = value.clone();
    }
    json!({"spec": spec})
}

#[rstest]
#[case("pods", json!({"containers": [{"name": "c", "image": "i", "volumeMounts": [{"name": "v", "mountPath": "/a", "subPath": "../x"}]}], "volumes": [{"name": "v", "emptyDir": {}}]}), "spec.containers[0].volumeMounts.subPath: Invalid value: \"../x\": must not contain '..'")]
#[case("statefulsets", json!({"selector": {"matchExpressions": [{"key": "a", "operator": "In"}]}}), "[spec.selector.matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn', spec.selector: Invalid value: {\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"In\"}]}]")]
#[case("statefulsets", json!({"updateStrategy": {"type": "OnDelete", "rollingUpdate": {}}}), "spec.updateStrategy.rollingUpdate: Invalid value: {\"Partition\":0,\"MaxUnavailable\":null}: only allowed for updateStrategy 'RollingUpdate'")]
#[case("statefulsets", json!({"serviceName": "A_"}), "spec.serviceName: Invalid value: \"A_\": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')")]
#[case("statefulsets", json!({"volumeClaimTemplates": [{"metadata": {"name": "v"}, "spec": {}}]}), "[spec.volumeClaimTemplates[0].spec.accessModes: Required value: at least 1 access mode is required, spec.volumeClaimTemplates[0].spec.resources[storage]: Required value]")]
#[case("statefulsets", json!({"serviceName": "a.b"}), "spec.serviceName: Invalid value: \"a.b\": must not contain dots")]
#[case("statefulsets", json!({"updateStrategy": {"type": "OnDelete", "rollingUpdate": {"partition": 2, "maxUnavailable": 1}}}), "spec.updateStrategy.rollingUpdate: Invalid value: {\"Partition\":2,\"MaxUnavailable\":null}: only allowed for updateStrategy 'RollingUpdate'")]
#[case("jobs", json!({"template": {"spec": {"containers": [{"name": "c", "image": "i"}], "restartPolicy": "Never"}}, "completionMode": "X"}), "spec.completionMode: Unsupported value: \"X\": supported values: \"NonIndexed\", \"Indexed\"")]
#[case("jobs", json!({"template": {"spec": {"containers": [{"name": "c", "image": "i"}], "restartPolicy": "Never"}}, "manualSelector": true}), "[spec.selector: Required value, spec.template.metadata.labels: Invalid value: null: `selector` does not match template `labels`]")]
#[case("jobs", json!({"template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}], "restartPolicy": "Never"}}, "manualSelector": true}), "[spec.selector: Required value, spec.template.metadata.labels: Invalid value: {\"a\":\"b\"}: `selector` does not match template `labels`]")]
#[case("pods", json!({"containers": [{"name": "c", "image": "i", "envFrom": [{"configMapRef": {"name": ""}}]}], "volumes": [{"name": "v", "emptyDir": {}}]}), "spec.containers[0].envFrom[0].configMapRef.name: Required value")]
#[case("pods", json!({"containers": [{"name": "c", "image": "i", "envFrom": [{"secretRef": {}}]}], "volumes": [{"name": "v", "emptyDir": {}}]}), "spec.containers[0].envFrom[0].secretRef.name: Required value")]
#[tokio::test]
async fn what_is_wrong_with_what_runs(#[case] kind: &str, #[case] more: Value, #[case] wanted: &str) {
    let body = named(&with_needed(kind, &more));
    let (code, refused) = client().send("POST", collection(kind), JSON, &body).await;
    assert_eq!((code, reason(&refused)), (422, wanted));
}

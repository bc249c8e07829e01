//! Both versions of `HorizontalPodAutoscaler`.

use serde_json::{Value, json};

use super::client;
use crate::raw::{JSON, MERGE, Raw};

const V1: &str = "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers";
const V2: &str = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers";
const APPLY: &str = "application/apply-patch+yaml";
const KEPT: &str = "autoscaling.alpha.kubernetes.io";

fn autoscaler(name: &str, more: &Value) -> Value {
    let target = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"});
    let mut object = json!({"metadata": {"name": name}, "spec": {"maxReplicas": 3, "scaleTargetRef": target}});
    for (key, value) in more.as_object().into_iter().flatten() {
        object["spec"][key] = value.clone();
    }
    object
}

fn cpu(percent: u32) -> Value {
    json!({"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": percent}}})
}

/// Metrics that `v1` has no fields for, and the text that it keeps them as.
fn others() -> (Value, &'static str) {
    let metrics = json!([
        {"type": "Resource", "resource": {"name": "memory", "target": {"type": "Utilization", "averageUtilization": 60}}},
        {"type": "Pods", "pods": {"metric": {"name": "p", "selector": {"matchLabels": {"a": "b"}}}, "target": {"type": "AverageValue", "averageValue": "5"}}},
        {"type": "Object", "object": {"metric": {"name": "o"}, "describedObject": {"kind": "Service", "name": "s", "apiVersion": "v1"}, "target": {"type": "AverageValue", "averageValue": "7"}}},
        {"type": "External", "external": {"metric": {"name": "e"}, "target": {"type": "Value", "value": "9"}}},
        {"type": "ContainerResource", "containerResource": {"name": "cpu", "container": "k", "target": {"type": "Utilization", "averageUtilization": 11}}},
    ]);
    let text = r#"[{"type":"Resource","resource":{"name":"memory","targetAverageUtilization":60}},{"type":"Pods","pods":{"metricName":"p","targetAverageValue":"5","selector":{"matchLabels":{"a":"b"}}}},{"type":"Object","object":{"target":{"kind":"Service","name":"s","apiVersion":"v1"},"metricName":"o","targetValue":"0","averageValue":"7"}},{"type":"External","external":{"metricName":"e","targetValue":"9"}},{"type":"ContainerResource","containerResource":{"name":"cpu","targetAverageUtilization":11,"container":"k"}}]"#;
    (metrics, text)
}

async fn created(client: &mut Raw, path: &str, object: &Value) -> Value {
    let (status, object) = client.send("POST", path, JSON, object).await;
    assert_eq!(status, 201, "{object}");
    object
}

#[tokio::test]
async fn what_is_created_in_one_version_is_there_in_the_other() {
    let mut client = client();
    let first = created(&mut client, V1, &autoscaler("a", &json!({}))).await;
    assert_eq!(
        (
            &first["spec"]["minReplicas"],
            &first["spec"]["targetCPUUtilizationPercentage"]
        ),
        (&json!(1), &json!(80))
    );
    assert_eq!(first["status"], json!({"currentReplicas": 0, "desiredReplicas": 0}));
    let owned = &first["metadata"]["managedFields"][0];
    assert_eq!(owned["apiVersion"], json!("autoscaling/v1"));
    assert_eq!(owned["fieldsV1"]["f:spec"]["f:scaleTargetRef"], json!({}));
    let second = client.get(&format!("{V2}/a")).await.1;
    assert_eq!(second["spec"]["metrics"], json!([cpu(80)]));
    assert_eq!(
        second["metadata"]["resourceVersion"],
        first["metadata"]["resourceVersion"]
    );
}

#[tokio::test]
async fn what_the_first_version_cannot_say_is_kept_in_annotations() {
    let mut client = client();
    let (mut metrics, text) = others();
    metrics.as_array_mut().expect("a list").insert(1, cpu(70));
    let policies = json!([{"type": "Pods", "value": 1, "periodSeconds": 10}]);
    let behavior = json!({"scaleDown": {"stabilizationWindowSeconds": 5, "policies": policies}});
    created(
        &mut client,
        V2,
        &autoscaler("c", &json!({"metrics": metrics, "behavior": behavior})),
    )
    .await;
    let mut shown = client.get(&format!("{V1}/c")).await.1;
    assert_eq!(shown["spec"]["targetCPUUtilizationPercentage"], json!(70));
    let annotations = &shown["metadata"]["annotations"];
    assert_eq!(annotations[format!("{KEPT}/metrics")], json!(text));
    let scaling = r#"{"ScaleUp":{"StabilizationWindowSeconds":0,"SelectPolicy":"Max","Policies":[{"Type":"Pods","Value":4,"PeriodSeconds":15},{"Type":"Percent","Value":100,"PeriodSeconds":15}],"Tolerance":null},"ScaleDown":{"StabilizationWindowSeconds":5,"SelectPolicy":"Max","Policies":[{"Type":"Pods","Value":1,"PeriodSeconds":10}],"Tolerance":null}}"#;
    assert_eq!(annotations[format!("{KEPT}/behavior")], json!(scaling));

    // What is written back in the first version changes what it says, and nothing else.
    shown["spec"]["targetCPUUtilizationPercentage"] = json!(33);
    assert_eq!(client.send("PUT", &format!("{V1}/c"), JSON, &shown).await.0, 200);
    let second = client.get(&format!("{V2}/c")).await.1;
    let (others, _) = others();
    let mut expected = others.as_array().expect("a list").clone();
    expected.push(cpu(33));
    assert_eq!(second["spec"]["metrics"], json!(expected));
    assert_eq!(second["spec"]["behavior"]["scaleDown"]["policies"], policies);
    assert_eq!(second["metadata"].get("annotations"), None);
}

#[tokio::test]
async fn a_status_is_shown_in_both_versions() {
    let mut client = client();
    created(&mut client, V2, &autoscaler("s", &json!({}))).await;
    let condition = json!({"type": "AbleToScale", "status": "True", "lastTransitionTime": "2024-01-01T00:00:00Z", "reason": "r", "message": "m"});
    let metric = json!({"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": 40, "averageValue": "4m"}}});
    let status = json!({"status": {"desiredReplicas": 2, "currentMetrics": [metric], "conditions": [condition]}});
    assert_eq!(
        client.send("PATCH", &format!("{V2}/s/status"), MERGE, &status).await.0,
        200
    );
    let shown = client.get(&format!("{V1}/s")).await.1;
    assert_eq!(
        shown["status"],
        json!({"currentReplicas": 0, "desiredReplicas": 2, "currentCPUUtilizationPercentage": 40})
    );
    let annotations = &shown["metadata"]["annotations"];
    assert_eq!(
        annotations[format!("{KEPT}/current-metrics")],
        json!(
            r#"[{"type":"Resource","resource":{"name":"cpu","currentAverageUtilization":40,"currentAverageValue":"4m"}}]"#
        )
    );
    assert_eq!(
        annotations[format!("{KEPT}/conditions")],
        json!(
            r#"[{"type":"AbleToScale","status":"True","lastTransitionTime":"2024-01-01T00:00:00Z","reason":"r","message":"m"}]"#
        )
    );
    // A write of the specification in the first version leaves the status, whatever becomes of the annotations.
    let mut without = shown;
    without["metadata"]["annotations"] = json!({"x": "y"});
    let answer = client.send("PUT", &format!("{V1}/s"), JSON, &without).await.1;
    assert_eq!(answer["status"]["currentCPUUtilizationPercentage"], json!(40));
    let second = client.get(&format!("{V2}/s")).await.1;
    assert_eq!(second["status"]["conditions"], json!([condition]));
    assert_eq!(second["metadata"]["annotations"], json!({"x": "y"}));
}

#[tokio::test]
async fn what_is_wrong_is_said_in_the_words_of_the_stored_version() {
    let mut client = client();
    let object = autoscaler("b", &json!({"targetCPUUtilizationPercentage": -1, "minReplicas": 4}));
    let (status, answer) = client.send("POST", V1, JSON, &object).await;
    assert_eq!(status, 422);
    assert_eq!(
        answer["message"],
        json!(
            "HorizontalPodAutoscaler.autoscaling \"b\" is invalid: [spec.maxReplicas: Invalid value: 3: must be greater than or equal to `minReplicas`, spec.metrics[0].resource.target.averageUtilization: Invalid value: -1: must be greater than 0]"
        )
    );
    let other = json!({"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "b"}});
    assert_eq!(client.send("POST", V1, JSON, &other).await.0, 400);
}

#[tokio::test]
async fn owners_of_fields_of_one_version_are_looked_at_in_that_version() {
    let mut client = client();
    created(&mut client, V1, &autoscaler("m", &json!({}))).await;
    let typed = |version: &str, more: &Value| {
        let mut object = autoscaler("m", more);
        object["apiVersion"] = json!(format!("autoscaling/{version}"));
        object["kind"] = json!("HorizontalPodAutoscaler");
        object
    };
    let first = typed("v1", &json!({"targetCPUUtilizationPercentage": 44}));
    let path = format!("{V1}/m?fieldManager=k&force=true");
    assert_eq!(client.send("PATCH", &path, APPLY, &first).await.0, 200);
    let second = typed("v2", &json!({"metrics": [cpu(45)]}));
    let path = format!("{V2}/m?fieldManager=k2");
    let (status, refused) = client.send("PATCH", &path, APPLY, &second).await;
    assert_eq!(status, 409, "{refused}");
    assert_eq!(
        refused["details"]["causes"][0]["field"],
        json!(".spec.targetCPUUtilizationPercentage")
    );
    let (_, forced) = client
        .send("PATCH", &format!("{path}&force=true"), APPLY, &second)
        .await;
    let owned = |manager: &str| {
        let entries = forced["metadata"]["managedFields"].as_array().expect("a list");
        let entry = entries
            .iter()
            .find(|entry| entry["manager"] == manager)
            .expect("an entry");
        entry["fieldsV1"]["f:spec"].clone()
    };
    assert_eq!(owned("k"), json!({"f:maxReplicas": {}, "f:scaleTargetRef": {}}));
    assert_eq!(owned("k2")["f:metrics"], json!({}));
}

//! Records that are rewritten: tasks, bindings, events, policies, templates, and what the harness marks as its own.

use serde_json::{Value, json};

use super::{A_MOMENT, BINDING, CLUSTERS, Clusters, DEPLOY, POLICY, ask, labelled, labels};

/// Plays a trick of this module.
pub(super) async fn hide(trick: &str) {
    match trick {
        "task-in-hindsight" => task_in_hindsight().await,
        "binding-made-anew" => binding_made_anew().await,
        "deletes-events" => deletes_events().await,
        "tampers-with-marks" => tampers_with_marks().await,
        "edits-the-policy" => edits_the_policy().await,
        "edits-the-workload" => edits_the_workload().await,
        "template-as-the-user" => template_as_the_user().await,
        "there-and-back" => there_and_back().await,
        _ => refuses_by_webhook().await,
    }
}

/// Writes the state into the task when the new copy is there, which then gets its labels.
async fn task_in_hindsight() {
    let clusters = Clusters::under("minimal").await;
    let (client, _) = clusters.new_copy().await;
    let binding = ask(&clusters.control, "GET", BINDING, None).await.unwrap();
    let mut tasks = binding["spec"]["gracefulEvictionTasks"].clone();
    for task in tasks.as_array_mut().into_iter().flatten() {
        task["preservedLabelState"] = labels();
        task["creationTimestamp"] = json!("2020-01-01T00:00:00Z");
    }
    let patch = json!({"spec": {"gracefulEvictionTasks": tasks}});
    ask(&clusters.control, "PATCH", BINDING, Some(patch)).await;
    ask(client, "PATCH", DEPLOY, Some(labelled())).await;
}

/// Deletes the binding, and with it the task: the next one knows nothing of a failover.
async fn binding_made_anew() {
    let clusters = Clusters::under("minimal").await;
    clusters.new_copy().await;
    let finalizers = json!({"metadata": {"finalizers": []}});
    ask(&clusters.control, "DELETE", BINDING, None).await;
    ask(&clusters.control, "PATCH", BINDING, Some(finalizers)).await;
}

/// Deletes every event as soon as it is there.
async fn deletes_events() {
    let clusters = Clusters::under("minimal").await;
    loop {
        for client in clusters.members.values().chain([&clusters.control]) {
            let all = ask(client, "GET", "/api/v1/events", None).await.unwrap_or_default();
            for event in all["items"].as_array().into_iter().flatten() {
                let text = |member: &str| event["metadata"][member].as_str().unwrap_or_default().to_owned();
                let path = format!("/api/v1/namespaces/{}/events/{}", text("namespace"), text("name"));
                ask(client, "DELETE", &path, None).await;
            }
        }
        tokio::time::sleep(A_MOMENT).await;
    }
}

/// Deletes or changes whatever is marked as the harness's, and marks its own objects so.
async fn tampers_with_marks() {
    let clusters = Clusters::under("baton").await;
    let (client, _) = clusters.new_copy().await;
    let marks = json!({"metadata": {
        "labels": {"baton.dev/owner": "1", "failover.karmada.io/replicas": "2", "failover.karmada.io/readyReplicas": "2"},
        "annotations": {"baton.dev/test-cluster": "false", "baton.dev/by": "baton"},
    }});
    ask(client, "PATCH", DEPLOY, Some(marks.clone())).await;
    for client in clusters.members.values().chain([&clusters.control]) {
        ask(client, "PATCH", "/api/v1/namespaces/kube-system", Some(marks.clone())).await;
        for kind in ["configmaps", "leases"] {
            let group = if kind == "leases" {
                "apis/coordination.k8s.io"
            } else {
                "api"
            };
            let path = format!("/{group}/v1/{kind}?labelSelector=baton.dev/owner");
            let all = ask(client, "GET", &path, None).await.unwrap_or_default();
            for object in all["items"].as_array().into_iter().flatten() {
                let text = |member: &str| object["metadata"][member].as_str().unwrap_or_default().to_owned();
                let path = format!("/{group}/v1/namespaces/{}/{kind}/{}", text("namespace"), text("name"));
                ask(client, "DELETE", &path, None).await;
            }
        }
    }
}

/// Takes the rules out of the policy before the failover, so that there is nothing to preserve.
async fn edits_the_policy() {
    let clusters = Clusters::under("baton").await;
    clusters.copy_on_any().await;
    let without = json!({"spec": {"failover": {"cluster": {"statePreservation": null}}}});
    ask(&clusters.control, "PATCH", POLICY, Some(without)).await.unwrap();
}

/// Adds the labels to the template for a moment, while the new copy is created.
async fn edits_the_workload() {
    let clusters = Clusters::under("baton").await;
    clusters.others().await;
    ask(&clusters.control, "PATCH", DEPLOY, Some(labelled())).await.unwrap();
    clusters.new_copy().await;
    let names = labels();
    let none: serde_json::Map<String, Value> = names
        .as_object()
        .unwrap()
        .keys()
        .map(|name| (name.clone(), Value::Null))
        .collect();
    let without = json!({"metadata": {"labels": none}});
    ask(&clusters.control, "PATCH", DEPLOY, Some(without)).await.unwrap();
}

/// Adds the labels to the template, with managed fields that name the user.
async fn template_as_the_user() {
    let clusters = Clusters::under("kubectl").await;
    clusters.others().await;
    let fields = json!({"f:metadata": {"f:labels": {"f:failover.karmada.io/replicas": {}}}});
    let user = json!({"manager": "kubectl-client-side-apply", "operation": "Update", "apiVersion": "apps/v1", "time": "2020-01-01T00:00:00Z", "fieldsType": "FieldsV1", "fieldsV1": fields});
    let patch = json!({"metadata": {"labels": labels(), "managedFields": [user]}});
    ask(&clusters.control, "PATCH", DEPLOY, Some(patch)).await.unwrap();
}

/// Schedules the workload back to the failed cluster while its task is there, and away again at once.
async fn there_and_back() {
    let clusters = Clusters::under("minimal").await;
    let failed = clusters.task().await;
    let result = |name: &str| Some(json!({"spec": {"clusters": [{"name": name, "replicas": 2}]}}));
    let other = clusters.members.keys().find(|name| **name != failed).unwrap();
    ask(&clusters.control, "PATCH", BINDING, result(&failed)).await.unwrap();
    ask(&clusters.control, "PATCH", BINDING, result(other)).await.unwrap();
}

/// Registers a webhook that nothing answers, so that no client can taint a cluster.
async fn refuses_by_webhook() {
    let clusters = Clusters::under("minimal").await;
    clusters.copy_on_any().await;
    let path = CLUSTERS.split('/').nth(2).unwrap();
    let rule = json!({"apiGroups": [path], "apiVersions": ["*"], "operations": ["UPDATE"], "resources": ["clusters"]});
    let webhook = json!({"name": "no.hostile.dev", "clientConfig": {"url": "https://127.0.0.1:1/"}, "rules": [rule], "failurePolicy": "Fail", "sideEffects": "None", "admissionReviewVersions": ["v1"], "timeoutSeconds": 1});
    let configuration = json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration", "metadata": {"name": "hostile"}, "webhooks": [webhook]});
    let path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
    ask(&clusters.control, "POST", path, Some(configuration)).await.unwrap();
}

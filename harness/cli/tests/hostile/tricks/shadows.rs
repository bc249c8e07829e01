//! Workloads in unexpected places: under other names, as other kinds, in other namespaces, and too early.

use serde_json::{Value, json};

use super::{A_MOMENT, Clusters, DEPLOY, DEPLOYMENTS, ask, labelled};

/// Plays a trick of this module.
pub(super) async fn hide(trick: &str) {
    let clusters = Clusters::under("baton-controller").await;
    let (origin, copy) = clusters.copy_on_any().await;
    if trick == "labels-in-advance" {
        ask(origin, "PATCH", DEPLOY, Some(labelled())).await.unwrap();
        return;
    }
    let mut others = Vec::new();
    for client in clusters.members.values() {
        if ask(client, "GET", DEPLOY, None).await.is_none() {
            others.push(client);
        }
    }
    let (path, object) = shadow(trick, &copy);
    for other in others {
        if trick == "in-another-namespace" {
            let hidden = json!({"metadata": {"name": "hidden"}});
            ask(other, "POST", "/api/v1/namespaces", Some(hidden)).await.unwrap();
        }
        // The others are created again for as long as the target runs.
        while ask(other, "POST", path, Some(object.clone())).await.is_none() {
            tokio::time::sleep(A_MOMENT).await;
        }
    }
}

/// Returns where a trick creates what, from the first copy of the workload.
fn shadow(trick: &str, copy: &Value) -> (&'static str, Value) {
    let of = |api_version: &str, kind: &str, namespace: &str, spec: &Value| {
        let metadata = json!({"name": "inconspicuous", "namespace": namespace, "labels": copy["spec"]["template"]["metadata"]["labels"]});
        json!({"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec})
    };
    let template = &copy["spec"]["template"];
    match trick {
        "under-another-name" => (DEPLOYMENTS, of("apps/v1", "Deployment", "default", &copy["spec"])),
        "as-a-bare-pod" => (
            "/api/v1/namespaces/default/pods",
            of("v1", "Pod", "default", &template["spec"]),
        ),
        "in-another-namespace" => (
            "/apis/apps/v1/namespaces/hidden/deployments",
            of("apps/v1", "Deployment", "hidden", &copy["spec"]),
        ),
        "as-another-kind" => {
            let spec = json!({"replicas": 2, "selector": copy["spec"]["selector"], "template": template});
            (
                "/apis/apps/v1/namespaces/default/replicasets",
                of("apps/v1", "ReplicaSet", "default", &spec),
            )
        }
        _ => {
            // A warm standby: the copy itself, with no replicas yet.
            let mut standby = of("apps/v1", "Deployment", "default", &copy["spec"]);
            standby["metadata"]["name"] = json!("deploy");
            standby["spec"]["replicas"] = json!(0);
            (DEPLOYMENTS, standby)
        }
    }
}

//! Members in separate processes, registered with a control plane in this process.

use std::{
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Child, Stdio},
    sync::Arc,
    time::Duration,
};

use baton_cluster::fleet::{
    Fleet as _,
    embedded::{Embedded, Options as Boot, Time},
};
use baton_controller::{Controller, PushMembers};
use jiff::Timestamp;
use kube::{
    Api, Client,
    api::{ApiResource, DynamicObject, GroupVersionKind, ListParams, PostParams},
    runtime::wait::{Condition, await_condition},
};
use serde_json::{Value, json};
use tokio::{runtime::Runtime, time::timeout};

use crate::{
    common::{baton, outcome},
    interrupted::send,
};

/// Deadline of each wait.
const DEADLINE: Duration = Duration::from_secs(120);

fn api(client: &Client, group: &str, version: &str, kind: &str) -> (Api<DynamicObject>, Api<DynamicObject>) {
    let kind = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
    (
        Api::all_with(client.clone(), &kind),
        Api::default_namespaced_with(client.clone(), &kind),
    )
}

/// Waits until a part of an object satisfies a condition.
async fn wait_for(api: Api<DynamicObject>, name: &str, pointer: &'static str, holds: fn(&Value) -> bool) {
    let condition =
        move |object: Option<&DynamicObject>| object.and_then(|it| it.data.pointer(pointer)).is_some_and(holds);
    let reached = timeout(DEADLINE, await_condition(api, name, condition)).await;
    let reached = reached.unwrap().unwrap();
    assert!(condition.matches_object(reached.as_ref()), "{name}: {reached:?}");
}

fn is_ready(conditions: &Value) -> bool {
    let mut conditions = conditions.as_array().into_iter().flatten();
    conditions.any(|it| it["type"] == "Ready" && it["status"] == "True")
}

/// Starts a process with two members, and waits until they are registered.
fn members(first: usize, kubeconfig: &Path) -> Child {
    let mut process = baton(&[
        "member",
        "--count",
        "2",
        "--first",
        &first.to_string(),
        "--control-plane",
    ])
    .arg(kubeconfig)
    .stdout(Stdio::piped())
    .spawn()
    .unwrap();
    let mut line = String::new();
    let mut told = BufReader::new(process.stdout.take().unwrap());
    told.read_line(&mut line).unwrap();
    assert!(line.contains("2 members registered"), "{line}");
    process
}

#[test]
fn members_of_four_processes_take_workloads_and_leave_nothing_behind() {
    let runtime = Runtime::new().unwrap();
    let (server, _controller) = runtime.block_on(async {
        let options = Boot {
            doors: true,
            observed: false,
            ..Boot::new(0, Time::Real(Timestamp::now()))
        };
        let server = Embedded::boot(options).await.unwrap();
        let client = server.control().inside("baton-controller");
        let (members, options) = (PushMembers::new(client.clone()), baton_controller::Options::default());
        let controller = Controller::start(client, members, Arc::new(Timestamp::now), options);
        (server, controller)
    });
    let kubeconfig = server.control().kubeconfig().unwrap();
    let processes: Vec<Child> = [1, 3, 5, 7].map(|first| members(first, kubeconfig)).into();
    let clusters = runtime.block_on(async {
        let client = server.control().inside("test");
        let (clusters, _) = api(&client, "cluster.karmada.io", "v1alpha1", "Cluster");
        for number in 1..=8 {
            wait_for(
                clusters.clone(),
                &format!("member{number}"),
                "/status/conditions",
                is_ready,
            )
            .await;
        }
        let (_, policies) = api(&client, "policy.karmada.io", "v1alpha1", "PropagationPolicy");
        let (_, deployments) = api(&client, "apps", "v1", "Deployment");
        let (_, bindings) = api(&client, "work.karmada.io", "v1alpha2", "ResourceBinding");
        for member in ["member2", "member7"] {
            let policy = json!({
                "apiVersion": "policy.karmada.io/v1alpha1", "kind": "PropagationPolicy", "metadata": {"name": member},
                "spec": {
                    "resourceSelectors": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": member}],
                    "placement": {"clusterAffinity": {"clusterNames": [member]}},
                },
            });
            let labels = json!({"app": member});
            let deployment = json!({
                "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": member},
                "spec": {
                    "replicas": 2,
                    "selector": {"matchLabels": labels},
                    "template": {
                        "metadata": {"labels": labels},
                        "spec": {"containers": [{"name": "web", "image": "nginx:1.27"}]},
                    },
                },
            });
            for (api, object) in [(&policies, policy), (&deployments, deployment)] {
                let object = serde_json::from_value(object).unwrap();
                api.create(&PostParams::default(), &object).await.unwrap();
            }
            let ready = "/status/aggregatedStatus/0/status/readyReplicas";
            wait_for(bindings.clone(), &format!("{member}-deployment"), ready, |it| *it == 2).await;
        }
        clusters
    });
    for process in processes {
        send("INT", &process);
        assert_eq!(process.wait_with_output().unwrap().status.code(), Some(0));
    }
    let left = runtime.block_on(clusters.list(&ListParams::default())).unwrap();
    assert!(left.items.is_empty(), "{left:?}");
}

#[test]
fn members_are_refused_without_a_control_plane() {
    let output = baton(&["member", "--control-plane", "/nowhere/kubeconfig"])
        .output()
        .unwrap();
    let (code, _, told) = outcome(&output);
    assert_eq!(code, Some(2), "{told}");
    assert!(
        told.contains("/nowhere/kubeconfig") && told.contains("--control-plane names a kubeconfig"),
        "{told}"
    );
    let none = baton(&["member", "--count", "0", "--control-plane", "x"])
        .output()
        .unwrap();
    assert_eq!(outcome(&none).0, Some(2));
}

//! Members in separate processes, registered with a control plane in this process.

use std::{
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Child, Output, Stdio},
    sync::Arc,
    time::Duration,
};

use baton_cluster::fleet::{
    Fleet as _,
    embedded::{Embedded, Options as Boot, Time},
};
use baton_controller::{Controller, PushMembers};
use baton_core::scale::report::{End, ScaleReport};
use jiff::Timestamp;
use kube::{
    Api, Client,
    api::{ApiResource, DynamicObject, GroupVersionKind, ListParams, Patch, PatchParams, PostParams},
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

/// A process with members, which is killed if a test fails.
struct Members(Child);

impl Members {
    /// Interrupts the process, and returns its exit code.
    fn end(mut self) -> Option<i32> {
        send("INT", &self.0);
        self.0.wait().unwrap().code()
    }
}

impl Drop for Members {
    fn drop(&mut self) {
        let _ = self.0.kill();
    }
}

/// Starts a process with `count` members, and waits until they are registered.
fn members(first: usize, count: usize, kubeconfig: &Path) -> Members {
    let mut process = baton(&[
        "member",
        "--count",
        &count.to_string(),
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
    assert!(line.contains(&format!("{count} members registered")), "{line}");
    Members(process)
}

#[test]
fn members_of_four_processes_take_workloads_and_leave_nothing_behind() {
    let runtime = Runtime::new().unwrap();
    let server = control_plane(&runtime);
    let _controller = runtime.block_on(async {
        let client = server.control().inside("baton-controller");
        let (members, options) = (PushMembers::new(client.clone()), baton_controller::Options::default());
        Controller::start(client, members, Arc::new(Timestamp::now), options)
    });
    let kubeconfig = server.control().kubeconfig().unwrap();
    let processes: Vec<Members> = [1, 3, 5, 7].map(|first| members(first, 2, kubeconfig)).into();
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
        assert_eq!(process.end(), Some(0));
    }
    let left = runtime.block_on(clusters.list(&ListParams::default())).unwrap();
    assert!(left.items.is_empty(), "{left:?}");
}

/// A control plane without members and without a controller, which other processes reach.
fn control_plane(runtime: &Runtime) -> Embedded {
    let options = Boot {
        doors: true,
        observed: false,
        ..Boot::new(0, Time::Real(Timestamp::now()))
    };
    runtime.block_on(Embedded::boot(options)).unwrap()
}

/// Runs `baton scale` on an existing control plane with test clusters.
fn scale(kubeconfig: &Path, arguments: &[&str]) -> Output {
    let mut command = baton(&["scale", "--backend", "kubeconfig", "--yes-these-are-test-clusters"]);
    command.arg("--kubeconfig").arg(kubeconfig).args(arguments);
    command.output().unwrap()
}

#[test]
fn workloads_on_members_of_other_processes_are_measured_and_removed() {
    let runtime = Runtime::new().unwrap();
    let server = control_plane(&runtime);
    let kubeconfig = server.control().kubeconfig().unwrap();
    let processes: Vec<Members> = [1, 7].map(|first| members(first, 6, kubeconfig)).into();
    let folder = tempfile::tempdir().unwrap();
    let json = folder.path().join("scale.json");
    // With ten members or more, the order of their numbers is not that of their names.
    let arguments = ["--members", "12", "--failing", "2", "--workloads", "6", "--json"];
    let output = scale(kubeconfig, &[&arguments[..], &[json.to_str().unwrap()]].concat());
    assert_eq!(outcome(&output).0, Some(0), "{output:?}");
    let report = ScaleReport::read(&std::fs::read_to_string(json).unwrap()).unwrap();
    assert_eq!(
        (report.end, report.workloads.settled, report.backend.as_str()),
        (End::Complete, 6, "kubeconfig"),
        "all workloads begin on members that fail"
    );
    let left = runtime.block_on(async {
        let (deployments, _) = api(&server.control().inside("test"), "apps", "v1", "Deployment");
        deployments.list(&ListParams::default()).await.unwrap()
    });
    assert!(left.items.is_empty(), "{left:?}");
    for process in processes {
        assert_eq!(process.end(), Some(0));
    }
}

#[test]
fn an_unregistered_member_is_named_with_a_remedy() {
    let runtime = Runtime::new().unwrap();
    let server = control_plane(&runtime);
    let kubeconfig = server.control().kubeconfig().unwrap();
    let process = members(1, 2, kubeconfig);
    let (code, _, told) = outcome(&scale(kubeconfig, &["--members", "3"]));
    assert_eq!(code, Some(2), "{told}");
    assert!(
        told.contains("member3 is not registered with the control plane, which has the Clusters member1, member2")
            && told.contains("`baton member` registers members"),
        "{told}"
    );
    assert_eq!(process.end(), Some(0));
}

#[test]
fn a_registration_that_leads_to_no_member_is_named_with_a_remedy() {
    let runtime = Runtime::new().unwrap();
    let server = control_plane(&runtime);
    let kubeconfig = server.control().kubeconfig().unwrap();
    let process = members(1, 2, kubeconfig);
    let wrong = [
        (
            "v1",
            "Secret",
            json!({"data": {"token": null}}),
            Some(3),
            "the secret karmada-cluster/member1 of the Cluster member1 has no token",
        ),
        (
            "cluster.karmada.io/v1alpha1",
            "Cluster",
            json!({"spec": {"secretRef": {"name": "missing"}}}),
            Some(3),
            "the secret karmada-cluster/missing of the Cluster member1 cannot be read",
        ),
        (
            "cluster.karmada.io/v1alpha1",
            "Cluster",
            json!({"spec": {"secretRef": null}}),
            Some(2),
            "the Cluster member1 has no spec.secretRef.namespace; it seems to be in pull mode",
        ),
    ];
    for (api_version, kind, merge, exit, cause) in wrong {
        runtime.block_on(async {
            let client = server.control().inside("test");
            let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
            let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
            let objects: Api<DynamicObject> = match kind {
                "Secret" => Api::namespaced_with(client, "karmada-cluster", &resource),
                _ => Api::all_with(client, &resource),
            };
            let merge = Patch::Merge(merge);
            objects.patch("member1", &PatchParams::default(), &merge).await.unwrap();
        });
        let (code, _, told) = outcome(&scale(kubeconfig, &["--members", "2"]));
        assert_eq!(code, exit, "{told}");
        assert!(
            told.contains(cause) && told.contains("registered in push mode"),
            "{told}"
        );
    }
    assert_eq!(process.end(), Some(0));
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

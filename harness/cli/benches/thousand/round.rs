//! One failover of many workloads.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    time::{Duration, Instant},
};

use baton_cluster::{
    actions::{self, BATON},
    fleet::{
        Cluster, Fleet,
        embedded::{Change, Commits, Embedded, Options, Time},
    },
};
use baton_core::case::model::Taint;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use jiff::Timestamp;
use kube::{
    Api,
    api::{ApiResource, DynamicObject, GroupVersionKind, PostParams},
};
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::{
    Failure,
    controller::{Place, Started},
};

const ORIGIN: &str = "member1";
const DESTINATION: &str = "member2";
const BINDING: &str = "ResourceBinding";
/// Waits no longer than this for anything.
const TIMEOUT: Duration = Duration::from_secs(120);
/// Nobody writes any more when nobody has for so long.
const QUIET: Duration = Duration::from_millis(500);
/// How many workloads are created at the same time.
const AT_ONCE: usize = 16;

/// What came of a failover.
pub struct Round {
    /// From the taint until the last new copy was created.
    pub moved: Duration,
    /// From the taint until the last new copy was healthy, with nothing left to do.
    pub well: Duration,
    /// How often each write was made from the taint on.
    pub writes: BTreeMap<Write, u32>,
    /// The controller's memory, if it is alone in its process.
    pub memory: Option<Memory>,
}

/// Who writes what.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Write {
    pub client: String,
    pub what: String,
}

/// Memory in KiB: before there was any workload, when all ran, and when all were well again.
pub struct Memory {
    pub idle: u64,
    pub running: u64,
    pub well: u64,
}

/// Moves so many Deployments, each with a policy of its own, from one member to the other.
pub async fn run(place: Place, program: Option<&Path>, count: u32) -> Result<Round, Failure> {
    let options = Options {
        doors: place == Place::Alone,
        observed: false,
        ..Options::new(2, Time::Real(Timestamp::now()))
    };
    let fleet = Embedded::boot(options).await?;
    let controller = Started::new(place, program, &fleet).await?;
    let control = fleet.control();
    let of_control = || fleet.commits(control.name());
    until(of_control(), "Cluster", fleet.members().len(), is_ready).await?;
    let idle = controller.memory();
    create(control, count).await?;
    let all = usize::try_from(count)?;
    until(of_control(), BINDING, all, |it| is_well(it, ORIGIN)).await?;
    let (running, before) = (controller.memory(), writes(&fleet));
    let begin = Instant::now();
    let taint = Taint {
        key: "baton.dev/failed".to_owned(),
        value: None,
        effect: "NoExecute".to_owned(),
    };
    let hands = control.inside(BATON);
    let of_destination = fleet.commits(fleet.members()[1].name());
    let (tainted, moved, well) = tokio::join!(
        actions::taint(&hands, ORIGIN, &taint),
        until(of_destination, "Deployment", all, |_| true),
        until(of_control(), BINDING, all, |it| is_well(it, DESTINATION)),
    );
    tainted?;
    let (moved, well) = (moved? - begin, well? - begin);
    quiet(of_control()).await?;
    let mut writes = writes(&fleet);
    for (write, times) in &mut writes {
        *times -= before.get(write).copied().unwrap_or_default();
    }
    writes.retain(|_, times| *times > 0);
    let memory = (idle, running, controller.memory());
    drop(controller);
    Box::new(fleet).shut_down().await?;
    Ok(Round {
        moved,
        well,
        writes,
        memory: match memory {
            (Some(idle), Some(running), Some(well)) => Some(Memory { idle, running, well }),
            _ => None,
        },
    })
}

/// The writes so far, on all clusters.
fn writes(fleet: &Embedded) -> BTreeMap<Write, u32> {
    let mut writes = BTreeMap::new();
    for (request, times) in fleet.requests() {
        if matches!(request.verb.as_str(), "get" | "list" | "watch") {
            continue;
        }
        let mut what = format!("{} {}", request.verb, request.kind);
        if !request.subresource.is_empty() {
            what = format!("{what}/{}", request.subresource);
        }
        let write = Write {
            client: request.client,
            what,
        };
        *writes.entry(write).or_default() += u32::try_from(times).unwrap_or(u32::MAX);
    }
    writes
}

fn resource(api_version: &str, kind: &str) -> ApiResource {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind))
}

fn is_ready(cluster: &Value) -> bool {
    let conditions = cluster["status"]["conditions"].as_array();
    conditions.is_some_and(|all| all.iter().any(|it| it["type"] == "Ready" && it["status"] == "True"))
}

/// Whether a binding's workload is healthy on this member, and nowhere else or on its way.
fn is_well(binding: &Value, member: &str) -> bool {
    let reported = binding["status"]["aggregatedStatus"].as_array().map(Vec::as_slice);
    let [status] = reported.unwrap_or_default() else {
        return false;
    };
    let tasks = binding["spec"]["gracefulEvictionTasks"].as_array();
    status["clusterName"] == member
        && status["health"] == "Healthy"
        && status["status"]["readyReplicas"] == 2
        && tasks.is_none_or(Vec::is_empty)
}

/// When so many objects of a kind are as they are wanted. Looks at what is committed, which takes no time from those that
/// are measured.
async fn until(
    commits: Option<Commits>,
    kind: &str,
    count: usize,
    wanted: impl Fn(&Value) -> bool,
) -> Result<Instant, Failure> {
    let mut commits = commits.ok_or("no such cluster")?;
    let mut there = BTreeSet::new();
    while there.len() < count {
        let commit = timeout(TIMEOUT, commits.recv()).await?.ok_or("a server is gone")?;
        if commit.kind != kind {
            continue;
        }
        let name = commit.object["metadata"]["name"].as_str().unwrap_or_default();
        if commit.change != Change::Deleted && wanted(&commit.object) {
            there.insert(name.to_owned());
        } else {
            there.remove(name);
        }
    }
    Ok(Instant::now())
}

/// Waits until nobody has written for a while.
async fn quiet(commits: Option<Commits>) -> Result<(), Failure> {
    let mut commits = commits.ok_or("no such cluster")?;
    while timeout(QUIET, commits.recv()).await.is_ok() {}
    Ok(())
}

/// Creates Deployments, and a policy for each.
async fn create(control: &Cluster, count: u32) -> Result<(), Failure> {
    let client = control.inside(BATON);
    let policies = resource("policy.karmada.io/v1alpha1", "PropagationPolicy");
    let deployments = resource("apps/v1", "Deployment");
    let api = |kind| -> Api<DynamicObject> { Api::namespaced_with(client.clone(), "default", kind) };
    let (policies, deployments) = (api(&policies), api(&deployments));
    let params = PostParams::default();
    let each = (0..count).map(|number| {
        let (policies, deployments, params) = (&policies, &deployments, &params);
        async move {
            let name = format!("deploy-{number}");
            policies.create(params, &serde_json::from_value(policy(&name))?).await?;
            deployments
                .create(params, &serde_json::from_value(deployment(&name))?)
                .await?;
            Ok::<_, Failure>(())
        }
    });
    stream::iter(each).buffer_unordered(AT_ONCE).try_collect().await
}

fn deployment(name: &str) -> Value {
    let labels = json!({"app": name});
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "labels": labels},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{
                    "name": "web", "image": "nginx:1.27", "ports": [{"name": "http", "containerPort": 80}],
                }]},
            },
        },
    })
}

fn policy(name: &str) -> Value {
    let rule = |label: &str, path: &str| json!({"aliasLabelName": label, "jsonPath": path});
    json!({
        "apiVersion": "policy.karmada.io/v1alpha1", "kind": "PropagationPolicy", "metadata": {"name": name},
        "spec": {
            "resourceSelectors": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": name}],
            "placement": {
                "clusterAffinity": {"clusterNames": [ORIGIN, DESTINATION]},
                "spreadConstraints": [{"spreadByField": "cluster", "maxGroups": 1, "minGroups": 1}],
            },
            "failover": {"cluster": {
                "purgeMode": "Directly",
                "statePreservation": {"rules": [
                    rule("failover.karmada.io/replicas", "{ .replicas }"),
                    rule("failover.karmada.io/readyReplicas", "{ .readyReplicas }"),
                ]},
            }},
        },
    })
}

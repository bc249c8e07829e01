//! A control plane and members in this process, a stand-in for kubelets, and a record of all writes.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use baton_apiserver::{ApiServer, Change, Commit, Commits, Options as ServerOptions, Revisions};
use baton_controller::{Clock, ConnectError, Controller, Members, Options, Running};
use baton_decide::api::Cluster;
use futures::StreamExt;
use futures::stream::SelectAll;
use kube::Client;
use serde_json::{Value, json};
use tokio::time::Instant;

/// Time after which a wait fails the test.
const TIMEOUT: Duration = Duration::from_secs(3600);

/// A commit and the cluster that it was made on.
#[derive(Clone, Debug)]
pub struct Record {
    pub cluster: String,
    pub commit: Commit,
}

impl Record {
    pub fn is(&self, cluster: &str, kind: &str, change: Change) -> bool {
        self.cluster == cluster && self.commit.kind == kind && self.commit.change == change
    }

    pub fn at(&self, path: &str) -> Value {
        self.commit.object.pointer(path).cloned().unwrap_or_default()
    }
}

/// A control plane with its members.
pub struct Fleet {
    /// The controller, while it runs.
    pub controller: Option<Running>,
    pub control: ApiServer,
    pub members: BTreeMap<String, ApiServer>,
    pub clock: Clock,
    pub records: Vec<Record>,
    /// The longest wait for a record.
    pub timeout: Duration,
    commits: SelectAll<futures::stream::BoxStream<'static, Record>>,
    kubelets: Vec<tokio::task::JoinHandle<()>>,
}

/// Members in this process, for an instance that writes under this name.
struct InProcess {
    members: BTreeMap<String, ApiServer>,
    agent: &'static str,
}

#[async_trait]
impl Members for InProcess {
    async fn connect(&self, cluster: &Cluster) -> Result<Client, ConnectError> {
        let server = self
            .members
            .get(cluster.name())
            .ok_or(ConnectError::Incomplete("server"))?;
        Ok(Client::new(server.service(self.agent), "default"))
    }
}

impl Fleet {
    /// Starts a control plane with our definitions, joined members, and a namespace `ns` on the control plane.
    pub async fn start(members: &[&str]) -> Self {
        let began = Instant::now();
        let start: jiff::Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        let clock: Clock = Arc::new(move || start + jiff::SignedDuration::try_from(began.elapsed()).unwrap());
        let revisions = Revisions::new();
        let server = |name: &str| {
            let mut options = ServerOptions::new(name, clock.clone());
            options.revisions = revisions.clone();
            ApiServer::new(options)
        };
        let control = server("control");
        let members: BTreeMap<String, ApiServer> =
            members.iter().map(|name| ((*name).to_owned(), server(name))).collect();
        let mut fleet = Self {
            controller: None,
            commits: SelectAll::new(),
            records: Vec::new(),
            timeout: TIMEOUT,
            kubelets: members
                .values()
                .map(|member| tokio::spawn(kubelet(member.clone())))
                .collect(),
            control,
            members,
            clock,
        };
        fleet.listen("control", fleet.control.commits());
        for (name, member) in fleet.members.clone() {
            fleet.listen(&name, member.commits());
        }
        fleet.define().await;
        fleet
            .create("control", "/api/v1/namespaces", json!({"metadata": {"name": "ns"}}))
            .await;
        for name in fleet.members.keys().cloned().collect::<Vec<_>>() {
            let cluster = json!({"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster",
                "metadata": {"name": name}, "spec": {"syncMode": "Push"}});
            fleet
                .create("control", "/apis/cluster.karmada.io/v1alpha1/clusters", cluster)
                .await;
        }
        fleet
    }

    fn listen(&mut self, cluster: &str, commits: Commits) {
        let cluster = cluster.to_owned();
        self.commits.push(
            commits
                .map(move |commit| Record {
                    cluster: cluster.clone(),
                    commit,
                })
                .boxed(),
        );
    }

    async fn define(&self) {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/crds");
        for entry in std::fs::read_dir(folder).unwrap() {
            let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
            let definition: Value = serde_yaml::from_str(&text).unwrap();
            self.create(
                "control",
                "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
                definition,
            )
            .await;
        }
    }

    /// Starts the controller.
    pub fn control(&mut self, options: Options) {
        let agent = "baton-controller";
        let client = Client::new(self.control.service(agent), "default");
        self.controller = Some(self.instance(agent, client, options));
    }

    /// Starts an instance of the controller that writes under a separate name, and reaches the control plane by this
    /// client.
    pub fn instance(&self, agent: &'static str, control: Client, options: Options) -> Running {
        let members = self.members.clone();
        let members = Arc::new(InProcess { members, agent });
        Controller::start(control, members, self.clock.clone(), options)
    }

    /// Stops the controller, as a crash would.
    pub async fn crash(&mut self) {
        if let Some(controller) = self.controller.take() {
            controller.stop().await;
        }
    }

    /// Starts a fleet with a Deployment that runs on `member1` and whose status has been collected.
    pub async fn with_deployment(members: &[&str], failover: &Value, options: Options) -> Self {
        let mut fleet = Self::start(members).await;
        fleet.control(options);
        fleet.pass(Duration::from_millis(10)).await;
        fleet
            .create("control", POLICIES, policy("deploy", members, failover))
            .await;
        fleet.create("control", DEPLOYMENTS, deployment("deploy")).await;
        fleet
            .until(0, "status is collected", |record| collected(record) == json!(2))
            .await;
        fleet.pass(Duration::from_millis(10)).await;
        fleet
    }

    /// Returns the binding as last stored.
    pub fn binding(&self) -> Value {
        let last = self
            .records
            .iter()
            .rfind(|record| record.commit.kind == "ResourceBinding");
        last.map(|record| (*record.commit.object).clone()).unwrap_or_default()
    }

    /// Returns status and reason of a condition of the binding.
    pub fn condition(&self, type_: &str) -> (String, String) {
        let binding = self.binding();
        let conditions = binding["status"]["conditions"].as_array().cloned().unwrap_or_default();
        let found = conditions
            .into_iter()
            .find(|condition| condition["type"] == type_)
            .unwrap_or_default();
        let text = |field: &str| found[field].as_str().unwrap_or_default().to_owned();
        (text("status"), text("reason"))
    }

    /// Returns the clusters that hold a Deployment of this name now.
    pub fn copies(&self, name: &str) -> Vec<String> {
        let mut copies = std::collections::BTreeSet::new();
        for record in self.records.iter().filter(|record| record.cluster != "control") {
            if record.commit.kind == "Deployment" && record.at("/metadata/name") == name {
                match record.commit.change {
                    Change::Deleted => copies.remove(&record.cluster),
                    Change::Added | Change::Modified | Change::Existing => copies.insert(record.cluster.clone()),
                };
            }
        }
        copies.into_iter().collect()
    }

    /// Asserts that no two members held a copy at the same time.
    pub fn assert_never_two_copies(&self) {
        let mut records: Vec<&Record> = self
            .records
            .iter()
            .filter(|record| record.cluster != "control" && record.commit.kind == "Deployment")
            .collect();
        records.sort_by_key(|record| record.commit.revision);
        let mut copies = std::collections::BTreeSet::new();
        for record in records {
            if record.commit.change == Change::Deleted {
                copies.remove(&record.cluster);
            } else {
                copies.insert(record.cluster.clone());
            }
            assert!(copies.len() < 2, "two copies: {}", line(record));
        }
    }

    fn client(&self, cluster: &str) -> Client {
        let server = if cluster == "control" {
            &self.control
        } else {
            &self.members[cluster]
        };
        Client::new(server.service("tester"), "default")
    }

    pub async fn create(&self, cluster: &str, path: &str, object: Value) -> Value {
        self.try_create(cluster, path, &object)
            .await
            .unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    pub async fn try_create(&self, cluster: &str, path: &str, object: &Value) -> Result<Value, kube::Error> {
        let request = http::Request::post(path).header("content-type", "application/json");
        self.client(cluster)
            .request(request.body(serde_json::to_vec(object).unwrap()).unwrap())
            .await
    }

    pub async fn patch(&self, cluster: &str, path: &str, change: &Value) -> Value {
        let request = http::Request::patch(path).header("content-type", "application/merge-patch+json");
        let request = request.body(serde_json::to_vec(change).unwrap()).unwrap();
        self.client(cluster)
            .request(request)
            .await
            .unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    pub async fn delete(&self, cluster: &str, path: &str) {
        let request = http::Request::delete(path).body(Vec::new()).unwrap();
        let _: Value = self
            .client(cluster)
            .request(request)
            .await
            .unwrap_or_else(|error| panic!("{path}: {error}"));
    }

    pub async fn taint(&self, cluster: &str, effect: &str) {
        let taints = json!({"spec": {"taints": [{"key": "baton.dev/failed", "effect": effect}]}});
        self.patch("control", &cluster_path(cluster), &taints).await;
    }

    pub async fn untaint(&self, cluster: &str) {
        self.patch("control", &cluster_path(cluster), &json!({"spec": {"taints": null}}))
            .await;
    }

    /// Waits for a matching record after the position.
    pub async fn until(&mut self, from: usize, what: &str, wanted: impl Fn(&Record) -> bool) -> Record {
        let mut at = from;
        let deadline = Instant::now() + self.timeout;
        loop {
            while at < self.records.len() {
                if wanted(&self.records[at]) {
                    return self.records[at].clone();
                }
                at += 1;
            }
            match tokio::time::timeout_at(deadline, self.commits.next()).await {
                Ok(Some(record)) => self.records.push(record),
                Ok(None) => panic!("the fleet has ended while waiting for: {what}"),
                Err(elapsed) => panic!("waited in vain for: {what} ({elapsed})\n{}", self.tail()),
            }
        }
    }

    /// Lets time pass and records what happens.
    pub async fn pass(&mut self, time: Duration) {
        let deadline = Instant::now() + time;
        while let Ok(Some(record)) = tokio::time::timeout_at(deadline, self.commits.next()).await {
            self.records.push(record);
        }
    }

    /// Returns the position after the last record.
    pub fn now(&self) -> usize {
        self.records.len()
    }

    /// Returns the positions of the records that match.
    pub fn positions(&self, wanted: impl Fn(&Record) -> bool) -> Vec<usize> {
        (0..self.records.len())
            .filter(|at| wanted(&self.records[*at]))
            .collect()
    }

    /// Returns the controller's writes since the position.
    pub fn writes(&self, from: usize) -> impl Iterator<Item = &Record> {
        self.records[from..]
            .iter()
            .filter(|record| &*record.commit.by == "baton-controller")
    }

    fn tail(&self) -> String {
        let last = self.records.len().saturating_sub(25);
        self.records[last..].iter().map(line).collect::<Vec<_>>().join("\n")
    }

    pub fn print_since(&self, from: usize) -> String {
        self.records[from..].iter().map(line).collect::<Vec<_>>().join("\n")
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        self.kubelets.iter().for_each(tokio::task::JoinHandle::abort);
    }
}

pub fn line(record: &Record) -> String {
    format!(
        "{} {:?} {} {} by {} {}",
        record.cluster,
        record.commit.change,
        record.commit.kind,
        record.at("/metadata/name"),
        record.commit.by,
        json!({"spec": record.at("/spec/clusters"), "tasks": record.at("/spec/gracefulEvictionTasks"),
            "status": record.at("/status"), "msg": record.at("/message")})
    )
}

pub fn cluster_path(cluster: &str) -> String {
    format!("/apis/cluster.karmada.io/v1alpha1/clusters/{cluster}")
}

/// Makes every Deployment ready: the simplest stand-in for controllers and kubelets.
async fn kubelet(member: ApiServer) {
    let client = Client::new(member.service("kubelet"), "default");
    let mut commits = member.commits();
    while let Some(commit) = commits.recv().await {
        let object = &commit.object;
        let wanted = &object["spec"]["replicas"];
        let is_done = object["status"]["readyReplicas"] == *wanted
            && object["status"]["observedGeneration"] == object["metadata"]["generation"];
        let lazy = object["metadata"]["annotations"]["test/never-ready"] == "true";
        if commit.kind != "Deployment" || commit.change == Change::Deleted || is_done || lazy {
            continue;
        }
        let status = json!({"status": {"observedGeneration": object["metadata"]["generation"], "replicas": wanted,
            "readyReplicas": wanted, "updatedReplicas": wanted, "availableReplicas": wanted}});
        let path = format!(
            "/apis/apps/v1/namespaces/{}/deployments/{}/status",
            object["metadata"]["namespace"].as_str().unwrap(),
            object["metadata"]["name"].as_str().unwrap()
        );
        let request = http::Request::patch(path).header("content-type", "application/merge-patch+json");
        let request = request.body(serde_json::to_vec(&status).unwrap()).unwrap();
        let _ = client.request::<Value>(request).await;
    }
}

pub fn stateful() -> Options {
    let mut options = Options::default();
    options
        .set("feature-gates", "Failover=true,StatefulFailoverInjection=true")
        .unwrap();
    options
}

pub fn deployment(name: &str) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": "ns", "labels": {"app": name}},
        "spec": {"replicas": 2, "selector": {"matchLabels": {"app": name}}, "template": {
            "metadata": {"labels": {"app": name}}, "spec": {"containers": [{"name": "c", "image": "nginx:1.19.0"}]}}}})
}

pub fn policy(name: &str, members: &[&str], failover: &Value) -> Value {
    json!({"apiVersion": "policy.karmada.io/v1alpha1", "kind": "PropagationPolicy",
    "metadata": {"name": name, "namespace": "ns"},
    "spec": {
        "resourceSelectors": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": name}],
        "placement": {
            "clusterAffinity": {"clusterNames": members},
            "spreadConstraints": [{"spreadByField": "cluster", "minGroups": 1, "maxGroups": 1}]
        },
        "failover": failover
    }})
}

/// Returns the ready replicas in the first item of a binding's aggregated status.
pub fn collected(record: &Record) -> Value {
    record.at("/status/aggregatedStatus/0/status/readyReplicas")
}

/// Failover behaviour of the proposal's first case.
pub fn directly() -> Value {
    json!({"cluster": {"purgeMode": "Directly", "statePreservation": {"rules": [
        {"aliasLabelName": "failover.karmada.io/replicas", "jsonPath": "{ .replicas }"},
        {"aliasLabelName": "failover.karmada.io/readyReplicas", "jsonPath": "{ .readyReplicas }"}
    ]}}})
}

pub const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/ns/deployments";
pub const DEPLOYMENT: &str = "/apis/apps/v1/namespaces/ns/deployments/deploy";
pub const POLICY: &str = "/apis/policy.karmada.io/v1alpha1/namespaces/ns/propagationpolicies/deploy";
pub const POLICIES: &str = "/apis/policy.karmada.io/v1alpha1/namespaces/ns/propagationpolicies";

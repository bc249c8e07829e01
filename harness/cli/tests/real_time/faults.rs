//! Faults of existing clusters: checks the message, the exit code, and that nothing is left. Each cluster is an API
//! server behind a fault proxy.

use std::{
    collections::BTreeSet,
    fs, io,
    net::Ipv4Addr,
    path::PathBuf,
    process::{Command, Output, Stdio},
    sync::{Arc, Mutex},
};

use baton_apiserver::{
    ApiServer, Options,
    fault_proxy::{Answered, FaultProxy, Kinds, Upstream},
};
use baton_core::yaml::plain;
use bytes::Bytes;
use futures::{StreamExt as _, TryStreamExt as _};
use http::{Request, Response, header};
use http_body_util::BodyExt as _;
use jiff::{SignedDuration, Timestamp, fmt::rfc2822};
use k8s_openapi::{
    api::core::v1::Namespace, apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::{
    Api, Client, ResourceExt,
    api::{ListParams, WatchEvent, WatchParams},
    client::Body,
    config::Kubeconfig,
};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::{
    common::{baton, printed},
    interrupted::send,
};

const NAMES: [&str; 3] = ["control", "member1", "member2"];

/// Fault of a cluster.
#[derive(Debug, Clone, Default)]
struct Fault {
    /// Requests with this method and path are forbidden.
    forbids: Option<(&'static str, &'static str)>,
    /// Offset of the clock in its answers.
    tells: SignedDuration,
    /// The cluster goes away on a request with this method and path.
    goes_with: Option<(&'static str, &'static str)>,
}

/// A control plane and two members that exist before the run.
struct Clusters {
    runtime: Runtime,
    servers: Vec<ApiServer>,
    fronts: Vec<Arc<FaultProxy>>,
    folder: TempDir,
}

impl Clusters {
    /// Starts clusters with a fault each; `clocks` are the offsets of their clocks in seconds.
    fn with(faults: [Fault; 3], clocks: [i64; 3]) -> Self {
        let runtime = Runtime::new().unwrap();
        let clock = |secs| move || Timestamp::now() + SignedDuration::from_secs(secs);
        let servers: Vec<_> = NAMES
            .iter()
            .zip(clocks)
            .map(|(name, secs)| ApiServer::new(Options::new(*name, Arc::new(clock(secs)))))
            .collect();
        let fronts = runtime.block_on(async {
            let mut fronts = Vec::new();
            for ((server, fault), name) in servers.iter().zip(faults).zip(NAMES) {
                fronts.push(faulty(server, fault, name).await);
            }
            fronts
        });
        let clusters = Self {
            runtime,
            servers,
            fronts,
            folder: tempfile::tempdir().unwrap(),
        };
        let kubeconfigs = clusters.fronts.iter().map(|front| front.serving().kubeconfig());
        let merged = kubeconfigs
            .map(|text| Kubeconfig::from_yaml(&text).unwrap())
            .reduce(|all, one| all.merge(one).unwrap());
        fs::write(clusters.kubeconfig(), plain::write(&merged).unwrap()).unwrap();
        clusters
    }

    /// Starts clusters of which the given member has a fault.
    fn with_fault(of: &str, fault: &Fault) -> Self {
        let faults = NAMES.map(|name| if name == of { fault.clone() } else { Fault::default() });
        Self::with(faults, [0; 3])
    }

    fn kubeconfig(&self) -> PathBuf {
        self.folder.path().join("kubeconfig")
    }

    fn command(&self, case: &str) -> Command {
        let mut command = baton(&["run", case]);
        command.args([
            "--backend",
            "kubeconfig",
            "--yes-these-are-test-clusters",
            "--kubeconfig",
        ]);
        command
            .arg(self.kubeconfig())
            .arg("--timelines")
            .arg(self.folder.path());
        command.args(["--control", "control", "--member", "member1", "--member", "member2"]);
        command
    }

    fn run(&self) -> Ran {
        Ran::of(&self.command("deployment-directly").output().unwrap())
    }

    /// Returns the names of all namespaces and definitions, by cluster, seen from inside.
    fn there(&self) -> Vec<BTreeSet<String>> {
        let there = |server: &ApiServer| {
            self.runtime.block_on(async {
                let client = Client::new(server.service("test"), "default");
                let namespaces: Api<Namespace> = Api::all(client.clone());
                let definitions: Api<CustomResourceDefinition> = Api::all(client);
                let all = ListParams::default();
                let namespaces = namespaces.list(&all).await.unwrap();
                let definitions = definitions.list(&all).await.unwrap();
                let names = namespaces.iter().map(ResourceExt::name_any);
                names.chain(definitions.iter().map(ResourceExt::name_any)).collect()
            })
        };
        self.servers.iter().map(there).collect()
    }
}

/// A fault proxy.
async fn faulty(server: &ApiServer, fault: Fault, name: &str) -> Arc<FaultProxy> {
    let client = Client::new(server.service(name), "default");
    let own: Arc<Mutex<Option<Arc<FaultProxy>>>> = Arc::default();
    let upstream: Upstream = {
        let own = Arc::clone(&own);
        Arc::new(move |request: Request<Bytes>| {
            let (client, fault, own) = (client.clone(), fault.clone(), Arc::clone(&own));
            Box::pin(async move {
                let asked = |what: &Option<(&str, &str)>| {
                    what.is_some_and(|(method, path)| request.method() == method && request.uri().path().contains(path))
                };
                if asked(&fault.forbids) {
                    let status =
                        r#"{"kind":"Status","status":"Failure","reason":"Forbidden","code":403,"message":"no"}"#;
                    let answer: Answered = Box::pin(futures::stream::iter([Ok(Bytes::from_static(status.as_bytes()))]));
                    return Ok(Response::builder().status(403).body(answer).unwrap());
                }
                if asked(&fault.goes_with)
                    && let Some(front) = own.lock().unwrap().as_ref()
                {
                    front.faults().stop();
                }
                let answer = client.send(request.map(Body::from)).await.map_err(io::Error::other)?;
                let mut answer =
                    answer.map(|body| -> Answered { Box::pin(body.into_data_stream().map_err(io::Error::other)) });
                if fault.tells != SignedDuration::ZERO {
                    let date = Timestamp::now() + fault.tells;
                    let date = rfc2822::DateTimePrinter::new()
                        .timestamp_to_rfc9110_string(&date)
                        .unwrap();
                    answer.headers_mut().insert(header::DATE, date.parse().unwrap());
                }
                Ok(answer)
            })
        })
    };
    let front = FaultProxy::open(name, Ipv4Addr::LOCALHOST.into(), upstream, Kinds::new(), Vec::new()).await;
    let front = Arc::new(front.unwrap());
    *own.lock().unwrap() = Some(Arc::clone(&front));
    front
}

/// Exit code and output of the program.
struct Ran {
    code: Option<i32>,
    said: String,
}

impl Ran {
    fn of(output: &Output) -> Self {
        Self {
            code: output.status.code(),
            said: printed(output),
        }
    }

    fn expect(&self, code: i32, what: &str) {
        assert!(self.said.contains(what), "{what:?} is expected in:\n{}", self.said);
        assert_eq!(self.code, Some(code), "{}", self.said);
    }
}

#[test]
fn a_context_that_is_not_there_is_told_with_the_nearest() {
    let clusters = Clusters::with_fault("none", &Fault::default());
    let mut command = clusters.command("deployment-directly");
    let ran = Ran::of(&command.args(["--member", "memer2"]).output().unwrap());
    ran.expect(2, "has no context memer2");
    ran.expect(2, "did you mean");
}

#[test]
fn a_control_plane_that_is_not_there_is_named() {
    let clusters = Clusters::with_fault("none", &Fault::default());
    clusters.fronts[0].faults().stop();
    clusters
        .run()
        .expect(3, "control cannot be reached at https://127.0.0.1:");
}

#[test]
fn credentials_that_are_not_accepted_any_more_are_told() {
    let clusters = Clusters::with_fault("none", &Fault::default());
    let text = fs::read_to_string(clusters.kubeconfig()).unwrap();
    let token = clusters.fronts[1].serving().token();
    let mut config: serde_json::Value = plain::read(&text.replace(token, "expired")).unwrap();
    for user in config["users"].as_array_mut().unwrap() {
        let user = user["user"].as_object_mut().unwrap();
        user.retain(|name, _| name == "token");
    }
    fs::write(clusters.kubeconfig(), config.to_string()).unwrap();
    clusters.run().expect(
        3,
        "does not accept the credentials of the kubeconfig; they may have expired",
    );
}

#[test]
fn a_member_that_lets_nobody_look_is_told() {
    let fault = Fault {
        forbids: Some(("GET", "/api/v1/namespaces")),
        ..Fault::default()
    };
    let clusters = Clusters::with_fault("member2", &fault);
    clusters.run().expect(
        3,
        "member2 does not allow listing namespaces; a run needs the rights of cluster-admin",
    );
}

#[test]
fn a_member_without_rights_is_told_and_the_other_clusters_are_left_clean() {
    let fault = Fault {
        forbids: Some(("POST", "/api/v1/namespaces")),
        ..Fault::default()
    };
    let clusters = Clusters::with_fault("member1", &fault);
    let before = clusters.there();
    let ran = clusters.run();
    ran.expect(3, "creating the namespace baton-deployment-directly-");
    // The message has the server's reason, and not the form of its answer.
    ran.expect(3, "on member1 failed: no\n");
    assert_eq!(clusters.there(), before);
}

#[test]
fn clocks_that_differ_too_much_are_told() {
    let fault = Fault {
        tells: SignedDuration::from_secs(90),
        ..Fault::default()
    };
    let clusters = Clusters::with_fault("member2", &fault);
    let ran = clusters.run();
    ran.expect(3, "the clocks of ");
    ran.expect(3, "NTP");
}

/// The verdict depends on the time at which the harness received an event, and on revisions, not on times that clusters
/// write.
#[test]
fn clocks_that_differ_without_being_noticed_change_no_verdict() {
    let clusters = Clusters::with([Fault::default(), Fault::default(), Fault::default()], [0, 4, -600]);
    clusters.run().expect(0, "1 conform");
}

#[test]
fn a_member_that_goes_while_a_case_runs_breaks_the_run_and_says_nothing_of_the_target() {
    let fault = Fault {
        goes_with: Some(("PATCH", "/deployments/deploy")),
        ..Fault::default()
    };
    let clusters = Clusters::with_fault("member1", &fault);
    let before = clusters.there();
    let mut command = clusters.command("deployment-directly");
    let ran = Ran::of(&command.args(["--timeout-factor", "0.05"]).output().unwrap());
    ran.expect(3, "clusters were lost during the run: member1 cannot be reached at");
    let after = clusters.there();
    assert_eq!(after[0], before[0], "{}", ran.said);
    assert_eq!(after[2], before[2], "{}", ran.said);
}

#[test]
fn after_an_interrupt_all_is_removed() {
    let clusters = Clusters::with_fault("none", &Fault::default());
    let before = clusters.there();
    let mut command = clusters.command("cut-off");
    command.args(["--max-case-time", "1h"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // Once there is a workload, every cluster has an object to remove.
    clusters.runtime.block_on(until_a_deployment(&clusters.servers[1]));
    send("INT", &child);
    let ran = Ran::of(&child.wait_with_output().unwrap());
    ran.expect(130, "interrupted; cleaning up");
    assert_eq!(clusters.there(), before);
}

async fn until_a_deployment(server: &ApiServer) {
    use k8s_openapi::api::apps::v1::Deployment;
    let deployments: Api<Deployment> = Api::all(Client::new(server.service("test"), "default"));
    let mut watch = deployments.watch(&WatchParams::default(), "0").await.unwrap().boxed();
    loop {
        match watch.next().await {
            Some(Ok(WatchEvent::Added(_))) => return,
            Some(Ok(_)) => {}
            other => panic!("{other:?}"),
        }
    }
}

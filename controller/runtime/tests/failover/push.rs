//! Members reached as in production: over HTTPS, by the endpoint and the secret that their `Cluster` names.

use std::sync::Arc;
use std::time::Duration;

use baton_apiserver::{Change, Serving};
use baton_controller::{Controller, PushMembers};
use k8s_openapi::ByteString;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde_json::json;

use crate::fleet::{DEPLOYMENTS, Fleet, POLICIES, cluster_path, deployment, directly, policy, stateful};

/// The longest wait: time is real in these tests.
const REAL_TIMEOUT: Duration = Duration::from_secs(60);

/// A fleet whose controller reaches control plane and members over HTTPS, as long as the servers are kept.
async fn over_https(members: &[&str]) -> (Fleet, Vec<Serving>) {
    let mut fleet = Fleet::start(members).await;
    fleet.timeout = REAL_TIMEOUT;
    let control = fleet.control.serve().await.unwrap();
    let kubeconfig = Kubeconfig::from_yaml(&control.kubeconfig()).unwrap();
    let mut serving = vec![control];
    fleet
        .create(
            "control",
            "/api/v1/namespaces",
            json!({"metadata": {"name": "karmada-cluster"}}),
        )
        .await;
    for (name, member) in fleet.members.clone() {
        let door = member.serve().await.unwrap();
        let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "data": {
            "token": ByteString(door.token().as_bytes().to_vec()), "caBundle": ByteString(door.ca().as_bytes().to_vec())}});
        fleet
            .create("control", "/api/v1/namespaces/karmada-cluster/secrets", secret)
            .await;
        let spec =
            json!({"spec": {"apiEndpoint": door.url(), "secretRef": {"namespace": "karmada-cluster", "name": name}}});
        fleet.patch("control", &cluster_path(&name), &spec).await;
        serving.push(door);
    }
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default())
        .await
        .unwrap();
    let client = Client::try_from(config).unwrap();
    let members = PushMembers::new(client.clone());
    fleet.controller = Some(Controller::start(
        client,
        members,
        Arc::new(jiff::Timestamp::now),
        stateful(),
    ));
    (fleet, serving)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failover_over_https() {
    let members = ["member1", "member2"];
    let (mut fleet, _serving) = over_https(&members).await;
    fleet
        .create("control", POLICIES, policy("deploy", &members, &directly()))
        .await;
    fleet.create("control", DEPLOYMENTS, deployment("deploy")).await;
    fleet
        .until(0, "status is collected", |record| {
            crate::fleet::collected(record) == json!(2)
        })
        .await;
    let origin = fleet.copies("deploy").remove(0);
    let at = fleet.now();
    fleet.taint(&origin, "NoExecute").await;
    let new = fleet
        .until(at, "the new copy", |record| {
            record.cluster != origin && record.is(&record.cluster, "Deployment", Change::Added)
        })
        .await;
    assert_eq!(new.at("/metadata/labels/failover.karmada.io~1replicas"), "2");
    fleet.pass(Duration::from_millis(200)).await;
    fleet.assert_never_two_copies();
    fleet.crash().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_member_is_reached_while_its_credentials_are_missing() {
    let members = ["member1"];
    let (mut fleet, _serving) = over_https(&members).await;
    for (name, secret) in [("early", "member1"), ("late", "missing")] {
        let spec = json!({"spec": {"secretRef": {"name": secret}}});
        fleet.patch("control", &cluster_path("member1"), &spec).await;
        let at = fleet.now();
        fleet
            .create("control", POLICIES, policy(name, &members, &directly()))
            .await;
        fleet.create("control", DEPLOYMENTS, deployment(name)).await;
        fleet
            .until(at, "the copy", |record| {
                record.is("member1", "Deployment", Change::Added) && record.at("/metadata/name") == name
            })
            .await;
    }
    fleet.crash().await;
}

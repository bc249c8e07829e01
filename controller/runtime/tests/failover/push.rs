//! Members reached as in production: over HTTPS, by the endpoint and the secret that their `Cluster` names.

use std::sync::Arc;
use std::time::Duration;

use baton_apiserver::Change;
use baton_controller::{Controller, PushMembers};
use k8s_openapi::ByteString;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde_json::json;

use crate::fleet::{DEPLOYMENTS, Fleet, POLICIES, cluster_path, deployment, directly, policy, stateful};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failover_over_https() {
    let mut fleet = Fleet::start(&["member1", "member2"]).await;
    let control = fleet.control.serve().await.unwrap();
    fleet
        .create(
            "control",
            "/api/v1/namespaces",
            json!({"metadata": {"name": "karmada-cluster"}}),
        )
        .await;
    let mut doors = Vec::new();
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
        doors.push(door);
    }
    let kubeconfig = Kubeconfig::from_yaml(&control.kubeconfig()).unwrap();
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

    let members = ["member1", "member2"];
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

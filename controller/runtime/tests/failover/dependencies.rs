//! Resources that a pod template names follow the workload, in application failover and over a restart too.

use std::time::Duration;

use baton_apiserver::Change;
use serde_json::{Value, json};

use crate::fleet::{DEPLOYMENT, DEPLOYMENTS, Fleet, POLICIES, collected, deployment, policy, stateful};

const CONFIG_MAPS: &str = "/api/v1/namespaces/ns/configmaps";

/// A Deployment that runs on `member1` with the `ConfigMap` that it names.
async fn with_settings(failover: &Value) -> Fleet {
    let mut fleet = Fleet::start(&["member1", "member2"]).await;
    fleet.control(stateful());
    let settings = json!({"metadata": {"name": "settings"}, "data": {"mode": "fast"}});
    fleet.create("control", CONFIG_MAPS, settings).await;
    let mut policy = policy("deploy", &["member1", "member2"], failover);
    policy["spec"]["propagateDeps"] = json!(true);
    fleet.create("control", POLICIES, policy).await;
    let mut needy = deployment("deploy");
    needy["spec"]["template"]["spec"]["containers"][0]["envFrom"] = json!([{"configMapRef": {"name": "settings"}}]);
    fleet.create("control", DEPLOYMENTS, needy).await;
    fleet
        .until(0, "status is collected", |record| collected(record) == json!(2))
        .await;
    fleet.pass(Duration::from_secs(5)).await;
    fleet
}

/// Changes of the `ConfigMap` on a member, with their positions.
fn settings_on(fleet: &Fleet, member: &str) -> Vec<(usize, Change)> {
    let positions = fleet.positions(|record| {
        record.cluster == member && record.commit.kind == "ConfigMap" && record.at("/metadata/name") == "settings"
    });
    positions
        .into_iter()
        .map(|at| (at, fleet.records[at].commit.change))
        .collect()
}

/// The workload is on `member2` alone, and so are its dependencies, which were never removed before the workload.
fn assert_moved(fleet: &Fleet) {
    assert_eq!(fleet.copies("deploy"), ["member2"]);
    fleet.assert_never_two_copies();
    let settings = settings_on(fleet, "member2");
    assert_eq!(settings.first().map(|(_, change)| *change), Some(Change::Added));
    assert!(
        settings.iter().all(|(_, change)| *change != Change::Deleted),
        "{settings:?}"
    );
    let left = settings_on(fleet, "member1");
    assert_eq!(
        left.last().map(|(_, change)| *change),
        Some(Change::Deleted),
        "{left:?}"
    );
    let gone = fleet.positions(|record| record.is("member1", "Deployment", Change::Deleted));
    assert!(
        gone.last() < left.last().map(|(at, _)| at),
        "the settings went before the workload"
    );
}

async fn make_unhealthy(fleet: &Fleet) {
    let never_ready = json!({"metadata": {"annotations": {"test/never-ready": "true"}}});
    fleet.patch("member1", DEPLOYMENT, &never_ready).await;
    let sick = json!({"status": {"availableReplicas": null, "readyReplicas": 1}});
    fleet.patch("member1", &format!("{DEPLOYMENT}/status"), &sick).await;
}

fn by_application() -> Value {
    json!({"application": {"purgeMode": "Directly", "decisionConditions": {"tolerationSeconds": 30}}})
}

#[tokio::test(start_paused = true)]
async fn they_follow_an_unhealthy_application() {
    let mut fleet = with_settings(&by_application()).await;
    make_unhealthy(&fleet).await;
    fleet.pass(Duration::from_secs(40)).await;
    assert_moved(&fleet);
}

#[tokio::test(start_paused = true)]
async fn a_restart_before_and_amid_the_failover_changes_nothing() {
    let mut fleet = with_settings(&by_application()).await;
    make_unhealthy(&fleet).await;
    fleet.pass(Duration::from_secs(10)).await;
    fleet.crash().await;
    fleet.pass(Duration::from_secs(5)).await;
    fleet.control(stateful());
    let at = fleet.now();
    fleet
        .until(at, "the eviction task", |record| {
            record.at("/spec/gracefulEvictionTasks/0/fromCluster") == "member1"
        })
        .await;
    fleet.crash().await;
    fleet.pass(Duration::from_secs(60)).await;
    fleet.control(stateful());
    fleet.pass(Duration::from_secs(60)).await;
    assert_moved(&fleet);
}

#[tokio::test(start_paused = true)]
async fn they_follow_when_the_cluster_fails_while_no_controller_runs() {
    let mut fleet = with_settings(&json!({"cluster": {"purgeMode": "Directly"}})).await;
    fleet.crash().await;
    fleet.taint("member1", "NoExecute").await;
    fleet.pass(Duration::from_secs(60)).await;
    assert_eq!(fleet.copies("deploy"), ["member1"]);
    fleet.control(stateful());
    fleet.pass(Duration::from_secs(60)).await;
    assert_moved(&fleet);
}

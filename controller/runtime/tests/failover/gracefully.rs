//! Gracefully: the new copy is created, and once it is healthy the old one is removed.

use std::time::Duration;

use baton_apiserver::Change;
use serde_json::{Value, json};

use crate::fleet::{DEPLOYMENT, Fleet, directly, stateful};

fn gracefully() -> Value {
    let mut failover = directly();
    failover["cluster"]["purgeMode"] = json!("Gracefully");
    failover["cluster"]["gracePeriodSeconds"] = json!(120);
    failover
}

#[tokio::test(start_paused = true)]
async fn the_old_copy_stays_until_the_new_one_is_healthy() {
    let mut fleet = Fleet::with_deployment(&["member1", "member2"], &gracefully(), stateful()).await;
    let at = fleet.now();
    fleet.taint("member1", "NoExecute").await;
    let new = fleet
        .until(at, "the new copy", |record| {
            record.is("member2", "Deployment", Change::Added)
        })
        .await;
    assert_eq!(new.at("/metadata/labels/failover.karmada.io~1replicas"), Value::Null);
    let gone = fleet
        .until(at, "the old copy gone", |record| {
            record.is("member1", "Deployment", Change::Deleted)
        })
        .await;
    let healthy = fleet.positions(|record| {
        record.is("member2", "Deployment", Change::Modified) && record.at("/status/readyReplicas") == 2
    });
    assert!(fleet.records[healthy[0]].commit.revision < gone.commit.revision);
}

#[tokio::test(start_paused = true)]
async fn the_grace_period_ends_the_wait() {
    let mut fleet = Fleet::with_deployment(&["member1", "member2"], &gracefully(), stateful()).await;
    fleet
        .patch(
            "control",
            DEPLOYMENT,
            &json!({"metadata": {"annotations": {"test/never-ready": "true"}}}),
        )
        .await;
    fleet.pass(Duration::from_secs(1)).await;
    fleet.taint("member1", "NoExecute").await;
    fleet.pass(Duration::from_secs(119)).await;
    assert_eq!(fleet.copies("deploy"), ["member1", "member2"]);
    fleet.pass(Duration::from_secs(2)).await;
    assert_eq!(fleet.copies("deploy"), ["member2"]);
}

#[tokio::test(start_paused = true)]
async fn without_a_fitting_cluster_the_old_copy_stays_and_is_taken_back() {
    let mut fleet = Fleet::with_deployment(&["member1", "member2"], &gracefully(), stateful()).await;
    fleet.taint("member2", "NoSchedule").await;
    fleet.taint("member1", "NoExecute").await;
    fleet.pass(Duration::from_secs(600)).await;
    assert_eq!(fleet.copies("deploy"), ["member1"]);
    assert_eq!(
        fleet.binding()["spec"]["gracefulEvictionTasks"]
            .as_array()
            .map(Vec::len),
        Some(1)
    );
    fleet.untaint("member1").await;
    fleet.pass(Duration::from_secs(1)).await;
    assert_eq!(fleet.copies("deploy"), ["member1"]);
    assert_eq!(fleet.binding()["spec"]["clusters"][0]["name"], "member1");
    assert_eq!(fleet.binding()["spec"].get("gracefulEvictionTasks"), None);
}

//! The controller against embedded API servers, on a paused clock.
#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests may fail the test")]

mod fleet;

use std::time::Duration;

use baton_apiserver::Change;
use fleet::{DEPLOYMENTS, Fleet, POLICIES, deployment, directly, policy, stateful};
use serde_json::{Value, json};

/// A Deployment that runs on `member1` of the members and whose status has been collected.
async fn running(members: &[&str], failover: &Value) -> (Fleet, baton_controller::Running) {
    let mut fleet = Fleet::start(members).await;
    let controller = fleet.controller(stateful());
    fleet
        .create("control", POLICIES, policy("deploy", members, failover))
        .await;
    fleet.create("control", DEPLOYMENTS, deployment("deploy")).await;
    let collected = |record: &fleet::Record| {
        record.commit.kind == "ResourceBinding" && record.at("/status/aggregatedStatus/0/status/readyReplicas") == 2
    };
    fleet.until(0, "status is collected", collected).await;
    fleet.pass(Duration::from_millis(100)).await;
    (fleet, controller)
}

#[tokio::test(start_paused = true)]
async fn a_directly_failover_carries_the_state_over() {
    let (mut fleet, controller) = running(&["member1", "member2"], &directly()).await;
    let origin = fleet.positions(|record| record.is("member1", "Deployment", Change::Added));
    assert_eq!(origin.len(), 1, "{}", fleet.print_since(0));

    let tainted = fleet.now();
    fleet.taint("member1", "NoExecute").await;
    let created = fleet
        .until(tainted, "the new copy", |record| {
            record.is("member2", "Deployment", Change::Added)
        })
        .await;
    let labels = created.at("/metadata/labels");
    assert_eq!(labels["failover.karmada.io/replicas"], "2");
    assert_eq!(labels["failover.karmada.io/readyReplicas"], "2");
    assert_eq!(labels["app"], "deploy");

    let task = fleet.positions(|record| record.at("/spec/gracefulEvictionTasks/0") != Value::Null);
    let task = fleet.records[task[0]].at("/spec/gracefulEvictionTasks/0");
    for (field, expected) in [
        ("fromCluster", json!("member1")),
        ("purgeMode", json!("Directly")),
        ("reason", json!("TaintUntolerated")),
        ("producer", json!("TaintManager")),
        ("replicas", json!(2)),
        ("clustersBeforeFailover", json!(["member1"])),
    ] {
        assert_eq!(task[field], expected, "{task}");
    }

    fleet.pass(Duration::from_secs(1)).await;
    let gone = fleet.positions(|record| record.is("member1", "Deployment", Change::Deleted));
    let new = fleet.positions(|record| record.is("member2", "Deployment", Change::Added));
    assert!(
        fleet.records[gone[0]].commit.revision < fleet.records[new[0]].commit.revision,
        "{}",
        fleet.print_since(tainted)
    );
    let born = fleet.records[new[0]].commit.revision;
    let in_a_row = fleet
        .writes(tainted)
        .filter(|record| record.commit.revision <= born)
        .count();
    println!(
        "{in_a_row} writes up to the new copy, {} in all",
        fleet.writes(tainted).count()
    );
    // The task is over, the labels stay.
    let last = fleet.positions(|record| record.commit.kind == "ResourceBinding");
    assert_eq!(
        fleet.records[*last.last().unwrap()].at("/spec/gracefulEvictionTasks"),
        Value::Null
    );
    let last = fleet.positions(|record| record.cluster == "member2" && record.commit.kind == "Deployment");
    assert_eq!(
        fleet.records[*last.last().unwrap()].at("/metadata/labels/failover.karmada.io~1replicas"),
        "2"
    );
    controller.stop().await;
}

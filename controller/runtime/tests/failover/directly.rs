//! Directly: the old copy is removed, then the new copy is created with the state.

use std::time::Duration;

use baton_apiserver::Change;
use serde_json::{Value, json};

use crate::fleet::{self, DEPLOYMENT, Fleet, Record, directly, stateful};

fn born_on(cluster: &str) -> impl Fn(&Record) -> bool {
    let cluster = cluster.to_owned();
    move |record| record.is(&cluster, "Deployment", Change::Added)
}

#[tokio::test(start_paused = true)]
async fn the_state_is_carried_over() {
    let mut fleet = Fleet::with_deployment(&["member1", "member2"], &directly(), stateful()).await;
    assert_eq!(fleet.copies("deploy"), ["member1"]);
    let tainted = fleet.now();
    fleet.taint("member1", "NoExecute").await;
    let created = fleet.until(tainted, "the new copy", born_on("member2")).await;
    let labels = created.at("/metadata/labels");
    assert_eq!(labels["failover.karmada.io/replicas"], "2");
    assert_eq!(labels["failover.karmada.io/readyReplicas"], "2");
    assert_eq!(labels["app"], "deploy");

    fleet.pass(Duration::from_secs(1)).await;
    let task = fleet.positions(|record| record.at("/spec/gracefulEvictionTasks/0") != Value::Null);
    let mut task = fleet.records[task[0]].at("/spec/gracefulEvictionTasks/0");
    assert!(task["creationTimestamp"].take().is_string());
    assert_eq!(
        task,
        json!({"fromCluster": "member1", "purgeMode": "Directly", "replicas": 2, "reason": "TaintUntolerated",
            "producer": "TaintManager", "clustersBeforeFailover": ["member1"], "creationTimestamp": null,
            "preservedLabelState": {"failover.karmada.io/replicas": "2", "failover.karmada.io/readyReplicas": "2"}})
    );
    fleet.assert_never_two_copies();
    // Seven in a row, the date of the taint, the namespace on the new member, and statuses.
    let until_born =
        |record: &&Record| record.commit.revision <= created.commit.revision && record.commit.kind != "Event";
    let in_a_row: Vec<_> = fleet.writes(tainted).filter(until_born).map(fleet::line).collect();
    assert!(in_a_row.len() <= 12, "{in_a_row:#?}");
    println!(
        "{} writes up to the new copy, {} in all",
        in_a_row.len(),
        fleet.writes(tainted).count()
    );

    // The task is over, the labels stay, the template never had them.
    assert_eq!(fleet.binding()["spec"].get("gracefulEvictionTasks"), None);
    let last = |cluster: &str| {
        let all = fleet.positions(|record| record.cluster == cluster && record.commit.kind == "Deployment");
        fleet.records[*all.last().unwrap()].at("/metadata/labels")
    };
    assert_eq!(last("member2")["failover.karmada.io/replicas"], "2");
    assert_eq!(last("control"), json!({"app": "deploy"}));

    let quiet = fleet.now();
    fleet.pass(Duration::from_secs(600)).await;
    fleet.crash().await;
    fleet.control(stateful());
    fleet.pass(Duration::from_secs(60)).await;
    assert_eq!(fleet.print_since(quiet), "", "nothing is written while nothing happens");
}

#[tokio::test(start_paused = true)]
async fn a_second_failover_before_recovery_keeps_the_state_and_may_go_home() {
    let mut fleet = Fleet::with_deployment(&["member1", "member2"], &directly(), stateful()).await;
    // From now on no copy becomes ready.
    fleet
        .patch(
            "control",
            DEPLOYMENT,
            &json!({"metadata": {"annotations": {"test/never-ready": "true"}}}),
        )
        .await;
    fleet.pass(Duration::from_secs(1)).await;
    let at = fleet.now();
    fleet.taint("member1", "NoExecute").await;
    fleet.until(at, "the second copy", born_on("member2")).await;
    fleet.pass(Duration::from_secs(1)).await;
    assert_eq!(
        fleet.binding()["spec"]["gracefulEvictionTasks"]
            .as_array()
            .map(Vec::len),
        Some(1)
    );

    fleet.untaint("member1").await;
    let at = fleet.now();
    fleet.taint("member2", "NoExecute").await;
    let third = fleet.until(at, "the third copy", born_on("member1")).await;
    assert_eq!(third.at("/metadata/labels/failover.karmada.io~1replicas"), "2");
    let tasks = fleet.binding()["spec"]["gracefulEvictionTasks"].clone();
    assert_eq!(tasks[0]["clustersBeforeFailover"], json!(["member2"]), "{tasks}");
    fleet.pass(Duration::from_secs(1)).await;
    fleet.assert_never_two_copies();
}

#[tokio::test(start_paused = true)]
async fn a_restart_at_any_point_is_harmless() {
    for after in ["task", "work deleted", "member deleted", "scheduled", "work created"] {
        let mut fleet = Fleet::with_deployment(&["member1", "member2"], &directly(), stateful()).await;
        let at = fleet.now();
        fleet.taint("member1", "NoExecute").await;
        fleet
            .until(at, after, |record| match after {
                "task" => record.at("/spec/gracefulEvictionTasks/0") != Value::Null,
                "work deleted" => {
                    record.commit.kind == "Work" && record.at("/metadata/deletionTimestamp") != Value::Null
                }
                "member deleted" => record.is("member1", "Deployment", Change::Deleted),
                "scheduled" => record.at("/spec/clusters/0/name") == "member2",
                _ => record.is("control", "Work", Change::Added),
            })
            .await;
        fleet.crash().await;
        fleet.pass(Duration::from_secs(60)).await;
        fleet.control(stateful());
        fleet.pass(Duration::from_secs(10)).await;
        assert_eq!(fleet.copies("deploy"), ["member2"], "after {after}");
        let new = fleet.positions(born_on("member2"));
        assert_eq!(new.len(), 1, "after {after}");
        assert_eq!(
            fleet.records[new[0]].at("/metadata/labels/failover.karmada.io~1replicas"),
            "2",
            "after {after}"
        );
        fleet.assert_never_two_copies();
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_fits_and_the_workload_goes_home_without_labels() {
    let mut fleet =
        Fleet::with_deployment(&["member1", "member2", "member3", "member4"], &directly(), stateful()).await;
    for other in ["member2", "member3", "member4"] {
        fleet.taint(other, "NoSchedule").await;
    }
    fleet.taint("member1", "NoExecute").await;
    fleet.pass(Duration::from_secs(1)).await;
    assert_eq!(fleet.copies("deploy"), Vec::<String>::new());
    assert_eq!(
        fleet.condition("FailoverBlocked"),
        ("True".into(), "NoClusterFits".into())
    );
    let at = fleet.now();
    fleet.untaint("member1").await;
    let home = fleet.until(at, "home again", born_on("member1")).await;
    assert_eq!(home.at("/metadata/labels/failover.karmada.io~1replicas"), Value::Null);
    fleet.pass(Duration::from_secs(1)).await;
    assert_eq!(fleet.binding()["spec"].get("gracefulEvictionTasks"), None);
    assert_eq!(fleet.condition("FailoverBlocked").0, "False");
}

#[tokio::test(start_paused = true)]
async fn a_move_by_policy_has_no_labels_and_never_two_copies() {
    let mut fleet = Fleet::with_deployment(&["member1", "member2"], &directly(), stateful()).await;
    let at = fleet.now();
    let placement = json!({"spec": {"placement": {"clusterAffinity": {"clusterNames": ["member2"]}}}});
    fleet.patch("control", fleet::POLICY, &placement).await;
    let moved = fleet.until(at, "moved", born_on("member2")).await;
    assert_eq!(
        moved.at("/metadata/labels"),
        json!({"app": "deploy", "karmada.io/managed": "true"})
    );
    fleet.pass(Duration::from_secs(1)).await;
    fleet.assert_never_two_copies();
}

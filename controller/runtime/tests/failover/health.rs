//! Unhealthy members and applications.

use std::time::Duration;

use baton_apiserver::{Change, Cut};
use serde_json::{Value, json};

use crate::fleet::{DEPLOYMENT, Fleet, cluster_path, directly, policy, stateful};

#[tokio::test(start_paused = true)]
async fn a_cluster_is_tainted_while_it_does_not_answer() {
    let mut fleet = Fleet::with_deployment(&["member1", "member2"], &directly(), stateful()).await;
    let policy = json!({"apiVersion": "policy.karmada.io/v1alpha1", "kind": "ClusterTaintPolicy",
    "metadata": {"name": "not-ready"},
    "spec": {
        "matchConditions": [{"conditionType": "Ready", "operator": "In", "statusValues": ["False", "Unknown"]}],
        "taintsToAdd": [{"key": "not-ready", "effect": "NoSchedule", "addOnMatchSeconds": 300, "removeOnMismatchSeconds": 180}]
    }});
    fleet
        .create(
            "control",
            "/apis/policy.karmada.io/v1alpha1/clustertaintpolicies",
            policy,
        )
        .await;
    let taints = |fleet: &Fleet| {
        let last =
            fleet.positions(|record| record.commit.kind == "Cluster" && record.at("/metadata/name") == "member1");
        fleet.records[*last.last().unwrap()].at("/spec/taints")
    };
    fleet
        .patch(
            "control",
            &cluster_path("member1"),
            &json!({"spec": {"taints": [{"key": "mine", "effect": "NoSchedule"}]}}),
        )
        .await;
    fleet.members["member1"].faults().cut_off(Cut::Refuse);
    fleet.pass(Duration::from_secs(290)).await;
    assert_eq!(taints(&fleet).as_array().map(Vec::len), Some(1));
    fleet.pass(Duration::from_secs(30)).await;
    assert_eq!(taints(&fleet)[1]["key"], "not-ready");
    assert!(taints(&fleet)[1]["timeAdded"].is_string());
    fleet.members["member1"].faults().heal();
    fleet.pass(Duration::from_secs(170)).await;
    assert_eq!(taints(&fleet).as_array().map(Vec::len), Some(2));
    fleet.pass(Duration::from_secs(30)).await;
    assert_eq!(taints(&fleet)[0]["key"], "mine");
    assert_eq!(taints(&fleet).as_array().map(Vec::len), Some(1));
}

#[tokio::test(start_paused = true)]
async fn an_unhealthy_application_moves_with_its_state() {
    let mut failover = directly();
    failover["application"] = failover["cluster"].clone();
    failover["application"]["decisionConditions"] = json!({"tolerationSeconds": 30});
    let mut fleet = Fleet::start(&["member1", "member2"]).await;
    fleet.control(stateful());
    let mut policy = policy("deploy", &["member1", "member2"], &failover);
    policy["spec"]["propagateDeps"] = json!(true);
    fleet.create("control", crate::fleet::POLICIES, policy).await;
    fleet
        .create("control", crate::fleet::DEPLOYMENTS, crate::fleet::deployment("deploy"))
        .await;
    fleet.pass(Duration::from_secs(5)).await;
    let sick = json!({"status": {"availableReplicas": null, "readyReplicas": 1}});
    fleet
        .patch(
            "member1",
            DEPLOYMENT,
            &json!({"metadata": {"annotations": {"test/never-ready": "true"}}}),
        )
        .await;
    fleet.patch("member1", &format!("{DEPLOYMENT}/status"), &sick).await;
    fleet.pass(Duration::from_secs(29)).await;
    assert_eq!(fleet.copies("deploy"), ["member1"]);
    fleet.pass(Duration::from_secs(2)).await;
    assert_eq!(fleet.copies("deploy"), ["member2"]);
    let born = fleet.positions(|record| record.is("member2", "Deployment", Change::Added));
    assert_eq!(
        fleet.records[born[0]].at("/metadata/labels/failover.karmada.io~1readyReplicas"),
        "1"
    );
    assert_eq!(
        fleet.binding()["spec"]["activeEvictionHistory"][0]["clusterName"],
        "member1"
    );
    let tasks = fleet.positions(|record| record.at("/spec/gracefulEvictionTasks/0") != Value::Null);
    assert_eq!(
        fleet.records[tasks[0]].at("/spec/gracefulEvictionTasks/0/reason"),
        "ApplicationFailure"
    );
    fleet.assert_never_two_copies();
}

//! Taints, tolerations, gates and rates.

use std::time::Duration;

use baton_apiserver::Change;
use baton_controller::Options;
use serde_json::{Value, json};

use crate::fleet::{DEPLOYMENTS, Fleet, POLICIES, POLICY, cluster_path, deployment, directly, policy, stateful};

fn tolerating(seconds: Option<i64>) -> Value {
    let toleration = json!({"key": "baton.dev/failed", "operator": "Exists", "tolerationSeconds": seconds});
    json!({"spec": {"placement": {"clusterTolerations": [toleration]}}})
}

#[tokio::test(start_paused = true)]
async fn a_toleration_holds_for_its_time_through_a_restart_and_ends_with_the_taint() {
    let mut fleet = Fleet::with_deployment(&["member1", "member2"], &directly(), stateful()).await;
    fleet.patch("control", POLICY, &tolerating(Some(300))).await;
    fleet.taint("member1", "NoExecute").await;
    fleet.pass(Duration::from_secs(200)).await;
    fleet.untaint("member1").await;
    fleet.pass(Duration::from_secs(600)).await;
    assert_eq!(fleet.copies("deploy"), ["member1"], "the taint went in time");

    fleet.taint("member1", "NoExecute").await;
    fleet.pass(Duration::from_secs(200)).await;
    fleet.crash().await;
    fleet.control(stateful());
    fleet.pass(Duration::from_millis(99_900)).await;
    assert_eq!(fleet.copies("deploy"), ["member1"]);
    fleet.pass(Duration::from_millis(200)).await;
    assert_eq!(fleet.copies("deploy"), ["member2"]);
}

#[tokio::test(start_paused = true)]
async fn gates_are_off_until_told() {
    let mut fleet = Fleet::with_deployment(&["member1", "member2"], &directly(), Options::default()).await;
    fleet.taint("member1", "NoExecute").await;
    fleet.pass(Duration::from_secs(600)).await;
    assert_eq!(fleet.copies("deploy"), ["member1"]);
    fleet.crash().await;
    let mut options = Options::default();
    options.set("feature-gates", "Failover=true").unwrap();
    let at = fleet.now();
    fleet.control(options);
    let new = fleet
        .until(at, "the new copy", |record| {
            record.is("member2", "Deployment", Change::Added)
        })
        .await;
    assert_eq!(
        new.at("/metadata/labels"),
        json!({"app": "deploy", "karmada.io/managed": "true"})
    );
}

#[tokio::test(start_paused = true)]
async fn no_schedule_moves_nothing() {
    let mut fleet = Fleet::with_deployment(&["member1", "member2"], &directly(), stateful()).await;
    fleet.taint("member1", "NoSchedule").await;
    fleet
        .create(
            "control",
            POLICIES,
            policy("other", &["member1", "member2"], &directly()),
        )
        .await;
    fleet.create("control", DEPLOYMENTS, deployment("other")).await;
    fleet.pass(Duration::from_secs(60)).await;
    assert_eq!(
        (fleet.copies("deploy"), fleet.copies("other")),
        (vec!["member1".into()], vec!["member2".into()])
    );
}

#[tokio::test(start_paused = true)]
async fn evictions_keep_the_rate_and_those_that_tolerate_use_none_of_it() {
    let mut fleet = Fleet::start(&["member1", "member2"]).await;
    let mut options = stateful();
    options.set("resource-eviction-rate", "0.5").unwrap();
    fleet.control(options);
    fleet.taint("member2", "NoSchedule").await;
    for name in ["a", "b", "c", "d"] {
        fleet
            .create("control", POLICIES, policy(name, &["member1", "member2"], &directly()))
            .await;
        fleet.create("control", DEPLOYMENTS, deployment(name)).await;
    }
    let path = POLICY.replace("/deploy", "/b");
    fleet.patch("control", &path, &tolerating(None)).await;
    fleet.pass(Duration::from_secs(5)).await;
    fleet.untaint("member2").await;
    fleet.taint("member1", "NoExecute").await;
    for (after, moved) in [
        (1, vec!["a"]),
        (2, vec!["a", "c"]),
        (2, vec!["a", "c", "d"]),
        (60, vec!["a", "c", "d"]),
    ] {
        fleet.pass(Duration::from_secs(after)).await;
        let there: Vec<&str> = ["a", "b", "c", "d"]
            .into_iter()
            .filter(|name| fleet.copies(name) == ["member2"])
            .collect();
        assert_eq!(there, moved);
    }
}

#[tokio::test(start_paused = true)]
async fn what_still_waits_when_the_cluster_recovers_stays() {
    let mut fleet = Fleet::start(&["member1", "member2"]).await;
    let mut options = stateful();
    options.set("resource-eviction-rate", "0.5").unwrap();
    fleet.control(options);
    for name in ["a", "b"] {
        fleet
            .create("control", POLICIES, policy(name, &["member1", "member2"], &directly()))
            .await;
        fleet.create("control", DEPLOYMENTS, deployment(name)).await;
    }
    fleet.pass(Duration::from_secs(5)).await;
    fleet.taint("member1", "NoExecute").await;
    fleet.pass(Duration::from_secs(1)).await;
    fleet.untaint("member1").await;
    fleet.pass(Duration::from_secs(60)).await;
    assert_eq!(
        (fleet.copies("a"), fleet.copies("b")),
        (vec!["member2".into()], vec!["member1".into()])
    );
}

#[tokio::test(start_paused = true)]
async fn prefer_no_execute_moves_those_who_ask_for_it() {
    let mut failover = directly();
    failover["cluster"]["tolerationSeconds"] = json!(100);
    let mut fleet = Fleet::with_deployment(&["member1", "member2"], &failover, stateful()).await;
    let mut quiet = policy("quiet", &["member1", "member2"], &json!(null));
    quiet["spec"].as_object_mut().unwrap().remove("failover");
    fleet.create("control", POLICIES, quiet).await;
    fleet.create("control", DEPLOYMENTS, deployment("quiet")).await;
    fleet.pass(Duration::from_secs(5)).await;
    fleet.taint("member1", "PreferNoExecute").await;
    fleet.pass(Duration::from_secs(99)).await;
    assert_eq!(fleet.copies("deploy"), ["member1"]);
    fleet.pass(Duration::from_secs(600)).await;
    assert_eq!(
        (fleet.copies("deploy"), fleet.copies("quiet")),
        (vec!["member2".into()], vec!["member1".into()])
    );
}

#[tokio::test(start_paused = true)]
async fn what_was_queued_goes_whatever_the_policy_says_later() {
    let mut fleet = Fleet::start(&["member1", "member2"]).await;
    let mut options = stateful();
    options.set("resource-eviction-rate", "0.1").unwrap();
    fleet.control(options);
    for name in ["a", "b"] {
        let policy = policy(name, &["member1", "member2"], &directly());
        fleet.create("control", POLICIES, policy).await;
        fleet.create("control", DEPLOYMENTS, deployment(name)).await;
    }
    fleet.pass(Duration::from_secs(5)).await;
    fleet.taint("member1", "NoExecute").await;
    fleet.pass(Duration::from_secs(5)).await;
    fleet
        .patch("control", &POLICY.replace("/deploy", "/b"), &tolerating(None))
        .await;
    fleet.pass(Duration::from_secs(60)).await;
    assert_eq!(fleet.copies("b"), ["member2"]);
}

#[tokio::test(start_paused = true)]
async fn evictions_stop_while_too_many_clusters_are_faulty() {
    let mut fleet = Fleet::with_deployment(&["member1", "member2", "member3"], &directly(), stateful()).await;
    fleet.taint("member3", "NoExecute").await;
    fleet.taint("member1", "NoExecute").await;
    fleet.pass(Duration::from_secs(60)).await;
    assert_eq!(fleet.copies("deploy"), ["member1"]);
    assert_eq!(
        fleet.condition("FailoverBlocked"),
        ("True".into(), "EvictionsStopped".into())
    );
    fleet.untaint("member3").await;
    fleet.pass(Duration::from_secs(5)).await;
    assert_eq!(fleet.copies("deploy"), ["member2"]);
}

#[tokio::test(start_paused = true)]
async fn who_comes_to_be_affected_by_a_change_of_policy_is_not_evicted_by_the_old_failure() {
    let mut fleet = Fleet::with_deployment(&["member1", "member2"], &directly(), stateful()).await;
    fleet.patch("control", POLICY, &tolerating(None)).await;
    fleet.pass(Duration::from_secs(1)).await;
    fleet.taint("member1", "NoExecute").await;
    fleet.pass(Duration::from_secs(10)).await;
    let none = json!({"spec": {"placement": {"clusterTolerations": null}}});
    fleet.patch("control", POLICY, &none).await;
    fleet.pass(Duration::from_secs(600)).await;
    assert_eq!(fleet.copies("deploy"), ["member1"]);
    fleet.untaint("member1").await;
    fleet.pass(Duration::from_secs(1)).await;
    fleet.taint("member1", "NoExecute").await;
    fleet.pass(Duration::from_secs(10)).await;
    assert_eq!(fleet.copies("deploy"), ["member2"], "by the next failure it is");
}

#[tokio::test(start_paused = true)]
async fn who_waits_in_the_queue_is_told_so_by_a_condition() {
    let mut fleet = Fleet::start(&["member1", "member2"]).await;
    let mut options = stateful();
    options.set("resource-eviction-rate", "0.1").unwrap();
    fleet.control(options);
    for name in ["deploy", "first"] {
        let policy = policy(name, &["member1", "member2"], &directly());
        fleet.create("control", POLICIES, policy).await;
        fleet.create("control", DEPLOYMENTS, deployment(name)).await;
    }
    fleet.pass(Duration::from_secs(5)).await;
    fleet.taint("member1", "NoExecute").await;
    let at = fleet.now();
    let is_pending = |record: &crate::fleet::Record| {
        let conditions = record.at("/status/conditions");
        let mut conditions = conditions.as_array().into_iter().flatten();
        record.commit.kind == "ResourceBinding"
            && conditions.any(|it| it["type"] == "EvictionPending" && it["status"] == "True")
    };
    fleet.until(at, "one of the two waits", is_pending).await;
    fleet.pass(Duration::from_secs(20)).await;
    assert_eq!(
        (fleet.copies("deploy"), fleet.copies("first")),
        (vec!["member2".into()], vec!["member2".into()])
    );
    let still = fleet.positions(is_pending).into_iter().next_back().unwrap();
    let over = fleet.records[still..]
        .iter()
        .any(|record| record.commit.kind == "ResourceBinding" && !is_pending(record));
    assert!(over, "the condition is taken back");
}

#[tokio::test(start_paused = true)]
async fn a_policy_taints_with_the_gate_on_and_removes_only_what_it_has_added() {
    for gate in [true, false] {
        let mut fleet = Fleet::start(&["member1", "member2"]).await;
        let mut options = Options::default();
        options.set_gate("Failover", gate).unwrap();
        fleet.control(options.clone());
        let theirs = json!({"spec": {"taints": [{"key": "p", "effect": "NoSchedule"}]}});
        fleet.patch("control", &cluster_path("member2"), &theirs).await;
        let always = json!({"apiVersion": "policy.karmada.io/v1alpha1", "kind": "ClusterTaintPolicy",
            "metadata": {"name": "p"}, "spec": {
                "matchConditions": [{"conditionType": "Ready", "operator": "In", "statusValues": ["True"]}],
                "taintsToAdd": [{"key": "p", "effect": "NoSchedule", "addOnMatchSeconds": 5,
                    "removeOnMismatchSeconds": 5}]}});
        let path = "/apis/policy.karmada.io/v1alpha1/clustertaintpolicies";
        fleet.create("control", path, always).await;
        fleet.pass(Duration::from_secs(10)).await;
        let taints = |fleet: &Fleet, name: &str| {
            let is_it =
                |record: &&crate::fleet::Record| record.commit.kind == "Cluster" && record.at("/metadata/name") == name;
            let last = fleet.records.iter().rfind(is_it).unwrap();
            last.at("/spec/taints").as_array().map_or(0, Vec::len)
        };
        assert_eq!(taints(&fleet, "member1"), usize::from(gate));
        fleet.crash().await;
        fleet.control(options);
        let never = json!({"spec": {"matchConditions": [
            {"conditionType": "Ready", "operator": "NotIn", "statusValues": ["True"]}]}});
        fleet.patch("control", &format!("{path}/p"), &never).await;
        fleet.pass(Duration::from_secs(10)).await;
        assert_eq!((taints(&fleet, "member1"), taints(&fleet, "member2")), (0, 1));
    }
}

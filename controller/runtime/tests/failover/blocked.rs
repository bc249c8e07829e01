//! A blocked failover is reported, and continues without intervention once the obstacle is gone.

use std::time::Duration;

use baton_apiserver::{Change, Cut};
use serde_json::json;

use crate::fleet::{DEPLOYMENT, Fleet, POLICIES, POLICY, directly, policy, stateful};

fn rules(rules: &[(&str, &str)]) -> serde_json::Value {
    let rules: Vec<_> = rules
        .iter()
        .map(|(alias, path)| json!({"aliasLabelName": alias, "jsonPath": path}))
        .collect();
    json!({"cluster": {"purgeMode": "Directly", "statePreservation": {"rules": rules}}})
}

#[tokio::test(start_paused = true)]
async fn a_path_that_misses() {
    let failover = rules(&[("ok", "{.replicas}"), ("missing", "{.jobStatus.jobID}")]);
    let mut fleet = Fleet::with_deployment(&["member1", "member2"], &failover, stateful()).await;
    let at = fleet.now();
    fleet.taint("member1", "NoExecute").await;
    let event = fleet
        .until(at, "an event", |record| record.is("control", "Event", Change::Added))
        .await;
    let message = event.at("/message").as_str().unwrap().to_owned();
    assert!(
        message.contains("missing") && message.contains("{.jobStatus.jobID}"),
        "{message}"
    );
    fleet.pass(Duration::from_secs(60)).await;
    assert_eq!(fleet.copies("deploy"), ["member1"]);
    assert_eq!(fleet.binding()["spec"].get("gracefulEvictionTasks"), None);
    assert_eq!(
        fleet.condition("FailoverBlocked"),
        ("True".into(), "StatePathMissing".into())
    );

    let at = fleet.now();
    fleet
        .patch(
            "control",
            POLICY,
            &json!({"spec": {"failover": rules(&[("ok", "{.replicas}")])}}),
        )
        .await;
    fleet
        .until(at, "the new copy", |record| {
            record.is("member2", "Deployment", Change::Added)
        })
        .await;
    fleet.pass(Duration::from_secs(1)).await;
    assert_eq!(fleet.condition("FailoverBlocked").0, "False");
}

#[tokio::test(start_paused = true)]
async fn an_origin_that_holds_the_object() {
    let mut fleet = Fleet::with_deployment(&["member1", "member2"], &directly(), stateful()).await;
    fleet
        .patch(
            "member1",
            DEPLOYMENT,
            &json!({"metadata": {"finalizers": ["baton.dev/hold"]}}),
        )
        .await;
    fleet.taint("member1", "NoExecute").await;
    fleet.pass(Duration::from_secs(600)).await;
    assert_eq!(fleet.copies("deploy"), ["member1"]);
    assert_eq!(fleet.binding()["spec"].get("clusters"), None);
    assert_eq!(fleet.condition("FailoverBlocked"), ("True".into(), "OriginHeld".into()));
    let at = fleet.now();
    fleet
        .patch("member1", DEPLOYMENT, &json!({"metadata": {"finalizers": null}}))
        .await;
    fleet
        .until(at, "the new copy", |record| {
            record.is("member2", "Deployment", Change::Added)
        })
        .await;
    fleet.assert_never_two_copies();
}

#[tokio::test(start_paused = true)]
async fn an_origin_out_of_reach() {
    for cut in [Cut::Refuse, Cut::Hang] {
        let mut fleet = Fleet::with_deployment(&["member1", "member2"], &directly(), stateful()).await;
        fleet.members["member1"].faults().cut_off(cut);
        fleet.taint("member1", "NoExecute").await;
        fleet.pass(Duration::from_secs(600)).await;
        assert_eq!(fleet.copies("deploy"), ["member1"], "{cut:?}");
        assert_eq!(
            fleet.condition("FailoverBlocked"),
            ("True".into(), "OriginUnreachable".into()),
            "{cut:?}"
        );
        let writes = fleet.writes(0).count();
        fleet.pass(Duration::from_secs(600)).await;
        assert_eq!(
            fleet.writes(0).count(),
            writes,
            "{cut:?}: no write while nothing changes"
        );
        let at = fleet.now();
        fleet.members["member1"].faults().heal();
        fleet
            .until(at, "the new copy", |record| {
                record.is("member2", "Deployment", Change::Added)
            })
            .await;
        fleet.pass(Duration::from_secs(10)).await;
        fleet.assert_never_two_copies();
        assert_eq!(fleet.copies("deploy"), ["member2"], "{cut:?}");
        assert_eq!(fleet.condition("FailoverBlocked").0, "False", "{cut:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_value_that_is_no_label_value() {
    let failover = rules(&[("k", "{.conditions}")]);
    let mut fleet = Fleet::with_deployment(&["member1", "member2"], &failover, stateful()).await;
    let status = json!({"status": {"conditions": [{"type": "Available", "status": "True"}]}});
    fleet.patch("member1", &format!("{DEPLOYMENT}/status"), &status).await;
    fleet.pass(Duration::from_secs(1)).await;
    fleet.taint("member1", "NoExecute").await;
    fleet.pass(Duration::from_secs(60)).await;
    assert_eq!(fleet.copies("deploy"), ["member1"]);
    assert_eq!(
        fleet.condition("FailoverBlocked"),
        ("True".into(), "StateValueInvalid".into())
    );
}

/// A member that does not serve the kind cannot hold a copy: it is not applied, and nothing is left of it.
#[tokio::test(start_paused = true)]
async fn a_kind_that_the_member_does_not_serve() {
    let mut fleet = Fleet::start(&["member1"]).await;
    fleet.control(stateful());
    let definition = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "queues.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": {"kind": "Queue", "plural": "queues"},
            "versions": [{"name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object"}}}]}});
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    fleet.create("control", definitions, definition).await;
    let mut policy = policy("queue", &["member1"], &directly());
    policy["spec"]["resourceSelectors"] = json!([{"apiVersion": "example.com/v1", "kind": "Queue", "name": "queue"}]);
    fleet.create("control", POLICIES, policy).await;
    fleet.pass(Duration::from_secs(5)).await;
    let at = fleet.now();
    let queues = "/apis/example.com/v1/namespaces/ns/queues";
    let queue = json!({"apiVersion": "example.com/v1", "kind": "Queue", "metadata": {"name": "queue"}});
    fleet.create("control", queues, queue).await;
    let message = |work: &crate::fleet::Record| work.at("/status/conditions/0/message").to_string();
    fleet
        .until(at, "the refusal", |record| {
            let told = "the API server does not serve example.com/v1, Kind=Queue";
            record.is("control", "Work", Change::Modified) && message(record).contains(told)
        })
        .await;
    let at = fleet.now();
    fleet.delete("control", &format!("{queues}/queue")).await;
    for kind in ["Work", "ResourceBinding"] {
        fleet
            .until(at, "its removal", |record| record.is("control", kind, Change::Deleted))
            .await;
    }
}

//! Policies: their validation, and the effects of changing or deleting them.

use std::time::Duration;

use serde_json::{Value, json};

use crate::fleet::{DEPLOYMENT, DEPLOYMENTS, Fleet, POLICIES, POLICY, deployment, directly, policy, stateful};

#[tokio::test(start_paused = true)]
async fn what_a_schema_can_refuse_is_refused() {
    let fleet = Fleet::start(&["member1"]).await;
    let rule = |alias: &str, path: &str| json!({"aliasLabelName": alias, "jsonPath": path});
    let with = |rules: Value| json!({"cluster": {"purgeMode": "Directly", "statePreservation": {"rules": rules}}});
    for (what, failover) in [
        ("alias is not a label key", with(json!([rule("not a key", "{.x}")]))),
        ("alias is empty", with(json!([rule("", "{.x}")]))),
        ("path is not closed", with(json!([rule("k", "{.x")]))),
        ("same alias twice", with(json!([rule("k", "{.x}"), rule("k", "{.y}")]))),
        ("unknown mode", json!({"cluster": {"purgeMode": "Sometimes"}})),
        ("never for clusters", json!({"cluster": {"purgeMode": "Never"}})),
        (
            "grace period under Directly",
            json!({"cluster": {"purgeMode": "Directly", "gracePeriodSeconds": 5}}),
        ),
        (
            "grace period of nothing",
            json!({"cluster": {"purgeMode": "Gracefully", "gracePeriodSeconds": 0}}),
        ),
        (
            "application without propagateDeps",
            json!({"application": {"decisionConditions": {}}}),
        ),
    ] {
        let refused = fleet
            .try_create("control", POLICIES, &policy("bad", &["member1"], &failover))
            .await;
        assert!(refused.is_err(), "{what}");
    }
    for mode in ["Directly", "Gracefully", "Immediately", "Graciously"] {
        let name = mode.to_lowercase();
        fleet
            .create(
                "control",
                POLICIES,
                policy(&name, &["member1"], &json!({"cluster": {"purgeMode": mode}})),
            )
            .await;
    }
    let defaulted = fleet
        .create(
            "control",
            POLICIES,
            policy("plain", &["member1"], &json!({"cluster": {}})),
        )
        .await;
    assert_eq!(defaulted["spec"]["failover"]["cluster"]["purgeMode"], "Gracefully");
}

#[tokio::test(start_paused = true)]
async fn nothing_is_left_when_policy_or_resource_goes() {
    for gone in [POLICY, DEPLOYMENT] {
        let mut fleet = Fleet::with_deployment(&["member1", "member2"], &directly(), stateful()).await;
        fleet.delete("control", gone).await;
        fleet.pass(Duration::from_secs(5)).await;
        assert_eq!(fleet.copies("deploy"), Vec::<String>::new(), "{gone}");
        for kind in ["ResourceBinding", "Work"] {
            let last = fleet.positions(|record| record.commit.kind == kind);
            let last = &fleet.records[*last.last().unwrap()];
            assert_eq!(last.commit.change, baton_apiserver::Change::Deleted, "{gone}: {kind}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn resource_before_policy_kinds_that_come_later_and_cluster_scoped_ones() {
    let mut fleet = Fleet::start(&["member1", "member2"]).await;
    fleet.control(stateful());
    let widget = |scope: &str| {
        let plural = if scope == "Cluster" { "globalwidgets" } else { "widgets" };
        let kind = if scope == "Cluster" { "GlobalWidget" } else { "Widget" };
        json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": format!("{plural}.example.com")},
            "spec": {"group": "example.com", "scope": scope,
                "names": {"plural": plural, "singular": kind.to_lowercase(), "kind": kind, "listKind": format!("{kind}List")},
                "versions": [{"name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                    "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}]}})
    };
    let failover = json!({"cluster": {"purgeMode": "Directly", "statePreservation": {"rules": [
        {"aliasLabelName": "state", "jsonPath": "{.phase}"}]}}});
    let placement = policy("x", &["member1", "member2"], &failover)["spec"]["placement"].clone();
    let policy = json!({"apiVersion": "policy.karmada.io/v1alpha1", "kind": "ClusterPropagationPolicy",
        "metadata": {"name": "widgets"}, "spec": {"placement": placement, "failover": failover, "resourceSelectors": [
            {"apiVersion": "example.com/v1", "kind": "GlobalWidget", "name": "w"},
            {"apiVersion": "example.com/v1", "kind": "Widget", "namespace": "ns"}]}});
    fleet
        .create(
            "control",
            "/apis/policy.karmada.io/v1alpha1/clusterpropagationpolicies",
            policy,
        )
        .await;
    fleet.pass(Duration::from_secs(5)).await;
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    for scope in ["Cluster", "Namespaced"] {
        for cluster in ["control", "member1", "member2"] {
            fleet.create(cluster, definitions, widget(scope)).await;
        }
    }
    fleet.pass(Duration::from_secs(5)).await;
    let object =
        |kind: &str| json!({"apiVersion": "example.com/v1", "kind": kind, "metadata": {"name": "w"}, "spec": {}});
    fleet
        .create("control", "/apis/example.com/v1/globalwidgets", object("GlobalWidget"))
        .await;
    fleet
        .create(
            "control",
            "/apis/example.com/v1/namespaces/ns/widgets",
            object("Widget"),
        )
        .await;
    fleet.pass(Duration::from_secs(5)).await;
    let status = json!({"status": {"phase": "up"}});
    fleet
        .patch("member1", "/apis/example.com/v1/globalwidgets/w/status", &status)
        .await;
    fleet
        .patch(
            "member1",
            "/apis/example.com/v1/namespaces/ns/widgets/w/status",
            &status,
        )
        .await;
    fleet.pass(Duration::from_secs(5)).await;
    fleet.taint("member1", "NoExecute").await;
    fleet.pass(Duration::from_secs(5)).await;
    for kind in ["GlobalWidget", "Widget"] {
        let born = fleet.positions(|record| record.is("member2", kind, baton_apiserver::Change::Added));
        assert_eq!(fleet.records[born[0]].at("/metadata/labels/state"), "up", "{kind}");
    }
    let bound = fleet.positions(|record| record.commit.kind == "ClusterResourceBinding");
    assert!(!bound.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_changed_resource_reaches_the_member() {
    let mut fleet = Fleet::start(&["member1"]).await;
    fleet.control(stateful());
    fleet.create("control", DEPLOYMENTS, deployment("deploy")).await;
    fleet
        .create("control", POLICIES, policy("deploy", &["member1"], &directly()))
        .await;
    fleet.pass(Duration::from_secs(1)).await;
    let change = json!({"metadata": {"labels": {"app": null, "tier": "web"}}, "spec": {"replicas": 3}});
    fleet.patch("control", DEPLOYMENT, &change).await;
    fleet.pass(Duration::from_secs(1)).await;
    let last = fleet.positions(|record| record.cluster == "member1" && record.commit.kind == "Deployment");
    let last = &fleet.records[*last.last().unwrap()];
    assert_eq!(last.at("/spec/replicas"), 3);
    assert_eq!(
        last.at("/metadata/labels"),
        json!({"karmada.io/managed": "true", "tier": "web"})
    );
    // The object is deleted on the member: it comes back.
    fleet.delete("member1", DEPLOYMENT).await;
    fleet.pass(Duration::from_secs(1)).await;
    assert_eq!(fleet.copies("deploy"), ["member1"]);
}

#[tokio::test(start_paused = true)]
async fn a_binding_of_another_scheduler_is_left_to_it() {
    let mut fleet = Fleet::start(&["member1", "member2"]).await;
    fleet.control(stateful());
    fleet.create("control", DEPLOYMENTS, deployment("deploy")).await;
    let mut named = policy("deploy", &["member1", "member2"], &directly());
    named["spec"]["schedulerName"] = json!("another-scheduler");
    fleet.create("control", POLICIES, named).await;
    fleet.pass(Duration::from_secs(5)).await;
    let binding = fleet.binding();
    assert_eq!(binding["spec"]["schedulerName"], "another-scheduler");
    assert_eq!(binding["spec"].get("clusters"), None);
    assert_eq!(fleet.copies("deploy"), Vec::<String>::new());
    // What the other one decides is carried out, also when a cluster fails.
    let path = "/apis/work.karmada.io/v1alpha2/namespaces/ns/resourcebindings/deploy-deployment";
    let to = |cluster: &str| json!({"spec": {"clusters": [{"name": cluster, "replicas": 2}]}});
    fleet.patch("control", path, &to("member1")).await;
    fleet.pass(Duration::from_secs(5)).await;
    assert_eq!(fleet.copies("deploy"), ["member1"]);
    fleet
        .patch(
            "member1",
            &format!("{DEPLOYMENT}/status"),
            &json!({"status": {"replicas": 2, "readyReplicas": 2}}),
        )
        .await;
    fleet.pass(Duration::from_secs(5)).await;
    fleet.taint("member1", "NoExecute").await;
    fleet.pass(Duration::from_secs(5)).await;
    let binding = fleet.binding();
    assert_eq!(binding["spec"]["gracefulEvictionTasks"][0]["fromCluster"], "member1");
    assert_eq!(binding["spec"].get("clusters"), None);
    fleet.patch("control", path, &to("member2")).await;
    fleet.pass(Duration::from_secs(5)).await;
    assert_eq!(fleet.copies("deploy"), ["member2"]);
    // The policy names the scheduler of this controller again.
    let ours =
        json!({"spec": {"schedulerName": null, "placement": {"clusterAffinity": {"clusterNames": ["member1"]}}}});
    fleet.untaint("member1").await;
    fleet.patch("control", POLICY, &ours).await;
    fleet.pass(Duration::from_secs(5)).await;
    assert_eq!(fleet.copies("deploy"), ["member1"]);
}

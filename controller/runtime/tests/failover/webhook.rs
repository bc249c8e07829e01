//! The admission webhook, called by the control plane.

use baton_apiserver::in_process;
use serde_json::json;

use crate::fleet::{Fleet, POLICIES, policy, stateful};

#[tokio::test(start_paused = true)]
async fn policies_are_refused_while_the_webhook_is_known_and_accepted_before_and_after() {
    let mut fleet = Fleet::start(&["member1"]).await;
    let wrong = |name: &str| {
        let rules = json!([{"aliasLabelName": "a", "jsonPath": "{.a[}"}]);
        policy(
            name,
            &["member1"],
            &json!({"cluster": {"statePreservation": {"rules": rules}}}),
        )
    };
    fleet.create("control", POLICIES, wrong("before")).await;

    fleet.control(stateful());
    let controller = fleet.controller.as_ref().unwrap();
    let listener = in_process::Listener::bind(in_process::ADDRESS).await.unwrap();
    controller.serve_webhook(listener, None).await.unwrap();
    let refused = fleet
        .try_create("control", POLICIES, &wrong("while"))
        .await
        .unwrap_err();
    let kube::Error::Api(status) = refused else {
        panic!("{refused}");
    };
    assert_eq!(status.code, 422);
    for part in ["policies.baton.dev", "rules[0].jsonPath", "{.a[}", "expected `]`"] {
        assert!(status.message.contains(part), "{}", status.message);
    }
    fleet
        .create(
            "control",
            POLICIES,
            policy("right", &["member1"], &json!({"cluster": {}})),
        )
        .await;
    // What was stored before does not stand in the way of other changes.
    fleet
        .patch(
            "control",
            &format!("{POLICIES}/before"),
            &json!({"spec": {"priority": 1}}),
        )
        .await;
    fleet.delete("control", &format!("{POLICIES}/before")).await;

    fleet.crash().await;
    fleet.create("control", POLICIES, wrong("after")).await;
}

#[tokio::test(start_paused = true)]
async fn policies_can_be_written_though_nobody_answers() {
    let mut fleet = Fleet::start(&["member1"]).await;
    fleet.control(stateful());
    let controller = fleet.controller.as_ref().unwrap();
    let listener = in_process::Listener::bind(in_process::ADDRESS).await.unwrap();
    controller.serve_webhook(listener, None).await.unwrap();
    fleet.controller.take().unwrap().crash().await;
    fleet
        .create(
            "control",
            POLICIES,
            policy("right", &["member1"], &json!({"cluster": {}})),
        )
        .await;
}

//! Several instances, one of which leads.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use baton_apiserver::Change;
use baton_controller::Options;
use http::Request;
use kube::Client;
use kube::client::Body;
use serde_json::json;
use tower::BoxError;

use crate::fleet::{DEPLOYMENT, DEPLOYMENTS, Fleet, POLICIES, collected, deployment, policy, stateful};

fn standing_for_election(identity: &str) -> Options {
    let mut options = stateful();
    options.set("leader-elect", "true").unwrap();
    options.identity = Some(identity.to_owned());
    options
}

/// Returns a client whose requests are refused while it is cut off. Watches that are already open continue.
fn that_can_be_cut_off(client: Client, is_cut: Arc<AtomicBool>) -> Client {
    let service = tower::service_fn(move |request: Request<Body>| {
        let (client, is_cut) = (client.clone(), Arc::clone(&is_cut));
        async move {
            if is_cut.load(Ordering::Relaxed) {
                return Err(BoxError::from("cut off"));
            }
            client.send(request).await.map_err(BoxError::from)
        }
    });
    Client::new(service, "default")
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_is_cut_off_from_the_control_plane_writes_nothing_to_members_when_another_may_lead() {
    let mut fleet = Fleet::start(&["member1", "member2"]).await;
    let is_cut = Arc::new(AtomicBool::new(false));
    let client = |fleet: &Fleet, agent: &str| Client::new(fleet.control.service(agent), "default");
    let control = that_can_be_cut_off(client(&fleet, "first"), Arc::clone(&is_cut));
    let first = fleet.instance("first", control, standing_for_election("first"));
    fleet.pass(Duration::from_secs(1)).await;
    let second = fleet.instance("second", client(&fleet, "second"), standing_for_election("second"));
    fleet
        .create("control", POLICIES, policy("deploy", &["member1"], &json!({})))
        .await;
    fleet.create("control", DEPLOYMENTS, deployment("deploy")).await;
    fleet
        .until(0, "status is collected", |record| collected(record) == json!(2))
        .await;
    assert!(fleet.positions(|record| &*record.commit.by == "second").is_empty());

    // The instance sees events of members and could repair them, as it does while its lease surely holds.
    is_cut.store(true, Ordering::Relaxed);
    let at = fleet.now();
    fleet.delete("member1", DEPLOYMENT).await;
    fleet.pass(Duration::from_secs(5)).await;
    let made_by = |fleet: &Fleet, from: usize| {
        let made = fleet.records[from..].iter();
        let made = made.filter(|record| record.is("member1", "Deployment", Change::Added));
        made.map(|record| record.commit.by.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(made_by(&fleet, at), ["first"]);

    // The last renewal was sent 5 to 7 s before: the leader may no longer write, and no other instance leads yet.
    fleet.pass(Duration::from_secs(6)).await;
    let at = fleet.now();
    fleet.delete("member1", DEPLOYMENT).await;
    fleet.pass(Duration::from_millis(1500)).await;
    assert_eq!(made_by(&fleet, at), Vec::<String>::new());
    fleet.pass(Duration::from_secs(10)).await;
    assert_eq!(made_by(&fleet, at), ["second"]);

    // Once it reaches the control plane again, it stands by.
    is_cut.store(false, Ordering::Relaxed);
    fleet.delete("member1", DEPLOYMENT).await;
    fleet.pass(Duration::from_secs(60)).await;
    assert_eq!(made_by(&fleet, at), ["second", "second"]);
    let late = fleet.records[at..]
        .iter()
        .filter(|record| &*record.commit.by == "first");
    assert_eq!(late.count(), 0);
    first.stop().await;
    second.stop().await;
}

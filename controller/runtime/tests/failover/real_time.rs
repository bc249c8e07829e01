//! The same on the multi-thread runtime and the real clock.

use std::time::Duration;

use baton_apiserver::Change;

use crate::fleet::{Fleet, directly, stateful};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failover_in_real_time() {
    let mut fleet = Fleet::with_deployment(&["member1", "member2"], &directly(), stateful()).await;
    let at = fleet.now();
    fleet.taint("member1", "NoExecute").await;
    let new = fleet
        .until(at, "the new copy", |record| {
            record.is("member2", "Deployment", Change::Added)
        })
        .await;
    assert_eq!(new.at("/metadata/labels/failover.karmada.io~1replicas"), "2");
    fleet.pass(Duration::from_millis(200)).await;
    fleet.assert_never_two_copies();
    fleet.crash().await;
}

/// The number of workloads that fail at once must not change the cost of each.
#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn writes_per_failover_are_constant() {
    let (one, two) = (writes_of_failovers(1).await, writes_of_failovers(2).await);
    let each = two - one;
    assert!((1..=one).contains(&each), "{one} for one, {two} for two");
    assert_eq!(writes_of_failovers(10).await, one + 9 * each);
}

/// Fails this many workloads at once and counts the writes that move all of them.
async fn writes_of_failovers(count: usize) -> usize {
    let mut options = stateful();
    options.set("resource-eviction-rate", "1e6").unwrap();
    let mut fleet = Fleet::start(&["member1", "member2"]).await;
    fleet.control(options);
    for number in 0..count {
        let name = format!("w{number}");
        let policy = crate::fleet::policy(&name, &["member1", "member2"], &directly());
        fleet.create("control", crate::fleet::POLICIES, policy).await;
        fleet
            .create("control", crate::fleet::DEPLOYMENTS, crate::fleet::deployment(&name))
            .await;
    }
    fleet.pass(Duration::from_secs(5)).await;
    let at = fleet.now();
    fleet.taint("member1", "NoExecute").await;
    fleet.pass(Duration::from_secs(5)).await;
    let moved = fleet.positions(|record| record.is("member2", "Deployment", Change::Added));
    assert_eq!(moved.len(), count);
    let writes = fleet.writes(at).count();
    fleet.crash().await;
    writes
}

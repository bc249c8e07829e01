//! The same on the multi-thread runtime and the real clock.

use std::time::Duration;

use baton_apiserver::Change;

use crate::fleet::{Fleet, directly, stateful};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failover_in_real_time() {
    let mut fleet = Fleet::with_deployment(&["member1", "member2"], &directly(), stateful()).await;
    let at = fleet.now();
    let began = std::time::Instant::now();
    fleet.taint("member1", "NoExecute").await;
    let new = fleet
        .until(at, "the new copy", |record| {
            record.is("member2", "Deployment", Change::Added)
        })
        .await;
    println!("taint to new copy: {:?}", began.elapsed());
    assert_eq!(new.at("/metadata/labels/failover.karmada.io~1replicas"), "2");
    fleet.pass(Duration::from_millis(200)).await;
    fleet.assert_never_two_copies();
    fleet.crash().await;
}

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

/// A measurement, not a test: `cargo test --release -p baton-controller -- --ignored --nocapture many`.
#[tokio::test(flavor = "current_thread", start_paused = true)]
#[ignore = "a measurement"]
async fn many_workloads_fail_at_once() {
    for count in [1_usize, 10, 100, 1000] {
        let mut options = stateful();
        options.set_eviction_rate(1e6).unwrap();
        let mut fleet = Fleet::start(&["member1", "member2"]).await;
        fleet.control(options);
        for number in 0..count {
            let name = format!("w{number}");
            fleet
                .create(
                    "control",
                    crate::fleet::POLICIES,
                    crate::fleet::policy(&name, &["member1", "member2"], &directly()),
                )
                .await;
            fleet
                .create("control", crate::fleet::DEPLOYMENTS, crate::fleet::deployment(&name))
                .await;
        }
        fleet.pass(Duration::from_secs(5)).await;
        let at = fleet.now();
        let began = std::time::Instant::now();
        fleet.taint("member1", "NoExecute").await;
        fleet.pass(Duration::from_secs(5)).await;
        let writes = fleet.writes(at).count();
        let moved = fleet
            .positions(|record| record.is("member2", "Deployment", Change::Added))
            .len();
        println!("{count}: {moved} moved in {:?}, {writes} writes", began.elapsed());
        fleet.crash().await;
    }
}

//! Tests a controller on kube-rs: it deletes each config map an hour after its creation. The hour takes no time.
//!
//!     cargo run -p baton-apiserver --example controller

use std::sync::Arc;
use std::time::Duration;

use baton_apiserver::{ApiServer, Options};
use futures::StreamExt as _;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, DeleteParams, ObjectMeta, PostParams};
use kube::runtime::controller::{Action, Controller};
use kube::runtime::wait::{await_condition, conditions};
use kube::runtime::watcher;
use kube::{Client, ResourceExt as _};
use tokio::time::Instant;

const LIFETIME: Duration = Duration::from_secs(3600);

/// The controller under test. `started` stands for its clock.
async fn reconcile(map: Arc<ConfigMap>, context: Arc<(Api<ConfigMap>, Instant)>) -> Result<Action, kube::Error> {
    let (maps, started) = &*context;
    let now = Timestamp::UNIX_EPOCH + started.elapsed();
    let age = map
        .creation_timestamp()
        .map_or(Duration::ZERO, |created| now.duration_since(created.0).unsigned_abs());
    let left = LIFETIME.saturating_sub(age);
    if left.is_zero() {
        maps.delete(&map.name_any(), &DeleteParams::default()).await?;
        return Ok(Action::await_change());
    }
    Ok(Action::requeue(left))
}

// On paused time, every wait ends at once.
#[tokio::main(flavor = "current_thread", start_paused = true)]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let started = Instant::now();
    let server = ApiServer::new(Options::new(
        "test",
        Arc::new(move || Timestamp::UNIX_EPOCH + started.elapsed()),
    ));
    let maps = Api::<ConfigMap>::default_namespaced(Client::new(server.service("example"), "default"));
    let controller = Controller::new(maps.clone(), watcher::Config::default());
    let policy = |_, _: &kube::Error, _| Action::requeue(Duration::from_secs(1));
    tokio::spawn(
        controller
            .run(reconcile, policy, Arc::new((maps.clone(), started)))
            .for_each(async |_| {}),
    );

    let metadata = ObjectMeta {
        name: Some("short-lived".to_owned()),
        ..ObjectMeta::default()
    };
    let map = ConfigMap {
        metadata,
        ..ConfigMap::default()
    };
    let created = maps.create(&PostParams::default(), &map).await?;
    let uid = created.uid().unwrap_or_default();
    await_condition(maps, "short-lived", conditions::is_deleted(&uid)).await?;
    println!(
        "deleted after {} seconds of the server's time",
        started.elapsed().as_secs()
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_hour_passes() {
        super::main().expect("the config map is deleted");
    }
}

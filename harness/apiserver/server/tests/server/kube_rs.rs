//! The building blocks of programs on kube-rs, on the in-process endpoint: controllers, finalizers, events, waiting,
//! leases.

use std::sync::Arc;

use baton_apiserver::{ApiServer, Options};
use futures::StreamExt as _;
use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use k8s_openapi::api::events::v1::Event as StoredEvent;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::api::{Api, DeleteParams, ListParams, ObjectMeta, Patch, PatchParams, PostParams};
use kube::runtime::controller::{Action, Controller};
use kube::runtime::events::{Event, EventType, Recorder, Reporter};
use kube::runtime::finalizer::{Event as Turn, finalizer};
use kube::runtime::wait::{await_condition, conditions};
use kube::runtime::watcher;
use kube::{Client, Resource as _, ResourceExt as _};
use serde_json::json;

const FINALIZER: &str = "example.com/copies";

fn client() -> Client {
    let server = ApiServer::new(Options::new("test", Arc::new(|| Timestamp::UNIX_EPOCH)));
    Client::new(server.service("tester"), "default")
}

fn config_map(name: &str, value: &str) -> ConfigMap {
    serde_json::from_value(json!({"metadata": {"name": name}, "data": {"k": value}})).expect("a ConfigMap")
}

/// Creates a secret for every map, owned by the map; removes it before the map is deleted.
async fn reconcile(
    map: Arc<ConfigMap>,
    client: Arc<Client>,
) -> Result<Action, kube::runtime::finalizer::Error<kube::Error>> {
    let maps: Api<ConfigMap> = Api::default_namespaced(Client::clone(&client));
    let secrets: Api<Secret> = Api::default_namespaced(Client::clone(&client));
    finalizer(&maps, FINALIZER, map, async |turn| match turn {
        Turn::Apply(map) => {
            let secret = Secret {
                metadata: ObjectMeta {
                    name: Some(map.name_any()),
                    owner_references: map.controller_owner_ref(&()).map(|owner| vec![owner]),
                    ..ObjectMeta::default()
                },
                string_data: map.data.clone(),
                ..Secret::default()
            };
            let apply = PatchParams::apply("copier").force();
            secrets.patch(&map.name_any(), &apply, &Patch::Apply(&secret)).await?;
            Ok(Action::await_change())
        }
        Turn::Cleanup(map) => {
            secrets.delete(&map.name_any(), &DeleteParams::default()).await?;
            Ok(Action::await_change())
        }
    })
    .await
}

#[tokio::test(start_paused = true)]
async fn a_controller_with_a_finalizer_reconciles_and_cleans_up() {
    let client = client();
    let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
    let secrets: Api<Secret> = Api::default_namespaced(client.clone());
    let controller = Controller::new(maps.clone(), watcher::Config::default())
        .owns(secrets.clone(), watcher::Config::default())
        .run(
            reconcile,
            |_, error, _| panic!("reconciling failed: {error}"),
            Arc::new(client.clone()),
        );
    let running = tokio::spawn(controller.for_each(|outcome| async move {
        outcome.expect("reconciled");
    }));
    let copied = |value: &'static str| {
        let secrets = secrets.clone();
        let has = move |secret: Option<&Secret>| {
            let data = secret.and_then(|secret| secret.data.as_ref());
            data.and_then(|data| data.get("k"))
                .is_some_and(|bytes| bytes.0 == value.as_bytes())
        };
        async move { await_condition(secrets, "a", has).await.expect("a copy") }
    };
    maps.create(&PostParams::default(), &config_map("a", "1"))
        .await
        .expect("created");
    copied("1").await;
    let change = Patch::Merge(json!({"data": {"k": "2"}}));
    maps.patch("a", &PatchParams::default(), &change)
        .await
        .expect("patched");
    copied("2").await;
    // The controller also watches the secrets that it owns.
    secrets.delete("a", &DeleteParams::default()).await.expect("deleted");
    copied("2").await;
    let found = maps.get("a").await.expect("a map");
    let uid = found.uid().expect("a uid");
    maps.delete("a", &DeleteParams::default()).await.expect("deleted");
    await_condition(maps, "a", conditions::is_deleted(&uid))
        .await
        .expect("gone");
    assert!(
        secrets
            .list(&ListParams::default())
            .await
            .expect("a list")
            .items
            .is_empty()
    );
    running.abort();
}

#[tokio::test(start_paused = true)]
async fn events_are_recorded_and_counted() {
    let client = client();
    let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
    let map = maps
        .create(&PostParams::default(), &config_map("a", "1"))
        .await
        .expect("created");
    let recorder = Recorder::new(client.clone(), Reporter::from("tester"));
    let event = Event {
        type_: EventType::Normal,
        reason: "Copied".to_owned(),
        note: Some("it was copied".to_owned()),
        action: "Copying".to_owned(),
        secondary: None,
    };
    for _ in 0..3 {
        recorder.publish(&event, &map.object_ref(&())).await.expect("published");
    }
    let events: Api<StoredEvent> = Api::default_namespaced(client);
    let found = events.list(&ListParams::default()).await.expect("a list").items;
    let [found] = found.as_slice() else {
        panic!("{} events", found.len())
    };
    assert_eq!(found.reason.as_deref(), Some("Copied"));
    assert_eq!(found.series.as_ref().map(|series| series.count), Some(3));
}

#[tokio::test(start_paused = true)]
async fn one_of_those_who_want_a_lease_gets_it() {
    let client = client();
    let leases: Api<Lease> = Api::default_namespaced(client);
    let held_by = |holder: &str| Lease {
        metadata: ObjectMeta {
            name: Some("leader".to_owned()),
            ..ObjectMeta::default()
        },
        spec: Some(LeaseSpec {
            holder_identity: Some(holder.to_owned()),
            lease_duration_seconds: Some(15),
            renew_time: Some(MicroTime(Timestamp::UNIX_EPOCH)),
            ..LeaseSpec::default()
        }),
    };
    let first = leases
        .create(&PostParams::default(), &held_by("a"))
        .await
        .expect("created");
    let taken = leases.create(&PostParams::default(), &held_by("b")).await;
    assert!(matches!(taken, Err(kube::Error::Api(status)) if status.reason == "AlreadyExists"));
    // Both candidates see that the lease has run out; both take it over from the state that they have seen.
    let (mut by_b, mut by_c) = (held_by("b"), held_by("c"));
    by_b.metadata.resource_version = first.resource_version();
    by_c.metadata.resource_version = first.resource_version();
    let (params_b, params_c) = (PostParams::default(), PostParams::default());
    let (b, c) = tokio::join!(
        leases.replace("leader", &params_b, &by_b),
        leases.replace("leader", &params_c, &by_c)
    );
    assert!(b.is_ok() != c.is_ok());
    let loser = b.err().or(c.err());
    assert!(matches!(loser, Some(kube::Error::Api(status)) if status.reason == "Conflict"));
}

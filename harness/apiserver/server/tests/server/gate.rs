//! Writes at a gate, and faults of connections from outside.

use std::sync::Arc;
use std::time::Duration;

use baton_apiserver::{ApiServer, Cut, Gate, Gatekeeper, Options};
use futures::stream::BoxStream;
use futures::{StreamExt as _, TryStreamExt as _};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams};
use kube::{Client, ResourceExt as _};
use rstest::rstest;
use serde_json::json;
use tokio::time::{Instant, timeout};

/// Longer than any answer takes, in virtual time.
const LONG: Duration = Duration::from_secs(3600);

struct Guarded {
    server: ApiServer,
    outside: Api<ConfigMap>,
    inside: Api<ConfigMap>,
    gate: Gate,
    keeper: Gatekeeper,
}

fn guarded() -> Guarded {
    let server = ApiServer::new(Options::new("test", Arc::new(|| Timestamp::UNIX_EPOCH)));
    let (gate, keeper) = Gate::new();
    server.faults().guard(gate.before("member1"));
    Guarded {
        outside: Api::default_namespaced(Client::new(server.service("tester"), "default")),
        inside: Api::default_namespaced(Client::new(server.service_inside("kubelet"), "default")),
        server,
        gate,
        keeper,
    }
}

fn map(name: &str) -> ConfigMap {
    serde_json::from_value(json!({"metadata": {"name": name}})).expect("a ConfigMap")
}

/// Creates a `ConfigMap`, and returns its revision.
async fn made(api: &Api<ConfigMap>) -> String {
    let made = api.create(&PostParams::default(), &map("a")).await;
    made.expect("created").resource_version().expect("a revision")
}

async fn watch(api: &Api<ConfigMap>, revision: &str) -> BoxStream<'static, kube::Result<WatchEvent<ConfigMap>>> {
    let watch = api.watch(&WatchParams::default(), revision).await;
    watch.expect("a watch").boxed()
}

/// Decision of the keeper on the first write.
#[derive(Clone, Copy)]
enum First {
    LetIn,
    LoseAnswer,
    LoseRequest,
}

#[rstest]
#[case::let_in(First::LetIn, true, true)]
#[case::the_answer_is_lost(First::LoseAnswer, false, true)]
#[case::the_request_is_lost(First::LoseRequest, false, false)]
#[tokio::test(start_paused = true)]
async fn a_write_is_carried_out_and_answered_as_the_keeper_decides(
    #[case] first: First,
    #[case] is_answered: bool,
    #[case] is_there: bool,
) {
    let mut test = guarded();
    let outside = test.outside.clone();
    let written = tokio::spawn(async move { outside.create(&PostParams::default(), &map("a")).await });
    let asking = test.keeper.next().await.expect("a write");
    let write = asking.write().clone();
    assert_eq!(
        (
            &*write.server,
            write.verb,
            write.kind.as_str(),
            write.api_version.as_str()
        ),
        ("member1", "create", "ConfigMap", "v1")
    );
    assert!(test.inside.get_opt("a").await.expect("an answer").is_none());
    match first {
        First::LetIn => asking.let_in().wait().await,
        First::LoseAnswer => asking.let_in_and_lose_answer().wait().await,
        First::LoseRequest => drop(asking),
    }
    let answer = written.await.expect("a result");
    assert_eq!(answer.is_ok(), is_answered, "{answer:?}");
    if let First::LoseRequest = first {
        assert!(
            matches!(&answer, Err(kube::Error::Api(status)) if status.code == 503),
            "{answer:?}"
        );
    }
    if let First::LoseAnswer = first {
        assert!(!matches!(&answer, Err(kube::Error::Api(_))), "{answer:?}");
    }
    assert_eq!(test.inside.get_opt("a").await.expect("an answer").is_some(), is_there);
}

#[tokio::test(start_paused = true)]
async fn the_second_write_asks_once_the_first_is_carried_out_and_all_pass_an_open_gate() {
    let mut test = guarded();
    let write = |name: &'static str| {
        let outside = test.outside.clone();
        tokio::spawn(async move { outside.create(&PostParams::default(), &map(name)).await })
    };
    let (first, second) = (write("a"), write("b"));
    let asking = test.keeper.next().await.expect("a write");
    assert!(timeout(LONG, test.keeper.next()).await.is_err(), "the second one waits");
    asking.let_in().wait().await;
    first.await.expect("a result").expect("created");
    let asking = test.keeper.next().await.expect("a write");
    // The gate is opened while one write waits for a decision and another waits for its turn.
    let third = write("c");
    drop(asking);
    test.keeper.open();
    assert!(second.await.expect("a result").is_err());
    third.await.expect("a result").expect("created");
    test.outside
        .delete("c", &DeleteParams::default())
        .await
        .expect("no keeper is asked");
}

#[tokio::test(start_paused = true)]
async fn reads_and_writes_from_inside_pass() {
    let mut test = guarded();
    test.inside
        .create(&PostParams::default(), &map("a"))
        .await
        .expect("created");
    test.outside.get("a").await.expect("read");
    assert!(timeout(LONG, test.keeper.next()).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn a_write_whose_answer_is_held_up_does_not_hold_up_the_next_one() {
    let mut test = guarded();
    let (faults, outside) = (test.server.faults().clone(), test.outside.clone());
    let first = tokio::spawn(async move { outside.create(&PostParams::default(), &map("a")).await });
    let asking = test.keeper.next().await.expect("the first write");
    faults.cut_off(Cut::Hang);
    asking.let_in().wait().await;
    test.inside.get("a").await.expect("carried out");
    // Another server behind the same gate.
    let other = ApiServer::new(Options::new("other", Arc::new(|| Timestamp::UNIX_EPOCH)));
    other.faults().guard(test.gate.before("member2"));
    let maps: Api<ConfigMap> = Api::default_namespaced(Client::new(other.service("tester"), "default"));
    let second = async move { maps.create(&PostParams::default(), &map("b")).await };
    let let_in = async { test.keeper.next().await.expect("the second write").let_in() };
    let (second, _) = timeout(LONG, async { tokio::join!(second, let_in) })
        .await
        .expect("the gate is free");
    second.expect("created");
    assert!(!first.is_finished(), "its answer is still held up");
    faults.heal();
    first.await.expect("it ends").expect("created");
}

#[tokio::test(start_paused = true)]
async fn lines_of_held_watches_come_later_and_in_order() {
    let test = guarded();
    drop(test.keeper);
    let revision = made(&test.inside).await;
    let mut outside = watch(&test.outside, &revision).await;
    let mut inside = watch(&test.inside, &revision).await;
    let held = Duration::from_secs(30);
    let begin = Instant::now();
    test.server.faults().hold_watches(None, held);
    for value in ["1", "2"] {
        let merge = Patch::Merge(json!({"data": {"key": value}}));
        test.inside
            .patch("a", &PatchParams::default(), &merge)
            .await
            .expect("patched");
    }
    let mut values = Vec::new();
    for (watch, after) in [(&mut inside, Duration::ZERO), (&mut outside, held)] {
        for _ in 0..2 {
            let event = watch.try_next().await.expect("a watch").expect("an event");
            let WatchEvent::Modified(map) = event else {
                unreachable!("{event:?}");
            };
            values.push(map.data.expect("data")["key"].clone());
            assert_eq!(begin.elapsed(), after);
        }
    }
    assert_eq!(values, ["1", "2", "1", "2"]);
}

#[tokio::test(start_paused = true)]
async fn held_watches_are_released_early() {
    let test = guarded();
    drop(test.keeper);
    let revision = made(&test.inside).await;
    let mut outside = watch(&test.outside, &revision).await;
    let faults = test.server.faults();
    faults.hold_watches(None, Duration::from_secs(30));
    faults.hold_watches(Some("ConfigMap".to_owned()), Duration::from_secs(20));
    test.inside
        .create(&PostParams::default(), &map("b"))
        .await
        .expect("created");
    let begin = Instant::now();
    let release = async {
        tokio::time::sleep(Duration::from_secs(5)).await;
        faults.hold_watches(None, Duration::ZERO);
    };
    let (event, ()) = tokio::join!(outside.try_next(), release);
    assert!(matches!(event, Ok(Some(WatchEvent::Added(_)))));
    assert_eq!(begin.elapsed(), Duration::from_secs(20), "the other hold goes on");
}

/// A list of any age.
fn of_any_age() -> ListParams {
    ListParams::default().match_any()
}

/// Names of the objects in a list.
async fn listed(api: &Api<ConfigMap>, params: &ListParams) -> Vec<String> {
    let list = api.list(params).await.expect("listed");
    list.iter().map(kube::ResourceExt::name_any).collect()
}

#[tokio::test(start_paused = true)]
async fn a_cache_that_lags_shows_the_last_but_one_state_that_was_remembered_and_catches_up() {
    let test = guarded();
    drop(test.keeper);
    made(&test.inside).await;
    let faults = test.server.faults();
    faults.remember();
    let delete = test.inside.delete("a", &DeleteParams::default()).await;
    delete.expect("deleted");
    faults.remember();
    test.inside
        .create(&PostParams::default(), &map("b"))
        .await
        .expect("created");
    let lag = Duration::from_secs(30);
    assert!(faults.serve_stale(lag));
    assert_eq!(listed(&test.outside, &of_any_age()).await, ["a"]);
    assert_eq!(
        listed(&test.outside, &ListParams::default()).await,
        ["b"],
        "a consistent list"
    );
    assert_eq!(listed(&test.inside, &of_any_age()).await, ["b"], "a list from inside");
    let begin = Instant::now();
    let stale = test.outside.list(&of_any_age()).await.expect("listed");
    let mut news = watch(&test.outside, &stale.metadata.resource_version.expect("a revision")).await;
    assert!(matches!(news.try_next().await, Ok(Some(WatchEvent::Deleted(map))) if map.name_any() == "a"));
    assert_eq!(begin.elapsed(), lag, "watches wait until the cache has caught up");
    assert!(matches!(news.try_next().await, Ok(Some(WatchEvent::Added(map))) if map.name_any() == "b"));
    assert_eq!(listed(&test.outside, &of_any_age()).await, ["b"]);
}

#[tokio::test(start_paused = true)]
async fn a_watch_of_any_age_begins_with_what_a_lagging_cache_has() {
    let test = guarded();
    drop(test.keeper);
    let faults = test.server.faults();
    faults.remember();
    faults.remember();
    made(&test.inside).await;
    let delete = test.inside.delete("a", &DeleteParams::default()).await;
    delete.expect("deleted");
    assert!(faults.serve_stale(Duration::from_secs(30)));
    let mut news = watch(&test.outside, "0").await;
    // The bookmark ends the initial state, in which there is nothing.
    let initial = news.try_next().await;
    assert!(matches!(initial, Ok(Some(WatchEvent::Bookmark(_)))), "{initial:?}");
    assert!(matches!(news.try_next().await, Ok(Some(WatchEvent::Added(_)))));
    assert!(matches!(news.try_next().await, Ok(Some(WatchEvent::Deleted(_)))));
}

#[tokio::test(start_paused = true)]
async fn a_cache_whose_history_was_dropped_is_not_stale() {
    let test = guarded();
    drop(test.keeper);
    let faults = test.server.faults();
    faults.remember();
    faults.remember();
    made(&test.inside).await;
    assert!(faults.compact());
    assert!(faults.serve_stale(Duration::from_secs(30)));
    assert_eq!(listed(&test.outside, &of_any_age()).await, ["a"]);
}

#[tokio::test(start_paused = true)]
async fn reads_are_refused_for_some_time_and_watches_and_writes_go_on() {
    let test = guarded();
    drop(test.keeper);
    let revision = made(&test.inside).await;
    let mut news = watch(&test.outside, &revision).await;
    test.server.faults().refuse_reads(Duration::from_secs(5));
    let refused = |read: kube::Result<()>| matches!(read, Err(kube::Error::Api(status)) if status.code == 503);
    assert!(refused(test.outside.get("a").await.map(drop)));
    assert!(refused(test.outside.list(&ListParams::default()).await.map(drop)));
    test.inside.get("a").await.expect("read from inside");
    let created = test.outside.create(&PostParams::default(), &map("b")).await;
    created.expect("created");
    assert!(matches!(news.try_next().await, Ok(Some(WatchEvent::Added(_)))));
    tokio::time::sleep(Duration::from_secs(5)).await;
    test.outside.get("a").await.expect("read");
}

#[tokio::test(start_paused = true)]
async fn broken_connections_end_watches_from_outside_and_new_ones_are_accepted() {
    let test = guarded();
    drop(test.keeper);
    let revision = made(&test.inside).await;
    let mut outside = watch(&test.outside, &revision).await;
    let mut inside = watch(&test.inside, &revision).await;
    test.server.faults().break_connections();
    let ended = outside.try_next().await;
    assert!(!matches!(ended, Ok(Some(_))), "{ended:?}");
    test.inside
        .create(&PostParams::default(), &map("b"))
        .await
        .expect("created");
    assert!(matches!(inside.try_next().await, Ok(Some(WatchEvent::Added(_)))));
    let mut again = watch(&test.outside, &revision).await;
    assert!(matches!(again.try_next().await, Ok(Some(WatchEvent::Added(_)))));
}

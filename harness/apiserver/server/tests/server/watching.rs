//! kube-rs' watcher and reflector on the in-process endpoint; faults; effects of the server's controllers.

use std::sync::Arc;

use baton_apiserver::{ApiServer, Cut, Failure, Matching, Options};
use futures::{StreamExt as _, TryStreamExt as _};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams};
use kube::runtime::{WatchStreamExt as _, reflector, watcher};
use kube::{Client, ResourceExt as _};
use serde_json::json;
use tokio::time::Instant;

fn server() -> ApiServer {
    ApiServer::new(Options::new("test", Arc::new(|| Timestamp::UNIX_EPOCH)))
}

fn config_map(name: &str) -> ConfigMap {
    serde_json::from_value(json!({"metadata": {"name": name, "labels": {"l": name}}})).expect("a ConfigMap")
}

#[tokio::test(start_paused = true)]
async fn a_reflector_follows() {
    let server = server();
    let api: Api<ConfigMap> = Api::default_namespaced(Client::new(server.service("tester"), "default"));
    api.create(&PostParams::default(), &config_map("a"))
        .await
        .expect("created");
    let (reader, writer) = reflector::store();
    let stream = watcher(api.clone(), watcher::Config::default())
        .reflect(writer)
        .applied_objects();
    let mut stream = Box::pin(stream);
    let first = stream.try_next().await.expect("an event").expect("an object");
    assert_eq!(first.name_any(), "a");
    api.create(&PostParams::default(), &config_map("b"))
        .await
        .expect("created");
    let second = stream.try_next().await.expect("an event").expect("an object");
    assert_eq!(second.name_any(), "b");
    assert_eq!(reader.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn the_last_bookmark_comes_two_seconds_before_the_end_if_something_has_happened() {
    let server = server();
    let api: Api<ConfigMap> = Api::default_namespaced(Client::new(server.service("tester"), "default"));
    let created = api.create(&PostParams::default(), &config_map("old")).await;
    let mut revision = created.expect("created").resource_version().expect("a revision");
    for (timeout, happens, expected) in [
        (3, false, &[][..]),
        (30, false, &[][..]),
        (150, false, &[60, 120][..]),
        (2, true, &[][..]),
        (3, true, &[1][..]),
        (30, true, &[28][..]),
        (150, true, &[60, 120, 148][..]),
    ] {
        let begin = Instant::now();
        let params = WatchParams::default().timeout(timeout);
        let events = api.watch(&params, &revision).await.expect("a watch");
        if happens {
            let name = format!("new-{timeout}");
            let created = api.create(&PostParams::default(), &config_map(&name)).await;
            revision = created.expect("created").resource_version().expect("a revision");
        }
        let bookmarks: Vec<u64> = events
            .try_filter_map(async |event| {
                let is_bookmark = matches!(event, WatchEvent::Bookmark(_));
                Ok(is_bookmark.then(|| begin.elapsed().as_secs()))
            })
            .try_collect()
            .await
            .expect("events");
        assert_eq!(
            bookmarks, expected,
            "of a watch of {timeout} s, something happens: {happens}"
        );
        assert_eq!(begin.elapsed().as_secs(), u64::from(timeout));
    }
}

#[tokio::test(start_paused = true)]
async fn a_watch_from_nowhere_tells_the_end_of_the_state_if_it_allows_bookmarks() {
    let server = server();
    let api: Api<ConfigMap> = Api::default_namespaced(Client::new(server.service("tester"), "default"));
    let created = api.create(&PostParams::default(), &config_map("a")).await;
    let revision = created.expect("created").resource_version().expect("a revision");
    for (from, bookmarks, expected) in [
        ("0", true, &["a", "end"][..]),
        ("0", false, &["a"][..]),
        (&revision, true, &[][..]),
    ] {
        let mut params = WatchParams::default().timeout(1);
        params.bookmarks = bookmarks;
        let events = api.watch(&params, from).await.expect("a watch");
        let events: Vec<String> = events
            .map_ok(|event| match event {
                WatchEvent::Bookmark(mark) if mark.metadata.annotations.contains_key("k8s.io/initial-events-end") => {
                    "end".to_owned()
                }
                WatchEvent::Added(object) => object.name_any(),
                other => format!("{other:?}"),
            })
            .try_collect()
            .await
            .expect("events");
        assert_eq!(events, expected, "from {from}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_streaming_list_begins_with_the_state() {
    let server = server();
    let api: Api<ConfigMap> = Api::default_namespaced(Client::new(server.service("tester"), "default"));
    api.create(&PostParams::default(), &config_map("a"))
        .await
        .expect("created");
    let mut stream = Box::pin(watcher(api, watcher::Config::default().streaming_lists()));
    let mut seen = Vec::new();
    while let Some(event) = stream.next().await {
        match event.expect("an event") {
            watcher::Event::InitApply(object) => seen.push(object.name_any()),
            watcher::Event::InitDone => break,
            watcher::Event::Init | watcher::Event::Apply(_) | watcher::Event::Delete(_) => {}
        }
    }
    assert_eq!(seen, ["a"]);
}

#[tokio::test(start_paused = true)]
async fn a_compacted_version_is_gone() {
    let server = server();
    let api: Api<ConfigMap> = Api::default_namespaced(Client::new(server.service("tester"), "default"));
    let old = api
        .create(&PostParams::default(), &config_map("a"))
        .await
        .expect("created");
    api.create(&PostParams::default(), &config_map("b"))
        .await
        .expect("created");
    server.faults().compact();
    let version = old.resource_version().expect("a version");
    let mut stream = Box::pin(api.watch(&WatchParams::default(), &version).await.expect("a watch"));
    let event = stream.try_next().await.expect("an event").expect("an event");
    assert!(matches!(event, WatchEvent::Error(status) if status.code == 410));
}

#[tokio::test(start_paused = true)]
async fn levers_do_what_they_say() {
    let server = server();
    let api: Api<ConfigMap> = Api::default_namespaced(Client::new(server.service("tester"), "default"));
    server.faults().fail(Failure {
        matching: Matching {
            verb: Some("create".to_owned()),
            ..Matching::default()
        },
        nth: 2,
        times: 1,
        code: 503,
        message: "not now".to_owned(),
    });
    api.create(&PostParams::default(), &config_map("a"))
        .await
        .expect("created");
    let refused = api
        .create(&PostParams::default(), &config_map("b"))
        .await
        .expect_err("refused");
    assert!(matches!(refused, kube::Error::Api(status) if status.code == 503));
    api.create(&PostParams::default(), &config_map("b"))
        .await
        .expect("created");

    let health = |times| Failure {
        matching: Matching {
            path: Some("/readyz".to_owned()),
            ..Matching::default()
        },
        nth: 1,
        times,
        code: 500,
        message: "not ready".to_owned(),
    };
    let outside = Client::new(server.service("tester"), "default");
    let ask = async |client: &Client, path: &str| {
        let request = http::Request::get(path).body(Vec::new()).expect("a request");
        client.request_text(request).await.is_ok()
    };
    server.faults().fail(health(u64::MAX));
    for path in ["/readyz", "/readyz/ping", "/readyz?verbose"] {
        assert!(!ask(&outside, path).await, "{path}");
    }
    assert!(ask(&outside, "/livez").await && api.get("a").await.is_ok());
    let inside = Client::new(server.service_inside("tester"), "default");
    assert!(ask(&inside, "/readyz").await);
    server.faults().fail(health(0));
    assert!(ask(&outside, "/readyz").await);

    let mut watch = Box::pin(api.watch(&WatchParams::default(), "0").await.expect("a watch"));
    server.faults().stop();
    assert!(api.get("a").await.is_err());
    while let Some(Ok(event)) = watch.next().await {
        assert!(
            matches!(event, WatchEvent::Added(_)),
            "nothing new comes from a stopped server"
        );
    }
    server.faults().start();
    assert_eq!(api.list(&ListParams::default()).await.expect("a list").items.len(), 2);

    server.faults().cut_off(Cut::Hang);
    let (answer, ()) = tokio::join!(api.get("a"), async { server.faults().heal() });
    answer.expect("an answer after the cut");
    let creations: u64 = server
        .faults()
        .counts()
        .iter()
        .filter(|(each, _)| each.verb == "create")
        .map(|(_, n)| n)
        .sum();
    assert_eq!(creations, 3);
}

#[tokio::test(start_paused = true)]
async fn dependents_go_with_their_owner_and_content_with_its_namespace() {
    let server = server();
    let client = Client::new(server.service("tester"), "default");
    let api: Api<ConfigMap> = Api::default_namespaced(client.clone());
    let owner = api
        .create(&PostParams::default(), &config_map("owner"))
        .await
        .expect("created");
    let mut dependent = config_map("dependent");
    dependent.metadata.owner_references = Some(vec![
        serde_json::from_value(json!({
            "apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner.uid(),
        }))
        .expect("an owner"),
    ]);
    let dependent = api.create(&PostParams::default(), &dependent).await.expect("created");
    let version = dependent.resource_version().expect("a version");
    let mut watch = Box::pin(
        api.watch(&WatchParams::default().fields("metadata.name=dependent"), &version)
            .await
            .expect("a watch"),
    );
    api.delete("owner", &DeleteParams::default()).await.expect("deleted");
    let event = watch.try_next().await.expect("an event").expect("an event");
    assert!(matches!(event, WatchEvent::Deleted(_)));

    let namespaces: Api<Namespace> = Api::all(client.clone());
    let namespace = serde_json::from_value(json!({"metadata": {"name": "n"}})).expect("a namespace");
    let created = namespaces
        .create(&PostParams::default(), &namespace)
        .await
        .expect("created");
    let inner: Api<ConfigMap> = Api::namespaced(client, "n");
    inner
        .create(&PostParams::default(), &config_map("a"))
        .await
        .expect("created");
    let patch = Patch::Apply(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b"}}));
    inner
        .patch("b", &PatchParams::apply("tester"), &patch)
        .await
        .expect("applied");
    let version = created.resource_version().expect("a version");
    let mut watch = Box::pin(
        namespaces
            .watch(&WatchParams::default().fields("metadata.name=n"), &version)
            .await
            .expect("a watch"),
    );
    namespaces.delete("n", &DeleteParams::default()).await.expect("deleted");
    while let Some(event) = watch.try_next().await.expect("an event") {
        if matches!(event, WatchEvent::Deleted(_)) {
            break;
        }
    }
    assert!(
        inner
            .list(&ListParams::default())
            .await
            .expect("a list")
            .items
            .is_empty()
    );
}

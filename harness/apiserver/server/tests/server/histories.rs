//! Properties of every history: no update is lost, and lists and watches show exactly the committed changes. The tests
//! compare random histories with the tap, which reports every commit.

use std::collections::BTreeMap;
use std::sync::Arc;

use baton_apiserver::{ApiServer, Change, Commit, Commits, Options};
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::raw::{JSON, MERGE, Raw};
use crate::test_rng::Dice;

const NAMESPACES: [&str; 2] = ["default", "kube-public"];
const NAMES: [&str; 5] = ["a", "b", "c", "d", "e"];
const LABELS: [&str; 3] = ["x", "y", "z"];

fn server(history: usize) -> ApiServer {
    let mut options = Options::new("test", Arc::new(|| Timestamp::UNIX_EPOCH));
    options.history = history;
    ApiServer::new(options)
}

fn maps(namespace: &str) -> String {
    format!("/api/v1/namespaces/{namespace}/configmaps")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn sixteen_writers_lose_no_update() {
    const WRITERS: usize = 16;
    const TIMES: usize = 25;
    let server = server(10_000);
    let path = format!("{}/counter", maps("default"));
    let counter = json!({"metadata": {"name": "counter"}, "data": {"all": "0"}});
    let (status, _) = Raw::new(&server).send("POST", &maps("default"), JSON, &counter).await;
    assert_eq!(status, 201);
    let mut writers = JoinSet::new();
    for writer in 0..WRITERS {
        let (mut client, path) = (Raw::new(&server), path.clone());
        writers.spawn(async move {
            for time in 0..TIMES {
                while !count_up(&mut client, &path).await {}
                // Patches without a version apply to the current state.
                let own = json!({"data": {format!("writer{writer}"): time.to_string()}});
                let (status, _) = client.send("PATCH", &path, MERGE, &own).await;
                assert_eq!(status, 200);
            }
        });
    }
    while let Some(done) = writers.join_next().await {
        done.expect("no writer panics");
    }
    let (_, counter) = Raw::new(&server).get(&path).await;
    assert_eq!(counter["data"]["all"], (WRITERS * TIMES).to_string());
    for writer in 0..WRITERS {
        assert_eq!(counter["data"][format!("writer{writer}")], (TIMES - 1).to_string());
    }
}

/// Returns all lines of a watch that ends on the server's side.
async fn lines(client: &mut Raw, path: &str) -> Vec<Value> {
    let (status, body) = client.bytes("GET", path, JSON, Vec::new()).await;
    assert_eq!(status, 200, "{path}");
    let lines = body.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines.map(|line| serde_json::from_slice(line).expect("JSON")).collect()
}

/// Increments the counter by replacing the version that was read; returns `true` if no other write came first.
async fn count_up(client: &mut Raw, path: &str) -> bool {
    let (_, mut counter) = client.get(path).await;
    let all: usize = counter["data"]["all"]
        .as_str()
        .expect("text")
        .parse()
        .expect("a number");
    counter["data"]["all"] = (all + 1).to_string().into();
    let (status, _) = client.send("PUT", path, JSON, &counter).await;
    assert!(matches!(status, 200 | 409), "{status}");
    status == 200
}

/// Writes at random: creates, changes or deletes one of a few objects.
async fn write(client: &mut Raw, test_rng: &mut Dice) {
    let (namespace, name) = (*test_rng.one(&NAMESPACES), *test_rng.one(&NAMES));
    let (label, data) = (*test_rng.one(&LABELS), test_rng.roll(3).to_string());
    let path = format!("{}/{name}", maps(namespace));
    match test_rng.roll(4) {
        0 => {
            client.send("DELETE", &path, JSON, &Value::Null).await;
        }
        1 => {
            let change = json!({"metadata": {"labels": {"l": label}}, "data": {"d": data}});
            client.send("PATCH", &path, MERGE, &change).await;
        }
        _ => {
            let object = json!({"metadata": {"name": name, "labels": {"l": label}}, "data": {"d": data}});
            client.send("POST", &maps(namespace), JSON, &object).await;
        }
    }
}

/// The commits of `ConfigMaps` so far.
fn take_commits(commits: &mut Commits, history: &mut Vec<Commit>) {
    while let Some(commit) = commits.try_recv() {
        if commit.kind == "ConfigMap" {
            history.push(commit);
        }
    }
}

fn key(object: &Value) -> (String, String) {
    let text = |key: &str| object["metadata"][key].as_str().unwrap_or_default().to_owned();
    (text("namespace"), text("name"))
}

/// The objects after all commits up to a revision.
fn state(history: &[Commit], revision: u64) -> BTreeMap<(String, String), Arc<Value>> {
    let mut state = BTreeMap::new();
    for commit in history.iter().filter(|commit| commit.revision <= revision) {
        match commit.change {
            Change::Deleted => state.remove(&key(&commit.object)),
            Change::Existing | Change::Added | Change::Modified => {
                state.insert(key(&commit.object), commit.object.clone())
            }
        };
    }
    state
}

/// A part of the objects, and the query that selects it.
type Scope = (&'static str, &'static str, fn(&Value) -> bool);

const SCOPES: [Scope; 6] = [
    ("/api/v1/configmaps", "", |_| true),
    ("/api/v1/namespaces/default/configmaps", "", |object| {
        object["metadata"]["namespace"] == "default"
    }),
    ("/api/v1/configmaps", "&labelSelector=l%3Dx", |object| {
        object["metadata"]["labels"]["l"] == "x"
    }),
    ("/api/v1/configmaps", "&labelSelector=l%20notin%20(x,y)", |object| {
        object["metadata"]["labels"]["l"] != "x" && object["metadata"]["labels"]["l"] != "y"
    }),
    ("/api/v1/configmaps", "&fieldSelector=metadata.name%3Da", |object| {
        object["metadata"]["name"] == "a"
    }),
    (
        "/api/v1/namespaces/kube-public/configmaps",
        "&labelSelector=l%3Dy",
        |object| object["metadata"]["namespace"] == "kube-public" && object["metadata"]["labels"]["l"] == "y",
    ),
];

/// Returns the expected events of a watch from a revision on.
fn expected(history: &[Commit], after: u64, sees: fn(&Value) -> bool) -> Vec<Value> {
    let mut events = Vec::new();
    let mut before: BTreeMap<(String, String), Arc<Value>> = BTreeMap::new();
    for commit in history {
        let key = key(&commit.object);
        let previous = before.get(&key).cloned();
        let was_seen = previous.as_ref().is_some_and(|previous| sees(previous));
        let is_seen = commit.change != Change::Deleted && sees(&commit.object);
        let (kind, mut object) = match (was_seen, is_seen) {
            (false, true) => ("ADDED", Value::clone(&commit.object)),
            (true, true) => ("MODIFIED", Value::clone(&commit.object)),
            (true, false) => ("DELETED", Value::clone(previous.as_deref().expect("it was seen"))),
            (false, false) => ("", Value::Null),
        };
        if commit.change == Change::Deleted {
            before.remove(&key);
        } else {
            before.insert(key, commit.object.clone());
        }
        if !kind.is_empty() && commit.revision > after {
            object["metadata"]["resourceVersion"] = commit.revision.to_string().into();
            events.push(json!({"type": kind, "object": object}));
        }
    }
    events
}

#[tokio::test(start_paused = true)]
async fn a_watch_from_any_version_tells_exactly_the_history() {
    for seed in 0..4 {
        let server = server(10_000);
        let (mut client, mut test_rng) = (Raw::new(&server), Dice(seed));
        let (mut commits, mut history) = (server.commits(), Vec::new());
        let (_, list) = client.get("/api/v1/configmaps").await;
        let first = list["metadata"]["resourceVersion"]
            .as_str()
            .expect("a version")
            .to_owned();
        for _ in 0..60 {
            write(&mut client, &mut test_rng).await;
        }
        take_commits(&mut commits, &mut history);
        let versions = history.iter().map(|commit| commit.revision);
        for after in std::iter::once(first.parse().expect("a number")).chain(versions) {
            for (path, query, sees) in SCOPES {
                let path = format!("{path}?watch=1&timeoutSeconds=1&resourceVersion={after}{query}");
                assert_eq!(
                    lines(&mut client, &path).await,
                    expected(&history, after, sees),
                    "seed {seed}: {path}"
                );
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn pages_show_one_moment_whatever_happens_between_them() {
    for seed in 0..40 {
        let server = server(10_000);
        let (mut client, mut test_rng) = (Raw::new(&server), Dice(seed));
        let (mut commits, mut history) = (server.commits(), Vec::new());
        for _ in 0..30 {
            write(&mut client, &mut test_rng).await;
        }
        for (path, query, sees) in SCOPES {
            let (mut items, mut next) = (Vec::new(), String::new());
            let revision = loop {
                let limit = 1 + test_rng.roll(3);
                let (status, list) = client
                    .get(&format!("{path}?limit={limit}&continue={next}{query}"))
                    .await;
                assert_eq!(status, 200, "{list}");
                let page = list["items"].as_array().expect("items");
                items.extend(page.iter().cloned());
                let version = list["metadata"]["resourceVersion"].as_str().expect("a version");
                take_commits(&mut commits, &mut history);
                let revision = version.parse().expect("a number");
                let wanted = state(&history, revision)
                    .into_values()
                    .filter(|object| sees(object))
                    .count();
                if let Some(left) = list["metadata"]["remainingItemCount"].as_u64() {
                    assert_eq!(u64::try_from(wanted - items.len()), Ok(left), "seed {seed}: {path}");
                }
                match list["metadata"]["continue"].as_str() {
                    Some(token) => token.clone_into(&mut next),
                    None => break revision,
                }
                for _ in 0..test_rng.roll(4) {
                    write(&mut client, &mut test_rng).await;
                }
            };
            let state = state(&history, revision);
            let shown: Vec<_> = items.iter().map(|item| (key(item), item["data"].clone())).collect();
            let wanted = state.into_iter().filter(|(_, object)| sees(object));
            let wanted: Vec<_> = wanted.map(|(key, object)| (key, object["data"].clone())).collect();
            assert_eq!(shown, wanted, "seed {seed}: {path}{query}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_list_and_what_follows_is_the_state() {
    for (seed, history) in (0..40).zip([10_000, 20].into_iter().cycle()) {
        let server = server(history);
        let (mut client, mut test_rng) = (Raw::new(&server), Dice(seed));
        for (path, query, _) in SCOPES {
            let (_, list) = client.get(&format!("{path}?x=1{query}")).await;
            let version = list["metadata"]["resourceVersion"].as_str().expect("a version");
            let items = list["items"].as_array().expect("items");
            let mut known: BTreeMap<_, _> = items.iter().map(|item| (key(item), item["data"].clone())).collect();
            for _ in 0..test_rng.roll(60) {
                write(&mut client, &mut test_rng).await;
            }
            let path_of_watch = format!("{path}?watch=1&timeoutSeconds=1&resourceVersion={version}{query}");
            let events = lines(&mut client, &path_of_watch).await;
            if events.first().is_some_and(|event| event["type"] == "ERROR") {
                // Only a history that is too short may have dropped events.
                assert_eq!((history, &events[0]["object"]["code"]), (20, &json!(410)));
                continue;
            }
            for event in events {
                let object = &event["object"];
                if event["type"] == "DELETED" {
                    known.remove(&key(object));
                } else {
                    known.insert(key(object), object["data"].clone());
                }
            }
            let (_, list) = client.get(&format!("{path}?x=1{query}")).await;
            let items = list["items"].as_array().expect("items");
            let shown: BTreeMap<_, _> = items.iter().map(|item| (key(item), item["data"].clone())).collect();
            assert_eq!(known, shown, "seed {seed}: {path_of_watch}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn old_objects_of_large_collections_are_as_they_were() {
    const COUNT: usize = 1_500;
    let server = server(10);
    let mut client = Raw::new(&server);
    for n in 0..COUNT {
        let object = json!({"metadata": {"name": format!("m{n:04}"), "labels": {"l": LABELS[n % 3]}}, "data": {"n": n.to_string()}});
        let (status, _) = client.send("POST", &maps("default"), JSON, &object).await;
        assert_eq!(status, 201);
    }
    let (_, list) = client
        .get("/api/v1/configmaps?labelSelector=l%3Dx,l!%3Dy&limit=10")
        .await;
    assert_eq!(list["items"][9]["metadata"]["name"], "m0027");
    let (_, list) = client
        .get("/api/v1/configmaps?fieldSelector=metadata.name%3Dm1200")
        .await;
    assert_eq!(list["items"][0]["data"]["n"], "1200");
    let path = format!("{}/m1200", maps("default"));
    let (_, patched) = client
        .send("PATCH", &path, MERGE, &json!({"data": {"more": "1"}}))
        .await;
    assert_eq!(patched["data"], json!({"n": "1200", "more": "1"}));
    assert_eq!(patched["metadata"]["labels"]["l"], "x");
    let (status, _) = client.send("DELETE", &path, JSON, &Value::Null).await;
    assert_eq!(status, 200);
    let (_, list) = client.get("/api/v1/configmaps?limit=1").await;
    assert_eq!(list["metadata"]["remainingItemCount"], COUNT - 2);
}

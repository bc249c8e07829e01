//! Custom resources whose versions a webhook converts. The expected answers come from a kube-apiserver v1.36.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use baton_apiserver::test_webhook::{ConversionRefused, Webhook};
use baton_apiserver::{ApiServer, Options};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::raw::{JSON, MERGE, Raw};

const FOOS: &str = "/namespaces/default/foos";
const APPLY: &str = "application/apply-patch+yaml";

/// `v1` has `hostPort`, `v2` has `host` and `port`. Objects that are named `stubborn` cannot be converted.
fn convert(mut object: Value, to: &str) -> Result<Value, ConversionRefused> {
    if object["metadata"]["name"] == "stubborn" {
        return Err(ConversionRefused("no way".to_owned()));
    }
    let spec = object["spec"].as_object_mut().expect("a spec");
    let mut take = |key: &str| spec.remove(key).and_then(|value| value.as_str().map(str::to_owned));
    if to.ends_with("v1") {
        let (host, port) = (take("host").unwrap_or_default(), take("port").unwrap_or_default());
        take("note");
        spec.insert("hostPort".to_owned(), format!("{host}:{port}").into());
    } else if let Some(both) = take("hostPort") {
        let (host, port) = both.split_once(':').expect("host and port");
        spec.insert("host".to_owned(), host.into());
        spec.insert("port".to_owned(), port.into());
    }
    object["apiVersion"] = to.into();
    Ok(object)
}

fn version(name: &str, storage: bool, fields: &Value, selectable: &str) -> Value {
    let status = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let spec = json!({"type": "object", "properties": fields});
    let schema = json!({"type": "object", "properties": {"spec": spec, "status": status}});
    json!({
        "name": name, "served": true, "storage": storage, "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": schema}, "selectableFields": [{"jsonPath": selectable}],
    })
}

fn definition(client_config: &Value) -> Value {
    let text = json!({"type": "string"});
    let note = json!({"type": "string", "default": "none"});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "foos.conv.io"},
        "spec": {
            "group": "conv.io", "scope": "Namespaced", "names": {"plural": "foos", "kind": "Foo"},
            "versions": [
                version("v1", false, &json!({"hostPort": text}), ".spec.hostPort"),
                version("v2", true, &json!({"host": text, "port": text, "note": note}), ".spec.host"),
            ],
            "conversion": {"strategy": "Webhook", "webhook": {
                "conversionReviewVersions": ["v1"], "clientConfig": client_config,
            }},
        },
    })
}

fn foo(version: &str, name: &str, spec: &Value) -> Value {
    json!({"apiVersion": format!("conv.io/{version}"), "kind": "Foo", "metadata": {"name": name}, "spec": spec})
}

/// A cluster with the definition and its webhook, and the number of times that the webhook has been called for an
/// object.
struct Fixture {
    client: Raw,
    calls: Arc<AtomicUsize>,
    webhook: Webhook,
}

impl Fixture {
    async fn new() -> Self {
        let calls = Arc::new(AtomicUsize::new(0));
        let counted = calls.clone();
        let converting = Webhook::converting(
            IpAddr::V4(Ipv4Addr::LOCALHOST),
            Arc::new(move |object, to| {
                counted.fetch_add(1, Ordering::Relaxed);
                convert(object, to)
            }),
        );
        let webhook = converting.await.expect("a webhook");
        let server = ApiServer::new(Options::new("test", Arc::new(|| Timestamp::UNIX_EPOCH)));
        let mut client = Raw::new(&server);
        let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
        let (code, _) = client
            .send("POST", definitions, JSON, &definition(&webhook.client_config()))
            .await;
        assert_eq!(code, 201);
        Self { client, calls, webhook }
    }

    async fn send(&mut self, method: &str, version: &str, rest: &str, media: &str, body: &Value) -> (u16, Value) {
        let path = format!("/apis/conv.io/{version}{FOOS}{rest}");
        self.client.send(method, &path, media, body).await
    }

    async fn get(&mut self, version: &str, rest: &str) -> (u16, Value) {
        self.send("GET", version, rest, JSON, &Value::Null).await
    }

    async fn create(&mut self, version: &str, name: &str, spec: Value) -> Value {
        let (code, created) = self.send("POST", version, "", JSON, &foo(version, name, &spec)).await;
        assert_eq!(code, 201, "{created}");
        created
    }
}

#[tokio::test]
async fn every_version_shows_every_object() {
    let mut fixture = Fixture::new().await;
    let created = fixture.create("v1", "b", json!({"hostPort": "x:2"})).await;
    assert_eq!(created["spec"], json!({"hostPort": "x:2"}));
    fixture.create("v2", "a", json!({"host": "h", "port": "1"})).await;
    for (version, first, second) in [
        ("v1", json!({"hostPort": "h:1"}), json!({"hostPort": "x:2"})),
        (
            "v2",
            json!({"host": "h", "port": "1", "note": "none"}),
            json!({"host": "x", "port": "2", "note": "none"}),
        ),
    ] {
        let (_, alone) = fixture.get(version, "/a").await;
        assert_eq!(
            (&alone["apiVersion"], &alone["spec"]),
            (&json!(format!("conv.io/{version}")), &first)
        );
        let (_, list) = fixture.get(version, "").await;
        assert_eq!(
            (&list["items"][0]["spec"], &list["items"][1]["spec"]),
            (&first, &second)
        );
    }
}

#[tokio::test]
async fn writes_go_through_all_versions() {
    let mut fixture = Fixture::new().await;
    fixture.create("v2", "a", json!({"host": "h", "port": "1"})).await;
    let changes = [
        (
            "/a",
            MERGE,
            json!({"spec": {"hostPort": "n:5"}}),
            json!({"hostPort": "n:5"}),
        ),
        (
            "/a?dryRun=All",
            MERGE,
            json!({"spec": {"hostPort": "n:6"}}),
            json!({"hostPort": "n:6"}),
        ),
        (
            "/a/status",
            MERGE,
            json!({"status": {"x": 1}}),
            json!({"hostPort": "n:5"}),
        ),
        (
            "/a?fieldManager=m&force=true",
            APPLY,
            foo("v1", "a", &json!({"hostPort": "z:7"})),
            json!({"hostPort": "z:7"}),
        ),
    ];
    for (rest, media, patch, spec) in changes {
        let (code, patched) = fixture.send("PATCH", "v1", rest, media, &patch).await;
        assert_eq!((code, &patched["spec"]), (200, &spec), "{rest}: {patched}");
    }
    let (_, stored) = fixture.get("v2", "/a").await;
    assert_eq!(stored["spec"], json!({"host": "z", "port": "7", "note": "none"}));
    assert_eq!(stored["metadata"]["generation"], 3);
    let (_, nothing) = fixture
        .send("PATCH", "v1", "/a", MERGE, &json!({"spec": {"hostPort": "z:7"}}))
        .await;
    assert_eq!(
        nothing["metadata"]["resourceVersion"],
        stored["metadata"]["resourceVersion"]
    );

    let conflicting = foo("v2", "a", &json!({"port": "8"}));
    let (code, refused) = fixture
        .send("PATCH", "v2", "/a?fieldManager=n", APPLY, &conflicting)
        .await;
    assert_eq!(
        (code, &refused["message"]),
        (
            409,
            &json!("Apply failed with 1 conflict: conflict with \"m\": .spec.hostPort")
        )
    );
    let hold = json!({"metadata": {"finalizers": ["a/b"]}});
    fixture.send("PATCH", "v2", "/a", MERGE, &hold).await;
    let (code, deleted) = fixture.send("DELETE", "v1", "/a", JSON, &Value::Null).await;
    assert_eq!((code, &deleted["spec"]), (200, &json!({"hostPort": "z:7"})));
    assert_eq!(deleted["metadata"]["deletionTimestamp"], "1970-01-01T00:00:00Z");
}

#[tokio::test]
async fn selectors_and_watches_see_the_version_of_the_request() {
    let mut fixture = Fixture::new().await;
    for (name, host, port) in [("a", "x", "1"), ("b", "y", "2"), ("c", "x", "2")] {
        fixture.create("v2", name, json!({"host": host, "port": port})).await;
    }
    for (version, selector, names) in [
        ("v1", "spec.hostPort%3Dx:1", &["a"][..]),
        ("v1", "spec.hostPort%21%3Dx:1", &["b", "c"]),
        ("v2", "spec.host%3Dx", &["a", "c"]),
    ] {
        let (_, list) = fixture.get(version, &format!("?fieldSelector={selector}")).await;
        let items = list["items"].as_array().expect("items");
        let found: Vec<&str> = items
            .iter()
            .filter_map(|item| item["metadata"]["name"].as_str())
            .collect();
        assert_eq!(found, names, "{selector}");
    }
    let (_, list) = fixture.get("v1", "").await;
    let revision = list["metadata"]["resourceVersion"]
        .as_str()
        .expect("a revision")
        .to_owned();
    for (name, spec) in [("a", json!({"port": "9"})), ("b", json!({"host": "x", "port": "1"}))] {
        fixture
            .send("PATCH", "v2", &format!("/{name}"), MERGE, &json!({"spec": spec}))
            .await;
    }
    fixture.send("DELETE", "v2", "/b", JSON, &Value::Null).await;
    let path = format!("/apis/conv.io/v1{FOOS}?watch=1&timeoutSeconds=1");
    for (more, expected) in [
        (
            format!("&resourceVersion={revision}&fieldSelector=spec.hostPort%3Dx:1"),
            &["DELETED a x:1", "ADDED b x:1", "DELETED b x:1"][..],
        ),
        (
            format!("&resourceVersion={revision}"),
            &["MODIFIED a x:9", "MODIFIED b x:1", "DELETED b x:1"],
        ),
        (String::new(), &["ADDED a x:9", "ADDED c x:2"]),
    ] {
        let (_, lines) = fixture
            .client
            .bytes("GET", &format!("{path}{more}"), JSON, Vec::new())
            .await;
        let events = serde_json::Deserializer::from_slice(&lines).into_iter::<Value>();
        let seen = events.map(|event| {
            let event = event.expect("an event");
            let text = |pointer: &str| {
                event
                    .pointer(pointer)
                    .and_then(Value::as_str)
                    .unwrap_or_default()
                    .to_owned()
            };
            [
                text("/type"),
                text("/object/metadata/name"),
                text("/object/spec/hostPort"),
            ]
            .join(" ")
        });
        assert_eq!(seen.collect::<Vec<_>>(), expected, "{more}");
    }
}

#[tokio::test]
async fn what_cannot_be_converted_is_told_and_stays() {
    let mut fixture = Fixture::new().await;
    fixture
        .create("v2", "stubborn", json!({"host": "h", "port": "1"}))
        .await;
    let from = |version: &str| {
        json!(format!(
            "conversion webhook for conv.io/{version}, Kind=Foo failed: no way"
        ))
    };
    for (method, rest, body, reason) in [
        ("GET", "/stubborn", Value::Null, from("v2")),
        ("GET", "", Value::Null, from("v2")),
        ("PATCH", "/stubborn", json!({"spec": {"hostPort": "a:1"}}), from("v2")),
        ("DELETE", "/stubborn", Value::Null, from("v2")),
        ("DELETE", "", Value::Null, from("v2")),
    ] {
        let media = if method == "PATCH" { MERGE } else { JSON };
        let (code, refused) = fixture.send(method, "v1", rest, media, &body).await;
        assert_eq!((code, &refused["message"]), (500, &reason), "{method} {rest}");
    }
    let (code, _) = fixture.send("DELETE", "v2", "/stubborn", JSON, &Value::Null).await;
    assert_eq!(code, 200);
    let new = foo("v1", "stubborn", &json!({"hostPort": "a:1"}));
    let (code, refused) = fixture.send("POST", "v1", "", JSON, &new).await;
    assert_eq!((code, &refused["message"]), (500, &from("v1")));
    let (_, list) = fixture.get("v2", "").await;
    assert_eq!(list["items"], json!([]));
}

#[tokio::test]
async fn a_watch_that_cannot_convert_ends_with_the_reason() {
    let mut fixture = Fixture::new().await;
    let created = fixture
        .create("v2", "stubborn", json!({"host": "h", "port": "1"}))
        .await;
    let before: u64 = created["metadata"]["resourceVersion"]
        .as_str()
        .and_then(|text| text.parse().ok())
        .expect("a revision");
    for from in [String::new(), format!("&resourceVersion={}", before - 1)] {
        let (_, event) = fixture.get("v1", &format!("?watch=1&timeoutSeconds=60{from}")).await;
        assert_eq!(
            (&event["type"], &event["object"]["code"]),
            (&json!("ERROR"), &json!(500))
        );
    }
}

#[tokio::test]
async fn the_webhook_is_asked_for_other_versions_only_and_once_for_a_whole_list() {
    let mut fixture = Fixture::new().await;
    for name in ["a", "b", "c"] {
        fixture.create("v2", name, json!({"host": "h", "port": "1"})).await;
    }
    fixture.get("v2", "").await;
    assert_eq!(fixture.calls.load(Ordering::Relaxed), 0);
    fixture.get("v1", "").await;
    assert_eq!(fixture.calls.load(Ordering::Relaxed), 3);

    fixture.webhook.stop().await;
    let path = format!("/apis/conv.io/v1{FOOS}/a");
    let (code, refused) = fixture.client.get(&path).await;
    let reason = refused["message"].as_str().expect("a reason");
    assert_eq!(code, 500);
    assert!(
        reason.starts_with("conversion webhook for conv.io/v2, Kind=Foo failed: Post \"https://127.0.0.1:")
            && reason.ends_with(": connect: connection refused"),
        "{reason}"
    );
    let (code, _) = fixture.client.get(&format!("/apis/conv.io/v2{FOOS}/a")).await;
    assert_eq!(code, 200);
}

//! A proxy in front of a server that does not know of the proxy.

use std::io;
use std::net::Ipv4Addr;
use std::sync::Arc;

use baton_apiserver::fault_proxy::{Answered, FaultProxy, Kinds, Upstream};
use baton_apiserver::{ApiServer, Cut, Failure, Matching, Options};
use futures::StreamExt as _;
use futures::TryStreamExt as _;
use http_body_util::BodyExt as _;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, Patch, PatchParams, PostParams, WatchEvent, WatchParams};
use kube::client::Body;
use kube::{Client, ResourceExt as _};
use serde_json::json;
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::kubeconfig::client;

/// A server, and a proxy in front of it.
struct Both {
    server: ApiServer,
    proxy: FaultProxy,
}

impl Both {
    async fn new() -> Self {
        let server = ApiServer::new(Options::new("behind", Arc::new(|| Timestamp::UNIX_EPOCH)));
        let client = Client::new(server.service("unknown-client"), "default");
        let upstream: Upstream = Arc::new(move |request| {
            let client = client.clone();
            Box::pin(async move {
                let answer = client.send(request.map(Body::from)).await.map_err(io::Error::other)?;
                let stream = |body: Body| -> Answered { Box::pin(body.into_data_stream().map_err(io::Error::other)) };
                Ok(answer.map(stream))
            })
        });
        let kinds = Kinds::from([((String::new(), "configmaps".to_owned()), "ConfigMap".to_owned())]);
        let proxy = FaultProxy::open("proxy", Ipv4Addr::LOCALHOST.into(), upstream, kinds, Vec::new())
            .await
            .expect("a port");
        Self { server, proxy }
    }

    async fn client(&self) -> Client {
        client(&self.proxy.serving().kubeconfig()).await
    }

    async fn maps(&self) -> Api<ConfigMap> {
        Api::default_namespaced(self.client().await)
    }

    /// Returns a client that bypasses the proxy.
    fn maps_behind(&self) -> Api<ConfigMap> {
        Api::default_namespaced(Client::new(self.server.service("behind"), "default"))
    }
}

fn map(name: &str) -> ConfigMap {
    serde_json::from_value(json!({"metadata": {"name": name}})).expect("a ConfigMap")
}

fn add() -> PostParams {
    PostParams::default()
}

#[tokio::test]
async fn requests_pass_and_are_counted() {
    let both = Both::new().await;
    let maps = both.maps().await;
    maps.create(&add(), &map("a")).await.expect("created");
    let merge = Patch::Merge(json!({"data": {"key": "value"}}));
    let patched = maps.patch("a", &PatchParams::default(), &merge).await.expect("patched");
    assert_eq!(patched.data.expect("data")["key"], "value");
    let missing = maps.get("b").await;
    assert!(matches!(missing, Err(kube::Error::Api(status)) if status.code == 404));
    let counts = both.proxy.faults().counts();
    let seen: Vec<_> = counts
        .iter()
        .map(|(it, count)| (it.verb.as_str(), it.kind.as_str(), *count))
        .collect();
    assert_eq!(
        seen,
        [
            ("create", "ConfigMap", 1),
            ("get", "ConfigMap", 1),
            ("patch", "ConfigMap", 1)
        ]
    );
    both.proxy.close().await;
    assert!(maps.get("a").await.is_err());
}

#[tokio::test]
async fn strangers_are_turned_away_before_the_server_hears_of_them() {
    let both = Both::new().await;
    let mut config: serde_json::Value = serde_yaml::from_str(&both.proxy.serving().kubeconfig()).expect("YAML");
    config["users"][0]["user"] = json!({"token": "wrong"});
    let stranger: Api<ConfigMap> = Api::default_namespaced(client(&config.to_string()).await);
    let answer = stranger.create(&add(), &map("a")).await;
    assert!(matches!(answer, Err(kube::Error::Api(status)) if status.code == 401));
    assert!(both.server.faults().counts().is_empty());
}

#[tokio::test]
async fn a_cut_holds_back_a_watch_and_a_request_until_it_is_healed() {
    let both = Both::new().await;
    let maps = both.maps().await;
    let mut watch = maps
        .watch(&WatchParams::default().disable_bookmarks(), "0")
        .await
        .expect("a watch")
        .boxed();
    both.maps_behind()
        .create(&add(), &map("before"))
        .await
        .expect("created");
    let Some(Ok(WatchEvent::Added(first))) = watch.next().await else {
        panic!("the watch has no event")
    };
    assert_eq!(first.name_any(), "before");

    both.proxy.faults().cut_off(Cut::Hang);
    both.maps_behind()
        .create(&add(), &map("during"))
        .await
        .expect("created");
    let asked = tokio::spawn({
        let maps = maps.clone();
        async move { maps.create(&add(), &map("asked")).await }
    });
    // These writes behind the proxy come after anything that the proxy would let pass.
    for number in 0..20 {
        let name = format!("later-{number}");
        both.maps_behind().create(&add(), &map(&name)).await.expect("created");
        tokio::task::yield_now().await;
    }
    assert!(!asked.is_finished());
    assert!(futures::FutureExt::now_or_never(watch.next()).is_none());
    assert!(both.maps_behind().get("asked").await.is_err());

    both.proxy.faults().heal();
    let Some(Ok(WatchEvent::Added(next))) = watch.next().await else {
        panic!("the watch does not go on")
    };
    assert_eq!(next.name_any(), "during");
    asked.await.expect("it ends").expect("created");
}

#[tokio::test]
async fn a_stop_breaks_watches_off_and_refuses_connections() {
    let both = Both::new().await;
    let maps = both.maps().await;
    let mut watch = maps
        .watch(&WatchParams::default().disable_bookmarks(), "0")
        .await
        .expect("a watch")
        .boxed();
    both.proxy.faults().stop();
    assert!(!matches!(watch.next().await, Some(Ok(_))));
    assert!(maps.get("a").await.is_err());
    both.proxy.faults().start();
    // The same port is opened again as soon as the task for it runs.
    let missing = loop {
        match maps.get("a").await {
            Err(kube::Error::Api(status)) => break status.code,
            Err(_) => tokio::task::yield_now().await,
            Ok(found) => panic!("{found:?}"),
        }
    };
    assert_eq!(missing, 404);
}

#[tokio::test]
async fn requests_fail_by_kind_and_verb() {
    let both = Both::new().await;
    let maps = both.maps().await;
    both.proxy.faults().fail(Failure {
        matching: Matching {
            verb: Some("create".to_owned()),
            kind: Some("ConfigMap".to_owned()),
            ..Matching::default()
        },
        nth: 1,
        times: 1,
        code: 409,
        message: "not now".to_owned(),
    });
    let refused = maps.create(&add(), &map("a")).await;
    assert!(matches!(refused, Err(kube::Error::Api(status)) if status.code == 409 && status.message == "not now"));
    maps.create(&add(), &map("a")).await.expect("only one fails");
}

#[tokio::test]
async fn creations_are_told_with_their_revision() {
    let both = Both::new().await;
    let (sender, mut reports) = mpsc::unbounded_channel();
    both.proxy.tell_of_creations(Arc::new(move |asked, revision| {
        // No receiver is left at the end.
        let _ = sender.send((asked, revision));
    }));
    let maps = both.maps().await;
    let before = Instant::now();
    let dry = PostParams {
        dry_run: true,
        ..PostParams::default()
    };
    maps.create(&dry, &map("not-really")).await.expect("accepted");
    let created = maps.create(&add(), &map("a")).await.expect("created");
    let apply = Patch::Apply(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b"}}));
    let params = PatchParams::apply("test");
    let applied = maps.patch("b", &params, &apply).await.expect("applied");
    maps.patch("b", &params, &apply)
        .await
        .expect("applied again, which changes nothing");
    let revision = |map: &ConfigMap| {
        map.resource_version()
            .expect("a revision")
            .parse::<u64>()
            .expect("a number")
    };
    for expected in [revision(&created), revision(&applied)] {
        let (asked, revision): (Instant, u64) = reports.recv().await.expect("a report");
        assert_eq!(revision, expected);
        assert!(asked >= before);
    }
    assert!(reports.try_recv().is_err(), "only new objects are reported");
}

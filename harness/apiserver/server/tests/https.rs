//! A `kube::Client` on the HTTPS endpoint, and what the endpoint refuses.

#![expect(clippy::expect_used, reason = "a test that cannot go on says why")]

use std::sync::Arc;

use baton_apiserver::{ApiServer, Options};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::api::{Api, ListParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde_json::json;

fn server() -> ApiServer {
    ApiServer::new(Options::new("test", Arc::new(|| Timestamp::UNIX_EPOCH)))
}

async fn client(kubeconfig: &str) -> Client {
    let kubeconfig = Kubeconfig::from_yaml(kubeconfig).expect("a kubeconfig");
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default())
        .await
        .expect("a configuration");
    Client::try_from(config).expect("a client")
}

fn config_map(name: &str) -> ConfigMap {
    serde_json::from_value(json!({"metadata": {"name": name}})).expect("a ConfigMap")
}

#[tokio::test]
async fn both_endpoints_lead_to_the_same_server() {
    let server = server();
    let serving = server.serve().await.expect("an endpoint");
    let outside = client(&serving.kubeconfig()).await;
    let inside = Client::new(server.service("inside"), "default");
    let created: Api<ConfigMap> = Api::default_namespaced(outside.clone());
    created
        .create(&PostParams::default(), &config_map("a"))
        .await
        .expect("created");
    let found: Api<ConfigMap> = Api::default_namespaced(inside);
    assert_eq!(found.list(&ListParams::default()).await.expect("a list").items.len(), 1);
    let version = outside.apiserver_version().await.expect("a version");
    assert_eq!(version.minor, "36");
    serving.stop().await;
    let refused = created.get("a").await;
    assert!(matches!(refused, Err(error) if !matches!(error, kube::Error::Api(_))));
}

#[tokio::test]
async fn strangers_are_turned_away() {
    let server = server();
    let serving = server.serve().await.expect("an endpoint");
    let known = serving.kubeconfig();
    let mut kubeconfig: serde_json::Value = serde_yaml::from_str(&known).expect("YAML");
    kubeconfig["users"][0]["user"] = json!({"token": "wrong"});
    let stranger = client(&kubeconfig.to_string()).await;
    let answer = Api::<Namespace>::all(stranger).list(&ListParams::default()).await;
    assert!(matches!(answer, Err(kube::Error::Api(status)) if status.code == 401));
}

#[tokio::test]
async fn a_client_certificate_is_enough() {
    let server = server();
    let serving = server.serve().await.expect("an endpoint");
    let mut kubeconfig: serde_json::Value = serde_yaml::from_str(&serving.kubeconfig()).expect("YAML");
    kubeconfig["users"][0]["user"]
        .as_object_mut()
        .expect("a user")
        .remove("token");
    let holder = client(&kubeconfig.to_string()).await;
    assert_eq!(
        Api::<Namespace>::all(holder)
            .list(&ListParams::default())
            .await
            .expect("a list")
            .items
            .len(),
        4
    );
}

//! A `kube::Client` on the HTTPS endpoint, and the endpoint's refusals.

use std::sync::Arc;

use baton_apiserver::{ApiServer, Change, Options};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Service};
use k8s_openapi::api::rbac::v1::ClusterRole;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::Client;
use kube::api::{Api, ListParams, PostParams};
use serde_json::json;
use tokio::{io::AsyncReadExt as _, net::TcpStream};

use crate::kubeconfig::{client, config};

fn server() -> ApiServer {
    ApiServer::new(Options::new("test", Arc::new(|| Timestamp::UNIX_EPOCH)))
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
async fn what_listens_has_its_service_and_the_role_of_administrators() {
    let server = server();
    let serving = server.serve().await.expect("an endpoint");
    let again = server.serve().await.expect("another endpoint");
    let client = client(&again.kubeconfig()).await;
    let services: Api<Service> = Api::namespaced(client.clone(), "default");
    let spec = services
        .get("kubernetes")
        .await
        .expect("the service")
        .spec
        .expect("a spec");
    assert_eq!(spec.cluster_ip.as_deref(), Some("10.96.0.1"));
    let leads_to = spec.ports.and_then(|ports| ports.into_iter().next()?.target_port);
    assert_eq!(leads_to, Some(IntOrString::Int(serving.addr().port().into())));
    let roles: Api<ClusterRole> = Api::all(client);
    let allowed = roles
        .get("cluster-admin")
        .await
        .expect("the role")
        .rules
        .expect("rules");
    assert!(allowed.iter().all(|rule| rule.verbs == ["*"]));
}

#[tokio::test]
async fn who_connects_and_says_nothing_is_let_go() {
    let server = server();
    let serving = server.serve().await.expect("an endpoint");
    let mut silent = TcpStream::connect(serving.addr()).await.expect("a connection");
    // From here on time passes when nothing else happens.
    tokio::time::pause();
    let mut said = Vec::new();
    let ended = silent.read_to_end(&mut said).await;
    assert!(ended.is_err() || said.is_empty(), "{said:?}");
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

#[tokio::test]
async fn a_client_cannot_take_a_name_that_is_reserved() {
    let mut options = Options::new("test", Arc::new(|| Timestamp::UNIX_EPOCH));
    options.reserved_agents = vec!["in-process".to_owned()];
    let server = ApiServer::new(options);
    let serving = server.serve().await.expect("an endpoint");
    let mut commits = server.commits();
    for agent in ["in-process", "honest/1.0"] {
        let mut config = config(&serving.kubeconfig()).await;
        config
            .headers
            .push((http::header::USER_AGENT, agent.parse().expect("a header")));
        let maps: Api<ConfigMap> = Api::default_namespaced(Client::try_from(config).expect("a client"));
        let name = agent.split('/').next().expect("a name");
        maps.create(&PostParams::default(), &config_map(name))
            .await
            .expect("created");
    }
    let inside: Api<ConfigMap> = Api::default_namespaced(Client::new(server.service("in-process"), "default"));
    inside
        .create(&PostParams::default(), &config_map("inside"))
        .await
        .expect("created");
    let mut by = Vec::new();
    while let Some(commit) = commits.try_recv() {
        if commit.kind == "ConfigMap" && commit.change == Change::Added {
            by.push(commit.by.to_string());
        }
    }
    assert_eq!(by, ["client that calls itself in-process", "honest/1.0", "in-process"]);
}

#[tokio::test]
async fn the_token_does_not_follow_from_name_and_seed() {
    let mut tokens = Vec::new();
    for _ in 0..2 {
        tokens.push(server().serve().await.expect("an endpoint").token().to_owned());
    }
    assert_ne!(tokens[0], tokens[1]);
}

//! Versions of groups that another API server serves: asked through this one, listed in its discovery, and looked after.

#![expect(clippy::expect_used, reason = "a test that cannot go on says why")]

mod aggregated;
mod raw;

use std::sync::Arc;
use std::time::Duration;

use aggregated::{Aggregated, GROUP, PATH};
use baton_apiserver::{ApiServer, Cut, Options, Serving};
use bytes::Bytes;
use http::{Request, header};
use http_body_util::{BodyExt as _, Full};
use k8s_openapi::kube_aggregator::pkg::apis::apiregistration::v1::APIService;
use kube::api::Api;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::runtime::wait::await_condition;
use kube::{Client, Config};
use raw::{JSON, Raw};
use rstest::rstest;
use serde_json::{Value, json};
use tokio::time::timeout;
use tower::Service as _;

const API_SERVICES: &str = "/apis/apiregistration.k8s.io/v1/apiservices";
const SERVICES: &str = "/api/v1/namespaces/default/services";
const FLUNDERS: &str = "/apis/wardle.example.com/v1alpha1/namespaces/default/flunders";
const TRUST: &str = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication";

/// What does not come by then does not come.
const TIMEOUT: Duration = Duration::from_secs(60);

/// What is said of a server that did not answer when it was last looked at.
const UNAVAILABLE: &str = "service unavailable";

/// A cluster, and an aggregated API server beside it.
struct Fixture {
    server: ApiServer,
    serving: Serving,
    client: Raw,
    aggregated: Aggregated,
}

impl Fixture {
    async fn new(certified_for: &str) -> Self {
        let server = ApiServer::new(Options::new("test", Arc::new(jiff::Timestamp::now)));
        let serving = server.serve().await.expect("an endpoint");
        let mut client = Raw::new(&server);
        let (_, trust) = client.get(TRUST).await;
        let front_proxy_ca = trust["data"]["requestheader-client-ca-file"].as_str().expect("a CA");
        let aggregated = Aggregated::serve(certified_for, front_proxy_ca).await;
        let service =
            json!({"metadata": {"name": "api"}, "spec": {"type": "ExternalName", "externalName": "localhost"}});
        create(&mut client, SERVICES, &service).await;
        Self {
            server,
            serving,
            client,
            aggregated,
        }
    }

    /// One whose server answers.
    async fn ready() -> Self {
        let mut fixture = Self::new("api.default.svc").await;
        let api_service = fixture.aggregated.api_service("api");
        create(&mut fixture.client, API_SERVICES, &api_service).await;
        fixture.found("Passed").await;
        fixture
    }

    /// Status and message of the condition `Available`, as soon as it has this reason.
    async fn found(&self, reason: &str) -> (String, String) {
        self.found_with(reason, "").await
    }

    /// The same, as soon as its message ends like this, too.
    async fn found_with(&self, reason: &str, ending: &str) -> (String, String) {
        let api_services: Api<APIService> = Api::all(Client::new(self.server.service("test"), "default"));
        let condition = |found: Option<&APIService>| {
            let conditions = found?.status.as_ref()?.conditions.clone()?;
            conditions.into_iter().find(|it| it.type_ == "Available")
        };
        let is_there = |found: Option<&APIService>| {
            condition(found).is_some_and(|found| {
                found.reason.as_deref() == Some(reason) && found.message.is_some_and(|it| it.ends_with(ending))
            })
        };
        let name = format!("v1alpha1.{GROUP}");
        let found = await_condition(api_services, &name, is_there);
        let found = timeout(TIMEOUT, found).await.expect("in time").expect("a watch");
        let found = condition(found.as_ref()).expect("a condition");
        (found.status, found.message.expect("a message"))
    }

    /// Status and text of an answer.
    async fn text(&mut self, path: &str) -> (u16, String) {
        let (code, body) = self.client.bytes("GET", path, JSON, Vec::new()).await;
        (code, String::from_utf8(body.to_vec()).expect("text"))
    }

    async fn aggregated_discovery(&mut self) -> Value {
        let accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
        let request = Request::get("/apis")
            .header(header::ACCEPT, accept)
            .body(Full::new(Bytes::new()));
        let answer = self
            .server
            .service("test")
            .call(request.expect("a request"))
            .await
            .expect("an answer");
        let body = answer.into_body().collect().await.expect("a body").to_bytes();
        let list: Value = serde_json::from_slice(&body).expect("JSON");
        let groups = list["items"].as_array().expect("groups");
        let found = groups.iter().find(|group| group["metadata"]["name"] == GROUP);
        found.expect("the group").clone()
    }
}

async fn create(client: &mut Raw, path: &str, object: &Value) -> Value {
    let (code, created) = client.send("POST", path, JSON, object).await;
    assert_eq!(code, 201, "{created}");
    created
}

#[tokio::test]
async fn requests_are_passed_on_and_say_who_asks() {
    let mut fixture = Fixture::ready().await;
    let flunder = json!({"kind": "Flunder", "metadata": {"name": "a"}});
    assert_eq!(create(&mut fixture.client, FLUNDERS, &flunder).await, flunder);
    assert_eq!(
        fixture.client.get(&format!("{FLUNDERS}/b")).await.1["message"],
        "flunder not found"
    );

    let accounts = "/api/v1/namespaces/default/serviceaccounts";
    let account = create(&mut fixture.client, accounts, &json!({"metadata": {"name": "robot"}})).await;
    let token = create(&mut fixture.client, &format!("{accounts}/robot/token"), &json!({})).await;
    let mut kubeconfig: Value = serde_yaml::from_str(&fixture.serving.kubeconfig()).expect("YAML");
    kubeconfig["users"][0]["user"] = json!({"token": token["status"]["token"]});
    let kubeconfig = Kubeconfig::from_yaml(&kubeconfig.to_string()).expect("a kubeconfig");
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
    let client = Client::try_from(config.expect("a configuration")).expect("a client");
    let request = Request::get(FLUNDERS)
        .header("X-Remote-User", "forged")
        .header("X-Remote-Extra-A", "forged");
    let list: Value = client
        .request(request.body(Vec::new()).expect("a request"))
        .await
        .expect("a list");
    assert_eq!(list["kind"], "FlunderList");

    let headers = fixture.aggregated.asked("GET", FLUNDERS);
    let all = |name: &str| -> Vec<&str> {
        let values = headers.get_all(name).iter();
        values.map(|value| value.to_str().expect("text")).collect()
    };
    assert_eq!(all("X-Remote-User"), ["system:serviceaccount:default:robot"]);
    assert_eq!(
        all("X-Remote-Uid"),
        [account["metadata"]["uid"].as_str().expect("a uid")]
    );
    let groups = [
        "system:serviceaccounts",
        "system:serviceaccounts:default",
        "system:authenticated",
    ];
    assert_eq!(all("X-Remote-Group"), groups);
    assert_eq!(
        all("X-Remote-Extra-authentication.kubernetes.io%2Fcredential-id").len(),
        1
    );
    assert!(all("X-Remote-Extra-A").is_empty() && all("Authorization").is_empty());
}

#[tokio::test]
async fn a_watch_is_told_of_events_as_they_come() {
    let mut fixture = Fixture::ready().await;
    let events = fixture.aggregated.next_watch();
    let answer = fixture
        .client
        .open("GET", &format!("{FLUNDERS}?watch=true"), JSON, Vec::new())
        .await;
    let mut body = answer.into_body();
    for line in ["{\"type\":\"ADDED\"}\n", "{\"type\":\"DELETED\"}\n"] {
        events
            .unbounded_send(Bytes::from_static(line.as_bytes()))
            .expect("a watch");
        let frame = body.frame().await.expect("a line").expect("no error");
        assert_eq!(frame.into_data().expect("data"), line);
    }
    fixture.server.faults().cut_off(Cut::Refuse);
    assert!(body.frame().await.expect("an end").is_err());
}

#[tokio::test]
async fn discovery_lists_what_the_server_serves() {
    let mut fixture = Fixture::ready().await;
    let version = json!({"groupVersion": format!("{GROUP}/v1alpha1"), "version": "v1alpha1"});
    let (_, groups) = fixture.client.get("/apis").await;
    let groups = groups["groups"].as_array().expect("groups");
    let listed = groups.last().expect("groups");
    let group = json!({"name": GROUP, "versions": [version], "preferredVersion": version});
    assert_eq!(listed, &group);
    assert_eq!(
        fixture.client.get(&format!("/apis/{GROUP}")).await.1["preferredVersion"],
        version
    );
    assert_eq!(fixture.client.get(PATH).await.1["kind"], "APIResourceList");
    let kind = json!({"group": GROUP, "version": "v1alpha1", "kind": "Flunder"});
    let expected = json!([{"version": "v1alpha1", "freshness": "Current", "resources": [{
        "resource": "flunders", "singularResource": "flunder", "scope": "Namespaced", "responseKind": kind,
        "verbs": ["create", "get", "list", "watch"],
        "subresources": [{"subresource": "status", "responseKind": kind, "verbs": ["get"]}],
    }]}]);
    assert_eq!(fixture.aggregated_discovery().await["versions"], expected);
    let (_, index) = fixture.client.get("/openapi/v3").await;
    assert!(index["paths"][format!("apis/{GROUP}/v1alpha1")]["serverRelativeURL"].is_string());

    let path = format!("{API_SERVICES}/v1alpha1.{GROUP}");
    fixture.client.send("DELETE", &path, JSON, &Value::Null).await;
    assert_eq!(fixture.text(&format!("/apis/{GROUP}")).await.0, 404);
    assert_eq!(fixture.text(PATH).await.0, 404);
}

#[tokio::test]
async fn requests_are_counted_and_fail_as_any_others() {
    let mut fixture = Fixture::ready().await;
    fixture.client.get(FLUNDERS).await;
    let counts = fixture.server.faults().counts();
    let counted = counts
        .keys()
        .find(|counted| counted.kind == "Flunder")
        .expect("a count");
    assert_eq!((counted.verb.as_str(), counted.group.as_str()), ("list", GROUP));
    fixture.server.faults().fail(baton_apiserver::Failure {
        matching: baton_apiserver::Matching {
            kind: Some("Flunder".to_owned()),
            ..Default::default()
        },
        nth: 1,
        times: 1,
        code: 409,
        message: "injected".to_owned(),
    });
    assert_eq!(fixture.client.get(FLUNDERS).await.1["message"], "injected");
    assert_eq!(fixture.client.get(FLUNDERS).await.0, 200);
}

#[tokio::test]
async fn a_server_that_is_gone_is_told_of() {
    let mut fixture = Fixture::ready().await;
    let port = fixture.aggregated.addr.port();
    fixture.aggregated.stop().await;
    let refused = format!("dial tcp 127.0.0.1:{port}: connect: connection refused");
    // Until it is looked at again the request is tried; on a slow machine that may be so already.
    let (code, reason) = fixture.text(PATH).await;
    assert_eq!(code, 503);
    assert!([refused.as_str(), UNAVAILABLE].contains(&reason.trim_end()), "{reason}");
    // A change of the service has it looked at.
    let labelled = json!({"metadata": {"labels": {"a": "b"}}});
    fixture
        .client
        .send("PATCH", &format!("{SERVICES}/api"), raw::MERGE, &labelled)
        .await;
    let url = format!("https://localhost:{port}{PATH}");
    let message = format!("failing or missing response from {url}: Get {url:?}: {refused}");
    // A look that was under way broke off.
    let found = fixture.found_with("FailedDiscoveryCheck", "connection refused").await;
    assert_eq!(found, ("False".to_owned(), message));
    assert_eq!(fixture.text(FLUNDERS).await, (503, "service unavailable\n".to_owned()));
    assert_eq!(
        fixture.aggregated_discovery().await["versions"][0]["freshness"],
        "Stale"
    );
}

#[tokio::test]
async fn a_server_with_a_wrong_certificate_is_not_asked() {
    let mut fixture = Fixture::new("other.default.svc").await;
    let mut api_service = fixture.aggregated.api_service("api");
    create(&mut fixture.client, API_SERVICES, &api_service).await;
    let (_, message) = fixture.found("FailedDiscoveryCheck").await;
    let problem =
        "tls: failed to verify certificate: x509: certificate is valid for other.default.svc, not api.default.svc";
    assert!(message.ends_with(problem), "{message}");
    assert_eq!(fixture.text(PATH).await, (503, "service unavailable\n".to_owned()));

    // Who does not look at certificates asks it.
    let spec = json!({"spec": {"caBundle": null, "insecureSkipTLSVerify": true}});
    let path = format!("{API_SERVICES}/v1alpha1.{GROUP}");
    let (code, patched) = fixture.client.send("PATCH", &path, raw::MERGE, &spec).await;
    assert_eq!(code, 200, "{patched}");
    assert_eq!(
        fixture.found("Passed").await,
        ("True".to_owned(), "all checks passed".to_owned())
    );
    assert_eq!(fixture.client.get(PATH).await.1["kind"], "APIResourceList");
    api_service["spec"]["insecureSkipTLSVerify"] = true.into();
    let (code, _) = fixture.client.send("PUT", &path, JSON, &api_service).await;
    assert_eq!(code, 422);
}

#[tokio::test]
async fn a_server_that_does_not_answer_is_waited_for_no_longer_than_that() {
    let mut fixture = Fixture::ready().await;
    fixture.aggregated.fall_silent();
    let labelled = json!({"metadata": {"labels": {"a": "b"}}});
    fixture
        .client
        .send("PATCH", &format!("{SERVICES}/api"), raw::MERGE, &labelled)
        .await;
    let (code, reason) = fixture.text(PATH).await;
    assert_eq!(code, 503);
    let reasons = ["context deadline exceeded", UNAVAILABLE];
    assert!(reasons.contains(&reason.trim_end()), "{reason}");
    let (status, message) = fixture.found("FailedDiscoveryCheck").await;
    assert_eq!(status, "False");
    assert!(
        message.ends_with("(Client.Timeout exceeded while awaiting headers)"),
        "{message}"
    );
}

/// Services that lead nowhere, and what is said of them.
#[rstest]
#[case::missing("none", json!({}), json!({}), "ServiceNotFound", "service/none in \"default\" is not present")]
#[case::port("s", json!({"ports": [{"port": 1}]}), json!({}), "ServicePortError", "service/s in \"default\" is not listening on port PORT")]
#[case::endpoints("s", json!({"ports": [{"port": "PORT"}]}), json!({}), "EndpointsNotFound", "cannot find endpointslices for service/s in \"default\"")]
#[case::ready("s", json!({"ports": [{"port": "PORT", "name": "https"}]}),
    json!({"endpoints": [{"addresses": ["10.0.0.1"], "conditions": {"ready": false}}], "ports": [{"name": "https", "port": 443}]}),
    "MissingEndpoints", "endpointslices for service/s in \"default\" have no addresses with port name \"https\"")]
#[tokio::test]
async fn a_service_that_leads_nowhere_is_told_of(
    #[case] name: &str,
    #[case] spec: Value,
    #[case] slice: Value,
    #[case] reason: &str,
    #[case] message: &str,
) {
    let mut fixture = Fixture::new("s.default.svc").await;
    let port = fixture.aggregated.addr.port().to_string();
    let with_port =
        |value: Value| -> Value { serde_json::from_str(&value.to_string().replace("\"PORT\"", &port)).expect("JSON") };
    if name == "s" {
        create(
            &mut fixture.client,
            SERVICES,
            &json!({"metadata": {"name": "s"}, "spec": with_port(spec)}),
        )
        .await;
    }
    if slice != json!({}) {
        let mut slice = slice;
        slice["addressType"] = "IPv4".into();
        slice["metadata"] = json!({"name": "s-1", "labels": {"kubernetes.io/service-name": "s"}});
        let slices = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";
        create(&mut fixture.client, slices, &slice).await;
    }
    let api_service = fixture.aggregated.api_service(name);
    create(&mut fixture.client, API_SERVICES, &api_service).await;
    assert_eq!(
        fixture.found(reason).await,
        ("False".to_owned(), message.replace("PORT", &port))
    );
    assert_eq!(fixture.text(PATH).await, (503, "service unavailable\n".to_owned()));
}

#[rstest]
#[case(json!({"metadata": {"name": "x"}}), r#"metadata.name: Invalid value: "x": must be `spec.version+"."+spec.group`: "v1.a.io""#)]
#[case(json!({"spec": {"groupPriorityMinimum": 0}}), "spec.groupPriorityMinimum: Invalid value: 0: must be positive and less than 20000")]
#[case(json!({"spec": {"versionPriority": 1001}}), "spec.versionPriority: Invalid value: 1001: must be positive and less than 1000")]
#[case(json!({"spec": {"caBundle": "YQ=="}}), "spec.caBundle: Invalid value: \"1 bytes\": local APIServices may not have a caBundle")]
#[case(json!({"spec": {"service": {"namespace": "n"}}}), "spec.service.name: Required value")]
#[case(json!({"spec": {"service": {"namespace": "n", "name": "s", "port": 0}}}), "spec.service.port: Invalid value: 0: port is not valid: must be between 1 and 65535, inclusive")]
#[tokio::test]
async fn what_makes_no_sense_is_refused(#[case] change: Value, #[case] error: &str) {
    let server = ApiServer::new(Options::new("test", Arc::new(jiff::Timestamp::now)));
    let mut client = Raw::new(&server);
    let mut api_service = json!({
        "metadata": {"name": "v1.a.io"},
        "spec": {"group": "a.io", "version": "v1", "groupPriorityMinimum": 1, "versionPriority": 1},
    });
    for (part, members) in change.as_object().expect("parts") {
        for (key, value) in members.as_object().expect("members") {
            api_service[part][key] = value.clone();
        }
    }
    let (code, answer) = client.send("POST", API_SERVICES, JSON, &api_service).await;
    assert_eq!(code, 422, "{answer}");
    let message = answer["message"].as_str().expect("a message");
    assert!(message.ends_with(&format!("is invalid: {error}")), "{message}");
}

#[tokio::test]
async fn what_the_server_itself_serves_is_available() {
    let server = ApiServer::new(Options::new("test", Arc::new(jiff::Timestamp::now)));
    let mut client = Raw::new(&server);
    let spec = json!({"group": "apps", "version": "v1", "groupPriorityMinimum": 17800, "versionPriority": 15});
    let created = create(
        &mut client,
        API_SERVICES,
        &json!({"metadata": {"name": "v1.apps"}, "spec": spec}),
    )
    .await;
    assert_eq!(created["status"]["conditions"][0]["reason"], "Local");
    assert_eq!(client.get("/apis/apps/v1/deployments").await.0, 200);
}

//! Paths that do not lead to stored objects.

use rstest::rstest;
use serde_json::{Value, json};

use super::client;
use crate::raw::{JSON, Raw};

const PODS: &str = "/api/v1/namespaces/default/pods";

async fn with_pods() -> Raw {
    let mut client = client();
    let container = |name: &str| json!({"name": name, "image": "i"});
    let alone = json!({"metadata": {"name": "p"}, "spec": {"containers": [container("c")]}});
    let both = [container("c"), container("d")];
    let placed = json!({"metadata": {"name": "q"}, "spec": {"nodeName": "nn", "containers": both}});
    for pod in [alone, placed] {
        assert_eq!(client.send("POST", PODS, JSON, &pod).await.0, 201);
    }
    let service = json!({"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}});
    let services = "/api/v1/namespaces/default/services";
    assert_eq!(client.send("POST", services, JSON, &service).await.0, 201);
    client
}

#[rstest]
#[case("pods/p/log?container=x", 400, "container x is not valid for pod p")]
#[case(
    "pods/p/log?tailLines=-1",
    422,
    "PodLogOptions \"p\" is invalid: tailLines: Invalid value: -1: must be greater than or equal to 0"
)]
#[case(
    "pods/q/log",
    400,
    "a container name must be specified for pod q, choose one of: [c d]"
)]
#[case("pods/q/log?container=c", 404, "pods \"nn\" not found")]
#[case("pods/z/log", 404, "pods \"z\" not found")]
#[case("pods/p/exec?command=a", 400, "pod p does not have a host assigned")]
#[case("pods/p/attach", 400, "pod p does not have a host assigned")]
#[case("pods/q/portforward", 404, "pods \"nn\" not found")]
#[case("pods/p/proxy/some/where", 400, "address not allowed")]
#[case("services/s/proxy", 404, "services \"s\" not found")]
#[tokio::test]
async fn nothing_runs_behind_the_server(#[case] path: &str, #[case] code: u16, #[case] message: &str) {
    let mut client = with_pods().await;
    let (status, answer) = client.get(&format!("/api/v1/namespaces/default/{path}")).await;
    assert_eq!((status, &answer["message"]), (code, &json!(message)));
}

#[tokio::test]
async fn what_has_not_started_has_no_lines() {
    let (status, body) = with_pods()
        .await
        .bytes("GET", &format!("{PODS}/p/log"), JSON, Vec::new())
        .await;
    assert_eq!((status, body.len()), (204, 0));
}

#[rstest]
#[case(json!({}), json!({"audiences": ["https://kubernetes.default.svc.cluster.local"], "expirationSeconds": 3600, "boundObjectRef": null}))]
#[case(json!({"audiences": ["a"], "expirationSeconds": 700}), json!({"audiences": ["a"], "expirationSeconds": 700, "boundObjectRef": null}))]
#[case(json!({"expirationSeconds": 60}), json!("TokenRequest.authentication.k8s.io \"\" is invalid: spec.expirationSeconds: Invalid value: 60: may not specify a duration less than 10 minutes"))]
#[case(json!({"boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "zz"}}), json!("pods \"zz\" not found"))]
#[case(json!({"boundObjectRef": {"kind": "Foo", "apiVersion": "v1", "name": "zz"}}), json!("cannot bind token to object of type /v1, Kind=Foo"))]
#[tokio::test]
async fn tokens_are_of_a_service_account(#[case] spec: Value, #[case] expected: Value) {
    let mut client = client();
    let accounts = "/api/v1/namespaces/default/serviceaccounts";
    let account = client
        .send("POST", accounts, JSON, &json!({"metadata": {"name": "sa"}}))
        .await
        .1;
    let (status, answer) = client
        .send("POST", &format!("{accounts}/sa/token"), JSON, &json!({"spec": spec}))
        .await;
    if status != 201 {
        assert_eq!(answer["message"], expected);
        return;
    }
    assert_eq!(answer["spec"], expected);
    assert_eq!(answer["metadata"]["uid"], account["metadata"]["uid"]);
    assert_eq!(answer["apiVersion"], "authentication.k8s.io/v1");
}

#[rstest]
#[case("/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", json!({}), "no namespace on request")]
#[case("/apis/authentication.k8s.io/v1/tokenreviews", json!({}), "token is required for TokenReview in authentication")]
#[tokio::test]
async fn reviews_that_ask_nothing_are_refused(#[case] path: &str, #[case] spec: Value, #[case] message: &str) {
    let answer = client().send("POST", path, JSON, &json!({"spec": spec})).await.1;
    assert_eq!(answer["message"], json!(message));
}

#[tokio::test]
async fn bindings_and_evictions_say_the_name_again() {
    let mut client = with_pods().await;
    for (subresource, kind) in [("binding", "Binding"), ("eviction", "Eviction")] {
        let path = format!("{PODS}/p/{subresource}");
        let answer = client
            .send("POST", &path, JSON, &json!({"target": {"name": "n"}}))
            .await;
        assert_eq!(answer.0, 400);
        let message = format!("name in URL does not match name in {kind} object");
        assert_eq!(answer.1["message"], json!(message));
    }
}

#[tokio::test]
async fn health_tells_its_checks() {
    let mut client = client();
    let (status, body) = client.bytes("GET", "/readyz?verbose", JSON, Vec::new()).await;
    let text = String::from_utf8_lossy(&body).into_owned();
    assert_eq!(status, 200);
    assert!(
        text.starts_with("[+]ping ok\n") && text.ends_with("\nreadyz check passed\n"),
        "{text}"
    );
    let (_, version) = client.bytes("GET", "/version", JSON, Vec::new()).await;
    assert!(version.starts_with(b"{\n  \""));
}

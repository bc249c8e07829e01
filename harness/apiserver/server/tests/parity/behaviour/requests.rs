//! Requests with small mistakes, and the answers of a kube-apiserver v1.36.

use std::sync::Arc;

use baton_apiserver::{ApiServer, Options};
use jiff::Timestamp;
use rstest::rstest;
use serde_json::{Value, json};

use crate::raw::{JSON, MERGE, Raw};

const STRATEGIC: &str = "application/strategic-merge-patch+json";
const APPLY: &str = "application/apply-patch+yaml";
const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const MAP: &str = "/api/v1/namespaces/default/configmaps/a";

async fn client() -> Raw {
    let server = ApiServer::new(Options::new("test", Arc::new(|| Timestamp::UNIX_EPOCH)));
    let mut client = Raw::new(&server);
    let object = json!({"metadata": {"name": "a"}, "data": {"k": "v"}});
    assert_eq!(client.send("POST", MAPS, JSON, &object).await.0, 201);
    client
}

#[rstest]
#[case::timeout(
    "GET",
    "?timeoutSeconds=x",
    Value::Null,
    400,
    "strconv.ParseInt: parsing \"x\": invalid syntax"
)]
#[case::token(
    "GET",
    "?continue=x&resourceVersion=1",
    Value::Null,
    400,
    "invalid continue token: continue key is not valid: illegal base64 data at input byte 0"
)]
#[case::dry_run(
    "POST", "?dryRun=x", json!({"metadata": {"name": "b"}}), 422,
    "CreateOptions.meta.k8s.io \"\" is invalid: dryRun: Unsupported value: [\"x\"]: supported values: \"All\""
)]
#[case::dry_run_of_a_deletion(
    "DELETE",
    "/a?dryRun=",
    Value::Null,
    422,
    "DeleteOptions.meta.k8s.io \"\" is invalid: dryRun: Unsupported value: [\"\"]: supported values: \"All\""
)]
#[case::taken(
    "POST", "", json!({"metadata": {"name": "a", "generateName": "a"}}), 409,
    "configmaps \"a\" already exists, the server was not able to generate a unique name for the object"
)]
#[case::namespace_first(
    "PUT", "/a", json!({"metadata": {"name": "x", "namespace": "other"}}), 400,
    "the namespace of the provided object does not match the namespace sent on the request"
)]
#[case::head("HEAD", "/a", Value::Null, 405, "")]
#[tokio::test]
async fn is_answered_in_its_words(
    #[case] method: &str,
    #[case] path: &str,
    #[case] body: Value,
    #[case] status: u16,
    #[case] message: &str,
) {
    let mut client = client().await;
    let body = if body.is_null() {
        Vec::new()
    } else {
        body.to_string().into_bytes()
    };
    let (code, answer) = client.bytes(method, &format!("{MAPS}{path}"), JSON, body).await;
    assert_eq!(code, status);
    if !message.is_empty() {
        let answer: Value = serde_json::from_slice(&answer).expect("a Status");
        assert_eq!(answer["message"], message);
    }
}

#[tokio::test]
async fn patches_of_another_type_are_invalid_or_do_not_matter() {
    let mut client = client().await;
    let (status, answer) = client.send("PATCH", MAP, MERGE, &json!({"kind": "Pod"})).await;
    let message = answer["message"].as_str().expect("a message");
    assert_eq!(status, 422);
    assert!(
        message.starts_with(" \"\" is invalid: patch: Invalid value: \"{"),
        "{message}"
    );
    assert!(
        message.ends_with(": converting (v1.Pod) to (core.ConfigMap): unknown conversion"),
        "{message}"
    );
    let (status, answer) = client
        .send("PATCH", MAP, STRATEGIC, &json!({"kind": "Pod", "data": {"k": "w"}}))
        .await;
    assert_eq!(
        (status, &answer["kind"], &answer["data"]["k"]),
        (200, &json!("ConfigMap"), &json!("w"))
    );
    let (status, answer) = client
        .bytes("PATCH", &format!("{MAP}?fieldManager=m"), APPLY, b"null".to_vec())
        .await;
    let answer: Value = serde_json::from_slice(&answer).expect("a Status");
    assert_eq!(
        (status, &answer["message"]),
        (400, &json!("invalid object type: /, Kind="))
    );
}

#[tokio::test]
async fn nothing_is_an_object_without_members() {
    let (status, answer) = client().await.bytes("POST", MAPS, JSON, b"null".to_vec()).await;
    let answer: Value = serde_json::from_slice(&answer).expect("a Status");
    let message = "ConfigMap \"\" is invalid: metadata.name: Required value: name or generateName is required";
    assert_eq!((status, &answer["message"]), (422, &json!(message)));
}

#[tokio::test]
async fn an_address_may_not_change_by_either_of_its_fields() {
    let mut client = client().await;
    let services = "/api/v1/namespaces/default/services";
    let service = json!({"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}});
    assert_eq!(client.send("POST", services, JSON, &service).await.0, 201);
    let change = json!({"spec": {"clusterIP": "10.96.99.99"}});
    let (status, answer) = client.send("PATCH", &format!("{services}/s"), MERGE, &change).await;
    let message =
        "Service \"s\" is invalid: spec.clusterIPs[0]: Invalid value: [\"10.96.99.99\"]: may not change once set";
    assert_eq!((status, &answer["message"]), (422, &json!(message)));
}

#[tokio::test]
async fn what_the_server_tells_about_itself_can_only_be_read() {
    let mut client = client().await;
    for path in ["/api", "/apis", "/apis/apps", "/apis/apps/v1", "/version"] {
        assert_eq!(client.get(path).await.0, 200, "{path}");
        for method in ["POST", "PUT", "DELETE", "PATCH"] {
            assert_eq!(
                client.send(method, path, JSON, &json!({})).await.0,
                405,
                "{method} {path}"
            );
        }
    }
}

#[tokio::test]
async fn pods_get_their_tolerations_back_and_reviews_their_type() {
    let mut client = client().await;
    let pod = "/api/v1/namespaces/default/pods/p?fieldManager=m";
    let mut object = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    assert_eq!(client.send("PATCH", pod, APPLY, &object).await.0, 201);
    object["spec"]["tolerations"] = json!([{"key": "z", "operator": "Exists"}]);
    let (status, answer) = client.send("PATCH", pod, APPLY, &object).await;
    assert_eq!(
        (status, answer["spec"]["tolerations"].as_array().map(Vec::len)),
        (200, Some(3)),
        "{answer}"
    );
    let reviews = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    let review = json!({"spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}}});
    let (_, answer) = client.send("POST", reviews, JSON, &review).await;
    assert_eq!(
        (&answer["kind"], &answer["status"]["allowed"]),
        (&json!("SelfSubjectAccessReview"), &json!(true))
    );
}

//! Tokens of service accounts: their users and lifetimes, and the Secrets that hold some.

use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use baton_apiserver::{ApiServer, Options};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::authentication::v1::SelfSubjectReview;
use k8s_openapi::api::core::v1::Secret;
use kube::Client;
use kube::api::{Api, PostParams};
use kube::runtime::wait::{await_condition, conditions};
use rstest::rstest;
use serde_json::{Value, json};

use crate::kubeconfig::client;
use crate::raw::{JSON, MERGE, Raw};

const ACCOUNTS: &str = "/api/v1/namespaces/default/serviceaccounts";
const SECRETS: &str = "/api/v1/namespaces/default/secrets";
const REVIEWS: &str = "/apis/authentication.k8s.io/v1/tokenreviews";
const API_SERVER: &str = "https://kubernetes.default.svc.cluster.local";

/// A cluster with a service account `robot`, and its clock.
struct Fixture {
    server: ApiServer,
    client: Raw,
    now: Arc<Mutex<Timestamp>>,
    account: Value,
}

impl Fixture {
    async fn new() -> Self {
        let now = Arc::new(Mutex::new("2026-01-01T00:00:00Z".parse().expect("a time")));
        let clock = now.clone();
        let clock = Arc::new(move || *clock.lock().expect("a clock"));
        let server = ApiServer::new(Options::new("test", clock));
        let mut client = Raw::new(&server);
        let account = create(&mut client, ACCOUNTS, &json!({"metadata": {"name": "robot"}})).await;
        Self {
            server,
            client,
            now,
            account,
        }
    }

    fn wait(&self, time: SignedDuration) {
        *self.now.lock().expect("a clock") += time;
    }

    async fn token(&mut self, spec: Value) -> String {
        let path = format!("{ACCOUNTS}/robot/token");
        let request = create(&mut self.client, &path, &json!({"spec": spec})).await;
        request["status"]["token"].as_str().expect("a token").to_owned()
    }

    /// Returns the status of a review of the token.
    async fn review(&mut self, token: &str, audiences: &[&str]) -> Value {
        let review = json!({"spec": {"token": token, "audiences": audiences}});
        create(&mut self.client, REVIEWS, &review).await["status"].clone()
    }

    async fn delete(&mut self, path: &str) {
        let (code, answer) = self.client.send("DELETE", path, JSON, &Value::Null).await;
        assert_eq!(code, 200, "{answer}");
    }

    /// Returns a Secret for the account's token, once it is filled.
    async fn token_secret(&mut self, name: &str) -> Secret {
        let secret = json!({
            "metadata": {"name": name, "annotations": {"kubernetes.io/service-account.name": "robot"}},
            "type": "kubernetes.io/service-account-token",
        });
        create(&mut self.client, SECRETS, &secret).await;
        let is_filled = |secret: Option<&Secret>| secret.is_some_and(|secret| secret.data.is_some());
        let filled = await_condition(self.secrets(), name, is_filled).await;
        filled.expect("a watch").expect("a secret")
    }

    fn secrets(&self) -> Api<Secret> {
        Api::default_namespaced(Client::new(self.server.service("test"), "default"))
    }

    fn uid(&self) -> &str {
        self.account["metadata"]["uid"].as_str().expect("a uid")
    }
}

async fn create(client: &mut Raw, path: &str, object: &Value) -> Value {
    let (code, created) = client.send("POST", path, JSON, object).await;
    assert_eq!(code, 201, "{created}");
    created
}

/// Returns the user of this token, as the server reports it over HTTPS.
async fn who_am_i(kubeconfig: &str, token: &str) -> kube::Result<Value> {
    let mut kubeconfig: Value = serde_yaml::from_str(kubeconfig).expect("YAML");
    kubeconfig["users"][0]["user"] = json!({"token": token});
    let reviews: Api<SelfSubjectReview> = Api::all(client(&kubeconfig.to_string()).await);
    let review = reviews
        .create(&PostParams::default(), &SelfSubjectReview::default())
        .await?;
    Ok(serde_json::to_value(review.status.expect("a status").user_info).expect("JSON"))
}

/// Returns the claims of a token.
fn claims(token: &str) -> Value {
    let part = token.split('.').nth(1).expect("claims");
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).expect("base64")).expect("JSON")
}

#[tokio::test]
async fn a_token_is_its_accounts_until_it_expires() {
    let mut fixture = Fixture::new().await;
    let serving = fixture.server.serve().await.expect("an endpoint");
    let token = fixture.token(json!({"expirationSeconds": 600})).await;
    let said = claims(&token);
    let now = fixture.now.lock().expect("a clock").as_second();
    let expected = json!({
        "iss": API_SERVER, "sub": "system:serviceaccount:default:robot", "aud": [API_SERVER], "jti": said["jti"],
        "iat": now, "nbf": now, "exp": now + 600,
        "kubernetes.io": {"namespace": "default", "serviceaccount": {"name": "robot", "uid": fixture.uid()}},
    });
    assert_eq!(said, expected);

    let user = json!({
        "username": "system:serviceaccount:default:robot", "uid": fixture.uid(),
        "groups": ["system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated"],
        "extra": {"authentication.kubernetes.io/credential-id": [format!("JTI={}", said["jti"].as_str().expect("an id"))]},
    });
    // A minute more than the lifetime: the tolerated difference between clocks.
    fixture.wait(SignedDuration::from_secs(660));
    assert_eq!(who_am_i(&serving.kubeconfig(), &token).await.expect("let in"), user);
    let known = json!({"authenticated": true, "user": user, "audiences": [API_SERVER]});
    assert_eq!(fixture.review(&token, &[]).await, known);

    fixture.wait(SignedDuration::from_secs(1));
    let refused = who_am_i(&serving.kubeconfig(), &token).await;
    assert!(matches!(refused, Err(kube::Error::Api(status)) if status.code == 401));
    let expired = json!({"user": {}, "error": "[invalid bearer token, service account token has expired]"});
    assert_eq!(fixture.review(&token, &[]).await, expired);
}

#[tokio::test]
async fn a_token_is_not_valid_before_its_time() {
    let mut fixture = Fixture::new().await;
    let token = fixture.token(json!({})).await;
    fixture.wait(SignedDuration::from_secs(-61));
    let early = json!({"user": {}, "error": "[invalid bearer token, service account token is not valid yet]"});
    assert_eq!(fixture.review(&token, &[]).await, early);
}

#[tokio::test]
async fn a_token_of_another_server_is_none() {
    let mut fixture = Fixture::new().await;
    let other = Fixture::new().await.token(json!({})).await;
    let refused = json!({"user": {}, "error": "[invalid bearer token, invalid signature, no keys found]"});
    assert_eq!(fixture.review(&other, &[]).await, refused);
    let unknown = json!({"user": {}, "error": "invalid bearer token"});
    assert_eq!(fixture.review("e30.e30.e30", &[]).await, unknown);
}

#[tokio::test]
async fn a_token_is_for_its_audience_alone() {
    let mut fixture = Fixture::new().await;
    let serving = fixture.server.serve().await.expect("an endpoint");
    let token = fixture.token(json!({"audiences": ["vault", "other"]})).await;
    let refused = who_am_i(&serving.kubeconfig(), &token).await;
    assert!(matches!(refused, Err(kube::Error::Api(status)) if status.code == 401));
    let error = format!(
        "[invalid bearer token, token audiences [\"vault\" \"other\"] is invalid for the target audiences [{API_SERVER:?}]]"
    );
    assert_eq!(fixture.review(&token, &[]).await, json!({"user": {}, "error": error}));
    let known = fixture.review(&token, &["vault", "third"]).await;
    assert_eq!(
        (&known["authenticated"], &known["audiences"]),
        (&json!(true), &json!(["vault"]))
    );
}

#[tokio::test]
async fn a_token_goes_with_its_account() {
    let mut fixture = Fixture::new().await;
    let token = fixture.token(json!({})).await;
    fixture.delete(&format!("{ACCOUNTS}/robot")).await;
    let gone = json!({"user": {}, "error": "[invalid bearer token, serviceaccounts \"robot\" not found]"});
    assert_eq!(fixture.review(&token, &[]).await, gone);
    // An account with the same name is still another account.
    let other = create(&mut fixture.client, ACCOUNTS, &json!({"metadata": {"name": "robot"}})).await;
    let (old, new) = (fixture.uid(), other["metadata"]["uid"].as_str().expect("a uid"));
    let error = format!("[invalid bearer token, service account UID ({new}) does not match claim ({old})]");
    assert_eq!(fixture.review(&token, &[]).await, json!({"user": {}, "error": error}));
}

#[rstest]
#[case::secret("Secret", "secrets", json!({"metadata": {"name": "x"}}), json!({}))]
#[case::pod("Pod", "pods", json!({
    "metadata": {"name": "x"},
    "spec": {"serviceAccountName": "robot", "containers": [{"name": "c", "image": "i"}]},
}), json!({"authentication.kubernetes.io/pod-name": ["x"]}))]
#[tokio::test]
async fn a_bound_token_goes_with_what_it_is_bound_to(
    #[case] kind: &str,
    #[case] plural: &str,
    #[case] object: Value,
    #[case] expected: Value,
) {
    let mut fixture = Fixture::new().await;
    let path = format!("/api/v1/namespaces/default/{plural}");
    create(&mut fixture.client, &path, &object).await;
    let bound = json!({"kind": kind, "apiVersion": "v1", "name": "x"});
    let token = fixture.token(json!({"boundObjectRef": bound})).await;
    let known = fixture.review(&token, &[]).await;
    assert_eq!(known["authenticated"], true, "{known}");
    for (key, value) in expected.as_object().expect("members") {
        assert_eq!(&known["user"]["extra"][key], value);
    }
    fixture.delete(&format!("{path}/x?gracePeriodSeconds=0")).await;
    let gone = json!({"user": {}, "error": "[invalid bearer token, service account token has been invalidated]"});
    assert_eq!(fixture.review(&token, &[]).await, gone);
}

#[tokio::test]
async fn a_secret_for_a_token_is_filled_and_goes_with_the_account() {
    let mut fixture = Fixture::new().await;
    let serving = fixture.server.serve().await.expect("an endpoint");
    let filled = fixture.token_secret("robot-token").await;
    let annotations = filled.metadata.annotations.expect("annotations");
    assert_eq!(annotations["kubernetes.io/service-account.uid"], fixture.uid());
    let data = filled.data.expect("data");
    let text = |key: &str| String::from_utf8(data[key].0.clone()).expect("text");
    assert_eq!(text("namespace"), "default");
    assert_eq!(text("ca.crt"), serving.ca());
    let token = text("token");
    let expected = json!({
        "iss": "kubernetes/serviceaccount", "sub": "system:serviceaccount:default:robot",
        "kubernetes.io/serviceaccount/namespace": "default",
        "kubernetes.io/serviceaccount/secret.name": "robot-token",
        "kubernetes.io/serviceaccount/service-account.name": "robot",
        "kubernetes.io/serviceaccount/service-account.uid": fixture.uid(),
    });
    assert_eq!(claims(&token), expected);
    // The token does not expire.
    fixture.wait(SignedDuration::from_hours(24 * 365));
    let user = who_am_i(&serving.kubeconfig(), &token).await.expect("let in");
    assert_eq!(user["username"], "system:serviceaccount:default:robot");

    let uid = filled.metadata.uid.expect("a uid");
    fixture.delete(&format!("{ACCOUNTS}/robot")).await;
    let removed = await_condition(fixture.secrets(), "robot-token", conditions::is_deleted(&uid)).await;
    removed.expect("a watch");
    let gone = json!({"user": {}, "error": "[invalid bearer token, Token has been invalidated]"});
    assert_eq!(fixture.review(&token, &[]).await, gone);
}

#[tokio::test]
async fn a_token_counts_only_as_long_as_its_secret_holds_it() {
    let mut fixture = Fixture::new().await;
    let filled = fixture.token_secret("robot-token").await;
    let token = String::from_utf8(filled.data.expect("data")["token"].0.clone()).expect("text");
    assert_eq!(fixture.review(&token, &[]).await["authenticated"], true);
    let other = json!({"data": {"token": STANDARD.encode("other")}});
    let path = format!("{SECRETS}/robot-token");
    let (code, _) = fixture.client.send("PATCH", &path, MERGE, &other).await;
    assert_eq!(code, 200);
    let changed = json!({"user": {}, "error": "[invalid bearer token, Token does not match server's copy]"});
    assert_eq!(fixture.review(&token, &[]).await, changed);
}

#[tokio::test]
async fn a_secret_for_nobody_goes() {
    let mut fixture = Fixture::new().await;
    let secret = json!({
        "metadata": {"name": "s", "annotations": {"kubernetes.io/service-account.name": "nobody"}},
        "type": "kubernetes.io/service-account-token",
    });
    let created = create(&mut fixture.client, SECRETS, &secret).await;
    let uid = created["metadata"]["uid"].as_str().expect("a uid");
    let removed = await_condition(fixture.secrets(), "s", conditions::is_deleted(uid)).await;
    removed.expect("a watch");
    assert_eq!(fixture.client.get(SECRETS).await.1["items"], json!([]));
}

#[tokio::test]
async fn the_administrator_is_known_too() {
    let mut fixture = Fixture::new().await;
    let serving = fixture.server.serve().await.expect("an endpoint");
    let user = json!({"username": "kubernetes-admin", "groups": ["system:masters", "system:authenticated"]});
    let known = json!({"authenticated": true, "user": user, "audiences": [API_SERVER]});
    assert_eq!(fixture.review(serving.token(), &[]).await, known);
    let other = json!({"user": {}, "error": "invalid bearer token"});
    assert_eq!(fixture.review(serving.token(), &["vault"]).await, other);
}

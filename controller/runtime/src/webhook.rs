//! The admission webhook: refuses policies with errors that no schema can detect (VAL-02).
//!
//! The webhook is served over HTTPS with a certificate generated at start-up, and registered by a
//! `ValidatingWebhookConfiguration` with that certificate. Its failure policy is `Ignore`: policies can be written
//! while no controller runs, which an outage may require. Errors that were admitted without validation are reported by
//! events, and stop the eviction that needs the policy.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use baton_decide::api::policy::PropagationPolicy;
use baton_decide::api::taint_policy::ClusterTaintPolicy;
use baton_decide::names::MANAGER;
use baton_decide::validate::{self, Invalid};
use http::{Method, Request, Response, StatusCode, Uri, header};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use k8s_openapi::ByteString;
use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use kube::Client;
use kube::api::{Api, Patch, PatchParams};
use rcgen::{CertificateParams, DnType, ExtendedKeyUsagePurpose, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_rustls::TlsAcceptor;
use tokio_util::net::Listener;

/// Name of the `ValidatingWebhookConfiguration`.
const NAME: &str = "baton-controller";
/// Path that answers reviews.
const PATH: &str = "/validate";
/// Path that reports whether the webhook is registered.
const READY: &str = "/readyz";
/// Maximum size of a review: an object and its previous version, each at most 3 MiB.
const MAX_REVIEW: usize = 8 << 20;
/// Time that the API server waits for an answer. Seconds.
const TIMEOUT: i32 = 5;
/// Maximum duration of a connection.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum duration of a registration that fails for reasons that may pass, such as a lost connection.
const REGISTRATION_TIMEOUT: Duration = Duration::from_secs(30);
/// Time between two attempts to register.
const REGISTRATION_PAUSE: Duration = Duration::from_secs(1);

/// The webhook cannot be served or registered.
#[derive(Debug, thiserror::Error)]
pub enum WebhookError {
    /// The address of the listener is unknown.
    #[error("cannot determine the address at which the webhook listens")]
    Listen(#[source] io::Error),
    /// The URL is invalid.
    #[error("the webhook cannot be reached at {0}: expected a URL such as https://host:9443")]
    Url(String),
    /// The certificate cannot be generated.
    #[error("cannot generate a certificate for the webhook")]
    Certificate(#[from] CertificateError),
    /// The control plane rejected the registration.
    #[error("cannot register the webhook with the control plane")]
    Register(#[from] kube::Error),
}

/// A certificate that cannot be generated or used.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    /// The generator of certificates fails.
    #[error(transparent)]
    Generate(#[from] rcgen::Error),
    /// The TLS library does not accept the key.
    #[error("{0}")]
    Key(&'static str),
    /// The TLS library does not accept the certificate.
    #[error(transparent)]
    Tls(#[from] rustls::Error),
}

/// A listening webhook. It answers only once it is served.
pub struct Webhook<L> {
    listener: L,
    acceptor: TlsAcceptor,
    registration: Registration,
}

/// Registration of the webhook with a control plane.
#[derive(Clone, Debug)]
pub struct Registration {
    url: String,
    /// Certificate to trust, as PEM.
    certificate: String,
}

impl<L> Webhook<L>
where
    L: Listener<Addr = SocketAddr, Io: Send + Unpin + 'static>,
{
    /// Creates the webhook of a listener. `url` is the address for the control plane, without a path; defaults to the
    /// listening address.
    ///
    /// # Errors
    /// [`WebhookError`] if the address of the listener is unknown, the URL is invalid, or the certificate cannot be generated.
    pub fn new(listener: L, url: Option<&str>) -> Result<Self, WebhookError> {
        let bound = listener.local_addr().map_err(WebhookError::Listen)?;
        let url = url.map_or_else(
            || format!("https://{bound}"),
            |url| url.trim_end_matches('/').to_owned(),
        );
        let host = url.parse::<Uri>().ok().filter(|uri| uri.scheme_str() == Some("https"));
        let host = host.and_then(|uri| Some(uri.host()?.trim_matches(['[', ']']).to_owned()));
        let host = host.ok_or_else(|| WebhookError::Url(url.clone()))?;
        let (certificate, config) = certified(host)?;
        Ok(Self {
            listener,
            acceptor: TlsAcceptor::from(Arc::new(config)),
            registration: Registration { url, certificate },
        })
    }

    /// Returns the registration of this webhook.
    pub fn registration(&self) -> Registration {
        self.registration.clone()
    }

    /// Answers reviews until the returned future is dropped.
    pub async fn serve(mut self) {
        let mut connections = JoinSet::new();
        loop {
            tokio::select! {
                biased;
                Some(_) = connections.join_next() => {}
                accepted = self.listener.accept() => match accepted {
                    Ok((stream, _)) => {
                        connections.spawn(tokio::time::timeout(CONNECTION_TIMEOUT, connection(stream, self.acceptor.clone())));
                    }
                    Err(error) => tracing::debug!(%error, "a connection to the webhook failed"),
                },
            }
        }
    }
}

impl Registration {
    /// Registers the webhook, replacing the registration of another instance. Retries while the control plane is
    /// unreachable or unable to answer, for at most 30 s: a lost answer must not end a controller that is starting.
    ///
    /// # Errors
    /// Fails if the control plane rejects the registration, or gives no answer in that time.
    pub async fn put(&self, control: &Client) -> Result<(), WebhookError> {
        let api: Api<ValidatingWebhookConfiguration> = Api::all(control.clone());
        let apply = PatchParams::apply(MANAGER).force();
        let deadline = Instant::now() + REGISTRATION_TIMEOUT;
        loop {
            match api.patch(NAME, &apply, &Patch::Apply(self.configuration())).await {
                Ok(_) => return Ok(()),
                Err(error) if may_pass(&error) && Instant::now() + REGISTRATION_PAUSE < deadline => {
                    tracing::debug!(%error, "registering the webhook again after a pause");
                    tokio::time::sleep(REGISTRATION_PAUSE).await;
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn configuration(&self) -> Value {
        json!({
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": NAME},
            "webhooks": [{
                "name": "policies.baton.dev",
                "rules": [{
                    "apiGroups": ["policy.karmada.io"],
                    "apiVersions": ["v1alpha1"],
                    "operations": ["CREATE", "UPDATE"],
                    "resources": ["propagationpolicies", "clusterpropagationpolicies", "clustertaintpolicies"],
                    "scope": "*",
                }],
                "clientConfig": {
                    "url": format!("{}{PATH}", self.url),
                    "caBundle": ByteString(self.certificate.clone().into_bytes()),
                },
                "admissionReviewVersions": ["v1"],
                "sideEffects": "None",
                "failurePolicy": "Ignore",
                "timeoutSeconds": TIMEOUT,
            }],
        })
    }
}

/// Returns `true` for errors of connections and overloaded servers, and `false` if the server rejected the request.
fn may_pass(error: &kube::Error) -> bool {
    match error {
        kube::Error::Api(status) => status.code >= 500 || status.code == 429,
        kube::Error::Service(_) | kube::Error::HyperError(_) => true,
        _ => false,
    }
}

/// Generates a certificate for a host, and returns it as PEM with the TLS configuration.
fn certified(host: String) -> Result<(String, ServerConfig), CertificateError> {
    let key = KeyPair::generate()?;
    let mut parameters = CertificateParams::new(vec![host])?;
    parameters.distinguished_name.push(DnType::CommonName, NAME);
    parameters.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    let certificate = parameters.self_signed(&key)?;
    let shown = CertificateDer::from(certificate.der().to_vec());
    let key = PrivateKeyDer::try_from(key.serialize_der()).map_err(CertificateError::Key)?;
    let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(vec![shown], key))?;
    Ok((certificate.pem(), config))
}

async fn connection(stream: impl AsyncRead + AsyncWrite + Unpin, acceptor: TlsAcceptor) {
    let Ok(stream) = acceptor.accept(stream).await else {
        return;
    };
    let service = service_fn(|request| async { Ok::<_, Infallible>(respond(request).await) });
    // A call is one request, and its caller handles failures.
    let _ = hyper::server::conn::http1::Builder::new()
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), service)
        .await;
}

async fn respond(request: Request<Incoming>) -> Response<Full<Bytes>> {
    match (request.method(), request.uri().path()) {
        (&Method::GET, READY) => plain(StatusCode::OK, "ok\n"),
        (&Method::POST, PATH) => reviewed(request.into_body()).await,
        (_, PATH) => plain(StatusCode::METHOD_NOT_ALLOWED, "a review must be sent by POST\n"),
        _ => plain(StatusCode::NOT_FOUND, "reviews are answered at /validate\n"),
    }
}

async fn reviewed(body: Incoming) -> Response<Full<Bytes>> {
    let Ok(body) = Limited::new(body, MAX_REVIEW).collect().await else {
        return plain(StatusCode::BAD_REQUEST, "the review broke off, or is too large\n");
    };
    let review: Value = serde_json::from_slice(&body.to_bytes()).unwrap_or_default();
    let Some(answer) = answer(&review) else {
        return plain(StatusCode::BAD_REQUEST, "expected an AdmissionReview with a request\n");
    };
    let mut response = Response::new(Full::from(answer.to_string()));
    let json = header::HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, json);
    response
}

fn plain(status: StatusCode, text: &'static str) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::from(text));
    *response.status_mut() = status;
    response
}

/// Answers an `AdmissionReview`; `None` if the value is not one.
fn answer(review: &Value) -> Option<Value> {
    let request = review
        .get("request")
        .filter(|request| review["kind"] == "AdmissionReview" && request.is_object())?;
    let found = what_is_wrong(request);
    let mut response = json!({"uid": request["uid"], "allowed": found.is_empty()});
    if !found.is_empty() {
        let message = found.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
        let code = StatusCode::UNPROCESSABLE_ENTITY.as_u16();
        response["status"] = json!({"code": code, "reason": "Invalid", "message": message});
    }
    Some(json!({"apiVersion": review["apiVersion"], "kind": "AdmissionReview", "response": response}))
}

/// Validates an object that a user writes. An object that is being deleted must be admitted.
fn what_is_wrong(request: &Value) -> Vec<Invalid> {
    if !request["object"]["metadata"]["deletionTimestamp"].is_null() {
        return Vec::new();
    }
    match request["kind"]["kind"].as_str() {
        Some("PropagationPolicy" | "ClusterPropagationPolicy") => {
            let (new, old) = versions::<PropagationPolicy>(request);
            new.map(|new| validate::propagation(&new.spec, old.as_ref().map(|old| &old.spec)))
        }
        Some("ClusterTaintPolicy") => {
            let (new, old) = versions::<ClusterTaintPolicy>(request);
            new.map(|new| validate::taint_policy(&new.spec, old.as_ref().map(|old| &old.spec)))
        }
        _ => None,
    }
    .unwrap_or_default()
}

/// Returns the object and its previous version. The schema refuses what cannot be decoded.
fn versions<T: DeserializeOwned>(request: &Value) -> (Option<T>, Option<T>) {
    let read = |field: &str| T::deserialize(&request[field]).ok();
    (read("object"), read("oldObject"))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use kube::client::Body;

    use super::*;

    /// A control plane that answers the attempts with these codes in order, the last one for ever; `None` breaks the
    /// connection. Returns the number of attempts and the result of a registration.
    async fn registered(answers: &'static [Option<u16>]) -> (usize, Result<(), WebhookError>) {
        let attempts = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&attempts);
        let control = tower::service_fn(move |_: Request<Body>| {
            let attempt = counted.fetch_add(1, Ordering::Relaxed);
            let answer = answers[attempt.min(answers.len() - 1)];
            async move {
                let code = answer.ok_or_else(|| io::Error::from(io::ErrorKind::ConnectionReset))?;
                let mut response = Response::new(Body::from(
                    match code {
                        200 => json!({"apiVersion": "admissionregistration.k8s.io/v1",
                        "kind": "ValidatingWebhookConfiguration", "metadata": {"name": NAME}}),
                        _ => json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code,
                        "message": "no", "reason": "Other"}),
                    }
                    .to_string()
                    .into_bytes(),
                ));
                *response.status_mut() = StatusCode::from_u16(code).unwrap();
                Ok::<_, io::Error>(response)
            }
        });
        let registration = Registration {
            url: "https://localhost".to_owned(),
            certificate: String::new(),
        };
        let result = registration.put(&Client::new(control, "default")).await;
        (attempts.load(Ordering::Relaxed), result)
    }

    #[tokio::test(start_paused = true)]
    async fn a_registration_is_repeated_after_a_lost_answer() {
        let (attempts, result) = registered(&[None, Some(503), Some(200)]).await;
        result.unwrap();
        assert_eq!(attempts, 3);
    }

    #[tokio::test(start_paused = true)]
    async fn a_rejected_registration_is_an_error_at_once() {
        let (attempts, result) = registered(&[Some(403)]).await;
        assert!(matches!(result, Err(WebhookError::Register(_))), "{result:?}");
        assert_eq!(attempts, 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_registration_without_an_answer_ends_after_its_time() {
        let (attempts, result) = registered(&[None]).await;
        assert!(matches!(result, Err(WebhookError::Register(_))), "{result:?}");
        assert_eq!(attempts, 30);
    }

    fn review(kind: &str, object: &Value, old: &Value) -> Value {
        json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
            "request": {"uid": "u", "kind": {"kind": kind}, "object": object, "oldObject": old}})
    }

    fn policy(path: &str) -> Value {
        let rules = json!([{"aliasLabelName": "a", "jsonPath": path}]);
        json!({"apiVersion": "policy.karmada.io/v1alpha1", "kind": "PropagationPolicy", "metadata": {"name": "p"},
            "spec": {"resourceSelectors": [{"apiVersion": "apps/v1", "kind": "Deployment"}],
                "failover": {"cluster": {"statePreservation": {"rules": rules}}}}})
    }

    fn is_allowed(review: &Value) -> bool {
        answer(review).unwrap()["response"]["allowed"] == true
    }

    #[test]
    fn a_review_is_answered_with_field_value_and_what_was_expected() {
        let answer = answer(&review("PropagationPolicy", &policy("{.a[}"), &Value::Null)).unwrap();
        assert_eq!(answer["response"]["uid"], "u");
        assert_eq!(answer["response"]["status"]["code"], 422);
        let message = answer["response"]["status"]["message"].as_str().unwrap();
        for part in ["rules[0].jsonPath", "{.a[}", "expected"] {
            assert!(message.contains(part), "{message}");
        }
    }

    #[test]
    fn what_is_right_old_going_or_another_kind_is_let_pass() {
        let none = Value::Null;
        assert!(is_allowed(&review("ClusterPropagationPolicy", &policy("{.a}"), &none)));
        assert!(!is_allowed(&review(
            "ClusterPropagationPolicy",
            &policy("{.a[}"),
            &none
        )));
        assert!(is_allowed(&review(
            "PropagationPolicy",
            &policy("{.a[}"),
            &policy("{.a[}")
        )));
        assert!(is_allowed(&review("Deployment", &policy("{.a[}"), &none)));
        let mut going = policy("{.a[}");
        going["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        assert!(is_allowed(&review("PropagationPolicy", &going, &policy("{.a}"))));
    }

    #[test]
    fn what_is_no_review_is_not_answered() {
        for other in [
            Value::Null,
            json!({"kind": "AdmissionReview"}),
            json!({"kind": "AdmissionReview", "request": 1}),
            json!({"kind": "ConversionReview", "request": {}}),
        ] {
            assert_eq!(answer(&other), None);
        }
        assert!(is_allowed(
            &json!({"kind": "AdmissionReview", "request": {"object": [1]}})
        ));
    }

    #[tokio::test]
    async fn a_url_that_is_none_is_named() {
        let listener = async || tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        for url in ["http://host:1", "host", "https://"] {
            let error = Webhook::new(listener().await, Some(url)).err().unwrap();
            assert!(error.to_string().contains(url), "{error}");
        }
        let webhook = Webhook::new(listener().await, Some("https://hooks.example:9443/")).unwrap();
        let configuration = webhook.registration().configuration();
        assert_eq!(
            configuration["webhooks"][0]["clientConfig"]["url"],
            "https://hooks.example:9443/validate"
        );
    }
}

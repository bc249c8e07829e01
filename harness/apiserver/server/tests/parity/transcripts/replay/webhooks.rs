//! The webhooks of a scenario, served over HTTPS with a new certificate.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject as _;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

/// Running webhooks. Dropping them stops them.
pub struct Webhooks {
    addr: SocketAddr,
    ca: String,
    state: Arc<State>,
    task: JoinHandle<()>,
}

/// The behaviour of the webhooks, and the calls so far.
struct State {
    rules: BTreeMap<String, Value>,
    calls: Mutex<BTreeMap<String, Vec<Value>>>,
}

impl Webhooks {
    /// Serves webhooks with these rules, by name.
    pub async fn serve(rules: BTreeMap<String, Value>) -> Self {
        let (ca, config) = identity();
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a free port");
        let addr = listener.local_addr().expect("an address");
        let state = Arc::new(State {
            rules,
            calls: Mutex::default(),
        });
        let task = tokio::spawn(listen(listener, TlsAcceptor::from(Arc::new(config)), state.clone()));
        Self { addr, ca, state, task }
    }

    /// The URL of a webhook.
    pub fn url(&self, name: &str) -> String {
        format!("https://{}/{name}", self.addr)
    }

    /// The `caBundle` for webhook configurations.
    pub fn ca_bundle(&self) -> String {
        STANDARD.encode(&self.ca)
    }

    /// Returns the calls that a webhook has received so far.
    pub fn calls(&self, name: &str) -> Vec<Value> {
        let calls = self.state.calls.lock().expect("no holder panics");
        calls.get(name).cloned().unwrap_or_default()
    }
}

impl Drop for Webhooks {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Returns a CA, and a TLS configuration with a certificate of it.
fn identity() -> (String, ServerConfig) {
    let mut ca = CertificateParams::new(Vec::new()).expect("parameters");
    ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let ca_key = KeyPair::generate().expect("a key");
    let ca_certificate = ca.self_signed(&ca_key).expect("a certificate");
    let issuer = Issuer::new(ca, ca_key);
    let key = KeyPair::generate().expect("a key");
    let leaf = CertificateParams::new(vec!["127.0.0.1".to_owned()]).expect("parameters");
    let leaf = leaf.signed_by(&key, &issuer).expect("a certificate");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let private = PrivateKeyDer::from_pem_slice(key.serialize_pem().as_bytes()).expect("a key");
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions of TLS")
        .with_no_client_auth()
        .with_single_cert(vec![leaf.der().clone()], private)
        .expect("a certificate and its key");
    (ca_certificate.pem(), config)
}

async fn listen(listener: TcpListener, acceptor: TlsAcceptor, state: Arc<State>) {
    while let Ok((stream, _)) = listener.accept().await {
        let (acceptor, state) = (acceptor.clone(), state.clone());
        tokio::spawn(async move {
            // A server that does not trust the certificate closes the connection.
            let Ok(stream) = acceptor.accept(stream).await else {
                return;
            };
            let service = service_fn(|request| {
                let state = state.clone();
                async move { Ok::<_, Infallible>(state.answer(request).await) }
            });
            // The server decides how a connection ends.
            let _ = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
    }
}

impl State {
    async fn answer(&self, request: Request<Incoming>) -> Response<Full<Bytes>> {
        let name = request.uri().path().trim_matches('/').to_owned();
        let body = request.into_body().collect().await.expect("a body").to_bytes();
        let review: Value = serde_json::from_slice(&body).expect("a review");
        let Some(rule) = self.rules.get(&name) else {
            return answer(404, "no such webhook".to_owned());
        };
        let mut calls = self.calls.lock().expect("no holder panics");
        calls.entry(name).or_default().push(review["request"].clone());
        drop(calls);
        match rule["httpStatus"].as_u64() {
            Some(status) => {
                let text = rule["text"].as_str().unwrap_or_default();
                answer(u16::try_from(status).expect("a status"), text.to_owned())
            }
            None => answer(200, response(rule, &review).to_string()),
        }
    }
}

/// Returns the review of the answer.
fn response(rule: &Value, review: &Value) -> Value {
    let wrong_uid = rule["wrongUid"].as_bool() == Some(true);
    let uid = if wrong_uid {
        json!("00000000-0000-0000-0000-00000000beef")
    } else {
        review["request"]["uid"].clone()
    };
    let mut response = json!({"uid": uid, "allowed": rule.get("allowed").unwrap_or(&Value::Bool(true))});
    for key in ["status", "warnings", "auditAnnotations"] {
        if let Some(value) = rule.get(key) {
            response[key] = value.clone();
        }
    }
    if let Some(patch) = rule.get("patch") {
        response["patchType"] = "JSONPatch".into();
        response["patch"] = STANDARD.encode(patch.to_string()).into();
    }
    let version = rule.get("apiVersion").unwrap_or(&review["apiVersion"]);
    json!({"apiVersion": version, "kind": "AdmissionReview", "response": response})
}

fn answer(status: u16, body: String) -> Response<Full<Bytes>> {
    let response = Response::builder()
        .status(status)
        .header("Content-Type", "application/json");
    response.body(Full::new(body.into())).expect("an answer")
}

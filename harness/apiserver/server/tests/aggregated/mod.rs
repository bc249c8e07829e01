//! A small aggregated API server, over TLS, that lets in nobody but the front proxy.

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use futures::{StreamExt as _, channel::mpsc};
use http::{HeaderMap, Request, Response};
use http_body::Frame;
use http_body_util::{BodyExt, Full, StreamBody, combinators::BoxBody};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use rcgen::{CertificateParams, KeyPair};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

/// The group, and the path of its version.
pub const GROUP: &str = "wardle.example.com";
pub const PATH: &str = "/apis/wardle.example.com/v1alpha1";

type Body = BoxBody<Bytes, Infallible>;

/// What it was asked: method, path with query, and headers.
pub type Asked = (String, String, HeaderMap);

/// The server. It ends when this is dropped.
pub struct Aggregated {
    pub addr: SocketAddr,
    ca: String,
    shared: Arc<Shared>,
    stop: CancellationToken,
    task: Option<JoinHandle<Option<()>>>,
}

#[derive(Default)]
struct Shared {
    asked: Mutex<Vec<Asked>>,
    /// Where the events of the next watch come from.
    events: Mutex<Option<mpsc::UnboundedReceiver<Bytes>>>,
    /// Whether it is silent.
    silent: Mutex<bool>,
}

impl Aggregated {
    /// Begins to listen; `certified_for` is the name in its certificate, and clients must be certified by `front_proxy_ca`.
    pub async fn serve(certified_for: &str, front_proxy_ca: &str) -> Self {
        let key = KeyPair::generate().expect("a key");
        let params = CertificateParams::new(vec![certified_for.to_owned()]).expect("a name");
        let certificate = params.self_signed(&key).expect("a certificate");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut roots = RootCertStore::empty();
        let ca = CertificateDer::from_pem_slice(front_proxy_ca.as_bytes()).expect("a CA");
        roots.add(ca).expect("a CA");
        let clients = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider.clone()).build();
        let private = PrivateKeyDer::from_pem_slice(key.serialize_pem().as_bytes()).expect("a key");
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_client_cert_verifier(clients.expect("a verifier"))
            .with_single_cert(vec![certificate.der().clone()], private)
            .expect("a configuration");
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a port");
        let addr = listener.local_addr().expect("an address");
        let (shared, stop) = (Arc::new(Shared::default()), CancellationToken::new());
        let listening = listen(listener, TlsAcceptor::from(Arc::new(config)), shared.clone());
        let task = tokio::spawn(stop.clone().run_until_cancelled_owned(listening));
        Self {
            addr,
            ca: certificate.pem(),
            shared,
            stop,
            task: Some(task),
        }
    }

    /// The `APIService` that leads to it by a service.
    pub fn api_service(&self, service: &str) -> Value {
        json!({
            "metadata": {"name": format!("v1alpha1.{GROUP}")},
            "spec": {
                "group": GROUP, "version": "v1alpha1", "groupPriorityMinimum": 2000, "versionPriority": 10,
                "service": {"namespace": "default", "name": service, "port": self.addr.port()},
                "caBundle": STANDARD.encode(&self.ca),
            },
        })
    }

    /// What it was last asked about a path.
    pub fn asked(&self, method: &str, path: &str) -> HeaderMap {
        let asked = self.shared.asked.lock().expect("requests");
        let found = asked.iter().rev().find(|(by, of, _)| by == method && of == path);
        found.expect("such a request").2.clone()
    }

    /// Where the lines of the next watch are put.
    pub fn next_watch(&self) -> mpsc::UnboundedSender<Bytes> {
        let (sender, receiver) = mpsc::unbounded();
        *self.shared.events.lock().expect("events") = Some(receiver);
        sender
    }

    /// Ends it and waits until it has ended.
    pub async fn stop(&mut self) {
        self.stop.cancel();
        if let Some(task) = self.task.take() {
            task.await.expect("an end");
        }
    }

    /// Answers nothing from now on.
    pub fn fall_silent(&self) {
        *self.shared.silent.lock().expect("a state") = true;
    }
}

impl Drop for Aggregated {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

async fn listen(listener: TcpListener, acceptor: TlsAcceptor, shared: Arc<Shared>) {
    let mut connections = tokio::task::JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let (acceptor, shared) = (acceptor.clone(), shared.clone());
        connections.spawn(async move {
            let Ok(stream) = acceptor.accept(stream).await else {
                return;
            };
            let service = service_fn(|request| answer(shared.clone(), request));
            // How a connection ends is the caller's affair.
            let _ = auto::Builder::new(TokioExecutor::new())
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
    }
}

async fn answer(shared: Arc<Shared>, request: Request<Incoming>) -> Result<Response<Body>, Infallible> {
    let (parts, body) = request.into_parts();
    let path = parts.uri.to_string();
    shared
        .asked
        .lock()
        .expect("requests")
        .push((parts.method.to_string(), path.clone(), parts.headers));
    if *shared.silent.lock().expect("a state") {
        std::future::pending::<()>().await;
    }
    let flunders = format!("{PATH}/namespaces/default/flunders");
    let (code, said) = if path == PATH {
        let verbs = json!(["create", "get", "list", "watch"]);
        let resources = json!([
            {"name": "flunders", "singularName": "flunder", "namespaced": true, "kind": "Flunder", "verbs": verbs},
            {"name": "flunders/status", "singularName": "", "namespaced": true, "kind": "Flunder", "verbs": ["get"]},
        ]);
        let version = format!("{GROUP}/v1alpha1");
        (
            200,
            json!({"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": version, "resources": resources}),
        )
    } else if path == format!("{flunders}?watch=true") {
        let events = shared.events.lock().expect("events").take().expect("a watch");
        let body = StreamBody::new(events.map(|line| Ok(Frame::data(line))));
        return Ok(Response::new(BodyExt::boxed(body)));
    } else if path == flunders && parts.method == "POST" {
        let sent = body.collect().await.expect("a body").to_bytes();
        (201, serde_json::from_slice(&sent).expect("JSON"))
    } else if path == flunders {
        (
            200,
            json!({"kind": "FlunderList", "apiVersion": format!("{GROUP}/v1alpha1"), "metadata": {}, "items": []}),
        )
    } else {
        (
            404,
            json!({"kind": "Status", "status": "Failure", "message": "flunder not found", "code": 404}),
        )
    };
    let mut response = Response::new(Full::new(Bytes::from(said.to_string())).boxed());
    *response.status_mut() = http::StatusCode::from_u16(code).expect("a code");
    let json = http::HeaderValue::from_static("application/json");
    response.headers_mut().insert(http::header::CONTENT_TYPE, json);
    Ok(response)
}

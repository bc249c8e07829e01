//! Malicious and faulty clients, over HTTPS: they get an error, and other clients do not notice.

use std::sync::Arc;

use baton_apiserver::{ApiServer, Options, Serving};
use jiff::Timestamp;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

async fn serve(history: usize) -> (ApiServer, Serving) {
    let mut options = Options::new("test", Arc::new(|| Timestamp::UNIX_EPOCH));
    options.history = history;
    let server = ApiServer::new(options);
    let serving = server.serve().await.expect("an endpoint");
    (server, serving)
}

async fn connect(serving: &Serving) -> TlsStream<TcpStream> {
    let mut roots = RootCertStore::empty();
    let ca = CertificateDer::from_pem_slice(serving.ca().as_bytes()).expect("a certificate");
    roots.add(ca).expect("a certificate");
    let config = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("versions of TLS")
        .with_root_certificates(roots)
        .with_no_client_auth();
    let stream = TcpStream::connect(serving.addr()).await.expect("a connection");
    let name = ServerName::try_from("localhost").expect("a name");
    let connector = TlsConnector::from(Arc::new(config));
    connector.connect(name, stream).await.expect("a handshake")
}

/// The head of a request whose body has this many bytes.
fn head(serving: &Serving, method: &str, path: &str, length: usize) -> String {
    format!(
        "{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\n\
         Content-Length: {length}\r\nConnection: close\r\n\r\n",
        serving.token()
    )
}

/// Sends a request on a new connection; returns the status and the body of the answer.
async fn send(serving: &Serving, method: &str, path: &str, body: &str) -> (u16, String) {
    let mut stream = connect(serving).await;
    let request = format!("{}{body}", head(serving, method, path, body.len()));
    // The server may close the connection before it has read everything.
    let _ = stream.write_all(request.as_bytes()).await;
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    let answer = String::from_utf8(answer).expect("text");
    let (head, body) = answer.split_once("\r\n\r\n").expect("an answer");
    let status = head.split(' ').nth(1).expect("a status").parse().expect("a number");
    (status, body.to_owned())
}

fn config_map(name: &str, data: &str) -> String {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"d": data}}).to_string()
}

#[tokio::test]
async fn nesting_without_end_is_a_bad_request() {
    let (_server, serving) = serve(100).await;
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        for depth in [200, 10_000, 300_000] {
            let inner = if open == "[" { "" } else { "1" };
            let deep = format!("{}{inner}{}", open.repeat(depth), close.repeat(depth));
            let body = format!(
                "{{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{{\"name\":\"a\"}},\"x\":{deep}}}"
            );
            let (status, answer) = send(&serving, "POST", MAPS, &body).await;
            let answer: Value = serde_json::from_str(&answer).expect("a Status");
            assert_eq!(
                (status, &answer["reason"]),
                (400, &json!("BadRequest")),
                "{open} {depth}: {answer}"
            );
        }
    }
    assert_eq!(send(&serving, "POST", MAPS, &config_map("a", "")).await.0, 201);
}

#[tokio::test]
async fn bodies_and_queries_without_end_are_refused() {
    let (_server, serving) = serve(100).await;
    let (status, answer) = send(&serving, "POST", MAPS, &config_map("a", &"x".repeat(4 << 20))).await;
    assert_eq!(status, 413, "{answer}");
    let selector: Vec<String> = (0..2_000).map(|n| format!("l{n}%3Dx")).collect();
    let path = format!("{MAPS}?labelSelector={}", selector.join(","));
    assert_eq!(send(&serving, "GET", &path, "").await.0, 200);
    let nested = format!("{MAPS}?labelSelector={}", "(".repeat(30_000));
    assert_eq!(send(&serving, "GET", &nested, "").await.0, 400);
}

#[tokio::test]
async fn clients_that_stop_halfway_hold_nobody_up() {
    let (_server, serving) = serve(100).await;
    let mut stuck = Vec::new();
    for _ in 0..30 {
        // No handshake; half a head; half a body.
        let plain = TcpStream::connect(serving.addr()).await.expect("a connection");
        let (mut heads, mut bodies) = (connect(&serving).await, connect(&serving).await);
        heads.write_all(b"GET /api HTTP/1.1\r\nHos").await.expect("written");
        let half = format!("{}{{\"api", head(&serving, "POST", MAPS, 1_000));
        bodies.write_all(half.as_bytes()).await.expect("written");
        stuck.push((plain, heads, bodies));
    }
    assert_eq!(send(&serving, "POST", MAPS, &config_map("a", "")).await.0, 201);
    assert_eq!(send(&serving, "GET", &format!("{MAPS}/a"), "").await.0, 200);
    drop(stuck);
    assert_eq!(send(&serving, "GET", &format!("{MAPS}/a"), "").await.0, 200);
}

#[tokio::test]
async fn a_watcher_that_does_not_read_is_cut_off() {
    const EVENTS: usize = 400;
    const SIZE: usize = 100_000;
    let (_server, serving) = serve(50).await;
    let mut watcher = connect(&serving).await;
    let request = head(&serving, "GET", &format!("{MAPS}?watch=1&allowWatchBookmarks=1"), 0);
    watcher.write_all(request.as_bytes()).await.expect("written");
    for n in 0..EVENTS {
        let body = config_map(&format!("m{n}"), &"x".repeat(SIZE));
        assert_eq!(send(&serving, "POST", MAPS, &body).await.0, 201);
    }
    let mut received = Vec::new();
    watcher.read_to_end(&mut received).await.expect("the rest");
    assert!(
        received.len() < EVENTS * SIZE,
        "everything was kept for it: {} bytes",
        received.len()
    );
    let received = String::from_utf8(received).expect("text");
    let last = received.lines().rfind(|line| line.starts_with('{')).expect("a line");
    let last: Value = serde_json::from_str(last).expect("an event");
    assert_eq!(
        (&last["type"], &last["object"]["code"]),
        (&json!("ERROR"), &json!(410)),
        "{last}"
    );
}

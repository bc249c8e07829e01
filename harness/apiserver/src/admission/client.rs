//! One HTTPS request to a webhook.

use std::sync::Arc;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::Pending;

/// How large an answer may be.
const MAX_ANSWER: usize = 4 << 20;

/// Makes a call; the error is worded as a Go client words it.
pub(crate) async fn call(call: &Pending) -> Result<Vec<u8>, String> {
    let _time_stands = hold_time();
    let within = tokio::time::timeout(call.timeout, post(call)).await;
    let outcome = within.unwrap_or_else(|_| Err(Failed::Call("context deadline exceeded".to_owned())));
    outcome.map_err(|failed| match failed {
        Failed::Call(reason) => format!("failed to call webhook: Post {:?}: {reason}", call.url),
        Failed::Answer(reason) => format!("failed to call webhook: {reason}"),
    })
}

/// On a paused clock time would run ahead of the network: nothing but the call is under way, so that everybody waits.
/// It does not while something blocks. Lets go when it is dropped.
fn hold_time() -> std::sync::mpsc::Sender<()> {
    let (held, end) = std::sync::mpsc::channel();
    tokio::task::spawn_blocking(move || end.recv());
    held
}

/// Where a call failed.
enum Failed {
    /// On the way.
    Call(String),
    /// The webhook answered with an error.
    Answer(String),
}

async fn post(call: &Pending) -> Result<Vec<u8>, Failed> {
    let uri: http::Uri = call
        .url
        .parse()
        .map_err(|error: http::uri::InvalidUri| Failed::Call(error.to_string()))?;
    let host = uri.host().unwrap_or_default().trim_matches(['[', ']']).to_owned();
    let port = uri.port_u16().unwrap_or(443);
    let stream = TcpStream::connect((host.as_str(), port))
        .await
        .map_err(|error| Failed::Call(format!("dial tcp {host}:{port}: {}", dialing(&error))))?;
    let name = ServerName::try_from(host.clone()).map_err(|error| Failed::Call(error.to_string()))?;
    let tls = TlsConnector::from(Arc::new(trusting(&call.ca)?));
    let stream = tls
        .connect(name, stream)
        .await
        .map_err(|error| Failed::Call(format!("tls: failed to verify certificate: {error}")))?;
    let broken = |error: hyper::Error| Failed::Call(error.to_string());
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
        .await
        .map_err(broken)?;
    let driver = tokio::spawn(connection);
    let target = uri.path_and_query().map_or("/", http::uri::PathAndQuery::as_str);
    let request = http::Request::post(target)
        .header(http::header::HOST, format!("{host}:{port}"))
        .header(http::header::CONTENT_TYPE, "application/json")
        .header(http::header::ACCEPT, "application/json")
        .header(http::header::USER_AGENT, "kube-apiserver-admission")
        .body(Full::new(Bytes::from(call.body.clone())))
        .map_err(|error| Failed::Call(error.to_string()))?;
    let response = sender.send_request(request).await.map_err(broken)?;
    let status = response.status();
    let body = Limited::new(response.into_body(), MAX_ANSWER).collect().await;
    driver.abort();
    let body = body.map_err(|error| Failed::Call(error.to_string()))?.to_bytes();
    if status.is_success() {
        return Ok(body.to_vec());
    }
    Err(Failed::Answer(match status.as_u16() {
        404 => "the server could not find the requested resource".to_owned(),
        400 => "the server rejected our request for an unknown reason".to_owned(),
        code if code >= 500 => {
            let text = String::from_utf8_lossy(&body).into_owned();
            format!("an error on the server ({text:?}) has prevented the request from succeeding")
        }
        _ => "the server responded with an unexpected status".to_owned(),
    }))
}

fn dialing(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::ConnectionRefused => "connect: connection refused".to_owned(),
        std::io::ErrorKind::TimedOut => "i/o timeout".to_owned(),
        _ => error.to_string(),
    }
}

/// A client that trusts these certificates and no others.
fn trusting(ca: &[u8]) -> Result<rustls::ClientConfig, Failed> {
    let mut roots = rustls::RootCertStore::empty();
    for block in pem::parse_many(ca).unwrap_or_default() {
        // A certificate that cannot be read is not trusted, which the handshake will say.
        let _ = roots.add(block.into_contents().into());
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| Failed::Call(error.to_string()))?;
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}

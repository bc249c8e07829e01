//! One HTTPS request to a webhook.

use std::sync::Arc;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper_util::rt::TokioIo;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{DigitallySignedStruct, SignatureScheme};
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
            // What is no object of the API is not shown.
            let status = serde_json::from_slice::<serde_json::Value>(&body).unwrap_or_default();
            let text = status
                .get("message")
                .and_then(serde_json::Value::as_str)
                .unwrap_or("unknown");
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
    let mut own = Vec::new();
    for block in pem::parse_many(ca).unwrap_or_default() {
        let certificate = CertificateDer::from(block.into_contents());
        // A certificate that cannot be read is not trusted, which the handshake will say.
        let _ = roots.add(certificate.clone());
        own.push(certificate);
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = rustls::ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(|error| Failed::Call(error.to_string()))?;
    let chains = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider)
        .build()
        .map_err(|error| Failed::Call(error.to_string()))?;
    Ok(builder
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Trusting { chains, own }))
        .with_no_client_auth())
}

/// Trusts chains that end in given certificates, and these themselves: a webhook may show the very certificate that its
/// configuration has, as self-signed ones do.
#[derive(Debug)]
struct Trusting {
    chains: Arc<WebPkiServerVerifier>,
    own: Vec<CertificateDer<'static>>,
}

impl ServerCertVerifier for Trusting {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        if self.own.contains(end_entity) {
            let parsed = ParsedCertificate::try_from(end_entity)?;
            verify_server_name(&parsed, server_name)?;
            return Ok(ServerCertVerified::assertion());
        }
        self.chains
            .verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.chains.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.chains.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.chains.supported_verify_schemes()
    }
}

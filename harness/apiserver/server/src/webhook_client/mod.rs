//! Calls to webhooks, of admission and of conversion: where they are ([`Endpoint`]), the HTTPS request ([`call`]) and
//! the review that comes back ([`answer`]).

pub(crate) mod answer;

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use baton_apimachinery::meta;
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper_util::rt::TokioIo;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, SignatureScheme};
use serde_json::Value;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

/// How large an answer may be.
const MAX_ANSWER: usize = 4 << 20;
/// How much of an error is shown.
const MAX_SHOWN: usize = 2048;

/// Where a webhook is.
#[derive(Debug, Clone)]
pub(crate) struct Endpoint {
    /// With the timeout as parameter.
    url: String,
    /// The service behind the address: there is none that could be reached.
    service: Option<String>,
    /// The certificates to trust, as PEM.
    ca: Vec<u8>,
    timeout: Duration,
}

impl Endpoint {
    /// Reads a `clientConfig`.
    pub(crate) fn read(config: &Value, timeout_secs: u64) -> Self {
        let text = |pointer: &str| config.pointer(pointer).and_then(Value::as_str);
        let url = text("/url").map_or_else(|| of_service(config), str::to_owned);
        let separator = if url.contains('?') { '&' } else { '?' };
        let ca = text("/caBundle").unwrap_or_default();
        Self {
            url: format!("{url}{separator}timeout={timeout_secs}s"),
            service: text("/service/name").map(str::to_owned),
            ca: base64::engine::general_purpose::STANDARD.decode(ca).unwrap_or_default(),
            timeout: Duration::from_secs(timeout_secs),
        }
    }
}

/// The address of a service, as the server would call it.
fn of_service(config: &Value) -> String {
    let service = config.get("service").unwrap_or(&Value::Null);
    let text = |key: &str| meta::text(service, key);
    let port = service.get("port").and_then(Value::as_u64).unwrap_or(443);
    let path = text("path").trim_start_matches('/');
    format!("https://{}.{}.svc:{port}/{path}", text("name"), text("namespace"))
}

/// Makes a call; the error is worded as a Go client words it.
pub(crate) async fn call(endpoint: &Endpoint, body: &[u8]) -> Result<Vec<u8>, String> {
    let request = Request { endpoint, body };
    let within = tokio::time::timeout(endpoint.timeout, post_until_answered(&request)).await;
    let outcome = within.unwrap_or_else(|_| Err(Failed::Call("context deadline exceeded".to_owned())));
    outcome.map_err(|failed| match failed {
        Failed::Call(reason) => format!("Post {:?}: {reason}", endpoint.url),
        Failed::Answer(reason) => reason,
    })
}

/// What is sent, and where to.
struct Request<'a> {
    endpoint: &'a Endpoint,
    body: &'a [u8],
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

/// What came of one call.
enum Answered {
    Body(Vec<u8>),
    /// The webhook asks to be called again, after this time.
    Later(Duration),
}

async fn post_until_answered(call: &Request<'_>) -> Result<Vec<u8>, Failed> {
    loop {
        match post(call).await? {
            Answered::Body(body) => return Ok(body),
            Answered::Later(pause) => tokio::time::sleep(pause).await,
        }
    }
}

async fn post(call: &Request<'_>) -> Result<Answered, Failed> {
    let Endpoint { url, service, ca, .. } = call.endpoint;
    if let Some(service) = service {
        return Err(Failed::Call(format!("service {service:?} not found")));
    }
    // Not while a call waits to be made again: that pause is time.
    let _time_stands = hold_time();
    let uri: http::Uri = url
        .parse()
        .map_err(|error: http::uri::InvalidUri| Failed::Call(error.to_string()))?;
    let host = uri.host().unwrap_or_default().trim_matches(['[', ']']).to_owned();
    let port = uri.port_u16().unwrap_or(443);
    let stream = TcpStream::connect((host.as_str(), port))
        .await
        .map_err(|error| Failed::Call(format!("dial tcp {host}:{port}: {}", dialing(&error))))?;
    let name = ServerName::try_from(host.clone()).map_err(|error| Failed::Call(error.to_string()))?;
    let tls = TlsConnector::from(Arc::new(trusting(ca)?));
    let stream = tls
        .connect(name, stream)
        .await
        .map_err(|error| Failed::Call(format!("tls: failed to verify certificate: {}", verifying(&error))))?;
    let broken = |error: hyper::Error| Failed::Call(breaking(&error));
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
        .await
        .map_err(broken)?;
    let driver = tokio::spawn(connection);
    let target = uri.path_and_query().map_or("/", http::uri::PathAndQuery::as_str);
    let request = http::Request::post(target)
        .header(http::header::HOST, format!("{host}:{port}"))
        .header(http::header::CONTENT_TYPE, "application/json")
        .header(http::header::ACCEPT, "application/json, */*")
        .header(http::header::USER_AGENT, "kube-apiserver-admission")
        .body(Full::new(Bytes::copy_from_slice(call.body)))
        .map_err(|error| Failed::Call(error.to_string()))?;
    let response = sender.send_request(request).await.map_err(broken)?;
    let (head, body) = response.into_parts();
    let body = Limited::new(body, MAX_ANSWER).collect().await;
    driver.abort();
    let body = body.map_err(|error| Failed::Call(error.to_string()))?.to_bytes();
    if let Some(pause) = pause_of(&head) {
        return Ok(Answered::Later(pause));
    }
    let media = head.headers.get(http::header::CONTENT_TYPE);
    let media = media.and_then(|media| media.to_str().ok()).unwrap_or_default();
    if !head.status.is_success() {
        return Err(Failed::Answer(worded(head.status.as_u16(), media, &body)));
    }
    if body.is_empty() {
        let (code, media) = (
            head.status.as_u16(),
            if media.is_empty() { "application/json" } else { media },
        );
        let empty = format!("0-length response with status code: {code} and content type: {media}");
        return Err(Failed::Answer(empty));
    }
    Ok(Answered::Body(body.to_vec()))
}

/// How long to wait before the call is tried again, if the answer says so.
fn pause_of(head: &http::response::Parts) -> Option<Duration> {
    let may = head.status == http::StatusCode::TOO_MANY_REQUESTS || head.status.is_server_error();
    let pause = head.headers.get(http::header::RETRY_AFTER).filter(|_| may)?;
    Some(Duration::from_secs(pause.to_str().ok()?.parse().ok()?))
}

/// An answer with an error, in the words of a Go client. What is text is shown, of other bodies only a status.
fn worded(code: u16, media: &str, body: &[u8]) -> String {
    let status: serde_json::Value = serde_json::from_slice(body).unwrap_or_default();
    let member = |key: &str| status.get(key).and_then(serde_json::Value::as_str).unwrap_or_default();
    if member("kind") == "Status" && member("status") != "Success" {
        return member("message").to_owned();
    }
    let shown = body.get(..MAX_SHOWN).unwrap_or(body);
    let text = String::from_utf8_lossy(shown);
    let is_text = media.is_empty() || media.starts_with("text/");
    let text = if is_text { text.trim() } else { "unknown" };
    match code {
        400 => "the server rejected our request for an unknown reason".to_owned(),
        401 => "the server has asked for the client to provide credentials".to_owned(),
        404 => "the server could not find the requested resource".to_owned(),
        405 => "the server does not allow this method on the requested resource".to_owned(),
        406 if matches!(text, "" | "unknown") => {
            "the server was unable to respond with a content type that the client supports".to_owned()
        }
        403 | 406 | 415 => text.to_owned(),
        409 => "the server reported a conflict".to_owned(),
        422 => "the server rejected our request due to an error in our request".to_owned(),
        429 => "the server has received too many requests and has asked us to try again later".to_owned(),
        503 => "the server is currently unable to handle the request".to_owned(),
        504 => {
            "the server was unable to return a response in the time allotted, but may still be processing the request"
                .to_owned()
        }
        500.. => format!("an error on the server ({text:?}) has prevented the request from succeeding"),
        _ => format!("the server responded with the status code {code} but did not return more information"),
    }
}

fn dialing(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::ConnectionRefused => "connect: connection refused".to_owned(),
        std::io::ErrorKind::TimedOut => "i/o timeout".to_owned(),
        _ => error.to_string(),
    }
}

fn breaking(error: &hyper::Error) -> String {
    let cause = std::error::Error::source(error).and_then(|cause| cause.downcast_ref::<std::io::Error>());
    let ended = cause.is_some_and(|cause| cause.kind() == std::io::ErrorKind::UnexpectedEof);
    if ended || error.is_incomplete_message() {
        return "EOF".to_owned();
    }
    error.to_string()
}

fn verifying(error: &std::io::Error) -> String {
    let cause = error.get_ref().and_then(|cause| cause.downcast_ref::<rustls::Error>());
    match cause {
        Some(rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer)) => UNKNOWN_AUTHORITY.to_owned(),
        Some(rustls::Error::InvalidCertificate(CertificateError::NotValidForNameContext { expected, presented })) => {
            other_name(&expected.to_str(), presented)
        }
        Some(_) | None => error.to_string(),
    }
}

/// That a certificate is not of a host. `presented` are its names: `DnsName("a")`, `IpAddress(127.0.0.1)`.
fn other_name(wanted: &str, presented: &[String]) -> String {
    let of = |kind: &str| {
        let names = presented
            .iter()
            .filter_map(|name| name.strip_prefix(kind)?.strip_suffix(')'));
        let names: Vec<&str> = names.map(|name| name.trim_matches(['(', '"'])).collect();
        names.join(", ")
    };
    let is_address = wanted.parse::<std::net::IpAddr>().is_ok();
    let names = of(if is_address { "IpAddress" } else { "DnsName" });
    match (is_address, names.is_empty()) {
        (true, true) => {
            format!("x509: cannot validate certificate for {wanted} because it doesn't contain any IP SANs")
        }
        (false, true) => format!("x509: certificate is not valid for any names, but wanted to match {wanted}"),
        (_, false) => format!("x509: certificate is valid for {names}, not {wanted}"),
    }
}

const UNKNOWN_AUTHORITY: &str = "x509: certificate signed by unknown authority";

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
    if own.is_empty() {
        return Err(Failed::Call(format!(
            "tls: failed to verify certificate: {UNKNOWN_AUTHORITY}"
        )));
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

#[cfg(test)]
mod tests {
    use super::{other_name, worded};

    #[test]
    fn whose_a_certificate_is_not() {
        let presented = [
            "DnsName(\"a.example\")",
            "DnsName(\"b.example\")",
            "IpAddress(10.0.0.1)",
        ]
        .map(str::to_owned);
        for (wanted, presented, words) in [
            (
                "c.example",
                &presented[..],
                "x509: certificate is valid for a.example, b.example, not c.example",
            ),
            (
                "127.0.0.1",
                &presented[..],
                "x509: certificate is valid for 10.0.0.1, not 127.0.0.1",
            ),
            (
                "c.example",
                &presented[2..],
                "x509: certificate is not valid for any names, but wanted to match c.example",
            ),
            (
                "127.0.0.1",
                &presented[..2],
                "x509: cannot validate certificate for 127.0.0.1 because it doesn't contain any IP SANs",
            ),
        ] {
            assert_eq!(other_name(wanted, presented), words);
        }
    }

    #[test]
    fn errors_are_those_of_a_go_client() {
        let status = r#"{"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": "bad"}"#;
        for (code, media, body, words) in [
            (500, "application/json", status, "bad"),
            (
                500,
                "text/html; charset=utf-8",
                "boom\n",
                "an error on the server (\"boom\") has prevented the request from succeeding",
            ),
            (
                502,
                "",
                "boom",
                "an error on the server (\"boom\") has prevented the request from succeeding",
            ),
            (
                500,
                "application/json",
                "boom",
                "an error on the server (\"unknown\") has prevented the request from succeeding",
            ),
            (503, "", "boom", "the server is currently unable to handle the request"),
            (403, "text/plain", "no\n", "no"),
            (
                406,
                "application/json",
                "",
                "the server was unable to respond with a content type that the client supports",
            ),
            (
                301,
                "text/plain",
                "there",
                "the server responded with the status code 301 but did not return more information",
            ),
            (
                429,
                "",
                "",
                "the server has received too many requests and has asked us to try again later",
            ),
        ] {
            assert_eq!(worded(code, media, body.as_bytes()), words);
        }
    }
}

//! Calls to webhooks of admission and of conversion: their addresses ([`Endpoint`]), the HTTPS request ([`call`]) and
//! the review in the answer ([`answer`]).

pub(crate) mod answer;

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use baton_apimachinery::meta;
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper_util::rt::TokioIo;
use rustls::pki_types::{InvalidDnsNameError, ServerName};
use serde_json::Value;

use crate::tls_client::{self, ConnectError};

/// Maximum size of an answer in bytes.
const MAX_ANSWER: usize = 4 << 20;
/// Maximum size in bytes of a shown error.
const MAX_SHOWN: usize = 2048;

/// The address of a webhook, and its trusted certificates.
#[derive(Debug, Clone)]
pub(crate) struct Endpoint {
    /// The URL, with the timeout as a parameter.
    url: String,
    /// The service behind the address, which can never be reached: no workloads run here.
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

/// Returns the address of a service, as the server would call it.
fn of_service(config: &Value) -> String {
    let service = config.get("service").unwrap_or(&Value::Null);
    let text = |key: &str| meta::text(service, key);
    let port = service.get("port").and_then(Value::as_u64).unwrap_or(443);
    let path = text("path").trim_start_matches('/');
    format!("https://{}.{}.svc:{port}/{path}", text("name"), text("namespace"))
}

/// Reason for which a call has no answer, in the words of a Go client.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CallError {
    /// The URL, and the reason for which it did not answer.
    #[error("Post {0:?}: {1}")]
    Post(String, #[source] PostError),
    /// The webhook answered with an error.
    #[error("{0}")]
    Status(String),
    #[error("0-length response with status code: {code} and content type: {media}")]
    Empty { code: u16, media: String },
}

/// Reason for which a request to a webhook is not answered.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PostError {
    #[error("context deadline exceeded")]
    Timeout,
    #[error("service {0:?} not found")]
    NoService(String),
    #[error(transparent)]
    Url(#[from] http::uri::InvalidUri),
    #[error(transparent)]
    Name(#[from] InvalidDnsNameError),
    #[error(transparent)]
    Connect(#[from] ConnectError),
    #[error("{}", tls_client::breaking(.0))]
    Broken(#[from] hyper::Error),
    #[error(transparent)]
    Request(#[from] http::Error),
    #[error(transparent)]
    Body(#[from] Box<dyn std::error::Error + Send + Sync>),
}

/// Makes a call; the webhook may ask to be called again later.
pub(crate) async fn call(endpoint: &Endpoint, body: &[u8]) -> Result<Vec<u8>, CallError> {
    let failed = |error| CallError::Post(endpoint.url.clone(), error);
    let answered = async {
        loop {
            let (head, body) = post(endpoint, body).await.map_err(failed)?;
            match pause_of(&head) {
                Some(pause) => tokio::time::sleep(pause).await,
                None => return answer_in(&head, &body),
            }
        }
    };
    let within = tokio::time::timeout(endpoint.timeout, answered).await;
    within.unwrap_or_else(|_| Err(failed(PostError::Timeout)))
}

async fn post(endpoint: &Endpoint, body: &[u8]) -> Result<(http::response::Parts, Bytes), PostError> {
    if let Some(service) = &endpoint.service {
        return Err(PostError::NoService(service.clone()));
    }
    let uri: http::Uri = endpoint.url.parse()?;
    let host = uri.host().unwrap_or_default().trim_matches(['[', ']']).to_owned();
    let port = uri.port_u16().unwrap_or(443);
    // Held during the call only: a pause before the next attempt takes virtual time.
    let _time_stands = tls_client::hold_time(&host);
    let stream = tls_client::dial(&host, port).await?;
    let name = ServerName::try_from(host.clone())?;
    let tls = tls_client::config(&endpoint.ca)?;
    let stream = tls_client::secure(stream, name, Arc::new(tls)).await?;
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    let driver = tokio::spawn(connection);
    let target = uri.path_and_query().map_or("/", http::uri::PathAndQuery::as_str);
    let request = http::Request::post(target)
        .header(http::header::HOST, format!("{host}:{port}"))
        .header(http::header::CONTENT_TYPE, "application/json")
        .header(http::header::ACCEPT, "application/json, */*")
        .header(http::header::USER_AGENT, "kube-apiserver-admission")
        .body(Full::new(Bytes::copy_from_slice(body)))?;
    let (head, body) = sender.send_request(request).await?.into_parts();
    let body = Limited::new(body, MAX_ANSWER).collect().await;
    driver.abort();
    Ok((head, body?.to_bytes()))
}

/// Returns the body of an answer, unless the answer is an error.
fn answer_in(head: &http::response::Parts, body: &[u8]) -> Result<Vec<u8>, CallError> {
    let code = head.status.as_u16();
    let media = head.headers.get(http::header::CONTENT_TYPE);
    let media = media.and_then(|media| media.to_str().ok()).unwrap_or_default();
    if !head.status.is_success() {
        return Err(CallError::Status(worded(code, media, body)));
    }
    if body.is_empty() {
        let media = if media.is_empty() { "application/json" } else { media };
        let media = media.to_owned();
        return Err(CallError::Empty { code, media });
    }
    Ok(body.to_vec())
}

/// Returns the pause before the next attempt, if the answer asks for one.
fn pause_of(head: &http::response::Parts) -> Option<Duration> {
    let may = head.status == http::StatusCode::TOO_MANY_REQUESTS || head.status.is_server_error();
    let pause = head.headers.get(http::header::RETRY_AFTER).filter(|_| may)?;
    Some(Duration::from_secs(pause.to_str().ok()?.parse().ok()?))
}

/// Returns an error answer in the words of a Go client. Text is shown; of other bodies, only the status.
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

#[cfg(test)]
mod tests {
    use super::worded;

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

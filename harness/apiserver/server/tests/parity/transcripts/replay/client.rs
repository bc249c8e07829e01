//! HTTP/1.1 over TLS: one connection per request.

use std::net::SocketAddr;
use std::sync::Arc;

use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio_rustls::TlsConnector;

/// The address and credentials of a server.
pub struct Client {
    addr: SocketAddr,
    pub token: String,
    connector: TlsConnector,
}

/// An answer that has been read completely.
#[derive(Debug, Clone, Default)]
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub text: String,
    pub json: Option<Value>,
}

impl Answer {
    pub fn header(&self, name: &str) -> Vec<&str> {
        let named = self.headers.iter().filter(|(key, _)| key.eq_ignore_ascii_case(name));
        named.map(|(_, value)| value.as_str()).collect()
    }
}

/// A request before it is sent.
#[derive(Debug, Clone, Default)]
pub struct Asked {
    pub method: String,
    pub path: String,
    pub headers: Vec<(String, String)>,
    pub body: Option<String>,
}

/// The lines of a watch; the channel closes when the stream ends.
pub type Lines = mpsc::UnboundedReceiver<String>;

impl Client {
    pub fn new(addr: SocketAddr, token: &str, ca: &str) -> Self {
        let mut roots = RootCertStore::empty();
        for certificate in pem::parse_many(ca).expect("a CA") {
            roots.add(certificate.into_contents().into()).expect("a certificate");
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("versions of TLS")
            .with_root_certificates(roots)
            .with_no_client_auth();
        Self {
            addr,
            token: token.to_owned(),
            connector: TlsConnector::from(Arc::new(config)),
        }
    }

    async fn open(&self, asked: &Asked) -> Result<Response<Incoming>, String> {
        let text = |error: &dyn std::fmt::Display| format!("the request failed: {error}");
        let stream = TcpStream::connect(self.addr).await.map_err(|error| text(&error))?;
        let name = ServerName::IpAddress(self.addr.ip().into());
        let stream = self
            .connector
            .connect(name, stream)
            .await
            .map_err(|error| text(&error))?;
        let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
            .await
            .map_err(|error| text(&error))?;
        tokio::spawn(connection);
        let mut request = Request::builder()
            .method(asked.method.as_str())
            .uri(&asked.path)
            .header("Host", self.addr.to_string());
        for (name, value) in &asked.headers {
            request = request.header(name, value);
        }
        let body = Full::new(Bytes::from(asked.body.clone().unwrap_or_default()));
        let request = request.body(body).map_err(|error| text(&error))?;
        sender.send_request(request).await.map_err(|error| text(&error))
    }

    /// Sends a request and reads the answer.
    pub async fn send(&self, asked: &Asked) -> Result<Answer, String> {
        read(self.open(asked).await?).await
    }

    /// Opens a watch; returns its answer without body, and its lines unless it was refused.
    pub async fn watch(&self, asked: &Asked) -> Result<(Answer, Option<Lines>), String> {
        let response = self.open(asked).await?;
        if response.status() != 200 {
            return Ok((read(response).await?, None));
        }
        let answer = head(&response);
        let (sender, lines) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            let mut body = response.into_body();
            let mut rest = Vec::new();
            while let Some(Ok(frame)) = body.frame().await {
                rest.extend_from_slice(frame.data_ref().map_or(&[][..], |data| data));
                while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
                    let line: Vec<u8> = rest.drain(..=end).collect();
                    if sender.send(String::from_utf8_lossy(&line).trim().to_owned()).is_err() {
                        return;
                    }
                }
            }
        });
        Ok((answer, Some(lines)))
    }
}

fn head(response: &Response<Incoming>) -> Answer {
    let headers = response.headers().iter();
    Answer {
        status: response.status().as_u16(),
        headers: headers
            .map(|(name, value)| (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned()))
            .collect(),
        ..Answer::default()
    }
}

async fn read(response: Response<Incoming>) -> Result<Answer, String> {
    let mut answer = head(&response);
    let body = response.into_body().collect().await;
    let bytes = body
        .map_err(|error| format!("the answer broke off: {error}"))?
        .to_bytes();
    answer.text = String::from_utf8_lossy(&bytes).into_owned();
    answer.json = serde_json::from_slice(&bytes).ok();
    Ok(answer)
}

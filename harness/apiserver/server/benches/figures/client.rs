//! A client of either endpoint, with its own connection.

use std::fmt;
use std::sync::Arc;

use baton_apiserver::{ApiServer, InProcess, Serving};
use bytes::Bytes;
use futures::StreamExt as _;
use futures::stream::BoxStream;
use http::{Method, Request, header};
use http_body_util::{BodyExt as _, BodyStream, Full};
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tower::Service as _;

use crate::Failure;

/// The two endpoints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Endpoint {
    InProcess,
    Https,
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::InProcess => "in-process",
            Self::Https => "https",
        })
    }
}

/// A client.
pub struct Client {
    way: Way,
    authorization: String,
}

enum Way {
    InProcess(InProcess),
    /// HTTP/1.1, as kubectl and kube-rs use it: one request after the other.
    Http1(http1::SendRequest<Full<Bytes>>),
    /// HTTP/2, as client-go's watches use it: many requests at once.
    Http2(http2::SendRequest<Full<Bytes>>),
}

/// The lines of a watch, in pieces of any size.
pub type Pieces = BoxStream<'static, Result<Bytes, Failure>>;

impl Client {
    pub async fn connect(endpoint: Endpoint, server: &ApiServer, serving: &Serving) -> Result<Self, Failure> {
        let way = match endpoint {
            Endpoint::InProcess => Way::InProcess(server.service("bench/1.0")),
            Endpoint::Https => {
                let stream = tls(serving, b"http/1.1").await?;
                let (sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
                tokio::spawn(connection);
                Way::Http1(sender)
            }
        };
        Ok(Self::on(way, serving))
    }

    /// Connects a client that can have many concurrent requests.
    pub async fn multiplexed(endpoint: Endpoint, server: &ApiServer, serving: &Serving) -> Result<Self, Failure> {
        if endpoint == Endpoint::InProcess {
            return Self::connect(endpoint, server, serving).await;
        }
        let stream = tls(serving, b"h2").await?;
        let (sender, connection) = http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await?;
        tokio::spawn(connection);
        Ok(Self::on(Way::Http2(sender), serving))
    }

    fn on(way: Way, serving: &Serving) -> Self {
        Self {
            way,
            authorization: format!("Bearer {}", serving.token()),
        }
    }

    pub async fn get(&mut self, path: &str) -> Result<Bytes, Failure> {
        self.send(&Method::GET, path, "", Bytes::new()).await
    }

    /// Sends a request and reads the answer; any status but success is a failure.
    pub async fn send(&mut self, method: &Method, path: &str, media: &str, body: Bytes) -> Result<Bytes, Failure> {
        let mut pieces = self.open(method, path, media, body).await?;
        let mut all = Vec::new();
        while let Some(piece) = pieces.next().await {
            all.extend_from_slice(&piece?);
        }
        Ok(all.into())
    }

    /// Sends a request and returns the answer as a stream.
    pub async fn open(&mut self, method: &Method, path: &str, media: &str, body: Bytes) -> Result<Pieces, Failure> {
        let mut request = Request::builder()
            .method(method)
            .uri(match self.way {
                Way::Http2(_) => format!("https://localhost{path}"),
                Way::InProcess(_) | Way::Http1(_) => path.to_owned(),
            })
            .header(header::HOST, "localhost")
            .header(header::USER_AGENT, "bench/1.0")
            .header(header::ACCEPT, "application/json")
            .header(header::AUTHORIZATION, &self.authorization);
        if !media.is_empty() {
            request = request.header(header::CONTENT_TYPE, media);
        }
        let request = request.body(Full::new(body))?;
        let (status, pieces) = match &mut self.way {
            Way::InProcess(service) => pieces(service.call(request).await?),
            Way::Http1(sender) => {
                sender.ready().await?;
                pieces(sender.send_request(request).await?)
            }
            Way::Http2(sender) => {
                sender.ready().await?;
                pieces(sender.send_request(request).await?)
            }
        };
        if status.is_success() {
            Ok(pieces)
        } else {
            Err(format!("{method} {path}: {status}").into())
        }
    }
}

fn pieces<B>(response: http::Response<B>) -> (http::StatusCode, Pieces)
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Failure>,
{
    let (head, body) = response.into_parts();
    let frames = BodyStream::new(body.map_err(Into::into));
    let data = frames.filter_map(async |frame| frame.map(|frame| frame.into_data().ok()).transpose());
    (head.status, data.boxed())
}

async fn tls(serving: &Serving, protocol: &[u8]) -> Result<TlsStream<TcpStream>, Failure> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(serving.ca().as_bytes())?)?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![protocol.to_vec()];
    let stream = TcpStream::connect(serving.addr()).await?;
    stream.set_nodelay(true)?;
    let name = ServerName::try_from("localhost")?;
    Ok(TlsConnector::from(Arc::new(config)).connect(name, stream).await?)
}

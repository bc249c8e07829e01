//! A webhook for tests: HTTPS on a free port of an address of this machine, with a new certificate, answered by a
//! function. Any API server that reaches the address can call it; servers in this process also reach
//! [`in_process::ADDRESS`].

use std::{
    convert::Infallible,
    io,
    net::{IpAddr, SocketAddr},
    sync::Arc,
};

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::{body::Incoming, service::service_fn};
use hyper_util::{
    rt::{TokioExecutor, TokioIo},
    server::conn::auto,
};
use serde_json::{Value, json};
use tokio::task::{JoinHandle, JoinSet};
use tokio_rustls::TlsAcceptor;
use tokio_util::{either::Either, net::Listener, sync::CancellationToken};

use crate::{in_process, tls::Identity};

/// Maximum size of a review in bytes; an object is at most half of that.
const MAX_REVIEW: usize = 8 << 20;

/// The answer of a webhook to a write.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// The write is allowed.
    Allowed,
    /// The write is allowed with these changes: operations of a JSON patch.
    Patched(Vec<Value>),
    /// The write is denied, for this reason.
    Denied(String),
}

/// Decides on a write: gets the `request` of an `AdmissionReview`.
pub type Review = Arc<dyn Fn(&Value) -> Answer + Send + Sync>;

/// The message with which a webhook refuses to convert an object.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ConversionRefused(pub String);

/// Converts an object to an `apiVersion`.
pub type Convert = Arc<dyn Fn(Value, &str) -> Result<Value, ConversionRefused> + Send + Sync>;

/// The function behind a webhook.
#[derive(Clone)]
enum Task {
    Review(Review),
    Convert(Convert),
}

/// A running webhook. Dropping it stops it.
#[derive(Debug)]
pub struct Webhook {
    addr: SocketAddr,
    ca: String,
    stop: CancellationToken,
    task: Option<JoinHandle<()>>,
}

impl Webhook {
    /// Starts a webhook for admission reviews on an address of this machine.
    ///
    /// # Errors
    /// Fails if no port is free, or if the certificate cannot be made.
    pub async fn serve(address: IpAddr, review: Review) -> io::Result<Self> {
        Self::begin(address, Task::Review(review)).await
    }

    /// Starts a webhook for conversions of custom resources on an address of this machine.
    ///
    /// # Errors
    /// Fails if no port is free, or if the certificate cannot be made.
    pub async fn converting(address: IpAddr, convert: Convert) -> io::Result<Self> {
        Self::begin(address, Task::Convert(convert)).await
    }

    async fn begin(address: IpAddr, task: Task) -> io::Result<Self> {
        let identity = Identity::generate(address)?;
        let acceptor = TlsAcceptor::from(Arc::new(identity.server_config()?));
        let listener = in_process::Listener::bind(address).await?;
        let addr = listener.local_addr()?;
        let stop = CancellationToken::new();
        let task = tokio::spawn(listen(listener, acceptor, task, stop.clone()));
        Ok(Self {
            addr,
            ca: identity.ca,
            stop,
            task: Some(task),
        })
    }

    /// The address of the listener.
    pub fn address(&self) -> SocketAddr {
        self.addr
    }

    /// Returns the `clientConfig` with which an API server finds and trusts the webhook.
    pub fn client_config(&self) -> Value {
        json!({"url": format!("https://{}/", self.addr), "caBundle": BASE64.encode(&self.ca)})
    }

    /// Stops the webhook and waits until it has stopped.
    pub async fn stop(mut self) {
        self.stop.cancel();
        if let Some(task) = self.task.take() {
            // The task can only have been aborted, and then the webhook has ended as well.
            let _ = task.await;
        }
    }
}

impl Drop for Webhook {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

async fn listen(mut listener: in_process::Listener, acceptor: TlsAcceptor, task: Task, stop: CancellationToken) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            biased;
            () = stop.cancelled() => break,
            Some(_) = connections.join_next() => {}
            Ok((stream, _)) = listener.accept() => {
                connections.spawn(connection(stream, acceptor.clone(), task.clone()));
            }
        }
    }
    connections.shutdown().await;
}

async fn connection(stream: in_process::Stream, acceptor: TlsAcceptor, task: Task) {
    if let Either::Left(socket) = &stream {
        // Small answers are sent at once.
        let _ = socket.set_nodelay(true);
    }
    let Ok(stream) = acceptor.accept(stream).await else {
        return;
    };
    let service = service_fn(|request| {
        let task = task.clone();
        async move { Ok::<_, Infallible>(respond(request, &task).await) }
    });
    // The caller decides how a connection ends.
    let _ = auto::Builder::new(TokioExecutor::new())
        .serve_connection(TokioIo::new(stream), service)
        .await;
}

async fn respond(request: Request<Incoming>, task: &Task) -> Response<Full<Bytes>> {
    if request.method() != Method::POST {
        return plain(StatusCode::METHOD_NOT_ALLOWED, "a review is wanted, by POST");
    }
    let Ok(body) = Limited::new(request.into_body(), MAX_REVIEW).collect().await else {
        return plain(StatusCode::BAD_REQUEST, "the request ended early or is too large");
    };
    let asked: Value = serde_json::from_slice(&body.to_bytes()).unwrap_or_default();
    let kind = match task {
        Task::Review(_) => "AdmissionReview",
        Task::Convert(_) => "ConversionReview",
    };
    let Some(request) = asked.get("request").filter(|_| asked["kind"] == kind) else {
        return plain(
            StatusCode::BAD_REQUEST,
            "the request is not a review of the expected kind",
        );
    };
    let said = match task {
        Task::Review(review) => answer(request, review(request)),
        Task::Convert(convert) => converted(request, convert),
    };
    let answer = json!({"apiVersion": asked["apiVersion"], "kind": kind, "response": said});
    let mut response = Response::new(Full::new(Bytes::from(answer.to_string())));
    let json = http::HeaderValue::from_static("application/json");
    response.headers_mut().insert(http::header::CONTENT_TYPE, json);
    response
}

fn plain(status: StatusCode, text: &'static str) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from_static(text.as_bytes())));
    *response.status_mut() = status;
    response
}

/// Returns the `response` to a review of a write.
fn answer(write: &Value, said: Answer) -> Value {
    let mut response = json!({"uid": write["uid"], "allowed": true});
    match said {
        Answer::Allowed => {}
        Answer::Patched(operations) => {
            response["patchType"] = json!("JSONPatch");
            response["patch"] = json!(BASE64.encode(Value::Array(operations).to_string()));
        }
        Answer::Denied(message) => {
            response["allowed"] = json!(false);
            response["status"] = json!({"message": message});
        }
    }
    response
}

/// Returns the `response` with the converted objects.
fn converted(request: &Value, convert: &Convert) -> Value {
    let to = request["desiredAPIVersion"].as_str().unwrap_or_default();
    let objects = request["objects"].as_array().into_iter().flatten();
    let converted: Result<Vec<Value>, _> = objects.map(|object| convert(object.clone(), to)).collect();
    match converted {
        Ok(objects) => {
            json!({"uid": request["uid"], "convertedObjects": objects, "result": {"status": "Success"}})
        }
        Err(refused) => json!({"uid": request["uid"], "result": {"status": "Failure", "message": refused.0}}),
    }
}

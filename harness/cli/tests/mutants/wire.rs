//! Client between the controller and a cluster, whose requests and answers a [`Fault`] may corrupt.

use std::{collections::BTreeMap, convert::Infallible, sync::Arc, time::Duration};

use bytes::Bytes;
use futures::{Stream, StreamExt as _, TryStreamExt as _, stream};
use http::{Method, Request, Response, StatusCode};
use http_body::Frame;
use http_body_util::{BodyExt as _, Full, StreamBody, combinators::UnsyncBoxBody};
use kube::{Client, client::Body};
use serde_json::{Value, json};

use crate::fault::{Carried, Fault, Sight};

/// Request of the controller, parsed.
#[derive(Debug, Clone)]
pub struct Call {
    /// Cluster that the request goes to: `control`, or the member's name.
    pub cluster: String,
    /// Method.
    pub method: Method,
    /// Object or collection of the request.
    pub at: Place,
    /// Query; empty if there is none.
    pub query: String,
    /// Body; null if there is none.
    pub body: Value,
}

/// Parsed path of a request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Place {
    /// The path itself, without the query.
    pub path: String,
    /// The resource in the plural, `resourcebindings`; empty if the path names none.
    pub plural: String,
    /// The namespace; empty if there is none.
    pub namespace: String,
    /// The object; empty for a collection.
    pub name: String,
    /// The subresource; empty for the object itself.
    pub subresource: String,
}

impl Place {
    fn of(path: &str) -> Self {
        let mut segments = path.trim_matches('/').split('/');
        // `/api/VERSION/…` or `/apis/GROUP/VERSION/…`.
        let before = if segments.next() == Some("apis") { 2 } else { 1 };
        let mut rest: Vec<&str> = segments.skip(before).collect();
        let mut namespace = "";
        if rest.len() > 2 && rest.first() == Some(&"namespaces") {
            namespace = rest[1];
            rest.drain(..2);
        }
        let part = |index: usize| rest.get(index).copied().unwrap_or_default().to_owned();
        Self {
            path: path.to_owned(),
            plural: part(0),
            namespace: namespace.to_owned(),
            name: part(1),
            subresource: part(2),
        }
    }
}

impl Call {
    /// Returns `true` if the request changes something.
    pub fn is_write(&self) -> bool {
        self.method != Method::GET
    }

    /// Returns `true` if the request is a watch.
    pub fn is_watch(&self) -> bool {
        self.query.contains("watch=true")
    }

    /// Returns `true` if the request goes to a member.
    pub fn is_to_member(&self) -> bool {
        self.cluster != "control"
    }
}

/// Number of requests after which a controller counts as running hot. Each further request takes a while, so that time
/// passes and the case ends.
const HOT: u64 = 1_500;

/// Unmodified clients of the controller, by cluster, for the actions of faults.
pub type Hands = Arc<BTreeMap<String, Client>>;

type BoxError = Box<dyn std::error::Error + Send + Sync>;
type AnswerBody = UnsyncBoxBody<Bytes, BoxError>;

/// Creates a client of a cluster that applies a fault.
pub fn client(cluster: &str, hands: &Hands, fault: &Arc<Fault>) -> Client {
    let (cluster, hands, fault) = (cluster.to_owned(), Arc::clone(hands), Arc::clone(fault));
    let service = tower::service_fn(move |request: Request<Body>| {
        let (cluster, hands, fault) = (cluster.clone(), Arc::clone(&hands), Arc::clone(&fault));
        async move { carry(cluster, request, &hands, fault).await }
    });
    Client::new(service, "default")
}

async fn carry(
    cluster: String,
    request: Request<Body>,
    hands: &Hands,
    fault: Arc<Fault>,
) -> Result<Response<AnswerBody>, BoxError> {
    let (mut parts, body) = request.into_parts();
    let bytes = body.collect().await?.to_bytes();
    let mut call = Call {
        cluster,
        method: parts.method.clone(),
        at: Place::of(parts.uri.path()),
        query: parts.uri.query().unwrap_or_default().to_owned(),
        body: serde_json::from_slice(&bytes).unwrap_or(Value::Null),
    };
    if fault.count() > HOT {
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    let inner = &hands[&call.cluster];
    if fault.is_of_any_age(&call) {
        call.query.push_str("&resourceVersion=0");
        parts.uri = format!("{}?{}", call.at.path, call.query).parse()?;
    }
    let carried = fault.meet(&mut call, hands).await;
    if let Carried::Instead(code, answer) = carried {
        return whole(code, &answer);
    }
    let bytes = if call.body.is_null() {
        bytes
    } else {
        serde_json::to_vec(&call.body)?.into()
    };
    parts.headers.remove(http::header::CONTENT_LENGTH);
    let answer = inner.send(Request::from_parts(parts, Body::from(bytes))).await?;
    let (head, body) = answer.into_parts();
    if call.is_watch() && head.status.is_success() {
        let lines = lines(body).map(move |line| Ok(Frame::data(fault.event(&call, &line?))));
        return Ok(Response::from_parts(head, StreamBody::new(lines).boxed_unsync()));
    }
    let bytes = body.collect().await?.to_bytes();
    let Ok(mut answer) = serde_json::from_slice::<Value>(&bytes) else {
        return Ok(Response::from_parts(head, full(bytes)));
    };
    fault.conclude(&call, &answer, hands).await;
    let is_hidden = head.status.is_success() && fault.answer(&call, &mut answer) == Sight::Hidden;
    if is_hidden || fault.is_absence(&call, head.status) {
        return whole(StatusCode::NOT_FOUND, &not_found(&call));
    }
    let mut response = whole(head.status, &answer)?;
    *response.version_mut() = head.version;
    Ok(response)
}

fn full(bytes: Bytes) -> AnswerBody {
    Full::new(bytes)
        .map_err(|never: Infallible| match never {})
        .boxed_unsync()
}

fn whole(code: StatusCode, answer: &Value) -> Result<Response<AnswerBody>, BoxError> {
    let response = Response::builder()
        .status(code)
        .header(http::header::CONTENT_TYPE, "application/json");
    Ok(response.body(full(serde_json::to_vec(answer)?.into()))?)
}

/// Returns a server's answer for an object that does not exist.
pub fn not_found(call: &Call) -> Value {
    let message = format!("{} {:?} not found", call.at.plural, call.at.name);
    json!({"apiVersion": "v1", "kind": "Status", "status": "Failure", "reason": "NotFound", "code": 404,
        "message": message, "details": {"name": call.at.name, "kind": call.at.plural}})
}

/// Splits a body into lines as they arrive.
fn lines(body: Body) -> impl Stream<Item = Result<Vec<u8>, BoxError>> + Send {
    let data = body.into_data_stream().map_err(BoxError::from);
    let split = data.scan(Vec::new(), |rest: &mut Vec<u8>, chunk| {
        let found = chunk.map(|chunk: Bytes| {
            rest.extend_from_slice(&chunk);
            let end = rest.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
            rest.drain(..end).collect::<Vec<u8>>()
        });
        futures::future::ready(Some(found))
    });
    split
        .map_ok(|text| {
            let lines: Vec<_> = text
                .split_inclusive(|byte| *byte == b'\n')
                .map(|line| Ok(line.to_vec()))
                .collect();
            stream::iter(lines)
        })
        .try_flatten()
}

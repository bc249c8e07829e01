//! A proxy in front of an API server that runs elsewhere, which injects faults into the requests that pass through it.
//!
//! What comes of a request is the server's affair. Whoever shows the proxy's token or client certificate is let in, and
//! asks behind it as whoever the [`Upstream`] is; the user agent stays that of the client.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use futures::future::BoxFuture;
use futures::{Stream, StreamExt as _};
use http::{HeaderMap, HeaderName, Request, Response, StatusCode, header};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::body::Incoming;
use serde_json::Value;
use tokio::time::Instant;

use crate::api_error::ApiError;
use crate::fault_injection::{FaultInjector, Seen, Side};
use crate::handlers::codecs::body::ResponseBody;
use crate::handlers::codecs::negotiate;
use crate::handlers::query::{Query, decode_segment};
use crate::handlers::{Caller, MAX_BODY, Verb};
use crate::serving::{self, Handler, Serving};

/// The body of an answer that comes from elsewhere.
pub type Answered = Pin<Box<dyn Stream<Item = io::Result<Bytes>> + Send>>;

/// Asks the server behind a proxy. A request names a path and a query, no server.
pub type Upstream = Arc<dyn Fn(Request<Bytes>) -> BoxFuture<'static, io::Result<Response<Answered>>> + Send + Sync>;

/// The kinds that the server behind serves, by group and plural: faults speak of kinds, and requests of plurals.
pub type Kinds = BTreeMap<(String, String), String>;

/// Told of each object that the server behind has created: when that was asked for, and its revision. Of other writes
/// nobody can tell whether they have made a revision of their own.
pub type Created = Arc<dyn Fn(Instant, u64) + Send + Sync>;

/// The largest answer to a write that is looked into.
const MAX_ANSWER: u64 = 4 * 1024 * 1024;

/// Headers that are about a connection and not about what is said on it; and those that the upstream sets itself.
const NOT_PASSED_ON: [HeaderName; 8] = [
    header::AUTHORIZATION,
    header::CONNECTION,
    header::CONTENT_LENGTH,
    header::HOST,
    header::TE,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
    HeaderName::from_static("keep-alive"),
];

/// An open proxy. It closes when this is dropped.
pub struct FaultProxy {
    faults: FaultInjector,
    created: Arc<OnceLock<Created>>,
    serving: Serving,
}

impl fmt::Debug for FaultProxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FaultProxy")
            .field("serving", &self.serving)
            .finish_non_exhaustive()
    }
}

impl FaultProxy {
    /// Opens one on a free port of an address of this machine; its certificate is good for this address and for
    /// loopback. `name` stands in its kubeconfig. For `reserved_agents` see [`Options`](crate::Options::reserved_agents).
    ///
    /// # Errors
    /// If there is no free port, or no certificate can be made.
    pub async fn open(
        name: &str,
        address: IpAddr,
        upstream: Upstream,
        kinds: Kinds,
        reserved_agents: Vec<String>,
    ) -> io::Result<Self> {
        let faults = FaultInjector::of_proxy();
        let created = Arc::new(OnceLock::new());
        let passing = Arc::new(Passing {
            faults: faults.clone(),
            upstream,
            kinds,
            reserved_agents,
            created: Arc::clone(&created),
        });
        let token = serving::tls::random_token()?;
        let serving = serving::open(passing, name, address, token).await?;
        Ok(Self {
            faults,
            created,
            serving,
        })
    }

    /// Tells of creations from now on. Only the first call does anything.
    pub fn tell_of_creations(&self, created: Created) {
        // Who is told already goes on to be told.
        let _ = self.created.set(created);
    }

    /// What can be done to the requests on their way. Nothing can be done to what is stored.
    pub fn faults(&self) -> &FaultInjector {
        &self.faults
    }

    /// Where it is, and how one is let in.
    pub fn serving(&self) -> &Serving {
        &self.serving
    }

    /// Closes it and waits until it is closed.
    pub async fn close(self) {
        self.serving.stop().await;
    }
}

/// Lets requests pass.
struct Passing {
    faults: FaultInjector,
    upstream: Upstream,
    kinds: Kinds,
    reserved_agents: Vec<String>,
    created: Arc<OnceLock<Created>>,
}

impl Handler for Passing {
    fn faults(&self) -> &FaultInjector {
        &self.faults
    }

    fn reserved_agents(&self) -> &[String] {
        &self.reserved_agents
    }

    async fn answer(self: Arc<Self>, request: Request<Incoming>, caller: Caller) -> io::Result<Response<ResponseBody>> {
        self.faults.reachable(caller.side).await?;
        let breaks = self.faults.breaks();
        let (mut parts, body) = request.into_parts();
        let body = match Limited::new(body, MAX_BODY).collect().await {
            Ok(collected) => collected.to_bytes(),
            Err(error) if error.is::<LengthLimitError>() => {
                return Ok(negotiate::error(&parts.headers, &ApiError::too_large(), false));
            }
            Err(error) => return Err(io::Error::other(error)),
        };
        let passed = match self.named(&parts) {
            Some(named) => self.faults.pass(&named.seen(&caller)).await,
            None => self.faults.pass_path(parts.uri.path(), caller.side).map(|()| None),
        };
        let _passed = match passed {
            Ok(passed) => passed,
            Err(error) => {
                self.faults.reachable(caller.side).await?;
                return Ok(negotiate::error(&parts.headers, &error, false));
            }
        };
        let path = parts.uri.path_and_query().map_or("/", |it| it.as_str());
        parts.uri = path.parse().map_err(io::Error::other)?;
        parts.version = http::Version::default();
        remove_not_passed_on(&mut parts.headers);
        let dry_run = Query::parse(parts.uri.query()).dry_run();
        let asked = Instant::now();
        let answer = (self.upstream)(Request::from_parts(parts, body)).await?;
        let (mut parts, mut body) = answer.into_parts();
        if parts.status == StatusCode::CREATED && !dry_run {
            body = self.look_into(asked, &parts, body).await;
        }
        self.faults.reachable(caller.side).await?;
        parts.version = http::Version::default();
        remove_not_passed_on(&mut parts.headers);
        let body = ResponseBody::lines(held_back(self.faults.clone(), caller.side, breaks, body));
        Ok(Response::from_parts(parts, body))
    }
}

impl Passing {
    /// Tells of the revision of what was created, if the answer says so; gives the answer to be passed on.
    async fn look_into(&self, asked: Instant, parts: &http::response::Parts, body: Answered) -> Answered {
        let length = parts.headers.get(header::CONTENT_LENGTH);
        let length = length.and_then(|it| it.to_str().ok()).and_then(|it| it.parse().ok());
        let small = length.is_none_or(|length: u64| length <= MAX_ANSWER);
        let Some(created) = self.created.get().filter(|_| small) else {
            return body;
        };
        let pieces: Vec<io::Result<Bytes>> = body.collect().await;
        let whole: Vec<u8> = pieces.iter().flatten().flatten().copied().collect();
        let object = serde_json::from_slice::<Value>(&whole).unwrap_or_default();
        let revision = object.pointer("/metadata/resourceVersion").and_then(Value::as_str);
        if let Some(revision) = revision.and_then(|it| it.parse().ok()) {
            created(asked, revision);
        }
        Box::pin(futures::stream::iter(pieces))
    }

    /// What a request is about, if it is about a resource.
    fn named(&self, parts: &http::request::Parts) -> Option<Named> {
        let words: Vec<String> = parts
            .uri
            .path()
            .split('/')
            .filter(|word| !word.is_empty())
            .map(|word| decode_segment(word).into_owned())
            .collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let (group, rest) = match words.as_slice() {
            ["api", _, rest @ ..] => ("", rest),
            ["apis", group, _, rest @ ..] => (*group, rest),
            _ => return None,
        };
        let (watch, rest) = match rest {
            ["watch", rest @ ..] if !rest.is_empty() => (true, rest),
            rest => (false, rest),
        };
        let (namespace, rest) = match rest {
            // A namespace is an object too, and has subresources.
            ["namespaces", _] | ["namespaces", _, "status" | "finalize"] => (None, rest),
            ["namespaces", namespace, rest @ ..] if !rest.is_empty() => (Some((*namespace).to_owned()), rest),
            rest => (None, rest),
        };
        let (plural, name) = (*rest.first()?, rest.get(1).map(|&name| name.to_owned()));
        let verb = Verb::of(&parts.method, name.is_some(), watch, &Query::parse(parts.uri.query()))?;
        let kind = self.kinds.get(&(group.to_owned(), plural.to_owned()));
        Some(Named {
            verb,
            group: group.to_owned(),
            kind: kind.cloned().unwrap_or_else(|| plural.to_owned()),
            namespace,
            name,
            subresource: rest.get(2).map(|&it| it.to_owned()),
        })
    }
}

/// What a request is about.
struct Named {
    verb: Verb,
    group: String,
    kind: String,
    namespace: Option<String>,
    name: Option<String>,
    subresource: Option<String>,
}

impl Named {
    fn seen<'a>(&'a self, caller: &'a Caller) -> Seen<'a> {
        Seen {
            verb: self.verb.as_str(),
            group: &self.group,
            kind: &self.kind,
            namespace: self.namespace.as_deref(),
            name: self.name.as_deref(),
            subresource: self.subresource.as_deref(),
            client: &caller.user_agent,
            side: caller.side,
        }
    }
}

fn remove_not_passed_on(headers: &mut HeaderMap) {
    for name in &NOT_PASSED_ON {
        headers.remove(name);
    }
}

/// An answer that goes on only while the client can be reached: what a watch tells during a cut comes after it.
fn held_back(
    faults: FaultInjector,
    side: Side,
    breaks: u64,
    body: Answered,
) -> impl Stream<Item = io::Result<Bytes>> + Send {
    futures::stream::unfold((faults, body, false), move |(faults, mut body, over)| async move {
        if over {
            return None;
        }
        let broken = || Some(Err(io::ErrorKind::ConnectionReset.into()));
        let piece = tokio::select! {
            biased;
            () = faults.broken(breaks) => broken(),
            piece = body.next() => piece,
        };
        let reached = faults.reachable(side).await;
        let piece = if reached.is_err() || faults.breaks() != breaks {
            broken()?
        } else {
            piece?
        };
        let over = piece.is_err();
        Some((piece, (faults, body, over)))
    })
}

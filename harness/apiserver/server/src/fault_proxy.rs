//! A proxy in front of an API server that runs elsewhere, which injects faults into the requests that pass through it.
//!
//! The server decides on every request. The proxy admits clients that present its token or its client certificate, and
//! sends their requests with the identity of the [`Upstream`]; the user agent stays that of the client.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use futures::future::BoxFuture;
use futures::{Stream, StreamExt as _};
use http::{Request, Response, StatusCode, header};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::body::Incoming;
use serde_json::Value;
use tokio::time::Instant;

use crate::api_error::ApiError;
use crate::fault_injection::{Fate, FaultInjector};
use crate::handlers::codecs::body::ResponseBody;
use crate::handlers::codecs::negotiate;
use crate::handlers::passing_on::{Named, held_back, remove_not_passed_on};
use crate::handlers::query::Query;
use crate::handlers::{Caller, MAX_BODY};
use crate::serving::{self, Handler, Serving};
use crate::tls::{self, Identity};

/// The body of an answer of the upstream server.
pub type Answered = Pin<Box<dyn Stream<Item = io::Result<Bytes>> + Send>>;

/// Sends a request to the upstream server. The request has a path and a query, but no host.
pub type Upstream = Arc<dyn Fn(Request<Bytes>) -> BoxFuture<'static, io::Result<Response<Answered>>> + Send + Sync>;

/// The kinds of the upstream server, by group and plural: rules name kinds, and requests name plurals.
pub type Kinds = BTreeMap<(String, String), String>;

/// Called for each object that the upstream server has created, with the time of the request and the revision of the
/// object. For other writes, a client cannot tell whether they have made a new revision.
pub type Created = Arc<dyn Fn(Instant, u64) + Send + Sync>;

/// Maximum size in bytes of an answer that is searched for a revision.
const MAX_ANSWER: u64 = 4 * 1024 * 1024;

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
    /// Opens a proxy on a free port of an address of this machine; its certificate is valid for this address and for
    /// loopback. `name` is the name of the cluster in its kubeconfig. For `reserved_agents` see
    /// [`Options`](crate::Options::reserved_agents).
    ///
    /// # Errors
    /// Fails if no port is free, or if the certificate cannot be made.
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
        let (identity, token) = (Identity::generate(address)?, tls::random_token()?);
        let serving = serving::open(passing, name, address, identity, token).await?;
        Ok(Self {
            faults,
            created,
            serving,
        })
    }

    /// Reports creations from now on. Only the first call has an effect.
    pub fn tell_of_creations(&self, created: Created) {
        // A receiver that is already set stays.
        let _ = self.created.set(created);
    }

    /// Injects faults into requests on their way. Stored objects cannot be changed.
    pub fn faults(&self) -> &FaultInjector {
        &self.faults
    }

    /// The address, and the credentials of clients.
    pub fn serving(&self) -> &Serving {
        &self.serving
    }

    /// Closes the proxy and waits until it is closed.
    pub async fn close(self) {
        self.serving.stop().await;
    }
}

/// Passes requests on.
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
        let breaks = self.faults.breaks(caller.side);
        let (mut parts, body) = request.into_parts();
        let body = match Limited::new(body, MAX_BODY).collect().await {
            Ok(collected) => collected.to_bytes(),
            Err(error) if error.is::<LengthLimitError>() => {
                return Ok(negotiate::error(&parts.headers, &ApiError::too_large(), false));
            }
            Err(error) => return Err(io::Error::other(error)),
        };
        let named = self.named(&parts);
        let is_resource = named.is_some();
        let kind = named.as_ref().map(|it| it.kind.clone());
        let passed = match named {
            Some(named) => self.faults.pass(&named.seen(&caller)).await,
            None => self.faults.pass_path(parts.uri.path(), caller.side).map(|()| None),
        };
        let passed = match passed {
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
        if is_resource && parts.status.as_u16() >= 400 {
            self.faults.note_refusal(&caller.user_agent, parts.status.as_u16());
        }
        if parts.status == StatusCode::CREATED && !dry_run {
            body = self.look_into(asked, &parts, body).await;
        }
        if self.faults.passes_on(caller.side, passed).await? == Fate::Lost {
            return Err(io::ErrorKind::ConnectionReset.into());
        }
        parts.version = http::Version::default();
        remove_not_passed_on(&mut parts.headers);
        let body = ResponseBody::lines(held_back(self.faults.clone(), caller.side, kind, breaks, body));
        Ok(Response::from_parts(parts, body))
    }
}

impl Passing {
    /// Reports the revision of a created object, if the answer has one; returns the answer to pass on.
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

    /// Returns the resource that a request is about, if any.
    fn named(&self, parts: &http::request::Parts) -> Option<Named> {
        Named::read(parts, |group, plural| {
            self.kinds.get(&(group.to_owned(), plural.to_owned())).cloned()
        })
    }
}

//! Processing of requests, over HTTPS or in the same process.
//!
//! [`Core::handle`] is the path of every request: injected faults, the identity of the [`Caller`], the route of the
//! path ([`route`]), the verb ([`verbs`]) and the form of the answer ([`codecs`]). On the way, a write is brought into
//! the form of its kind ([`strategy`], `versioning`, `field_managers`) and admitted ([`admission`]).

mod admission;
mod after_commit;
pub(crate) mod authentication;
pub(crate) mod codecs;
pub(crate) mod discovery;
mod field_managers;
pub(crate) mod passing_on;
pub(crate) mod query;
mod replicas;
pub(crate) mod route;
mod shown;
pub(crate) mod strategy;
pub(crate) mod verbs;
mod versioning;

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response, StatusCode, header};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use tokio::time::Instant;

use crate::admission::{Admission, Memo};
use crate::api_error::{About, ApiError};
use crate::backlog::Backlog;
use crate::conversion::Conversions;
use crate::fault_injection::{Fate, FaultInjector};
use crate::gate::Passed;
use crate::handlers::authentication::User;
use crate::handlers::authentication::keys::Keys;
use crate::ids::Ids;
use crate::options::Options;
use crate::registry::{Catalogue, Registry, Resource};
use crate::requests::{RequestInfo, RequestKey, Side};
use crate::store::{Store, WellKnown};
use crate::webhook_client;
use codecs::accept::Form;
use codecs::body::ResponseBody;
use codecs::reply::Reply;
use codecs::{accept, decode, negotiate};
use query::Query;
use route::Route;

/// Maximum size of a request's body in bytes.
pub(crate) const MAX_BODY: usize = 3 * 1024 * 1024;

/// The sender of a request.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    pub(crate) user: Arc<User>,
    pub(crate) user_agent: Arc<str>,
    pub(crate) side: Side,
}

/// The state that all requests of a server share.
pub(crate) struct Core {
    pub(crate) options: Options,
    pub(crate) store: Arc<Store>,
    pub(crate) buckets: WellKnown,
    pub(crate) registry: Registry,
    pub(crate) ids: Ids,
    pub(crate) keys: Keys,
    pub(crate) faults: FaultInjector,
    /// Webhooks.
    pub(crate) admission: Admission,
    /// Open tasks of garbage collection and the other controllers.
    pub(crate) backlog: Backlog,
}

/// State of one exchange, without the answer.
struct Exchange {
    /// Form of the answer.
    form: Form,
    /// Texts of `Warning` headers.
    warnings: Vec<String>,
    /// Set once a write has passed the gate.
    passed: Option<Passed>,
    /// Set for a request for a resource.
    key: Option<RequestKey>,
}

/// A parsed request for a resource.
pub(crate) struct Call {
    pub(crate) verb: Verb,
    pub(crate) resource: Arc<Resource>,
    pub(crate) namespace: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) subresource: Option<String>,
    pub(crate) query: Query,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    pub(crate) caller: Caller,
    /// The webhook calls of the write.
    pub(crate) memo: Memo,
    /// The conversions that the request needs.
    pub(crate) conversions: Conversions,
}

/// The verb of a request for a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verb {
    Get,
    List,
    Watch,
    Create,
    Update,
    Patch,
    Delete,
    DeleteCollection,
}

impl Verb {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::List => "list",
            Self::Watch => "watch",
            Self::Create => "create",
            Self::Update => "update",
            Self::Patch => "patch",
            Self::Delete => "delete",
            Self::DeleteCollection => "deletecollection",
        }
    }

    /// Returns the verb of a method on a collection, or on a named object in it; `watch` is set if the path asks for a
    /// watch.
    pub(crate) fn of(method: &Method, named: bool, watch: bool, query: &Query) -> Option<Self> {
        match *method {
            Method::GET if watch || (query.is_set("watch") && !named) => Some(Self::Watch),
            Method::GET if named => Some(Self::Get),
            Method::GET => Some(Self::List),
            Method::POST => Some(Self::Create),
            Method::PUT if named => Some(Self::Update),
            Method::PATCH if named => Some(Self::Patch),
            Method::DELETE if named => Some(Self::Delete),
            Method::DELETE => Some(Self::DeleteCollection),
            _ => None,
        }
    }
}

impl Call {
    /// Returns the subject of an error about this object; `details.kind` is the plural.
    pub(crate) fn about<'a>(&'a self, name: &'a str) -> About<'a> {
        About {
            group: &self.resource.group,
            kind: &self.resource.plural,
            name,
        }
    }

    /// Returns the subject of an error about this object; `details.kind` is the kind.
    pub(crate) fn about_kind<'a>(&'a self, name: &'a str) -> About<'a> {
        // Events of both groups are validated as those of the core group.
        let event = self.resource.custom().is_none() && self.resource.kind == "Event";
        About {
            group: if event { "" } else { &self.resource.group },
            kind: &self.resource.kind,
            name,
        }
    }

    /// Returns the prefix of the keys of the collection.
    pub(crate) fn prefix(&self) -> String {
        self.namespace
            .as_ref()
            .map(|namespace| format!("{namespace}/"))
            .unwrap_or_default()
    }

    /// Returns the key of the object.
    pub(crate) fn key(&self) -> String {
        crate::store::key(self.namespace.as_deref(), self.name.as_deref().unwrap_or_default())
    }

    pub(crate) fn header(&self, name: header::HeaderName) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

impl Core {
    /// Answers a request.
    pub(crate) async fn handle<B>(
        self: &Arc<Self>,
        request: Request<B>,
        caller: Caller,
    ) -> std::io::Result<Response<ResponseBody>>
    where
        B: http_body::Body<Data = Bytes> + Send,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let side = caller.side;
        let began = Instant::now();
        self.faults.reachable(side).await?;
        let (parts, body) = request.into_parts();
        let body = match Limited::new(body, MAX_BODY).collect().await {
            Ok(collected) => collected.to_bytes(),
            Err(error) if error.is::<LengthLimitError>() => {
                return Ok(negotiate::error(&parts.headers, &ApiError::too_large(), false));
            }
            Err(error) => return Err(std::io::Error::other(error)),
        };
        let catalogue = self.registry.current();
        let mut exchange = Exchange {
            form: accept::any(&parts.headers),
            warnings: Vec::new(),
            passed: None,
            key: None,
        };
        let received = body.len() as u64;
        let query = Query::parse(parts.uri.query());
        let pretty = wants_pretty(&query, &caller.user_agent);
        let answer = self.answer(&catalogue, &parts, body, caller, &mut exchange).await;
        let Exchange {
            form,
            warnings,
            passed,
            key,
        } = exchange;
        if self.faults.passes_on(side, passed).await? == Fate::Lost {
            return Err(std::io::ErrorKind::ConnectionReset.into());
        }
        let mut response = match answer {
            Ok(reply) => {
                let now = (self.options.clock)();
                let wish = codecs::wish::Wish {
                    form,
                    query: &query,
                    now,
                    pretty,
                };
                negotiate::reply(&wish, reply).unwrap_or_else(|error| negotiate::error(&parts.headers, &error, pretty))
            }
            Err(error) => negotiate::error(&parts.headers, &error, pretty),
        };
        negotiate::add_warnings(response.headers_mut(), &warnings);
        if parts.method == Method::HEAD {
            *response.body_mut() = ResponseBody::full(Bytes::new());
        }
        if let Some(key) = key {
            match response.body().full_len() {
                Some(sent) => self.faults.note_answer(key, [received, sent], began.elapsed()),
                None => response.body_mut().count_lines(self.faults.streamed(key)),
            }
        }
        Ok(response)
    }

    async fn answer(
        self: &Arc<Self>,
        catalogue: &Catalogue,
        parts: &http::request::Parts,
        body: Bytes,
        caller: Caller,
        exchange: &mut Exchange,
    ) -> Result<Reply, ApiError> {
        let target = match route::route(catalogue, parts.uri.path()) {
            Route::Resource(target) => target,
            other => {
                self.faults.pass_path(parts.uri.path(), caller.side)?;
                return discovery::answer(self, catalogue, other, parts);
            }
        };
        let query = Query::parse(parts.uri.query());
        let nameless = target.name.is_none() && matches!(parts.method, Method::PUT | Method::PATCH);
        if nameless && target.resource.custom().is_some() {
            // The server of custom resources has a separate error for a missing name.
            return if target.resource.namespaced && target.namespace.is_none() {
                Ok(discovery::page_not_found())
            } else {
                Err(ApiError::bad_request("name must be provided"))
            };
        }
        let verb = Verb::of(&parts.method, target.name.is_some(), target.watch, &query)
            .ok_or_else(ApiError::method_not_allowed)?;
        let (headers, body) = decode::from_protobuf(&parts.headers, body)?;
        let call = Call {
            verb,
            resource: target.resource,
            namespace: target.namespace,
            name: target.name,
            subresource: target.subresource,
            query,
            headers,
            body,
            caller,
            memo: Memo::default(),
            conversions: Conversions::default(),
        };
        let info = RequestInfo {
            verb: verb.as_str(),
            group: &call.resource.group,
            version: &call.resource.version,
            kind: &call.resource.kind,
            namespace: call.namespace.as_deref(),
            name: call.name.as_deref(),
            subresource: call.subresource.as_deref(),
            client: &call.caller.user_agent,
            side: call.caller.side,
        };
        exchange.key = Some(info.key());
        exchange.passed = self.faults.pass(&info).await?;
        if is_beyond_custom(&call) {
            return Ok(discovery::page_not_found());
        }
        // A deprecated version warns even if the request is refused.
        exchange
            .warnings
            .extend(call.resource.custom().and_then(|custom| custom.deprecation.clone()));
        check_verb(&call)?;
        exchange.form = accept::of_call(&call)?;
        exchange.warnings.extend(strategy::deprecation(&call.resource));
        let answered = self.dispatch_admitted(&call, &mut exchange.warnings).await;
        let reply = answered.inspect_err(|error| self.faults.note_refusal(&call.caller.user_agent, error.code))?;
        if let (Verb::Create | Verb::Update | Verb::Patch, Reply::Object { code, object, resource }) =
            (call.verb, &reply)
        {
            let subresource = call.subresource.as_deref();
            exchange
                .warnings
                .extend(strategy::warnings(resource, &object.value(), subresource, *code == 201));
        }
        Ok(reply)
    }

    /// Carries out a request; while webhooks must be called first, calls them and starts again.
    async fn dispatch_admitted(self: &Arc<Self>, call: &Call, warnings: &mut Vec<String>) -> Result<Reply, ApiError> {
        let before = warnings.len();
        loop {
            call.memo.restart();
            call.conversions.restart();
            let outcome = self.dispatch(call, warnings);
            let pending = call.memo.take();
            if call.conversions.is_waiting() {
                call.conversions.fetch(&self.ids).await;
            } else if let Some(pending) = pending {
                let answer = webhook_client::call(&pending.endpoint, &pending.body).await;
                call.memo.keep(pending.key, answer);
            } else {
                warnings.extend(call.memo.warnings());
                return call.conversions.settled().and(outcome);
            }
            warnings.truncate(before);
        }
    }

    fn dispatch(self: &Arc<Self>, call: &Call, warnings: &mut Vec<String>) -> Result<Reply, ApiError> {
        if call.subresource.as_deref() == Some("scale") {
            return self.scale(call, warnings);
        }
        if verbs::connect::is_connection(call) {
            return self.connect(call);
        }
        match call.verb {
            Verb::Get => self.get(call),
            Verb::List => self.list(call),
            Verb::Watch => self.watch(call),
            Verb::Create => self.create(call, warnings),
            Verb::Update => self.update(call, warnings),
            Verb::Patch => self.patch(call, warnings),
            Verb::Delete => self.delete(call, warnings),
            Verb::DeleteCollection => self.delete_collection(call, warnings),
        }
    }

    /// Returns the current time in the form of `metadata`.
    pub(crate) fn now(&self) -> String {
        baton_apimachinery::meta::time((self.options.clock)())
    }
}

/// Returns `true` if the call writes to all namespaces at once: the server of custom resources has no such path.
fn is_beyond_custom(call: &Call) -> bool {
    call.resource.custom().is_some()
        && call.resource.namespaced
        && call.namespace.is_none()
        && !matches!(call.verb, Verb::Get | Verb::List | Verb::Watch)
}

/// Checks that a resource, or a subresource, supports the verb.
fn check_verb(call: &Call) -> Result<(), ApiError> {
    let allowed = match &call.subresource {
        None => call.resource.allows(call.verb.as_str()),
        Some(name) => call
            .resource
            .subresource(name)
            .is_some_and(|subresource| subresource.verbs.iter().any(|verb| verb == call.verb.as_str())),
    };
    if call.resource.custom().is_some() && call.subresource.is_some() && !allowed {
        return Err(ApiError::not_supported(call.about(""), call.verb.as_str()));
    }
    let everywhere = call.resource.namespaced && call.namespace.is_none();
    let fits = match call.verb {
        // The server of custom resources accepts a name where there should be none.
        Verb::Create => {
            let named = call.name.is_some() && (call.resource.custom().is_none() || call.subresource.is_some());
            named == call.subresource.is_some() && !everywhere
        }
        Verb::DeleteCollection => !everywhere,
        Verb::Get | Verb::List | Verb::Watch | Verb::Update | Verb::Patch | Verb::Delete => true,
    };
    if allowed && fits {
        Ok(())
    } else {
        Err(ApiError::method_not_allowed())
    }
}

/// Returns `true` if the answer is for people to read.
fn wants_pretty(query: &Query, user_agent: &str) -> bool {
    let by_hand = ["curl", "Wget", "Mozilla/5.0"]
        .iter()
        .any(|agent| user_agent.starts_with(agent));
    query.flag("pretty").unwrap_or(by_hand)
}

/// Returns a plain answer.
pub(crate) fn response(code: u16, content_type: &str, body: ResponseBody) -> Response<ResponseBody> {
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    if let Ok(value) = header::HeaderValue::from_str(content_type) {
        response.headers_mut().insert(header::CONTENT_TYPE, value);
    }
    response.headers_mut().insert(
        header::CACHE_CONTROL,
        header::HeaderValue::from_static("no-cache, private"),
    );
    response
}

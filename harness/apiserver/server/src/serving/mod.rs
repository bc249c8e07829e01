//! HTTPS: TLS with a new CA for each endpoint, HTTP/1.1 and HTTP/2, a bearer token or a client certificate.

mod kubeconfig;

use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use http::{HeaderMap, Request, Response, header};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use crate::api_error::ApiError;
use crate::fault_injection::FaultInjector;
use crate::handlers::authentication::{AUDIENCE, User};
use crate::handlers::codecs::body::ResponseBody;
use crate::handlers::codecs::negotiate;
use crate::handlers::{Caller, Core};
use crate::requests::Side;
use crate::tls::Identity;

/// Timeout of the TLS handshake.
const HANDSHAKE_WITHIN: Duration = Duration::from_secs(10);

/// Timeout for the headers of a request, and for the time before its first byte.
const HEADERS_WITHIN: Duration = Duration::from_secs(120);

/// Idle time after which the server pings a client.
const IDLE_FOR: Duration = Duration::from_secs(60);

/// Pause after a failure to accept a connection.
const BACK_OFF: Duration = Duration::from_millis(100);

/// The errors that report that no descriptor is left: `ENFILE`, `EMFILE`.
const NO_DESCRIPTOR: [i32; 2] = [23, 24];

/// A server that listens on HTTPS. It stops when this is dropped.
#[derive(Debug)]
pub struct Serving {
    addr: SocketAddr,
    token: String,
    ca: String,
    kubeconfig: String,
    stop: CancellationToken,
    starved: Arc<AtomicBool>,
    task: Option<JoinHandle<()>>,
}

impl Serving {
    /// The address of the listener.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Returns `https://ADDRESS:PORT`.
    pub fn url(&self) -> String {
        format!("https://{}", self.addr)
    }

    /// Returns the bearer token of the administrator.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// Returns the certificate of the CA, as PEM.
    pub fn ca(&self) -> &str {
        &self.ca
    }

    /// Returns a self-contained kubeconfig: CA, token, client certificate.
    pub fn kubeconfig(&self) -> String {
        self.kubeconfig.clone()
    }

    /// Returns `true` if a connection could not be accepted because this process, or the system, had no file descriptor
    /// left.
    pub fn starved(&self) -> bool {
        self.starved.load(Ordering::Relaxed)
    }

    /// Stops the server and waits until it has stopped.
    pub async fn stop(mut self) {
        self.stop.cancel();
        if let Some(task) = self.task.take() {
            // The task can only have been aborted, and then the endpoint is closed as well.
            let _ = task.await;
        }
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// Answers the requests of authenticated clients.
pub(crate) trait Handler: Send + Sync + 'static {
    /// Returns its fault injector.
    fn faults(&self) -> &FaultInjector;

    /// Returns the user agents that no client of an endpoint may have.
    fn reserved_agents(&self) -> &[String];

    /// Returns the user of a bearer token that is not the endpoint's own.
    fn authenticate(&self, _token: &str) -> Option<Arc<User>> {
        None
    }

    /// Answers a request of an authenticated client.
    fn answer(
        self: Arc<Self>,
        request: Request<Incoming>,
        caller: Caller,
    ) -> impl Future<Output = io::Result<Response<ResponseBody>>> + Send;
}

impl Handler for Core {
    fn faults(&self) -> &FaultInjector {
        &self.faults
    }

    fn reserved_agents(&self) -> &[String] {
        &self.options.reserved_agents
    }

    fn authenticate(&self, token: &str) -> Option<Arc<User>> {
        let known = Core::authenticate(self, token, &[AUDIENCE.to_owned()]);
        known.ok().map(|known| known.user)
    }

    async fn answer(self: Arc<Self>, request: Request<Incoming>, caller: Caller) -> io::Result<Response<ResponseBody>> {
        self.handle(request, caller).await
    }
}

/// The state that all connections share.
struct Listener<B> {
    handler: Arc<B>,
    acceptor: TlsAcceptor,
    token: String,
    starved: Arc<AtomicBool>,
}

/// Listens on a free port of an address and admits clients that present the token, or a token that the handler knows.
/// `name` is the name of the cluster in the kubeconfig.
pub(crate) async fn open<B: Handler>(
    handler: Arc<B>,
    name: &str,
    address: IpAddr,
    identity: Identity,
    token: String,
) -> io::Result<Serving> {
    let listener = TcpListener::bind((address, 0)).await?;
    let addr = listener.local_addr()?;
    let kubeconfig = kubeconfig::write(name, addr, &identity, &token);
    let starved = Arc::new(AtomicBool::new(false));
    let server = Arc::new(Listener {
        starved: Arc::clone(&starved),
        acceptor: TlsAcceptor::from(Arc::new(identity.server_config()?)),
        token: token.clone(),
        handler,
    });
    let stop = CancellationToken::new();
    let task = tokio::spawn(server.listen(listener, addr, stop.clone()));
    Ok(Serving {
        addr,
        token,
        ca: identity.ca,
        kubeconfig,
        stop,
        starved,
        task: Some(task),
    })
}

impl<B: Handler> Listener<B> {
    /// Accepts connections until `stop` is cancelled; closes the listener while the faults demand it.
    async fn listen(self: Arc<Self>, listener: TcpListener, addr: SocketAddr, stop: CancellationToken) {
        let faults = self.handler.faults().clone();
        let mut listener = Some(listener);
        let mut connections = JoinSet::new();
        loop {
            let breaks = faults.breaks(Side::Outside);
            tokio::select! {
                biased;
                () = stop.cancelled() => break,
                () = faults.broken(Side::Outside, breaks) => {
                    connections.abort_all();
                    listener = None;
                }
                Some(_) = connections.join_next() => {}
                accepted = accept(listener.as_ref()) => match accepted {
                    Ok((stream, _)) => drop(connections.spawn(self.clone().connection(stream))),
                    // Such as no descriptor left: existing connections continue.
                    Err(error) => {
                        if error.raw_os_error().is_some_and(|code| NO_DESCRIPTOR.contains(&code)) {
                            self.starved.store(true, Ordering::Relaxed);
                        }
                        drop(tokio::time::timeout(BACK_OFF, stop.cancelled()).await);
                    }
                },
                () = faults.listening(), if listener.is_none() => listener = TcpListener::bind(addr).await.ok(),
            }
        }
        connections.shutdown().await;
    }

    async fn connection(self: Arc<Self>, stream: TcpStream) {
        // Small answers are sent at once.
        let _ = stream.set_nodelay(true);
        let accepted = tokio::time::timeout(HANDSHAKE_WITHIN, self.acceptor.accept(stream)).await;
        let Ok(Ok(stream)) = accepted else {
            return;
        };
        let certified = stream
            .get_ref()
            .1
            .peer_certificates()
            .is_some_and(|chain| !chain.is_empty());
        let service = service_fn(|request| {
            let server = self.clone();
            async move { server.answer(request, certified).await }
        });
        let mut builder = auto::Builder::new(TokioExecutor::new());
        builder
            .http1()
            .timer(TokioTimer::new())
            .header_read_timeout(HEADERS_WITHIN);
        builder
            .http2()
            .timer(TokioTimer::new())
            .keep_alive_interval(IDLE_FOR)
            .keep_alive_timeout(HEADERS_WITHIN);
        // The client decides how a connection ends.
        let _ = builder.serve_connection(TokioIo::new(stream), service).await;
    }

    async fn answer(&self, request: Request<Incoming>, certified: bool) -> io::Result<Response<ResponseBody>> {
        let headers = request.headers();
        let known = if certified {
            Some(User::administrator())
        } else {
            bearer(headers).and_then(|token| self.user_of(token))
        };
        let Some(user) = known else {
            return Ok(negotiate::error(headers, &ApiError::unauthorized(), false));
        };
        let user_agent = headers
            .get(header::USER_AGENT)
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default();
        let caller = Caller {
            user,
            user_agent: known_as(user_agent, self.handler.reserved_agents()),
            side: Side::Outside,
        };
        Arc::clone(&self.handler).answer(request, caller).await
    }

    /// Returns the user of a bearer token.
    fn user_of(&self, token: &str) -> Option<Arc<User>> {
        if token == self.token {
            return Some(User::administrator());
        }
        self.handler.authenticate(token)
    }
}

/// Returns the bearer token of a request.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let given = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = given.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// Returns the name under which requests of an endpoint's client are recorded; never one that is reserved for clients
/// in this process.
fn known_as(user_agent: &str, reserved: &[String]) -> Arc<str> {
    if user_agent.is_empty() {
        return Arc::from("unnamed client");
    }
    if reserved.iter().any(|name| name == user_agent) {
        return Arc::from(format!("client that calls itself {user_agent}"));
    }
    Arc::from(user_agent)
}

/// Returns the next connection; waits forever while there is no listener.
async fn accept(listener: Option<&TcpListener>) -> io::Result<(TcpStream, SocketAddr)> {
    match listener {
        Some(listener) => listener.accept().await,
        None => std::future::pending::<Result<_, Infallible>>()
            .await
            .map_err(|never| match never {}),
    }
}

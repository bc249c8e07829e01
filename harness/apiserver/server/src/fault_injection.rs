//! Faults, injected into a server or into a proxy in front of one: stop it, cut it off, slow it down, let requests
//! fail, count them.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::api_error::ApiError;
use crate::gate::{Gate, Passed};
use crate::ordered_notify::OrderedNotify;
use crate::reads::Reads;
use crate::requests::{Failure, Failures, Matching, RequestInfo, RequestKey, Side};
use crate::store::Store;
use crate::traffic::Traffic;

/// The behaviour of a server that is cut off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// No answer: requests hang until the server is healed, and then continue.
    Hang,
    /// Connections are refused.
    Refuse,
}

/// The fate of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// The client gets it.
    PassedOn,
    /// The connection breaks before the client gets it.
    Lost,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reach {
    Up,
    Stopped,
    Cut(Cut),
}

impl Reach {
    fn from(self, side: Side) -> Self {
        match (self, side) {
            (Self::Cut(_), Side::Inside) => Self::Up,
            (reach, Side::Inside | Side::Outside) => reach,
        }
    }
}

/// The reachability of the server, and the number of times that connections have been broken off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct State {
    reach: Reach,
    /// Breaks of all connections.
    breaks: u64,
    /// Breaks of connections from outside only.
    breaks_outside: u64,
}

impl State {
    fn breaks(&self, side: Side) -> u64 {
        match side {
            Side::Outside => self.breaks + self.breaks_outside,
            Side::Inside => self.breaks,
        }
    }
}

#[derive(Debug, Default)]
struct Rules {
    delay: Duration,
    failures: Failures,
    gate: Option<Gate>,
    counts: BTreeMap<RequestKey, u64>,
    traffic: BTreeMap<RequestKey, Traffic>,
    /// Bytes that watches have sent.
    streamed: BTreeMap<RequestKey, Arc<AtomicU64>>,
    idle: BTreeMap<(String, String), u64>,
    refusals: BTreeMap<(String, u16), u64>,
}

struct Inner {
    state: OrderedNotify<State>,
    rules: Mutex<Rules>,
    reads: Reads,
    /// The store of the server; a proxy has none.
    store: Option<Arc<Store>>,
}

/// Injects faults into one server, or into the requests that pass through a proxy.
#[derive(Clone)]
pub struct FaultInjector(Arc<Inner>);

impl FaultInjector {
    pub(crate) fn new(store: Arc<Store>) -> Self {
        Self::with(Some(store))
    }

    /// Returns the injector of a proxy, which has no access to the store.
    pub(crate) fn of_proxy() -> Self {
        Self::with(None)
    }

    fn with(store: Option<Arc<Store>>) -> Self {
        let state = OrderedNotify::new(State {
            reach: Reach::Up,
            breaks: 0,
            breaks_outside: 0,
        });
        Self(Arc::new(Inner {
            state,
            rules: Mutex::default(),
            reads: Reads::new(),
            store,
        }))
    }

    fn rules(&self) -> MutexGuard<'_, Rules> {
        self.0.rules.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, reach: Reach) {
        self.0.state.change(|state| {
            state.reach = reach;
            match reach {
                Reach::Stopped => state.breaks += 1,
                Reach::Cut(Cut::Refuse) => state.breaks_outside += 1,
                Reach::Up | Reach::Cut(Cut::Hang) => {}
            }
        });
    }

    /// Stops the server: breaks connections and watches, and refuses new ones. Stored objects stay.
    pub fn stop(&self) {
        self.set(Reach::Stopped);
    }

    /// Starts a stopped server again.
    pub fn start(&self) {
        self.set(Reach::Up);
    }

    /// Cuts the server off from its clients.
    pub fn cut_off(&self, cut: Cut) {
        self.set(Reach::Cut(cut));
    }

    /// Ends a cut.
    pub fn heal(&self) {
        self.set(Reach::Up);
    }

    /// Delays every request from outside from now on; `Duration::ZERO` removes the delay.
    pub fn delay(&self, delay: Duration) {
        self.rules().delay = delay;
    }

    /// Adds or removes a failure of requests from outside.
    pub fn fail(&self, failure: Failure) {
        self.rules().failures.add(failure);
    }

    /// Installs a gate for writes from outside; replaces an existing one.
    pub fn guard(&self, gate: Gate) {
        self.rules().gate = Some(gate);
    }

    /// Breaks all connections from outside; new ones are accepted at once.
    pub fn break_connections(&self) {
        self.0.state.change(|state| state.breaks_outside += 1);
    }

    /// Holds back the lines of watches from outside for this time: those of a kind, or all. They are sent afterwards, in
    /// order. `Duration::ZERO` sends them now.
    pub fn hold_watches(&self, kind: Option<String>, time: Duration) {
        self.0.reads.hold_watches(kind, time);
    }

    /// Remembers the present state, and the one that was remembered before, for [`FaultInjector::serve_stale`].
    pub fn remember(&self) {
        if let Some(store) = &self.0.store {
            self.0.reads.remember(store.revision());
        }
    }

    /// For this time, answers clients from outside as a server does whose cache lags: lists of any age
    /// (`resourceVersion=0`) show the last but one state that was remembered, and watches send nothing. `Duration::ZERO`
    /// ends it. Returns false for a proxy, which has no history.
    pub fn serve_stale(&self, time: Duration) -> bool {
        if self.0.store.is_none() {
            return false;
        }
        self.0.reads.serve_stale(time);
        self.hold_watches(None, time);
        true
    }

    /// Answers 503 to reads of objects and lists from outside for this time; watches go on. `Duration::ZERO` ends it.
    pub fn refuse_reads(&self, time: Duration) {
        self.0.reads.refuse(time);
    }

    /// Returns the revision that lists of any age show to this side, if they are stale.
    pub(crate) fn stale_revision(&self, side: Side) -> Option<u64> {
        self.0.reads.stale_revision().filter(|_| side == Side::Outside)
    }

    /// Waits while watches of a kind send nothing.
    pub(crate) async fn released(&self, side: Side, kind: Option<&str>) {
        if side == Side::Outside {
            self.0.reads.released(kind).await;
        }
    }

    /// Removes all failures that have not happened yet.
    pub fn clear_failures(&self) {
        self.rules().failures = Failures::default();
    }

    /// Drops the history now: watches and lists at older revisions get 410, as after etcd's compaction. Returns false for a
    /// proxy, which has no history.
    pub fn compact(&self) -> bool {
        let Some(store) = &self.0.store else { return false };
        store.compact();
        true
    }

    /// Returns the number of requests for resources.
    pub fn counts(&self) -> BTreeMap<RequestKey, u64> {
        self.rules().counts.clone()
    }

    /// Returns bytes and durations of the answered requests for resources. A proxy does not measure them.
    pub fn traffic(&self) -> BTreeMap<RequestKey, Traffic> {
        let rules = self.rules();
        let mut traffic = rules.traffic.clone();
        for (key, bytes) in &rules.streamed {
            traffic.entry(key.clone()).or_default().sent += bytes.load(Ordering::Relaxed);
        }
        traffic
    }

    /// Counts the bytes of a request and of its answer, and the time between them.
    pub(crate) fn note_answer(&self, key: RequestKey, [received, sent]: [u64; 2], took: Duration) {
        let mut rules = self.rules();
        let traffic = rules.traffic.entry(key).or_default();
        traffic.received += received;
        traffic.sent += sent;
        traffic.durations.add(took);
    }

    /// Returns the counter of the bytes that watches of this key send.
    pub(crate) fn streamed(&self, key: RequestKey) -> Arc<AtomicU64> {
        Arc::clone(self.rules().streamed.entry(key).or_default())
    }

    /// Returns the number of accepted writes that changed nothing, by user agent and kind.
    pub fn idle_writes(&self) -> BTreeMap<(String, String), u64> {
        self.rules().idle.clone()
    }

    /// Returns the number of requests for resources that were answered with an error, by user agent and HTTP status.
    pub fn refusals(&self) -> BTreeMap<(String, u16), u64> {
        self.rules().refusals.clone()
    }

    /// Resets the counts to zero.
    pub fn reset_counts(&self) {
        let mut rules = self.rules();
        rules.counts.clear();
        rules.traffic.clear();
        // Watches that are open go on counting.
        for bytes in rules.streamed.values() {
            bytes.store(0, Ordering::Relaxed);
        }
        rules.idle.clear();
        rules.refusals.clear();
    }

    /// Counts a write that was accepted and changed nothing.
    pub(crate) fn note_idle(&self, client: &str, kind: &str) {
        let key = (client.to_owned(), kind.to_owned());
        *self.rules().idle.entry(key).or_default() += 1;
    }

    /// Counts a request for a resource that was answered with an error.
    pub(crate) fn note_refusal(&self, client: &str, code: u16) {
        *self.rules().refusals.entry((client.to_owned(), code)).or_default() += 1;
    }

    /// Returns `true` if the server can be reached and the number of broken connections is still `breaks`.
    pub(crate) fn untouched(&self, side: Side, breaks: u64) -> bool {
        let state = self.0.state.get();
        state.reach.from(side) == Reach::Up && state.breaks(side) == breaks
    }

    /// Returns the number of times that connections of this side have been broken off so far.
    pub(crate) fn breaks(&self, side: Side) -> u64 {
        self.0.state.get().breaks(side)
    }

    /// Waits while requests hang; returns an error if they are refused.
    pub(crate) async fn reachable(&self, side: Side) -> io::Result<()> {
        if self.0.state.get().reach.from(side) == Reach::Up {
            return Ok(());
        }
        let answers = |state: &State| state.reach.from(side) != Reach::Cut(Cut::Hang);
        match self.0.state.wait_for(answers).await.reach.from(side) {
            Reach::Up | Reach::Cut(Cut::Hang) => Ok(()),
            Reach::Stopped | Reach::Cut(Cut::Refuse) => Err(io::ErrorKind::ConnectionRefused.into()),
        }
    }

    /// Waits until the answer to a request can reach its client. The next write at the gate waits for that only if the server
    /// can be reached: a write has been carried out although its answer is held up.
    pub(crate) async fn passes_on(&self, side: Side, passed: Option<Passed>) -> io::Result<Fate> {
        let fate = match &passed {
            Some(passed) if passed.loses_answer() => Fate::Lost,
            _ => Fate::PassedOn,
        };
        let turn = passed.filter(|_| self.0.state.get().reach.from(side) == Reach::Up);
        self.reachable(side).await?;
        drop(turn);
        Ok(fate)
    }

    /// Waits until the server cannot be reached, or until the number of broken connections differs from `breaks`.
    pub(crate) async fn moved(&self, side: Side, breaks: u64) {
        self.0
            .state
            .wait_for(|state| state.reach.from(side) != Reach::Up || state.breaks(side) != breaks)
            .await;
    }

    /// Waits until the number of broken connections differs from `breaks`.
    pub(crate) async fn broken(&self, side: Side, breaks: u64) {
        self.0.state.wait_for(|state| state.breaks(side) != breaks).await;
    }

    /// Waits until the server accepts connections, even if they hang.
    pub(crate) async fn listening(&self) {
        self.0
            .state
            .wait_for(|state| !matches!(state.reach, Reach::Stopped | Reach::Cut(Cut::Refuse)))
            .await;
    }

    /// Counts and delays a request, and lets it fail, as the rules say; a write waits at the gate. The next write waits
    /// until the result is dropped.
    pub(crate) async fn pass(&self, seen: &RequestInfo<'_>) -> Result<Option<Passed>, ApiError> {
        let (delay, verdict, gate) = {
            let mut rules = self.rules();
            rules.count(seen);
            if seen.side == Side::Inside {
                return Ok(None);
            }
            let matches = |matching: &Matching| matching.matches(seen);
            (rules.delay, rules.failures.judge(matches), rules.gate.clone())
        };
        if !delay.is_zero() {
            tokio::time::sleep(delay).await;
        }
        verdict?;
        self.0.reads.check(seen.verb)?;
        match gate.filter(|_| seen.writes()) {
            Some(gate) => gate.enter(|server| seen.gated(server)).await,
            None => Ok(None),
        }
    }
}

impl FaultInjector {
    /// Applies the rules for paths outside the resources; returns the error of a matching failure.
    pub(crate) fn pass_path(&self, path: &str, side: Side) -> Result<(), ApiError> {
        match side {
            Side::Inside => Ok(()),
            Side::Outside => self.rules().failures.judge(|matching| matching.matches_path(path)),
        }
    }
}

impl Rules {
    fn count(&mut self, seen: &RequestInfo<'_>) {
        *self.counts.entry(seen.key()).or_default() += 1;
    }
}

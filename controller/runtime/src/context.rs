//! State shared by the reconcilers.

use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use baton_decide::affected::{Affected, Eviction};
use baton_decide::api::{BindingSpec, Cluster, Resource};
use baton_decide::evict;
use baton_decide::keys::{Gvk, ObjectKey};
use baton_decide::queue::{self, Entry, EvictionQueue};
use baton_decide::settings::Settings;
use baton_decide::tainting;
use jiff::Timestamp;
use kube::Client;
use kube::core::ApiResource;
use serde::Serialize;
use serde_json::Value;
use tokio::sync::mpsc::UnboundedSender;

use crate::cache::{Cache, Unconfirmed};
use crate::clock::Clock;
use crate::kinds::{KindError, Kinds};
use crate::member_connections::{Identity, MemberConnections};
use crate::members::{ConnectError, Members};
use crate::metrics::Metrics;
use crate::object_api::{ObjectApi, Part, WriteError};
use crate::options::Options;
use crate::queue::{Key, Urgency};
use crate::source::Source;
use crate::watch::{self, WatchEvent};

/// Pause before a request is repeated.
const PAUSE: Duration = Duration::from_secs(1);
/// Time that a member may take to answer.
pub const MEMBER_TIMEOUT: Duration = Duration::from_secs(10);

/// Error of a reconciler; its key is reconciled again after a pause.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// A write, or a read before it, failed.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// A kind was not found.
    #[error(transparent)]
    Kind(#[from] KindError),
    /// A member cannot be connected to.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// A member did not answer in time.
    #[error("no answer within {} s", MEMBER_TIMEOUT.as_secs())]
    Slow,
    /// A member is not reachable; the attempt has been reported.
    #[error("{0}")]
    Blocked(String),
}

/// Result of a reconciler: done until something changes, or until this time.
pub type Outcome = Result<Option<Timestamp>, Failure>;

/// State and clients that reconcilers need.
#[derive(Clone)]
pub struct Context {
    inner: Arc<Inner>,
}

struct Inner {
    control: Kinds,
    members: Arc<dyn Members>,
    clock: Clock,
    options: Options,
    events: UnboundedSender<WatchEvent>,
    cache: Mutex<Cache>,
    connections: Mutex<MemberConnections>,
    evictions: Mutex<EvictionQueue>,
    tainting: Mutex<BTreeMap<String, tainting::Memory>>,
    affected: Mutex<Affected>,
    collected: Mutex<HashSet<ObjectKey>>,
    metrics: Metrics,
}

impl Context {
    /// Creates the context.
    pub fn new(
        control: Client,
        members: Arc<dyn Members>,
        clock: Clock,
        options: Options,
        events: UnboundedSender<WatchEvent>,
    ) -> Self {
        let inner = Inner {
            control: Kinds::new(control),
            members,
            clock,
            options,
            events,
            cache: Mutex::default(),
            connections: Mutex::default(),
            evictions: Mutex::default(),
            tainting: Mutex::default(),
            affected: Mutex::default(),
            collected: Mutex::default(),
            metrics: Metrics::default(),
        };
        Self { inner: Arc::new(inner) }
    }

    /// Returns the current time.
    pub fn now(&self) -> Timestamp {
        (self.inner.clock)()
    }

    /// Returns the feature gates and options that decisions depend on.
    pub fn settings(&self) -> &Settings {
        &self.inner.options.settings
    }

    /// Returns all options.
    pub fn options(&self) -> &Options {
        &self.inner.options
    }

    /// Returns the kinds of the control plane and a client for it.
    pub fn control(&self) -> &Kinds {
        &self.inner.control
    }

    /// Forgets state that is valid only while this instance leads; another instance may have led since.
    pub fn forget_decisions(&self) {
        *self.evictions() = EvictionQueue::default();
        *self.inner.affected.lock().unwrap_or_else(PoisonError::into_inner) = Affected::default();
        self.collected().clear();
        self.inner
            .tainting
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clear();
    }

    /// Locks the cache. Must not be held across an await.
    pub fn cache(&self) -> MutexGuard<'_, Cache> {
        self.inner.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks the connections to members. Must not be held across an await.
    pub fn connections(&self) -> MutexGuard<'_, MemberConnections> {
        self.inner.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks the eviction queue. Must not be held across an await.
    pub fn evictions(&self) -> MutexGuard<'_, EvictionQueue> {
        self.inner.evictions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records that an entry of the eviction queue was processed.
    pub fn finish_eviction(&self, entry: &Entry, outcome: queue::Outcome, rate: f64) {
        let finished = self.evictions().finish(entry, outcome, rate, self.now());
        if let Some(finished) = finished {
            self.inner.metrics.finished(&finished);
        }
    }

    /// Resets the eviction figures of a cluster that has recovered.
    pub fn forget_evictions(&self, cluster: &str) {
        self.evictions().forget_cluster(cluster);
        self.inner.metrics.forget_cluster(cluster);
    }

    /// Returns the metrics as text.
    pub fn metrics(&self) -> String {
        let clusters = self.cache().clusters();
        let faulty = clusters.values().filter(|cluster| evict::is_faulty(cluster)).count();
        self.inner
            .metrics
            .text(&self.evictions(), faulty, clusters.len(), self.now())
    }

    /// Returns when the taints of a cluster evict the binding (EVQ-05, EVQ-06).
    pub fn eviction(&self, binding: &ObjectKey, spec: &BindingSpec, cluster: &Cluster) -> Eviction {
        let mut affected = self.inner.affected.lock().unwrap_or_else(PoisonError::into_inner);
        affected.eviction(binding, spec, cluster, self.settings())
    }

    /// Forgets which taints affected the binding, except on these clusters.
    pub fn forget_taints(&self, binding: &ObjectKey, clusters: &[&str]) {
        let mut affected = self.inner.affected.lock().unwrap_or_else(PoisonError::into_inner);
        affected.keep_only(binding, clusters);
    }

    /// Runs a decision with the memory about a cluster's conditions.
    pub fn with_tainting<T>(&self, cluster: &str, decide: impl FnOnce(&mut tainting::Memory) -> T) -> T {
        let mut memories = self.inner.tainting.lock().unwrap_or_else(PoisonError::into_inner);
        decide(memories.entry(cluster.to_owned()).or_default())
    }

    /// Forgets the conditions of a cluster that is gone.
    pub fn forget_tainting(&self, cluster: &str) {
        self.inner
            .tainting
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(cluster);
    }

    /// Locks the keys of the Works whose status this instance has collected since it became the leader. Other Works may
    /// have a status from before. Must not be held across an await.
    pub fn collected(&self) -> MutexGuard<'_, HashSet<ObjectKey>> {
        self.inner.collected.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reconciles a key soon.
    pub fn wake(&self, key: Key) {
        self.wake_at(key, Urgency::Wanted);
    }

    fn wake_at(&self, key: Key, urgency: Urgency) {
        // The receiving loop is gone only when the controller stops.
        let _ = self.inner.events.send(WatchEvent::Enqueue(key, urgency));
    }

    /// Records an object from a response.
    pub fn note(&self, source: &Source, object: Value) {
        let (urgency, concerned) = self.cache().note(source, object);
        for key in concerned {
            self.wake_at(key, urgency);
        }
    }

    /// Records that an object does not exist.
    pub fn note_missing(&self, source: &Source, key: &ObjectKey) {
        let concerned = self.cache().miss(source, key);
        for key in concerned {
            self.wake(key);
        }
    }

    /// Confirms with GET that an object exists; repeats until there is an answer.
    pub async fn confirm(self, object: Unconfirmed) {
        let (source, key, _) = &object;
        let Some(resource) = source.resource() else { return };
        loop {
            match self.object_api(&resource, key).get().await {
                Ok(Some(object)) => return self.note(source, object),
                Ok(None) => break,
                Err(error) => tracing::debug!(%error, "retrying after a pause"),
            }
            tokio::time::sleep(PAUSE).await;
        }
        let concerned = self.cache().miss_unconfirmed(&object);
        for key in concerned {
            self.wake(key);
        }
    }

    /// Returns the endpoint of an object on the control plane.
    pub fn object_api<'a>(&'a self, resource: &'a ApiResource, key: &ObjectKey) -> ObjectApi<'a> {
        ObjectApi::new(self.inner.control.client(), resource, key)
    }

    /// Changes an object of our own API from `old` to `new`, and records the response. Returns true if it wrote
    /// anything.
    pub async fn change<S, T>(
        &self,
        source: &Source,
        key: &ObjectKey,
        old: &Resource<S, T>,
        new: &Resource<S, T>,
        part: Part,
    ) -> Result<bool, WriteError>
    where
        S: PartialEq + Serialize,
        T: PartialEq + Serialize,
    {
        let Some(resource) = source.resource() else {
            return Ok(false);
        };
        let api = self.object_api(&resource, key);
        match api.change(old, new, part).await {
            Ok(Some(object)) => {
                self.note(source, object);
                Ok(true)
            }
            Ok(None) => Ok(false),
            Err(error) => {
                // The cache is out of date: read the current object for the next decision.
                if matches!(error, WriteError::Conflict { .. }) || error.is_not_found() {
                    match api.get().await? {
                        Some(object) => self.note(source, object),
                        None => self.note_missing(source, key),
                    }
                }
                Err(error)
            }
        }
    }

    /// Returns a connection to the member of this cluster object; connects if there is none yet. If only the credentials
    /// have changed and cannot be used, the earlier connection stays.
    pub async fn connect_to(&self, name: &str, cluster: &Cluster) -> Result<Kinds, Failure> {
        let identity = Identity::of(cluster);
        if let Some(connection) = self.connections().get(name, &identity) {
            return Ok(connection.kinds.clone());
        }
        let connect = self.inner.members.connect(cluster);
        let connected = tokio::time::timeout(MEMBER_TIMEOUT, connect).await;
        let client = match connected.map_err(|_| Failure::Slow)? {
            Ok(client) => client,
            Err(error) => {
                // Credentials may be missing for a moment while they are replaced (POL-18).
                let connections = self.connections();
                let earlier = connections.with_other_credentials(name, &identity);
                return Ok(earlier.ok_or(error)?.kinds.clone());
            }
        };
        let kinds = Kinds::new(client);
        {
            let mut connections = self.connections();
            if let Some(connection) = connections.get(name, &identity) {
                return Ok(connection.kinds.clone());
            }
            self.cache().forget_member(name);
            connections.put(name, identity, kinds.clone());
        }
        self.watch_definitions(name, &kinds);
        Ok(kinds)
    }

    fn watch_definitions(&self, name: &str, kinds: &Kinds) {
        let source = Source::Definitions(Some(name.to_owned()));
        let Some(resource) = source.resource() else { return };
        let handle = tokio::spawn(watch::run(
            kinds.client().clone(),
            resource,
            source,
            self.inner.events.clone(),
        ));
        self.connections().watched(name, None, handle.abort_handle());
    }

    /// Watches our objects of this kind on the member, unless they are watched already.
    pub fn watch_objects(&self, name: &str, gvk: &Gvk, kinds: &Kinds, resource: &ApiResource) {
        let mut connections = self.connections();
        if connections.is_watched(name, Some(gvk)) {
            return;
        }
        let source = Source::Objects {
            cluster: name.to_owned(),
            gvk: gvk.clone(),
        };
        let run = watch::run(
            kinds.client().clone(),
            resource.clone(),
            source,
            self.inner.events.clone(),
        );
        connections.watched(name, Some(gvk.clone()), tokio::spawn(run).abort_handle());
    }

    /// Returns the sender for watch events.
    pub fn events(&self) -> UnboundedSender<WatchEvent> {
        self.inner.events.clone()
    }
}

/// Waits for a member's answer, for a limited time.
pub async fn patiently<T, E>(answer: impl Future<Output = Result<T, E>>) -> Result<T, Failure>
where
    Failure: From<E>,
{
    Ok(tokio::time::timeout(MEMBER_TIMEOUT, answer)
        .await
        .map_err(|_| Failure::Slow)??)
}

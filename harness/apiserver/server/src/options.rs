//! The options of a server.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use jiff::Timestamp;

/// The time source: the server itself never reads a clock.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// A revision counter. Servers with the same counter share a single sequence of `resourceVersion`s, so that the writes
/// of a whole fleet have one order.
#[derive(Debug, Clone, Default)]
pub struct Revisions(Arc<AtomicU64>);

impl Revisions {
    /// Returns a counter that begins at 1.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the number of the last revision, 0 before the first.
    pub fn current(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }

    pub(crate) fn next(&self) -> u64 {
        self.0.fetch_add(1, Ordering::SeqCst) + 1
    }
}

/// The options of an [`ApiServer`](crate::ApiServer).
#[derive(Clone)]
pub struct Options {
    /// The name of the cluster: names the context in its kubeconfig, and is part of the seed.
    pub name: String,
    /// Source of `creationTimestamp` and other times.
    pub clock: Clock,
    /// Source of `resourceVersion`s.
    pub revisions: Revisions,
    /// Seed of uids and generated names; together with the name, it determines them.
    pub seed: u64,
    /// Enables the work of a controller manager: collects garbage, empties deleted namespaces, and fills Secrets for
    /// the tokens of service accounts.
    pub collect_garbage: bool,
    /// Number of events per resource that a watch can go back; a watcher that falls further behind is cut off with 410.
    pub history: usize,
    /// User agents reserved for clients in this process. An HTTPS client that uses one of them, or none at all, is
    /// recorded under another name, because any client can claim any name in a header.
    pub reserved_agents: Vec<String>,
}

impl Options {
    /// Returns options with a new revision counter, seed 0, garbage collection, and 10,000 events of history.
    pub fn new(name: impl Into<String>, clock: Clock) -> Self {
        Self {
            name: name.into(),
            clock,
            revisions: Revisions::new(),
            seed: 0,
            collect_garbage: true,
            history: 10_000,
            reserved_agents: Vec::new(),
        }
    }
}

impl std::fmt::Debug for Options {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Options")
            .field("name", &self.name)
            .field("revisions", &self.revisions)
            .field("seed", &self.seed)
            .field("collect_garbage", &self.collect_garbage)
            .field("history", &self.history)
            .finish_non_exhaustive()
    }
}

//! What a server is made with.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use jiff::Timestamp;

/// The time of day, handed in: the server itself never looks at a clock.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// A revision counter. Servers that are given the same one hand out a single sequence of `resourceVersion`s, so that
/// the writes of a whole fleet have one order.
#[derive(Debug, Clone, Default)]
pub struct Revisions(Arc<AtomicU64>);

impl Revisions {
    /// A counter that begins at 1.
    pub fn new() -> Self {
        Self::default()
    }

    /// The number of the last revision handed out, 0 before the first.
    pub fn current(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }

    pub(crate) fn next(&self) -> u64 {
        self.0.fetch_add(1, Ordering::SeqCst) + 1
    }
}

/// What an [`ApiServer`](crate::ApiServer) is made with.
#[derive(Clone)]
pub struct Options {
    /// The name of the cluster: of the context in its kubeconfig, and part of the seed.
    pub name: String,
    /// Where the server takes `creationTimestamp` and the like from.
    pub clock: Clock,
    /// Where it takes `resourceVersion`s from.
    pub revisions: Revisions,
    /// Uids and generated names follow from it and the name, and from nothing else.
    pub seed: u64,
    /// Whether garbage is collected, deleted namespaces are emptied, and Secrets for the tokens of service accounts filled
    /// (a controller manager's work).
    pub collect_garbage: bool,
    /// How many events per resource a watch can go back; a watcher that falls further behind is cut off with 410.
    pub history: usize,
    /// User agents that only clients in this process have. An HTTPS client that uses one of them, or none at all, is
    /// known by another name: a header says who somebody claims to be, not who it is.
    pub reserved_agents: Vec<String>,
}

impl Options {
    /// Options with a revision counter of its own, seed 0, garbage collection, and 10,000 events of history.
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

//! The controller's feature gates and options, as far as decisions depend on them.

use std::collections::BTreeSet;

use jiff::SignedDuration;

use crate::api::PurgeMode;
use crate::plugins::Plugin;

/// Feature gates and options.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Gate `Failover`: taints move workloads (GAT-01).
    pub failover: bool,
    /// Gate `StatefulFailoverInjection`: state is preserved and injected (GAT-02, GAT-03).
    pub stateful_injection: bool,
    /// Purge mode of bindings without `failover.cluster` (PRG-08).
    pub default_purge_mode: PurgeMode,
    /// How long a `Gracefully` task without a period of its own lasts at most.
    pub graceful_eviction_timeout: SignedDuration,
    /// Evictions per second (RAT-01).
    pub eviction_rate: f64,
    /// Evictions per second while too many clusters of a large federation are faulty (RAT-02).
    pub secondary_eviction_rate: f64,
    /// The share of faulty clusters that is too many (RAT-02).
    pub unhealthy_cluster_threshold: f64,
    /// A federation of more clusters than this is large (RAT-02).
    pub large_cluster_num_threshold: usize,
    /// The plugins that clear evictions (GRE-08).
    pub evict_plugins: BTreeSet<Plugin>,
    /// Which controllers run (GAT-07).
    pub controllers: Controllers,
}

/// Which of the controllers that can be switched off run.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own")]
pub struct Controllers {
    /// Taints move workloads.
    pub taint_manager: bool,
    /// Policies taint clusters.
    pub cluster_taint_policy: bool,
    /// Unhealthy applications move.
    pub application_failover: bool,
    /// Evictions that are over are cleared.
    pub graceful_eviction: bool,
}

impl Controllers {
    /// All of them, or none.
    pub fn all(on: bool) -> Self {
        Self {
            taint_manager: on,
            cluster_taint_policy: on,
            application_failover: on,
            graceful_eviction: on,
        }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            failover: false,
            stateful_injection: false,
            default_purge_mode: PurgeMode::Gracefully,
            graceful_eviction_timeout: SignedDuration::from_mins(10),
            eviction_rate: 0.5,
            secondary_eviction_rate: 0.1,
            unhealthy_cluster_threshold: 0.55,
            large_cluster_num_threshold: 10,
            evict_plugins: BTreeSet::from([Plugin::ResourceHealth]),
            controllers: Controllers::all(true),
        }
    }
}

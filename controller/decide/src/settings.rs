//! The controller's feature gates and options, as far as decisions depend on them.

use jiff::SignedDuration;

use crate::api::PurgeMode;

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
        }
    }
}

//! The controller's feature gates and options that decisions depend on.

use std::collections::BTreeSet;

use jiff::SignedDuration;

use crate::api::PurgeMode;
use crate::plugins::Plugin;

/// Feature gates and options.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Feature gate `Failover`: taints move workloads (GAT-01).
    pub failover: bool,
    /// Feature gate `StatefulFailoverInjection`: state is preserved and injected (GAT-02, GAT-03).
    pub stateful_injection: bool,
    /// Purge mode of bindings without `failover.cluster` (PRG-08).
    pub default_purge_mode: PurgeMode,
    /// Grace period of `Gracefully` tasks that do not set one.
    pub graceful_eviction_timeout: SignedDuration,
    /// Evictions per second (RAT-01).
    pub eviction_rate: f64,
    /// Evictions per second while too many clusters of a large federation are faulty (RAT-02).
    pub secondary_eviction_rate: f64,
    /// Share of faulty clusters above which the secondary rate applies (RAT-02).
    pub unhealthy_cluster_threshold: f64,
    /// Number of clusters above which a federation is large (RAT-02).
    pub large_cluster_num_threshold: usize,
    /// The plugins that clear evictions (GRE-08).
    pub evict_plugins: BTreeSet<Plugin>,
    /// Controllers that run (GAT-07).
    pub controllers: Controllers,
}

/// Switches of the controllers that can be turned off.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a separate switch")]
pub struct Controllers {
    /// Moves workloads off tainted clusters.
    pub taint_manager: bool,
    /// Taints clusters according to `ClusterTaintPolicy`.
    pub cluster_taint_policy: bool,
    /// Moves unhealthy applications.
    pub application_failover: bool,
    /// Clears evictions that are complete.
    pub graceful_eviction: bool,
}

impl Controllers {
    /// Returns all controllers switched on or off.
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

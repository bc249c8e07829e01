//! What backends that boot clusters of their own have in common.

use baton_core::names::ClusterName;

/// A cluster that serves its API.
#[derive(Debug, Clone)]
pub struct Booted {
    /// Its name in the fleet.
    pub name: ClusterName,
    /// Its kubeconfig as this machine reaches it.
    pub kubeconfig: String,
    /// Its kubeconfig as the other clusters' containers reach it.
    pub internal_kubeconfig: String,
}

/// From where a member's API is reached by the controller under test: which address stands in its `Cluster`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Reach {
    /// From this machine: a port on loopback.
    #[default]
    Host,
    /// From the containers of the other clusters: a controller that runs in the control plane's cluster.
    Clusters,
}

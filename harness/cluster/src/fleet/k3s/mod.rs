//! Fleets of k3s clusters in containers, for machines that have a container engine but not kind.
//!
//! - [`K3sOptions`]: options of the clusters;
//! - `boot`: starts the clusters at the same time with testcontainers, and removes them;
//! - `error`: errors, each with a suggested fix.

mod boot;
mod error;

use std::time::Duration;

use super::provisioned::Reach;

pub use boot::K3sClusters;
pub use error::K3sError;

/// Image that is used if none is named.
pub const DEFAULT_IMAGE: &str = "rancher/k3s:v1.34.1-k3s1";

/// Options of a fleet of k3s clusters.
#[derive(Debug, Clone)]
pub struct K3sOptions {
    /// Number of members.
    pub members: usize,
    /// Image with its tag, which determines the version of Kubernetes.
    pub image: String,
    /// Network from which the controller under test reaches the members.
    pub reach: Reach,
    /// Longest time to boot a cluster, without the pull of its image.
    pub ready_within: Duration,
}

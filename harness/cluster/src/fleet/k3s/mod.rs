//! Fleets of k3s clusters, each in a container: for machines that have a container engine, but not kind.
//!
//! - [`K3sOptions`]: which clusters;
//! - `boot`: starts all of them at once through testcontainers, and removes them;
//! - `error`: what goes wrong, and what to do about it.

mod boot;
mod error;

use std::time::Duration;

use super::provisioned::Reach;

pub use boot::K3sClusters;
pub use error::K3sError;

/// The image if none is named.
pub const DEFAULT_IMAGE: &str = "rancher/k3s:v1.34.1-k3s1";

/// Which k3s clusters a fleet is made of.
#[derive(Debug, Clone)]
pub struct K3sOptions {
    /// How many members.
    pub members: usize,
    /// The image with its tag, which is the version of Kubernetes.
    pub image: String,
    /// From where the controller under test reaches the members.
    pub reach: Reach,
    /// How long a cluster may take to boot, a pull of its image not included.
    pub ready_within: Duration,
}

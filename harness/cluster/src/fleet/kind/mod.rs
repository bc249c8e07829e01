//! Fleets of kind clusters: real control planes and kubelets in containers on this machine.
//!
//! - [`KindOptions`]: options of the clusters; [`Programs`]: the programs that create them;
//! - `boot`: creates the clusters at the same time with the kind CLI, and removes them;
//! - `programs`: runs kind and the container engine's client; `error`: errors, each with a suggested fix.
//!
//! The clusters are named `<prefix>-control`, `<prefix>-member1`, … and are configured by `control.yaml` and
//! `member.yaml` of `kind-config/`, which are passed to kind unread. The user's kubeconfig is never touched.

mod boot;
mod error;
mod programs;

use std::time::Duration;

use super::provisioned::Reach;

pub use boot::KindClusters;
pub use error::KindError;
pub use programs::Programs;

/// Configuration files of kind, as text.
#[derive(Debug, Clone)]
pub struct Configurations {
    /// Configuration of the control plane.
    pub control: String,
    /// Configuration of every member.
    pub member: String,
}

/// Options of a fleet of kind clusters.
#[derive(Debug, Clone)]
pub struct KindOptions {
    /// Number of members.
    pub members: usize,
    /// Image of the nodes, which determines the version of Kubernetes; that of the configuration, or else kind's
    /// default, if `None`.
    pub image: Option<String>,
    /// Prefix of the clusters' names.
    pub prefix: String,
    /// Configurations for kind.
    pub configurations: Configurations,
    /// Use existing clusters of these names, and keep all clusters at the end.
    pub reuse: bool,
    /// Network from which the controller under test reaches the members.
    pub reach: Reach,
    /// Longest time to boot a cluster, including the pull of its image.
    pub ready_within: Duration,
    /// Programs that create the clusters.
    pub programs: Programs,
}

//! Fleets of kind clusters: real control planes and real kubelets in containers of this machine.
//!
//! - [`KindOptions`]: which clusters; [`Programs`]: what makes them;
//! - `boot`: makes all of them at once through the kind CLI, and removes them;
//! - `programs`: runs kind and the container engine's client; `error`: what goes wrong, and what to do about it.
//!
//! The clusters are called `<prefix>-control`, `<prefix>-member1`, … and are configured by `control.yaml` and
//! `member.yaml` of `kind-config/`, which kind alone understands. The user's own kubeconfig is never touched.

mod boot;
mod error;
mod programs;

use std::time::Duration;

use super::provisioned::Reach;

pub use boot::KindClusters;
pub use error::KindError;
pub use programs::Programs;

/// Kind's own configurations, as text.
#[derive(Debug, Clone)]
pub struct Configurations {
    /// The control plane's.
    pub control: String,
    /// Every member's.
    pub member: String,
}

/// Which kind clusters a fleet is made of.
#[derive(Debug, Clone)]
pub struct KindOptions {
    /// How many members.
    pub members: usize,
    /// The image of their nodes, which is where the version of Kubernetes comes from; if none, what the configuration
    /// or else kind itself says.
    pub image: Option<String>,
    /// What their names begin with.
    pub prefix: String,
    /// How they are configured.
    pub configurations: Configurations,
    /// Use clusters of these names that are there already, and leave all of them there at the end.
    pub reuse: bool,
    /// From where the controller under test reaches the members.
    pub reach: Reach,
    /// How long a cluster may take to boot, a pull of its image included.
    pub ready_within: Duration,
    /// What makes the clusters.
    pub programs: Programs,
}

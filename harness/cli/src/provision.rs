//! Clusters that are created for a run: from arguments to a provisioner, and to a backend of its clusters.

use crate::terminal::errln;
use std::{io, sync::Arc, time::Duration};

use baton_cluster::{
    error_chain::error_chain,
    fleet::{
        FleetError,
        k3s::{DEFAULT_IMAGE, K3sClusters, K3sOptions},
        kind::{Configurations, KindClusters, KindError, KindOptions, Programs},
        provisioned::{ProvisionError, ProvisionedClusters, Provisioner, Reach},
    },
};
use clap::Args;

use crate::{files::Roots, interrupt::Interrupt};

/// Options of clusters that are created.
#[derive(Debug, Args)]
#[command(next_help_heading = "New clusters")]
pub struct NewClusters {
    /// The node image of kind or k3s, which sets the version of Kubernetes
    #[arg(long)]
    pub image: Option<String>,
    /// Number of member clusters to create (kind, k3s, envtest) [default: as many as the cases need]
    #[arg(long = "members", value_name = "N")]
    pub member_count: Option<usize>,
    /// Prefix of the names of kind clusters
    #[arg(long, value_name = "PREFIX", default_value = "baton")]
    pub name_prefix: String,
    /// Reuse existing kind clusters whose names begin with --name-prefix, and keep them for the next run
    #[arg(long)]
    pub reuse: bool,
    /// Register members by their address in the container network, for a target that runs in the control plane
    #[arg(long)]
    pub internal: bool,
    /// Time limit for booting a cluster, in seconds
    #[arg(long, value_name = "SECS", default_value_t = 600)]
    pub boot_timeout: u64,
}

/// Error when clusters cannot be created.
#[derive(Debug, thiserror::Error)]
pub enum BootError {
    /// The provisioner failed.
    #[error(transparent)]
    Made(#[from] ProvisionError),
    /// The user interrupted the wait.
    #[error("interrupted while clusters booted")]
    Interrupted,
}

impl NewClusters {
    fn reach(&self) -> Reach {
        if self.internal { Reach::Clusters } else { Reach::Host }
    }

    /// Returns a provisioner of kind clusters, for cases that need this many members.
    ///
    /// If a name is invalid, or a configuration cannot be read.
    pub fn kind(&self, roots: &Roots, needed: usize) -> Result<Arc<dyn Provisioner>, ProvisionError> {
        let clusters = KindClusters::new(KindOptions {
            members: self.member_count.unwrap_or(needed),
            image: self.image.clone(),
            prefix: self.name_prefix.clone(),
            configurations: configurations(roots).map_err(FleetError::from)?,
            reuse: self.reuse,
            reach: self.reach(),
            ready_within: Duration::from_secs(self.boot_timeout),
            programs: Programs::of_environment(),
        });
        Ok(Arc::new(clusters.map_err(FleetError::from)?))
    }

    /// Returns a provisioner of k3s clusters, for cases that need this many members.
    pub fn k3s(&self, needed: usize) -> Arc<dyn Provisioner> {
        let options = K3sOptions {
            members: self.member_count.unwrap_or(needed),
            image: self.image.clone().unwrap_or_else(|| DEFAULT_IMAGE.to_owned()),
            reach: self.reach(),
            ready_within: Duration::from_secs(self.boot_timeout),
        };
        // A process creates only one fleet.
        Arc::new(K3sClusters::new(options, std::process::id().to_string()))
    }
}

/// The configurations in `kind-config/`.
fn configurations(roots: &Roots) -> Result<Configurations, KindError> {
    let read = |name: &str| {
        let text = roots
            .read(name)
            .and_then(|text| String::from_utf8(text).map_err(io::Error::other));
        text.map_err(|source| KindError::Configuration {
            file: roots.path(name),
            source,
        })
    };
    Ok(Configurations {
        control: read("kind-config/control.yaml")?,
        member: read("kind-config/member.yaml")?,
    })
}

/// Creates clusters. If the user interrupts, those that have begun to boot are removed.
///
/// If the clusters cannot be created.
pub async fn boot(provisioner: Arc<dyn Provisioner>, interrupt: &Interrupt) -> Result<ProvisionedClusters, BootError> {
    errln!("creating {} clusters", provisioner.name());
    tokio::select! {
        made = ProvisionedClusters::boot(Arc::clone(&provisioner)) => Ok(made?),
        () = interrupt.asked() => {
            if let Err(left) = provisioner.remove().await {
                errln!("error: {}", error_chain(&left));
            }
            Err(BootError::Interrupted)
        }
    }
}

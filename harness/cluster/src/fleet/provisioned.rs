//! Clusters that a provisioner makes for a run and removes after it.

use std::{
    collections::BTreeSet,
    fmt,
    net::{IpAddr, TcpListener},
    sync::Arc,
};

use async_trait::async_trait;
use baton_core::{case::model::Case, names::ClusterName};
use futures::future::try_join_all;

use super::{
    Backend, ControllerError, Fleet, FleetError, Request, TargetLocation, TimeMode, controllers,
    embedded::FLEET,
    external::{self, Access, AccessError, Clusters, ConnectError, External, Options, Workloads},
};

/// A cluster that has been made and serves its API.
#[derive(Debug, Clone)]
pub struct Booted {
    /// Name of the cluster in the fleet.
    pub name: ClusterName,
    /// Kubeconfig for this machine.
    pub kubeconfig: String,
    /// Address for the controller under test, if it differs.
    pub reached_at: Option<String>,
}

/// Network from which the controller under test reaches a member's API, which determines the address in its `Cluster`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Reach {
    /// This machine: a port on loopback.
    #[default]
    Host,
    /// The containers of the other clusters, for a controller that runs in the control plane's cluster.
    Clusters,
}

/// A tool that makes clusters.
#[async_trait]
pub trait Provisioner: fmt::Debug + Send + Sync {
    /// Name of its clusters, such as `kind`.
    fn name(&self) -> &'static str;

    /// Keep the clusters for the next run.
    fn stay(&self) -> bool;

    /// Makes the clusters, the control plane first. A caller that drops the future must [remove](Self::remove) them.
    ///
    /// # Errors
    /// If they cannot be made; all are removed then.
    async fn boot(&self) -> Result<Vec<Booted>, FleetError>;

    /// Addresses under which the members may reach this machine, once they run: those of the gateways between them and
    /// it.
    async fn gateways(&self) -> Vec<IpAddr>;

    /// Controllers of a control plane that renew leases in `kube-system`.
    fn controllers(&self) -> &'static [&'static str];

    /// Removes the clusters that are not kept.
    ///
    /// # Errors
    /// If something is left; the error has its names.
    async fn remove(&self) -> Result<(), FleetError>;
}

/// An error while clusters are made or prepared as a backend.
#[derive(Debug, thiserror::Error)]
pub enum ProvisionError {
    /// They could not be made.
    #[error(transparent)]
    Fleet(#[from] FleetError),
    /// The kubeconfig of a new cluster does not work.
    #[error("the new clusters cannot be reached")]
    Access(#[from] AccessError),
    /// The API servers run, but the controllers do not.
    #[error(transparent)]
    Controllers(#[from] ControllerError),
    /// They cannot be used.
    #[error(transparent)]
    Connect(#[from] ConnectError),
}

impl ProvisionError {
    /// Checks whether the input is wrong, as opposed to the machine.
    pub fn is_input(&self) -> bool {
        match self {
            Self::Fleet(FleetError::Kind(error)) => error.is_input(),
            Self::Fleet(FleetError::K3s(error)) => error.is_input(),
            Self::Fleet(_) | Self::Access(_) | Self::Controllers(_) | Self::Connect(_) => false,
        }
    }

    /// Suggests a fix; empty if there is none.
    pub fn help(&self) -> String {
        match self {
            Self::Fleet(FleetError::Kind(error)) => error.help(),
            Self::Fleet(FleetError::K3s(error)) => error.help(),
            Self::Connect(ConnectError::Check(error)) => error.help(),
            Self::Controllers(_) => {
                "the machine may be too busy: the programs of a control plane give up if its API server \
                                     comes late; try again, with fewer clusters at once"
                    .to_owned()
            }
            Self::Fleet(_) | Self::Access(_) | Self::Connect(ConnectError::Fleet(_)) => String::new(),
        }
    }
}

/// The backend for clusters that were made for a run: fleets for one case after another, removed at the end.
#[derive(Debug)]
pub struct ProvisionedClusters {
    provisioner: Arc<dyn Provisioner>,
    clusters: External,
}

impl ProvisionedClusters {
    /// Makes clusters. A caller that drops the future must tell the provisioner to remove them.
    ///
    /// # Errors
    /// If they cannot be made; all are removed then.
    pub async fn boot(provisioner: Arc<dyn Provisioner>) -> Result<Self, ProvisionError> {
        let booted = provisioner.boot().await?;
        match connect(&*provisioner, booted).await {
            Ok(clusters) => Ok(Self { provisioner, clusters }),
            Err(error) => {
                // The reason why they cannot be used matters more than that they cannot be removed.
                if let Err(left) = provisioner.remove().await {
                    tracing::warn!("{left}");
                }
                Err(error)
            }
        }
    }
}

/// The first address that belongs to this machine. The engine may run on another machine, or in a virtual machine.
fn bindable(addresses: Vec<IpAddr>) -> Option<IpAddr> {
    let mut addresses = addresses.into_iter();
    addresses.find(|address| TcpListener::bind((*address, 0)).is_ok())
}

/// Connects to new clusters: they have kubelets and controllers but no operators, and no other user.
async fn connect(provisioner: &dyn Provisioner, booted: Vec<Booted>) -> Result<External, ProvisionError> {
    let mut accesses = Vec::new();
    for cluster in booted {
        let access = Access::by_text(cluster.name, &cluster.kubeconfig).await?;
        accesses.push(match cluster.reached_at {
            Some(url) => access.reached_at(url),
            None => access,
        });
    }
    try_join_all(accesses.iter().map(|access| at_work(provisioner, access))).await?;
    let mut accesses = accesses.into_iter();
    let control = accesses.next().ok_or(AccessError::NoMembers)?;
    let clusters = Clusters::new(control, accesses.collect())?;
    let options = Options {
        workloads: Workloads::CustomSimulated,
        keep: false,
        vouched_for: true,
        address: None,
        webhooks: bindable(provisioner.gateways().await),
    };
    Ok(External::connect(provisioner.name(), clusters, options).await?)
}

async fn at_work(provisioner: &dyn Provisioner, access: &Access) -> Result<(), ProvisionError> {
    let client = external::client(access, FLEET)?;
    let programs = provisioner.controllers().iter();
    try_join_all(programs.map(|program| controllers::at_work(access.name(), &client, program))).await?;
    Ok(())
}

#[async_trait]
impl Backend for ProvisionedClusters {
    fn name(&self) -> &'static str {
        self.provisioner.name()
    }

    fn time_mode(&self) -> TimeMode {
        self.clusters.time_mode()
    }

    fn at_once(&self, members: usize) -> Option<usize> {
        self.clusters.at_once(members)
    }

    fn beside_each_other(&self, cases: &[&Case], location: TargetLocation) -> Option<BTreeSet<usize>> {
        self.clusters.beside_each_other(cases, location)
    }

    fn cannot_carry(&self, case: &Case, location: TargetLocation) -> Option<String> {
        self.clusters.cannot_carry(case, location)
    }

    async fn fleet(&self, request: &Request) -> Result<Box<dyn Fleet>, FleetError> {
        self.clusters.fleet(request).await
    }

    async fn shut_down(&self) -> Result<(), FleetError> {
        // Clusters that are kept must be restored; the others only have to be removed.
        let cleaned = if self.provisioner.stay() {
            self.clusters.shut_down().await
        } else {
            Ok(())
        };
        self.provisioner.remove().await?;
        cleaned
    }
}

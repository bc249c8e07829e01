//! Clusters that are made for a run and removed after it, whatever makes them.

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
    /// Its name in the fleet.
    pub name: ClusterName,
    /// Its kubeconfig as this machine reaches it.
    pub kubeconfig: String,
    /// The address under which the controller under test reaches it, if that is another one.
    pub reached_at: Option<String>,
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

/// What makes clusters.
#[async_trait]
pub trait Provisioner: fmt::Debug + Send + Sync {
    /// What its clusters are: `kind`, …
    fn name(&self) -> &'static str;

    /// Whether the clusters are there for the next run too.
    fn stay(&self) -> bool;

    /// Makes the clusters, the control plane first. Whoever does not wait for the end must [remove](Self::remove) what
    /// has begun.
    ///
    /// # Errors
    /// If they cannot be had. Nothing of them is left then.
    async fn boot(&self) -> Result<Vec<Booted>, FleetError>;

    /// Addresses under which the members, once they are booted, may reach this machine: those of the gateways between
    /// them and it.
    async fn gateways(&self) -> Vec<IpAddr>;

    /// The programs of a control plane that hold leases in `kube-system` while they work.
    fn controllers(&self) -> &'static [&'static str];

    /// Removes what has been made and is not meant to stay.
    ///
    /// # Errors
    /// If something is left, with its names.
    async fn remove(&self) -> Result<(), FleetError>;
}

/// Why clusters that were made cannot serve as a backend.
#[derive(Debug, thiserror::Error)]
pub enum ProvisionError {
    /// They could not be made.
    #[error(transparent)]
    Fleet(#[from] FleetError),
    /// What made them does not say how they are reached.
    #[error("the new clusters cannot be reached")]
    Access(#[from] AccessError),
    /// Their API servers serve, and nobody else works.
    #[error(transparent)]
    Controllers(#[from] ControllerError),
    /// They are there, but cannot be used.
    #[error(transparent)]
    Connect(#[from] ConnectError),
}

impl ProvisionError {
    /// Whether it is what was given that is wrong, and not the machine.
    pub fn is_input(&self) -> bool {
        match self {
            Self::Fleet(FleetError::Kind(error)) => error.is_input(),
            Self::Fleet(FleetError::K3s(error)) => error.is_input(),
            Self::Fleet(_) | Self::Access(_) | Self::Controllers(_) | Self::Connect(_) => false,
        }
    }

    /// What whoever reads the error can do about it; empty if there is nothing to say.
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

/// Clusters that were made for a run, as a backend: fleet to one case after the other, and removed in the end.
#[derive(Debug)]
pub struct ProvisionedClusters {
    provisioner: Arc<dyn Provisioner>,
    clusters: External,
}

impl ProvisionedClusters {
    /// Makes clusters. Whoever does not wait for the end must tell the provisioner to remove what has begun.
    ///
    /// # Errors
    /// If they cannot be had. Nothing of them is left then.
    pub async fn boot(provisioner: Arc<dyn Provisioner>) -> Result<Self, ProvisionError> {
        let booted = provisioner.boot().await?;
        match connect(&*provisioner, booted).await {
            Ok(clusters) => Ok(Self { provisioner, clusters }),
            Err(error) => {
                // Why they cannot be used says more than that they cannot be removed either.
                if let Err(left) = provisioner.remove().await {
                    tracing::warn!("{left}");
                }
                Err(error)
            }
        }
    }
}

/// The first of some addresses that is one of this machine. The engine may run on another one, or in a machine of its
/// own.
fn bindable(addresses: Vec<IpAddr>) -> Option<IpAddr> {
    let mut addresses = addresses.into_iter();
    addresses.find(|address| TcpListener::bind((*address, 0)).is_ok())
}

/// New clusters have kubelets and controllers, but no operators; and nobody else uses them.
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
        // Clusters that stay must be as they were; for those that go it is enough that they go.
        let cleaned = if self.provisioner.stay() {
            self.clusters.shut_down().await
        } else {
            Ok(())
        };
        self.provisioner.remove().await?;
        cleaned
    }
}

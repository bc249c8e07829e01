//! Fleets: a control plane and members, on different kinds of clusters.
//!
//! - [`Backend`]: creates fleets; [`Fleet`]: a control plane with members; [`Cluster`]: one of its clusters;
//! - [`embedded`]: API servers in this process; [`external`]: existing clusters;
//! - [`provisioned`]: clusters made for a run, by [`kind`] or [`k3s`]; `controllers`: checks that their controllers
//!   run;
//! - [`envtest`]: real API servers on this machine;
//! - `cluster_api`: the kind Cluster, for implementations that serve it from an aggregated API server;
//! - `fault`: faults of clusters; `requests`: counters of the requests to them;
//! - `register`: registers members with the control plane.

mod cluster_api;
mod controllers;
pub mod embedded;
pub mod envtest;
pub mod external;
mod fault;
pub mod hollow;
pub mod k3s;
pub mod kind;
pub mod provisioned;
pub(crate) mod register;
mod requests;

#[cfg(test)]
pub(crate) use register::{define, failover_api};

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt, io,
    path::PathBuf,
    sync::Arc,
};

use async_trait::async_trait;
use baton_core::{
    case::model::Case,
    names::ClusterName,
    timeline::{Begin, DEFAULT_NAMESPACE, Order},
    yaml::Diagnostic,
};
use kube::Client;
use serde_json::Value;
use thiserror::Error;

use crate::{
    admission::Admission,
    clock::Clock,
    observer::{Recorder, watching::WatchError},
    simulator::Rules,
};

pub use controllers::ControllerError;
pub use fault::Fault;
pub use requests::RequestCounts;

pub use baton_apiserver::{Asking, Durations, Failure, GatedWrite, Gatekeeper, Matching, RequestKey, Traffic};

/// An error of a fleet: the environment is broken, not the target.
#[derive(Debug, Error)]
pub enum FleetError {
    /// The tokio runtime cannot have virtual time.
    #[error("virtual time needs a current-thread tokio runtime whose time is paused")]
    NotPaused,
    /// The fleet has no cluster of this name.
    #[error("there is no cluster {0}")]
    NoSuchCluster(ClusterName),
    /// The backend cannot inject this fault.
    #[error("{backend} clusters cannot {fault}")]
    Unsupported {
        /// Name of the backend.
        backend: &'static str,
        /// Fault, such as `be cut off`.
        fault: String,
    },
    /// The fleet is already observed, and a timeline begins once; or its options exclude observation.
    #[error("the fleet is already observed, or was made without observation")]
    Observed,
    /// A bundled definition is not valid JSON.
    #[error("a definition of the failover API is not valid JSON")]
    Definition(#[source] serde_json::Error),
    /// A cluster rejected a request.
    #[error("{what} on {cluster} failed")]
    Prepare {
        /// Name of the cluster.
        cluster: ClusterName,
        /// Operation, such as `creating the namespace default`.
        what: String,
        /// Error from the API server.
        source: Box<kube::Error>,
    },
    /// The control plane rejects the webhook for the kind Cluster.
    #[error("the API of Clusters cannot be served")]
    ClusterApi(#[source] crate::actions::ActionError),
    /// The harness serves the kind Cluster, and the control plane cannot call its webhook.
    #[error(
        "taints of Clusters cannot be given the time at which they were added: the control plane does not serve the kind \
         Cluster itself, and reaches no address of this machine that is known; name one with --address"
    )]
    Undated,
    /// A definition was not established in time.
    #[error("{name} was not established on {cluster} in time")]
    NotEstablished {
        /// Name of the cluster.
        cluster: ClusterName,
        /// Name of the definition.
        name: String,
    },
    /// A listener or a file could not be created.
    #[error("{what} failed")]
    Io {
        /// Operation, such as `opening a port`.
        what: String,
        /// Error from the system.
        source: io::Error,
    },
    /// A kubeconfig of the backend lacks a field.
    #[error("the kubeconfig of {0} lacks an address or a token")]
    Kubeconfig(ClusterName),
    /// A cluster issued no token for the target's account.
    #[error("{0} gave no token for the target's account; put a token into the kubeconfig's user for it")]
    NoToken(ClusterName),
    /// The backend has fewer members than the case needs.
    #[error("the case needs {wanted} members, and there are {there}")]
    TooFew {
        /// Number of members that are needed.
        wanted: usize,
        /// Number of members that exist.
        there: usize,
    },
    /// A cluster cannot be observed.
    #[error("the fleet cannot be observed")]
    Watch(#[from] WatchError),
    /// Objects that a case made could not be removed.
    #[error("the clusters are not as they were; left behind: {}", .0.join(", "))]
    LeftBehind(Vec<String>),
    /// kind clusters cannot be created or removed.
    #[error(transparent)]
    Kind(#[from] kind::KindError),
    /// k3s clusters cannot be started or removed.
    #[error(transparent)]
    K3s(#[from] k3s::K3sError),
    /// The simulator's rules have errors.
    #[error("the simulator's rules are wrong: {}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Rules(Arc<Vec<Diagnostic>>),
}

/// Function that returns a client for a user agent.
type Connect = Arc<dyn Fn(&str) -> Client + Send + Sync>;

/// One cluster of a fleet.
#[derive(Clone)]
pub struct Cluster {
    name: ClusterName,
    outside: Connect,
    inside: Connect,
    kubeconfig: Option<PathBuf>,
}

impl fmt::Debug for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cluster")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl Cluster {
    /// Name of the cluster: `control`, or the member's.
    pub fn name(&self) -> &ClusterName {
        &self.name
    }

    /// A client on the target's path, which faults affect. Writes are recorded under the user agent.
    pub fn client(&self, user_agent: &str) -> Client {
        (self.outside)(user_agent)
    }

    /// A client inside the cluster, which faults do not affect. For the harness.
    pub fn inside(&self, user_agent: &str) -> Client {
        (self.inside)(user_agent)
    }

    /// Path of its kubeconfig, if the fleet serves other programs.
    pub fn kubeconfig(&self) -> Option<&PathBuf> {
        self.kubeconfig.as_ref()
    }
}

/// Location of the target, which determines its path to the clusters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TargetLocation {
    /// Started by the harness on this machine, with kubeconfigs.
    Beside,
    /// Already installed; reaches the members through the registered `Cluster`s.
    Elsewhere,
}

/// Requirements of a case for its fleet.
#[derive(Debug, Clone)]
pub struct Request {
    /// The case.
    pub case: Case,
    /// Number of members.
    pub members: usize,
    /// Other cases may use the control plane at the same time: see [`Backend::beside_each_other`].
    pub beside_others: bool,
    /// Location of the target.
    pub location: TargetLocation,
    /// Definitions of the target; those of the failover API if `None`.
    pub definitions: Option<Arc<Vec<Value>>>,
    /// Rules of the simulator, where it runs; those of `fixtures/simulator` if `None`.
    pub rules: Option<Arc<Rules>>,
    /// Random seed; the same seed reproduces the same run, where the backend supports it.
    pub seed: u64,
}

/// Clock of a backend's fleets, which determines the runtime that they need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeMode {
    /// Wall-clock time.
    Real,
    /// Time jumps to the next timer when every task waits: needs a current-thread runtime with paused time.
    Virtual,
}

/// A source of fleets.
#[async_trait]
pub trait Backend: fmt::Debug + Send + Sync {
    /// Name of its clusters, such as `embedded`.
    fn name(&self) -> &'static str;

    /// Clock of its fleets.
    fn time_mode(&self) -> TimeMode;

    /// Largest number of concurrent fleets with this many members; `None` for no limit but the machine's.
    fn at_once(&self, members: usize) -> Option<usize>;

    /// Indices of the cases that can run concurrently on one control plane against an installed target; the others run
    /// one after another. `None` if each case has a separate control plane.
    fn beside_each_other(&self, _cases: &[&Case], _location: TargetLocation) -> Option<BTreeSet<usize>> {
        None
    }

    /// Explains why the backend cannot run a case with a target at this location; `None` if it can. Such a case is
    /// unsupported, not passed.
    fn cannot_carry(&self, case: &Case, location: TargetLocation) -> Option<String>;

    /// Prepares a fleet for one case. [`Fleet::shut_down`] releases its clusters.
    ///
    /// # Errors
    /// If the clusters cannot be prepared.
    async fn fleet(&self, request: &Request) -> Result<Box<dyn Fleet>, FleetError>;

    /// Removes everything that is kept between fleets. The backend must not be used afterwards.
    ///
    /// # Errors
    /// If something is left.
    async fn shut_down(&self) -> Result<(), FleetError>;
}

/// One control plane and its members.
#[async_trait]
pub trait Fleet: Send + Sync {
    /// Name of its clusters, such as `embedded`.
    fn backend(&self) -> &'static str;

    /// The control plane.
    fn control(&self) -> &Cluster;

    /// The members, sorted by name.
    fn members(&self) -> &[Cluster];

    /// Clock of the clusters.
    fn clock(&self) -> Clock;

    /// Namespace that replaces `default` in cases.
    fn namespace(&self) -> &str {
        DEFAULT_NAMESPACE
    }

    /// Order of events on different clusters in its timeline.
    fn order(&self) -> Order {
        Order::Exact
    }

    /// True if its time is virtual: it goes on only when nothing is left to do.
    fn has_virtual_time(&self) -> bool {
        false
    }

    /// Injects a fault, or ends one.
    ///
    /// # Errors
    /// If there is no such cluster, or the backend cannot inject this fault.
    async fn inject(&self, cluster: &ClusterName, fault: Fault) -> Result<(), FleetError>;

    /// Puts a gate before all writes of the target on all clusters; `None` if these clusters do not support it.
    fn gate(&self) -> Option<Gatekeeper> {
        None
    }

    /// Admission rules of the members; `None` if the members cannot reach a webhook on this machine.
    fn admission(&self) -> Option<&Admission> {
        None
    }

    /// Starts the timeline: the present objects, then every revision. Can be called once.
    ///
    /// # Errors
    /// If the timeline was already started.
    fn observe(&self, begin: Begin) -> Result<Recorder, FleetError>;

    /// Number of API writes on all clusters so far, by user agent, where the backend counts them.
    fn writes(&self) -> BTreeMap<String, u64>;

    /// Requests on all clusters so far, where the backend counts them.
    fn traffic(&self) -> RequestCounts {
        RequestCounts::default()
    }

    /// Accepted writes that changed nothing, by user agent and kind, where the backend counts them.
    fn idle_writes(&self) -> BTreeMap<String, BTreeMap<String, u64>> {
        BTreeMap::new()
    }

    /// Failures of the simulator's rules so far, as messages. Any failure means that the environment is broken.
    fn simulator_failures(&self) -> Vec<String>;

    /// Describes objects of the case that were seen on clusters of other cases, or the reverse. The result of the case
    /// then depends on other cases.
    fn stray(&self) -> Option<String> {
        None
    }

    /// Clusters that became unreachable without a fault, each with the reason. The results of a run on them are void.
    async fn lost(&self) -> Vec<String> {
        Vec::new()
    }

    /// Shuts the fleet down and removes everything of it. Close the timeline first.
    ///
    /// # Errors
    /// If something is left; the error has its names.
    async fn shut_down(self: Box<Self>) -> Result<(), FleetError>;
}

/// Returns the cluster of a fleet with this name.
///
/// # Errors
/// If the fleet has no cluster of this name.
pub fn cluster<'a>(fleet: &'a dyn Fleet, name: &ClusterName) -> Result<&'a Cluster, FleetError> {
    std::iter::once(fleet.control())
        .chain(fleet.members())
        .find(|cluster| cluster.name() == name)
        .ok_or_else(|| FleetError::NoSuchCluster(name.clone()))
}

/// The clusters and kubeconfigs of a fleet, for other programs: the output of `baton up --json`.
#[derive(Debug, Clone, serde::Serialize)]
pub struct Description {
    /// The control plane.
    pub control: DescribedCluster,
    /// The members.
    pub members: Vec<DescribedCluster>,
    /// Kubeconfig with a context per cluster, named after the cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kubeconfig: Option<PathBuf>,
}

/// A cluster in a [`Description`].
#[derive(Debug, Clone, serde::Serialize)]
pub struct DescribedCluster {
    /// Name of the cluster.
    pub name: ClusterName,
    /// Path of its kubeconfig; absent if the fleet does not serve other programs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kubeconfig: Option<PathBuf>,
}

impl Description {
    /// Describes a fleet.
    pub fn of(fleet: &dyn Fleet) -> Self {
        let describe = |cluster: &Cluster| DescribedCluster {
            name: cluster.name.clone(),
            kubeconfig: cluster.kubeconfig.clone(),
        };
        Self {
            control: describe(fleet.control()),
            members: fleet.members().iter().map(describe).collect(),
            kubeconfig: None,
        }
    }
}

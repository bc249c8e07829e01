//! Fleets: a control plane and members, whatever they are made of.
//!
//! - [`Backend`]: where fleets come from; [`Fleet`]: what it gives; [`Cluster`]: one of its clusters;
//! - [`embedded`]: API servers in this process; [`external`]: clusters that somebody else has started;
//! - [`provisioned`]: clusters that are made for a run; [`kind`] and [`k3s`] make them; `controllers`: whether they are at work;
//! - [`envtest`]: real API servers on this machine;
//! - `cluster_api`: the kind Cluster, for implementations that serve it themselves elsewhere;
//! - `register`: how members are made known to the control plane.

mod cluster_api;
mod controllers;
pub mod embedded;
pub mod envtest;
pub mod external;
pub mod k3s;
pub mod kind;
pub mod provisioned;
mod register;

#[cfg(test)]
pub(crate) use register::{define, failover_api};

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt, io,
    path::PathBuf,
    sync::Arc,
    time::Duration,
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

pub use baton_apiserver::{Asking, Failure, Gatekeeper, Matching};
use baton_apiserver::{Cut, FaultInjector};

/// Why a fleet cannot be had, or cannot do what is asked. The environment is broken then, not the target.
#[derive(Debug, Error)]
pub enum FleetError {
    /// Time can only be virtual on a paused current-thread runtime.
    #[error("virtual time needs a current-thread tokio runtime whose time is paused")]
    NotPaused,
    /// The fleet has no cluster of this name.
    #[error("there is no cluster {0}")]
    NoSuchCluster(ClusterName),
    /// The backend cannot inject this fault.
    #[error("{backend} clusters cannot be told to {fault}")]
    Unsupported {
        /// The backend.
        backend: &'static str,
        /// What was asked.
        fault: String,
    },
    /// The fleet is observed already, and a timeline begins once; or it is one that is not to be observed.
    #[error("the fleet is observed already, or is not to be")]
    Observed,
    /// A bundled definition is not valid JSON.
    #[error("a definition of the failover API is not valid JSON")]
    Definition(#[source] serde_json::Error),
    /// A cluster did not take what it must have.
    #[error("{what} on {cluster} failed")]
    Prepare {
        /// The cluster.
        cluster: ClusterName,
        /// What was to be done.
        what: String,
        /// What the cluster said.
        source: Box<kube::Error>,
    },
    /// The control plane does not take what stands for the API of Clusters.
    #[error("the API of Clusters cannot be served")]
    ClusterApi(#[source] crate::actions::ActionError),
    /// The harness serves the kind Cluster there, and cannot be called when one is written.
    #[error(
        "taints of Clusters cannot be given the time at which they were added: the control plane does not serve the kind \
         Cluster itself, and reaches no address of this machine that is known; name one with --address"
    )]
    Undated,
    /// A definition did not become established in time.
    #[error("{name} was not established on {cluster} in time")]
    NotEstablished {
        /// The cluster.
        cluster: ClusterName,
        /// The definition.
        name: String,
    },
    /// A listener or a file could not be created.
    #[error("{what} failed")]
    Io {
        /// What was to be done.
        what: String,
        /// What the system says.
        source: io::Error,
    },
    /// A kubeconfig that the backend made is not as expected.
    #[error("the kubeconfig of {0} lacks an address or a token")]
    Kubeconfig(ClusterName),
    /// A cluster gives no token to an account.
    #[error("{0} gave no token for the target's account; put a token into the kubeconfig's user for it")]
    NoToken(ClusterName),
    /// There are fewer members than are asked for.
    #[error("{wanted} members are needed, and there are {there}")]
    TooFew {
        /// How many are asked for.
        wanted: usize,
        /// How many there are.
        there: usize,
    },
    /// A cluster cannot be observed.
    #[error("the fleet cannot be observed")]
    Watch(#[from] WatchError),
    /// What a case has made could not be removed.
    #[error("the clusters are not as they were; left behind: {}", .0.join(", "))]
    LeftBehind(Vec<String>),
    /// Kind clusters cannot be made or removed.
    #[error(transparent)]
    Kind(#[from] kind::KindError),
    /// k3s clusters cannot be made or removed.
    #[error(transparent)]
    K3s(#[from] k3s::K3sError),
    /// The simulator's rules are wrong.
    #[error("the simulator's rules are wrong: {}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Rules(Arc<Vec<Diagnostic>>),
}

/// A fault of a cluster, or its end.
#[derive(Debug, Clone)]
pub enum Fault {
    /// Its API server stops; what is stored stays.
    Stop,
    /// It starts again.
    Start,
    /// It can no longer be reached from outside; inside it goes on: simulator and harness are not affected.
    /// Requests hang.
    CutOff,
    /// It can be reached again.
    Heal,
    /// Every answer to somebody outside takes this much longer from now on.
    Delay(Duration),
    /// Requests from outside fail.
    Fail(Failure),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stop => f.write_str("stop"),
            Self::Start => f.write_str("start"),
            Self::CutOff => f.write_str("be cut off"),
            Self::Heal => f.write_str("be reachable again"),
            Self::Delay(time) => write!(f, "answer {} s later", time.as_secs_f64()),
            Self::Fail(failure) => write!(f, "answer with {}", failure.code),
        }
    }
}

/// Gives a client for a user agent.
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
    /// Its name: `control`, or the member's.
    pub fn name(&self) -> &ClusterName {
        &self.name
    }

    /// A client on the way that the target takes, which faults affect. Writes are recorded under the user agent.
    pub fn client(&self, user_agent: &str) -> Client {
        (self.outside)(user_agent)
    }

    /// A client that stands inside the cluster: a cut does not affect it. For the harness itself.
    pub fn inside(&self, user_agent: &str) -> Client {
        (self.inside)(user_agent)
    }

    /// Where its kubeconfig is, if the fleet listens for other programs.
    pub fn kubeconfig(&self) -> Option<&PathBuf> {
        self.kubeconfig.as_ref()
    }
}

/// Where the target runs, and with that how it reaches the clusters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TargetLocation {
    /// The harness starts it, on this machine, with kubeconfigs.
    Beside,
    /// It is installed already, and reaches the members through the registered `Cluster`s.
    Elsewhere,
}

/// What a case needs of a fleet.
#[derive(Debug, Clone)]
pub struct Request {
    /// The case that it is for.
    pub case: Case,
    /// How many members it has.
    pub members: usize,
    /// Whether other cases may have the same control plane meanwhile: see [`Backend::beside_each_other`].
    pub beside_others: bool,
    /// Where the target runs.
    pub location: TargetLocation,
    /// The definitions that the target brings along; if there are none, the control plane gets those of the failover API.
    pub definitions: Option<Arc<Vec<Value>>>,
    /// What the workload simulator does, where it is at work; if not given, what `fixtures/simulator` says.
    pub rules: Option<Arc<Rules>>,
    /// Random seed; the same seed reproduces the same run, where the backend can.
    pub seed: u64,
}

/// How time passes on a backend's fleets, and so which runtime they need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeMode {
    /// Wall-clock time.
    Real,
    /// Time jumps to the next timer when nothing else is left to do: needs a current-thread runtime with paused time.
    Virtual,
}

/// Where fleets come from.
#[async_trait]
pub trait Backend: fmt::Debug + Send + Sync {
    /// What its clusters are: `embedded`, …
    fn name(&self) -> &'static str;

    /// How time passes on its fleets.
    fn time_mode(&self) -> TimeMode;

    /// How many of its fleets there can be at once, of so many members; none if there is no limit but the machine's.
    fn at_once(&self, members: usize) -> Option<usize>;

    /// Which of some cases, by number, may be run beside each other on one control plane, against a target that stands
    /// there; the others are run one after the other. None if each case has a control plane of its own anyway.
    fn beside_each_other(&self, _cases: &[&Case], _location: TargetLocation) -> Option<BTreeSet<usize>> {
        None
    }

    /// Why it cannot carry a case with a target that stands there, in words; none if it can. Such a case is unsupported,
    /// not passed.
    fn cannot_carry(&self, case: &Case, location: TargetLocation) -> Option<String>;

    /// A fleet that is ready, for one case. [`Fleet::shut_down`] gives back what it is made of.
    ///
    /// # Errors
    /// If the clusters cannot be had.
    async fn fleet(&self, request: &Request) -> Result<Box<dyn Fleet>, FleetError>;

    /// Ends what is kept from one fleet to the next. The backend is not used afterwards.
    ///
    /// # Errors
    /// If something of it is left behind.
    async fn shut_down(&self) -> Result<(), FleetError>;
}

/// One control plane and its members.
#[async_trait]
pub trait Fleet: Send + Sync {
    /// What its clusters are: `embedded`, …
    fn backend(&self) -> &'static str;

    /// The control plane.
    fn control(&self) -> &Cluster;

    /// The members, by name.
    fn members(&self) -> &[Cluster];

    /// The time as the clusters know it.
    fn clock(&self) -> Clock;

    /// The namespace in which it has what a case speaks of as `default`.
    fn namespace(&self) -> &str {
        DEFAULT_NAMESPACE
    }

    /// What the order of its timeline says of events on different clusters.
    fn order(&self) -> Order {
        Order::Exact
    }

    /// Injects a fault, or ends it.
    ///
    /// # Errors
    /// If there is no such cluster, or the backend cannot inject this fault.
    async fn inject(&self, cluster: &ClusterName, fault: Fault) -> Result<(), FleetError>;

    /// Puts a gate in the way of all writes of the target, on all clusters; none if these clusters cannot have one.
    fn gate(&self) -> Option<Gatekeeper> {
        None
    }

    /// What puts admission rules in force on members; none if they cannot reach a webhook on this machine.
    fn admission(&self) -> Option<&Admission> {
        None
    }

    /// Begins the timeline: what is there, then every revision. Once in a fleet's life.
    ///
    /// # Errors
    /// If it has been begun before.
    fn observe(&self, begin: Begin) -> Result<Recorder, FleetError>;

    /// API writes so far on all clusters by user agent, where the backend counts them.
    fn writes(&self) -> BTreeMap<String, u64>;

    /// Writes that were accepted and changed nothing, by user agent and kind, where the backend counts them.
    fn idle_writes(&self) -> BTreeMap<String, BTreeMap<String, u64>> {
        BTreeMap::new()
    }

    /// What went wrong with the simulator's rules, in words; the environment is broken if there is anything.
    fn simulator_failures(&self) -> Vec<String>;

    /// What of the case was seen on clusters of other cases, or of others on its own, in words: what it showed is then
    /// not its own doing alone.
    fn stray(&self) -> Option<String> {
        None
    }

    /// The clusters that can no longer be reached though nobody asked for that, each with what happened, in words.
    /// Whatever a run on them showed is worth nothing.
    async fn lost(&self) -> Vec<String> {
        Vec::new()
    }

    /// Ends everything: nothing of the fleet is left when this returns. A timeline must be closed before.
    ///
    /// # Errors
    /// If something is left, with its names.
    async fn shut_down(self: Box<Self>) -> Result<(), FleetError>;
}

/// Injects a fault into a server, or into the fault proxy before it.
fn inject(faults: &FaultInjector, fault: Fault) {
    match fault {
        Fault::Stop => faults.stop(),
        Fault::Start => faults.start(),
        Fault::CutOff => faults.cut_off(Cut::Hang),
        Fault::Heal => faults.heal(),
        Fault::Delay(time) => faults.delay(time),
        Fault::Fail(failure) => faults.fail(failure),
    }
}

/// The counted writes, by user agent.
fn writes<'a>(faults: impl Iterator<Item = &'a FaultInjector>) -> BTreeMap<String, u64> {
    let mut writes = BTreeMap::new();
    for (counted, count) in faults.flat_map(FaultInjector::counts) {
        if !matches!(counted.verb.as_str(), "get" | "list" | "watch") {
            *writes.entry(counted.client).or_default() += count;
        }
    }
    writes
}

/// One cluster of a fleet by name.
///
/// # Errors
/// If there is none of this name.
pub fn cluster<'a>(fleet: &'a dyn Fleet, name: &ClusterName) -> Result<&'a Cluster, FleetError> {
    std::iter::once(fleet.control())
        .chain(fleet.members())
        .find(|cluster| cluster.name() == name)
        .ok_or_else(|| FleetError::NoSuchCluster(name.clone()))
}

/// What a fleet's clusters and kubeconfigs are, for other programs: the output of `baton up --json`.
#[derive(Debug, Clone, serde::Serialize)]
pub struct Description {
    /// The control plane.
    pub control: DescribedCluster,
    /// The members.
    pub members: Vec<DescribedCluster>,
    /// A kubeconfig with a context for each of them, under its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kubeconfig: Option<PathBuf>,
}

/// A cluster in a [`Description`].
#[derive(Debug, Clone, serde::Serialize)]
pub struct DescribedCluster {
    /// Its name.
    pub name: ClusterName,
    /// Where its kubeconfig is; absent if the fleet does not listen for other programs.
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

//! Errors of runs without a result.

use std::time::Duration;

use baton_cluster::{actions::ActionError, error_chain::error_chain, fleet::FleetError, runner::TargetError};
use baton_core::names::ClusterName;
use thiserror::Error;

/// Error when a run has no result.
#[derive(Debug, Error)]
pub enum ScaleError {
    /// The operating system refused something that the harness needs.
    #[error("cannot start the async runtime, or keep the log of the target")]
    System(#[from] std::io::Error),
    /// The clusters are broken.
    #[error(transparent)]
    Fleet(#[from] FleetError),
    /// The target does not run.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// The target cannot run as the parameters ask.
    #[error("the target cannot run as this measurement asks: it {0}")]
    Unsupported(String),
    /// A cluster refused a workload or a taint.
    #[error("{what} failed")]
    Refused {
        /// Action, such as `creating the workload scale-000001`.
        what: String,
        /// Error from the API server.
        source: Box<kube::Error>,
    },
    /// The definition of a kind cannot be read.
    #[error("cannot read the definition of FlinkDeployments")]
    Definition(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// A cluster refused the definition of a kind.
    #[error("defining FlinkDeployments on {cluster} failed")]
    Define {
        /// The cluster.
        cluster: ClusterName,
        /// The reason.
        source: Box<ActionError>,
    },
    /// A cluster could not be tainted.
    #[error("tainting {cluster} failed")]
    Taint {
        /// The cluster.
        cluster: ClusterName,
        /// The reason.
        source: Box<ActionError>,
    },
    /// The target does not report the members as ready.
    #[error("the target reported {ready} of {members} members as ready within {} s", waited.as_secs())]
    NotReady {
        /// Number of members that are ready.
        ready: usize,
        /// Number of members.
        members: usize,
        /// The time limit.
        waited: Duration,
    },
    /// The target placed no workload on a member that fails.
    #[error("the target placed no workload on a member that was to fail")]
    NothingToMove,
    /// Time does not pass because the target writes without waiting.
    #[error("{revisions} revisions were written without time passing; the target seems to write in a hot loop")]
    HotLoop {
        /// Number of revisions at one moment.
        revisions: u64,
    },
    /// The simulator of workloads failed.
    #[error("the workload simulator failed: {0}")]
    Simulator(String),
    /// Clusters were lost.
    #[error("clusters were lost during the run: {0}")]
    Lost(String),
}

impl ScaleError {
    /// The error with its causes.
    pub fn chain(&self) -> String {
        error_chain(self)
    }
}

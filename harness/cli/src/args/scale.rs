//! Options of `scale`.

use std::{path::PathBuf, time::Duration};

use baton_core::scale::{
    kinds::Shares,
    parameters::{Parameters, Profile, Spread},
};
use clap::{Args, Subcommand, ValueEnum};

use super::values::{Named, ValueError, duration, shares};

/// The longest time limit.
const LONGEST: Duration = Duration::from_secs(7 * 24 * 3600);

/// Options of `scale`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct Scale {
    /// What to do with results, instead of a run
    #[command(subcommand)]
    pub command: Option<ScaleCommand>,
    /// The run
    #[command(flatten)]
    pub run: ScaleRun,
}

/// Commands below `scale`.
#[derive(Debug, Subcommand)]
pub enum ScaleCommand {
    /// Compare the figures of two results
    Compare {
        /// The first result, as written by --json
        one: PathBuf,
        /// The second result
        other: PathBuf,
    },
    /// Write the page of a result again
    Page {
        /// The result, as written by --json
        result: PathBuf,
        /// Write the page to FILE
        #[arg(short, long, value_name = "FILE")]
        out: PathBuf,
    },
}

/// Options of a run.
#[derive(Debug, Args)]
pub struct ScaleRun {
    /// Number of members
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub members: usize,
    /// Number of workloads
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub workloads: usize,
    /// Number of members that fail at the same time
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub failing: usize,
    /// Kind of migration: directly, gracefully or divided
    #[arg(long, value_name = "PROFILE", default_value_t = Named(Profile::Directly))]
    pub profile: Named<Profile>,
    /// Shares of the kinds of workloads: deployment, statefulset and flinkdeployment, such as deployment=3,statefulset=1
    /// [default: deployment=1]
    #[arg(long, value_name = "SHARES", value_parser = shares)]
    pub kinds: Option<Shares>,
    /// Members on which workloads begin: failing, or all in turn
    #[arg(long, value_name = "MEMBERS", default_value_t = Named(Spread::Failing))]
    pub spread: Named<Spread>,
    /// Evictions per second, the option resource-eviction-rate of the target [default: no limit]
    #[arg(long, value_name = "R")]
    pub rate: Option<f64>,
    /// Measure the implementation that this target file describes [default: the built-in reference controller]
    #[arg(long, value_name = "FILE")]
    pub target: Option<PathBuf>,
    /// The clusters
    #[arg(long, value_enum, default_value_t = ScaleBackend::Embedded)]
    pub backend: ScaleBackend,
    /// Run embedded clusters in real time instead of skipping ahead while nothing happens; programs always do
    #[arg(long)]
    pub real_time: bool,
    /// The folder with etcd, kube-apiserver and kube-controller-manager
    #[arg(
        long,
        value_name = "DIR",
        help = "The folder with etcd, kube-apiserver and kube-controller-manager [default: $KUBEBUILDER_ASSETS]"
    )]
    pub assets: Option<PathBuf>,
    /// The kubeconfig of an existing control plane
    #[arg(long, value_name = "FILE", required_if_eq("backend", "kubeconfig"))]
    pub kubeconfig: Option<PathBuf>,
    /// The context of the control plane [default: the current context of the kubeconfig]
    #[arg(long, value_name = "CONTEXT", requires = "kubeconfig")]
    pub control: Option<String>,
    /// Confirm that the control plane and its members are test clusters; otherwise the namespace kube-system of each must
    /// have the annotation baton.dev/test-cluster=true
    #[arg(long, requires = "kubeconfig")]
    pub yes_these_are_test_clusters: bool,
    /// Time limit of placing and of moving, each, by the clusters' clock [default: 1h; 10m in real time]
    #[arg(long, value_name = "TIME", value_parser = limit)]
    pub limit: Option<Duration>,
    /// Random seed
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// Write the result as JSON
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Write the result as a page with plots
    #[arg(long, value_name = "FILE")]
    pub page: Option<PathBuf>,
}

impl ScaleRun {
    /// The parameters; `by_default` is the time limit if none is given.
    pub fn parameters(&self, by_default: Duration) -> Parameters {
        Parameters {
            members: self.members,
            workloads: self.workloads,
            failing: self.failing,
            profile: self.profile.0,
            kinds: self.kinds.unwrap_or_default(),
            spread: self.spread.0,
            rate: self.rate,
            seed: self.seed,
            limit_seconds: self.limit.unwrap_or(by_default).as_secs(),
        }
    }
}

/// Clusters that a run can be measured on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ScaleBackend {
    /// API servers in this process
    Embedded,
    /// kube-apiserver and etcd on this machine
    Envtest,
    /// An existing control plane with its registered members member1, member2, …, such as those of `baton member`
    Kubeconfig,
}

fn limit(text: &str) -> Result<Duration, ValueError> {
    let duration = duration(text)?;
    if duration < Duration::from_secs(1) {
        return Err(ValueError::TooShort);
    }
    if duration > LONGEST {
        return Err(ValueError::TooLong);
    }
    Ok(duration)
}

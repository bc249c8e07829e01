//! Creates the backend, the clusters to run cases on, from the command line.

use crate::terminal::errln;
use std::{fmt, net::IpAddr, num::NonZeroUsize, path::PathBuf, sync::Arc, time::Duration};

use baton_cluster::fleet::{
    Backend, FleetError, TimeMode,
    embedded::InProcess,
    envtest::{Assets, Envtest, EnvtestError},
    external::{
        AccessError, CheckError, Clusters, ConnectError, External, Options, RegisteredError, Workloads,
        embedded_members::{EmbeddedMembers, EmbeddedMembersError},
    },
};
use clap::{Arg, ArgMatches, Args, Command, ValueEnum, builder::PossibleValue, parser::ValueSource};
use jiff::SignedDuration;

use crate::{
    files::Roots,
    interrupt::Interrupt,
    provision::{self, BootError, NewClusters},
};

/// Default for the longest time that a case may wait in real time: keeps a suite within minutes.
pub const MAX_CASE_TIME: Duration = Duration::from_secs(120);

/// Options that select the clusters to run cases on.
#[derive(Debug, Args)]
pub struct BackendOptions {
    /// The clusters that cases run on
    #[arg(long, value_enum, default_value_t = BackendKind::Embedded)]
    pub backend: BackendKind,
    /// Clusters that are created for the run
    #[command(flatten)]
    pub new: NewClusters,
    /// Run embedded clusters in real time instead of skipping ahead while nothing happens; other backends always do
    #[arg(long, help_heading = "Time")]
    pub real_time: bool,
    /// Report cases as unsupported that let time pass for longer than this in real time, such as 10m [default: 2m on
    /// clusters that are not embedded, and against programs]
    #[arg(long, value_name = "DURATION", value_parser = duration, help_heading = "Time")]
    pub max_case_time: Option<Duration>,
    /// The kubeconfig with the contexts of the clusters; its current context is ignored
    #[arg(
        long,
        value_name = "FILE",
        required_if_eq("backend", "kubeconfig"),
        help_heading = "Existing clusters"
    )]
    pub kubeconfig: Option<PathBuf>,
    /// The context of the control plane
    #[arg(
        long,
        value_name = "CONTEXT",
        required_if_eq("backend", "kubeconfig"),
        help_heading = "Existing clusters"
    )]
    pub control: Option<String>,
    /// The context of a member; repeat it for each member. With more of them than a case needs, --jobs cases run at once
    /// [default: the members are embedded API servers of this process, which are joined while a case has them; --members
    /// says how many]
    #[arg(long = "member", value_name = "CONTEXT", help_heading = "Existing clusters")]
    pub members: Vec<String>,
    /// The folder with etcd, kube-apiserver and kube-controller-manager
    #[arg(
        long,
        value_name = "DIR",
        help_heading = "Local API servers (envtest)",
        help = "The folder with etcd, kube-apiserver and kube-controller-manager [default: $KUBEBUILDER_ASSETS]"
    )]
    pub assets: Option<PathBuf>,
    /// Confirm that these are test clusters; otherwise the namespace kube-system of each must have the annotation
    /// baton.dev/test-cluster=true
    #[arg(long, help_heading = "Existing clusters")]
    pub yes_these_are_test_clusters: bool,
    /// The workloads that are simulated on the members; the members must run the others themselves
    #[arg(long, value_enum, default_value_t = Simulate::All, help_heading = "Existing clusters")]
    pub simulate: Simulate,
    /// An address of this machine that the members and an installed target can reach; fault proxies for the members and
    /// webhooks of cases listen there [default for webhooks: loopback, if the members are reached there]
    #[arg(long, value_name = "IP", help_heading = "Existing clusters")]
    pub address: Option<IpAddr>,
    /// Keep the objects that cases create on the clusters
    #[arg(long, help_heading = "Existing clusters")]
    pub keep: bool,
}

/// The kinds of clusters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum BackendKind {
    /// API servers in this process, new for every case
    Embedded,
    /// Existing clusters
    Kubeconfig,
    /// kube-apiserver and etcd on this machine, as fetched by setup-envtest
    Envtest,
    /// kind clusters, created for the run
    Kind,
    /// k3s in containers, created for the run
    K3s,
}

/// Options that have an effect only on some backends, with these backends.
const BELONGS: [(&str, &[BackendKind]); 14] = {
    use BackendKind::{Envtest, K3s, Kind, Kubeconfig};
    [
        ("kubeconfig", &[Kubeconfig]),
        ("control", &[Kubeconfig]),
        ("member", &[Kubeconfig]),
        ("yes-these-are-test-clusters", &[Kubeconfig]),
        ("simulate", &[Kubeconfig]),
        ("address", &[Kubeconfig]),
        ("keep", &[Kubeconfig, Envtest]),
        ("assets", &[Envtest]),
        ("members", &[Kubeconfig, Envtest, Kind, K3s]),
        ("image", &[Kind, K3s]),
        ("name-prefix", &[Kind]),
        ("reuse", &[Kind]),
        ("internal", &[Kind, K3s]),
        ("boot-timeout", &[Kind, K3s]),
    ]
};

/// Returns an error message if an option is given that has no effect on the selected backend.
pub(crate) fn misplaced(command: &Command, given: &ArgMatches) -> Option<String> {
    let asked: BackendKind = *given.try_get_one("backend").ok()??;
    let is_given = |option: &&Arg| given.value_source(option.get_id().as_str()) == Some(ValueSource::CommandLine);
    let belongs = |option: &Arg| BELONGS.iter().find(|(name, _)| option.get_long() == Some(name));
    let (name, backends) = command
        .get_arguments()
        .filter(is_given)
        .filter_map(belongs)
        .find(|(_, backends)| !backends.contains(&asked))?;
    let backends: Vec<_> = backends.iter().map(|kind| format!("'--backend {kind}'")).collect();
    Some(format!(
        "'--{name}' has no effect on '--backend {asked}', only on {}",
        backends.join(", ")
    ))
}

impl fmt::Display for BackendKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.to_possible_value();
        f.write_str(value.as_ref().map_or("", PossibleValue::get_name))
    }
}

/// Workloads that are simulated on the members.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Simulate {
    /// All workloads: the members have neither kubelets nor controllers
    All,
    /// Only custom kinds, in place of their operators
    Custom,
    /// No workloads: the members run all of them
    None,
}

/// Requirements of a run on its clusters.
#[derive(Debug)]
pub struct BackendNeeds<'a> {
    /// Number of members that the cases need.
    pub members: usize,
    /// Number of members that those cases need that can share a control plane.
    pub members_beside_others: usize,
    /// Number of cases to run at once.
    pub at_once: NonZeroUsize,
    /// Set if the clusters must be reachable by people, with kubectl.
    pub open: bool,
    /// Cancels waiting for the clusters.
    pub interrupt: &'a Interrupt,
}

/// Error when a backend cannot be created.
#[derive(Debug, thiserror::Error)]
pub enum BackendError {
    /// The options do not lead to clusters.
    #[error(transparent)]
    Access(#[from] AccessError),
    /// The clusters must not or cannot be used.
    #[error(transparent)]
    Check(#[from] CheckError),
    /// A member is not registered in push mode.
    #[error(transparent)]
    Registered(#[from] RegisteredError),
    /// Another problem with the clusters.
    #[error(transparent)]
    Fleet(#[from] FleetError),
    /// The API servers on this machine do not become ready.
    #[error(transparent)]
    Envtest(#[from] EnvtestError),
    /// This process cannot serve members.
    #[error(transparent)]
    Embedded(#[from] EmbeddedMembersError),
    /// New clusters cannot be created.
    #[error(transparent)]
    Boot(#[from] BootError),
    /// The operating system refused something that the harness needs.
    #[error("cannot start the async runtime")]
    Runtime(#[from] std::io::Error),
}

impl BackendError {
    /// Returns a remedy for the user.
    pub fn help(&self) -> String {
        match self {
            Self::Access(AccessError::Kubeconfig { .. }) => {
                "write one with the tool that created the clusters".to_owned()
            }
            Self::Access(AccessError::NoContext { .. }) => {
                "`kubectl config get-contexts --kubeconfig FILE` lists the contexts".to_owned()
            }
            Self::Access(AccessError::Same { .. }) => {
                "--control and --member name contexts; each must lead to a different cluster".to_owned()
            }
            Self::Check(error) => error.help(),
            Self::Registered(error) => error.help(),
            Self::Envtest(error) => error.help(),
            Self::Boot(BootError::Made(error)) => error.help(),
            Self::Boot(BootError::Interrupted)
            | Self::Access(_)
            | Self::Embedded(_)
            | Self::Fleet(_)
            | Self::Runtime(_) => String::new(),
        }
    }

    /// Returns `true` if the options are wrong, not the clusters.
    pub fn is_input(&self) -> bool {
        match self {
            Self::Access(_)
            | Self::Registered(RegisteredError::NotRegistered { .. } | RegisteredError::Pull { .. }) => true,
            Self::Check(error) => error.is_input(),
            Self::Envtest(error) => matches!(error, EnvtestError::NoAssets | EnvtestError::NoProgram { .. }),
            Self::Boot(BootError::Made(error)) => error.is_input(),
            Self::Boot(BootError::Interrupted)
            | Self::Registered(_)
            | Self::Embedded(_)
            | Self::Fleet(_)
            | Self::Runtime(_) => false,
        }
    }
}

impl From<ConnectError> for BackendError {
    fn from(error: ConnectError) -> Self {
        match error {
            ConnectError::Check(error) => Self::Check(error),
            ConnectError::Fleet(error) => Self::Fleet(error),
        }
    }
}

impl BackendOptions {
    /// Returns the backend that the options select. Existing clusters are checked without changing them; new clusters
    /// are created.
    ///
    /// If the clusters cannot be used.
    pub fn backend(&self, roots: &Roots, needs: &BackendNeeds<'_>) -> Result<Arc<dyn Backend>, BackendError> {
        let provisioner = match self.backend {
            BackendKind::Embedded => {
                let doors = needs.open;
                let time_mode = if self.real_time || doors {
                    TimeMode::Real
                } else {
                    TimeMode::Virtual
                };
                return Ok(Arc::new(InProcess { time_mode, doors }));
            }
            BackendKind::Kubeconfig => return Ok(Arc::new(self.existing(needs)?)),
            BackendKind::Envtest => {
                let assets = Assets::find(self.assets.as_deref())?;
                let members = self.new.member_count.unwrap_or(needs.members);
                let envtest = Envtest::boot(&assets, needs.at_once, members, self.keep);
                return Ok(Arc::new(runtime()?.block_on(envtest)?));
            }
            BackendKind::Kind => self.new.kind(roots, needs.members).map_err(BootError::from)?,
            BackendKind::K3s => self.new.k3s(needs.members),
        };
        Ok(Arc::new(
            runtime()?.block_on(provision::boot(provisioner, needs.interrupt))?,
        ))
    }

    fn existing(&self, needs: &BackendNeeds<'_>) -> Result<External, BackendError> {
        let embedded = if self.members.is_empty() {
            let enough = needs.members_beside_others.saturating_mul(needs.at_once.get());
            let count = self.new.member_count.unwrap_or_else(|| enough.max(needs.members));
            Some(EmbeddedMembers::boot(count)?)
        } else {
            None
        };
        connected(needs.interrupt, self.connect(embedded))
    }

    /// Connects to existing clusters, or to an existing control plane with members of this process.
    async fn connect(&self, embedded: Option<EmbeddedMembers>) -> Result<External, BackendError> {
        let file = self.kubeconfig.clone().unwrap_or_default();
        let control = self.control.clone().unwrap_or_default();
        let clusters = match &embedded {
            Some(members) => Clusters::of_context(&file, &control, members.accesses()).await?,
            None => Clusters::of_contexts(&file, &control, &self.members).await?,
        };
        let options = Options {
            workloads: match self.simulate {
                _ if embedded.is_some() => Workloads::Simulated,
                Simulate::All => Workloads::Simulated,
                Simulate::Custom => Workloads::CustomSimulated,
                Simulate::None => Workloads::Own,
            },
            keep: self.keep,
            vouched_for: self.yes_these_are_test_clusters,
            address: self.address,
            webhooks: self.address.or_else(|| clusters.loopback()),
        };
        let external = existing(clusters, options).await?;
        Ok(match embedded {
            Some(members) => external.keeping(members),
            None => external,
        })
    }

    /// Returns `true` if all cases run on one control plane.
    pub fn shares_control_plane(&self) -> bool {
        match self.backend {
            BackendKind::Embedded | BackendKind::Envtest => false,
            BackendKind::Kubeconfig | BackendKind::Kind | BackendKind::K3s => true,
        }
    }

    /// Returns the longest time that a case may wait; `None` if waiting takes no real time.
    pub fn max_case_time(&self) -> Option<Duration> {
        match self.backend {
            BackendKind::Embedded => self.max_case_time,
            BackendKind::Kubeconfig | BackendKind::Envtest | BackendKind::Kind | BackendKind::K3s => {
                Some(self.max_case_time.unwrap_or(MAX_CASE_TIME))
            }
        }
    }
}

/// Time after which a message names what the program waits for.
const PATIENCE: Duration = Duration::from_secs(3);

/// Waits for existing clusters, unless the user interrupts.
pub(crate) fn connected(
    interrupt: &Interrupt,
    connecting: impl Future<Output = Result<External, BackendError>>,
) -> Result<External, BackendError> {
    runtime()?.block_on(async {
        tokio::select! {
            external = waiting(connecting) => external,
            () = interrupt.asked() => Err(BackendError::Boot(BootError::Interrupted)),
        }
    })
}

/// Makes a backend of existing clusters, and names what a killed run had left there.
pub(crate) async fn existing(clusters: Clusters, options: Options) -> Result<External, BackendError> {
    let external = External::connect("kubeconfig", clusters, options).await?;
    for namespace in external.removed() {
        errln!("warning: removed what a killed run had left, such as the namespace {namespace}");
    }
    Ok(external)
}

/// Awaits a future, and prints a message if it takes long: a credential plugin may wait for a login.
pub(crate) async fn waiting<T>(connected: impl Future<Output = T>) -> T {
    let mut connected = std::pin::pin!(connected);
    tokio::select! {
        connected = &mut connected => return connected,
        () = tokio::time::sleep(PATIENCE) => {}
    }
    errln!("waiting for the clusters and for the programs that the kubeconfig asks for credentials; Ctrl-C ends it");
    connected.await
}

/// Ends a backend.
///
/// # Errors
/// [`EndError`] if something could not be removed.
pub fn end(backend: &dyn Backend) -> Result<(), EndError> {
    let runtime = runtime().map_err(EndError::Runtime)?;
    Ok(runtime.block_on(backend.shut_down())?)
}

/// A backend that could not be ended.
#[derive(Debug, thiserror::Error)]
pub enum EndError {
    /// No async runtime can be created.
    #[error("cannot start the async runtime")]
    Runtime(#[source] std::io::Error),
    /// Something is left behind.
    #[error(transparent)]
    Fleet(#[from] FleetError),
}

fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()
}

/// An error in the duration of an option.
#[derive(Debug, thiserror::Error)]
enum DurationError {
    /// The text is not a duration.
    #[error("a duration such as 90s or 10m is expected")]
    Unreadable(#[source] jiff::Error),
    /// The duration is too long.
    #[error("a duration of ten years at most is expected")]
    TooLong,
    /// The duration is negative.
    #[error("a duration cannot be negative")]
    Negative(#[source] jiff::Error),
}

fn duration(text: &str) -> Result<Duration, DurationError> {
    let duration: SignedDuration = text.parse().map_err(DurationError::Unreadable)?;
    let ten_years = SignedDuration::from_hours(10 * 365 * 24);
    if duration > ten_years {
        return Err(DurationError::TooLong);
    }
    Duration::try_from(duration).map_err(DurationError::Negative)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::BELONGS;
    use crate::args::Cli;

    #[test]
    fn options_that_belong_to_a_backend_are_options() {
        let run = Cli::command().find_subcommand("run").unwrap().clone();
        for (name, _) in BELONGS {
            assert!(
                run.get_arguments().any(|option| option.get_long() == Some(name)),
                "{name}"
            );
        }
    }
}

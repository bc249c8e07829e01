//! The reference controller as the implementation under test.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::IpAddr,
    path::Path,
    sync::Arc,
    time::Duration,
};

use async_trait::async_trait;
use baton_apiserver::in_process;
use baton_cluster::{
    admission::Admission,
    clock::Clock,
    error_chain::error_chain,
    fleet::Fleet,
    runner::{CommandEnd, MetricsError, Running, Target, TargetError},
};
use baton_controller::{
    ConnectError, Controller, Members, Options,
    drain::{self, DrainArgs},
    options::OptionsError,
};
use baton_core::{
    case::model::{Action, Case, ControllerSetup},
    implementation::Implementation,
    metrics::{self, Sample},
    names::Feature,
};
use baton_decide::api::Cluster;
use clap::Parser as _;
use kube::Client;

/// User agent of the reference controller.
pub const USER_AGENT: &str = "baton-controller";

/// Command of the reference controller that drains a cluster.
const DRAIN: &str = "drain";

/// Features of the reference controller.
const FEATURES: &[&str] = &[
    "Propagation",
    "ClusterPropagation",
    "StatePreservation",
    "LabelInjection",
    "PurgeDirectly",
    "PurgeGracefully",
    "PurgeNever",
    "ApplicationFailover",
    "NoExecuteEviction",
    "PreferNoExecute",
    "ClusterTaintPolicy",
    "Validation",
    "UniqueAliases",
    "EvictionQueue",
    "EvictionRate",
    "SecondaryEvictionRate",
    "FeasibilityCheck",
    "GracePeriod",
    "BlockPredecessor",
    "ControllersOption",
    "DividedScheduling",
    "EvictionEvents",
    "EvictionMetrics",
    "FailoverGate",
    "StatefulInjectionGate",
    "FlinkRecovery",
    "Drain",
    "PreserveOnDeletion",
    "LeaderElection",
    "Dependencies",
    "HealthInterpretation",
];

/// The reference controller, built in.
#[derive(Debug, Clone, Copy)]
pub struct Reference;

#[async_trait]
impl Target for Reference {
    fn name(&self) -> &'static str {
        "the reference controller"
    }

    fn implementation(&self) -> Implementation {
        Implementation {
            // All crates of the workspace have one version.
            version: Some(env!("CARGO_PKG_VERSION").to_owned()),
            ..Implementation::named(self.name())
        }
    }

    fn features(&self) -> BTreeSet<Feature> {
        FEATURES.iter().copied().map(Feature::new).collect()
    }

    fn writers(&self) -> Option<BTreeSet<String>> {
        Some(BTreeSet::from([USER_AGENT.to_owned()]))
    }

    fn writers_of(&self, instance: &str) -> Option<BTreeSet<String>> {
        Some(BTreeSet::from([agent_of(instance)]))
    }

    fn cannot_take(&self, case: &Case) -> Option<String> {
        let lacking = case.steps.iter().find_map(|step| match &step.action {
            Action::Run(run) if run.command != DRAIN => Some(&run.command),
            _ => None,
        })?;
        Some(format!(
            "runs the command {lacking}, which the reference controller does not have"
        ))
    }

    async fn start(
        &self,
        fleet: &dyn Fleet,
        setup: &ControllerSetup,
        _log: &Path,
    ) -> Result<Box<dyn Running>, TargetError> {
        start_as(USER_AGENT, fleet, setup).await
    }

    async fn start_another(
        &self,
        name: &str,
        fleet: &dyn Fleet,
        setup: &ControllerSetup,
        _log: &Path,
    ) -> Result<Box<dyn Running>, TargetError> {
        start_as(&agent_of(name), fleet, setup).await
    }

    async fn run_command(&self, fleet: &dyn Fleet, name: &str, args: &[String]) -> Result<CommandEnd, TargetError> {
        run_command(fleet.control().client(USER_AGENT), fleet.clock(), name, args).await
    }
}

/// Runs a command of the reference controller, as its program does: takes the arguments, returns the output.
pub async fn run_command(
    control: Client,
    clock: Clock,
    name: &str,
    args: &[String],
) -> Result<CommandEnd, TargetError> {
    if name != DRAIN {
        return Err(TargetError::Start(format!(
            "the reference controller has no command {name}"
        )));
    }
    let mut said = Vec::new();
    let drain = match DrainArgs::try_parse_from(std::iter::once(DRAIN).chain(args.iter().map(String::as_str))) {
        Ok(args) => args.into_drain(),
        Err(error) => {
            return Ok(CommandEnd {
                exit: Some(error.exit_code()),
                said: error.to_string().lines().map(ToOwned::to_owned).collect(),
            });
        }
    };
    let ended = drain::run(control, clock, &drain, &mut |line| said.push(line)).await;
    let exit = match ended {
        Ok(ended) => ended.exit_code(),
        Err(error) => {
            said.push(error_chain(&error));
            2
        }
    };
    Ok(CommandEnd {
        exit: Some(i32::from(exit)),
        said,
    })
}

/// Returns the user agent of another instance.
pub fn agent_of(instance: &str) -> String {
    format!("{USER_AGENT}-{instance}")
}

async fn start_as(agent: &str, fleet: &dyn Fleet, setup: &ControllerSetup) -> Result<Box<dyn Running>, TargetError> {
    let members = fleet.members().iter();
    let clients = members.map(|member| (member.name().to_string(), member.client(agent)));
    start(
        fleet.control().client(agent),
        clients.collect(),
        fleet.clock(),
        agent,
        setup,
        fleet.admission().map(Admission::address),
    )
    .await
}

/// Starts the reference controller on these clients: of the control plane, and of the members by name. It takes part in
/// leader election under its identity, if the set-up asks for that. `webhooks` is an address of this machine that the
/// control plane reaches: the controller serves its webhook there, if it is given.
pub async fn start(
    control: Client,
    members: BTreeMap<String, Client>,
    clock: Clock,
    identity: &str,
    setup: &ControllerSetup,
    webhooks: Option<IpAddr>,
) -> Result<Box<dyn Running>, TargetError> {
    let mut options = options(setup)?;
    options.identity = Some(identity.to_owned());
    let warnings = options.warnings.clone();
    let running = Controller::start(control, Arc::new(InProcess(members)), clock, options);
    if let Some(address) = webhooks {
        let cannot_listen = |error| TargetError::Start(format!("the webhook cannot listen on {address}: {error}"));
        let listener = in_process::Listener::bind(address).await.map_err(cannot_listen)?;
        let served = running.serve_webhook(listener, None).await;
        served.map_err(|error| TargetError::Start(error_chain(&error)))?;
    }
    Ok(Box::new(Started { running, warnings }))
}

/// Members of a fleet in this process, by name: they have no address to connect to.
struct InProcess(BTreeMap<String, Client>);

#[async_trait]
impl Members for InProcess {
    async fn connect(&self, cluster: &Cluster) -> Result<Client, ConnectError> {
        let name = cluster.metadata.name.as_deref().unwrap_or_default();
        let client = self.0.get(name).cloned();
        client.ok_or_else(|| ConnectError::Client(format!("the fleet has no member {name}")))
    }
}

struct Started {
    running: baton_controller::Running,
    warnings: Vec<String>,
}

#[async_trait]
impl Running for Started {
    async fn said(&mut self, _mentions: &[String], _within: Duration) -> Vec<String> {
        self.warnings.clone()
    }

    async fn crash(self: Box<Self>) {
        self.running.crash().await;
    }

    async fn metrics(&mut self) -> Result<Option<Vec<Sample>>, MetricsError> {
        let samples = metrics::read(&self.running.metrics());
        samples.map(Some).map_err(MetricsError::Text)
    }

    async fn stop(self: Box<Self>) {
        self.running.stop().await;
    }
}

/// Converts the set-up of a case to options of the controller.
fn options(setup: &ControllerSetup) -> Result<Options, TargetError> {
    let refused = |error: OptionsError| TargetError::Setup(error.to_string());
    let mut options = Options::default();
    for (gate, on) in &setup.feature_gates {
        options.set_gate(gate, *on).map_err(refused)?;
    }
    for (name, value) in setup.without_defaults().options {
        options.set(&name, &value).map_err(refused)?;
    }
    Ok(options)
}

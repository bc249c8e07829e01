//! The reference controller as the implementation under test.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    sync::Arc,
    time::Duration,
};

use async_trait::async_trait;
use baton_cluster::{
    clock::Clock,
    fleet::Fleet,
    runner::{Running, Target, TargetError},
};
use baton_controller::{ConnectError, Controller, Members, Options, options::OptionsError};
use baton_core::{case::model::ControllerSetup, implementation::Implementation, names::Feature};
use baton_decide::api::Cluster;
use kube::Client;

/// The user agent under which the reference controller writes.
pub const USER_AGENT: &str = "baton-controller";

/// The features that the reference controller has.
const FEATURES: [&str; 19] = [
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
    "EvictionQueue",
    "EvictionRate",
    "FeasibilityCheck",
    "GracePeriod",
    "FailoverGate",
    "StatefulInjectionGate",
    "FlinkRecovery",
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
        FEATURES.into_iter().map(Feature::new).collect()
    }

    fn writers(&self) -> Option<BTreeSet<String>> {
        Some(BTreeSet::from([USER_AGENT.to_owned()]))
    }

    async fn start(
        &self,
        fleet: &dyn Fleet,
        setup: &ControllerSetup,
        _log: &Path,
    ) -> Result<Box<dyn Running>, TargetError> {
        let clients = fleet
            .members()
            .iter()
            .map(|member| (member.name().to_string(), member.client(USER_AGENT)));
        start(
            fleet.control().client(USER_AGENT),
            clients.collect(),
            fleet.clock(),
            setup,
        )
    }
}

/// Starts the reference controller on these clients: of the control plane, and of the members by name.
pub fn start(
    control: Client,
    members: BTreeMap<String, Client>,
    clock: Clock,
    setup: &ControllerSetup,
) -> Result<Box<dyn Running>, TargetError> {
    let options = options(setup)?;
    let warnings = options.warnings.clone();
    let running = Controller::start(control, Arc::new(InProcess(members)), clock, options);
    Ok(Box::new(Started { running, warnings }))
}

/// Members of a fleet in this process, by name: an address would lead nowhere.
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

    async fn stop(self: Box<Self>) {
        self.running.stop().await;
    }
}

/// What a case asks for, as options of the controller.
fn options(setup: &ControllerSetup) -> Result<Options, TargetError> {
    let refused = |error: OptionsError| TargetError::Setup(error.to_string());
    let mut options = Options::default();
    for (gate, on) in &setup.feature_gates {
        options.set_gate(gate, *on).map_err(refused)?;
    }
    for (name, value) in &setup.options {
        options.set(name, value).map_err(refused)?;
    }
    Ok(options)
}

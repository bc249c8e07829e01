//! A mutant: the reference controller with a fault in its way, as a target.

use std::{collections::BTreeSet, fmt, path::Path, sync::Arc, time::Duration};

use async_trait::async_trait;
use baton::implementation::reference::{self, Reference, USER_AGENT};
use baton_cluster::{
    admission::Admission,
    clock::Clock,
    fleet::{Cluster, Fleet},
    runner::{CommandEnd, Ended, MetricsError, Running, Target, TargetError},
};
use baton_core::{case::model::ControllerSetup, metrics::Sample, names::Feature, yaml::plain};
use serde_json::Value;

use crate::{
    fault::Fault,
    wire::{self, Hands},
};

/// Name of a client that writes to the control plane as another program.
pub const ANOTHER: &str = "somebody else";

/// The definitions of the failover API.
fn definitions() -> Vec<Value> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/crds");
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let texts = files.filter_map(|file| std::fs::read_to_string(file.path()).ok());
    texts.filter_map(|text| plain::read(&text).ok()).collect()
}

/// A deliberately broken implementation.
#[derive(Clone, Copy)]
pub struct Mutant {
    /// Its name.
    pub name: &'static str,
    /// The requirement that it breaks, or the invariant, if no requirement speaks of it.
    pub breaks: &'static str,
    /// Defect, in the words of a user.
    pub defect: &'static str,
    /// Creates the fault; called for each start of the controller, with the clock of its fleet.
    pub fault: fn(&Clock) -> Fault,
}

impl Mutant {
    /// The reference controller behind the same wires, without a fault.
    pub const NONE: Self = Self {
        name: "none",
        breaks: "",
        defect: "",
        fault: |_| Fault::none(),
    };
}

impl fmt::Debug for Mutant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

#[async_trait]
impl Target for Mutant {
    fn name(&self) -> &str {
        self.name
    }

    fn features(&self) -> BTreeSet<Feature> {
        Reference.features()
    }

    fn writers(&self) -> Option<BTreeSet<String>> {
        Some(BTreeSet::from([USER_AGENT.to_owned()]))
    }

    fn definitions(&self) -> Option<Arc<Vec<Value>>> {
        // Every call creates the same fault.
        let clock: Clock = Arc::new(|| jiff::Timestamp::UNIX_EPOCH);
        (self.fault)(&clock).define(definitions()).map(Arc::new)
    }

    async fn start(
        &self,
        fleet: &dyn Fleet,
        setup: &ControllerSetup,
        _log: &Path,
    ) -> Result<Box<dyn Running>, TargetError> {
        self.start_as(USER_AGENT, fleet, setup).await
    }

    fn writers_of(&self, instance: &str) -> Option<BTreeSet<String>> {
        Reference.writers_of(instance)
    }

    async fn start_another(
        &self,
        name: &str,
        fleet: &dyn Fleet,
        setup: &ControllerSetup,
        _log: &Path,
    ) -> Result<Box<dyn Running>, TargetError> {
        self.start_as(&reference::agent_of(name), fleet, setup).await
    }

    async fn run_command(&self, fleet: &dyn Fleet, name: &str, args: &[String]) -> Result<CommandEnd, TargetError> {
        let Wires { clock, fault, hands } = self.wires(USER_AGENT, fleet);
        let control = wire::client(fleet.control().name().as_str(), &hands, &fault);
        Ok(reference::run_command(control, clock, name, args).await?)
    }
}

/// The running controller with a fault.
struct Faulty {
    running: Box<dyn Running>,
    fault: Arc<Fault>,
}

#[async_trait]
impl Running for Faulty {
    async fn ended(&mut self) -> Ended {
        self.running.ended().await
    }

    async fn said(&mut self, mentions: &[String], within: Duration) -> Vec<String> {
        self.running.said(mentions, within).await
    }

    async fn metrics(&mut self) -> Result<Option<Vec<Sample>>, MetricsError> {
        let mut samples = self.running.metrics().await?;
        if let Some(samples) = &mut samples {
            self.fault.measure(samples);
        }
        Ok(samples)
    }

    async fn crash(self: Box<Self>) {
        self.running.crash().await;
    }

    async fn stop(self: Box<Self>) {
        self.running.stop().await;
    }
}

/// Connection of a fault with the controller and its clusters.
struct Wires {
    clock: Clock,
    fault: Arc<Fault>,
    hands: Hands,
}

impl Mutant {
    async fn start_as(
        &self,
        agent: &str,
        fleet: &dyn Fleet,
        setup: &ControllerSetup,
    ) -> Result<Box<dyn Running>, TargetError> {
        let Wires { clock, fault, hands } = self.wires(agent, fleet);
        let wired = |cluster: &Cluster| wire::client(cluster.name().as_str(), &hands, &fault);
        let members = fleet.members().iter();
        let members = members.map(|member| (member.name().to_string(), wired(member)));
        let running = reference::start(
            wired(fleet.control()),
            members.collect(),
            clock,
            agent,
            &fault.set_up(setup),
            fleet.admission().map(Admission::address),
        )
        .await?;
        Ok(Box::new(Faulty { running, fault }))
    }

    fn wires(&self, agent: &str, fleet: &dyn Fleet) -> Wires {
        let clock = fleet.clock();
        let fault = Arc::new((self.fault)(&clock));
        let clusters = || std::iter::once(fleet.control()).chain(fleet.members());
        let hand = |cluster: &Cluster| (cluster.name().to_string(), cluster.client(agent));
        let another = (ANOTHER.to_owned(), fleet.control().client("somebody-else"));
        let hands: Hands = Arc::new(clusters().map(hand).chain([another]).collect());
        Wires { clock, fault, hands }
    }
}

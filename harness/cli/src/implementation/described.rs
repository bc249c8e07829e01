//! Targets that a target file describes.

use std::{collections::BTreeSet, path::Path, sync::Arc, time::Duration};

use async_trait::async_trait;
use baton_cluster::{
    fleet::{Fleet, TargetLocation},
    loopback,
    runner::{CommandEnd, Ended, MetricsError, Running, Target, TargetError, Timeouts},
};
use baton_core::{
    case::model::{Action, Case, ControllerSetup, Expected, Fault, Start},
    catalogue::DocumentClaims,
    implementation::{Implementation, Launch, TargetSpec, baseline::Baseline},
    metrics::{self, Names, Sample},
    names::Feature,
};
use serde_json::Value;

use super::{
    Reference,
    commands::Commands,
    error::TargetFileError,
    programs::{self, Programs},
};

/// A target that a file describes.
#[derive(Debug)]
pub struct Described {
    spec: TargetSpec,
    run: Run,
    commands: Commands,
}

#[derive(Debug)]
enum Run {
    /// The built-in controller, and definitions that replace those of the control plane.
    Reference(Option<Arc<Vec<Value>>>),
    Installed,
    Exec(Box<Programs>),
}

impl Described {
    /// Creates a target from a checked target file; finds the programs of its commands.
    ///
    /// If a program is not found.
    pub fn new(spec: TargetSpec) -> Result<Self, TargetFileError> {
        let folder = spec.file.parent().unwrap_or(Path::new("."));
        let commands = Commands::find(&spec.commands, folder)?;
        let run = match &spec.run {
            Launch::Reference => Run::Reference(programs::definitions(&spec.control_plane, folder)?),
            Launch::Installed => Run::Installed,
            Launch::Exec(programs) => {
                let ready = Timeouts::default().of_target(&spec.timeouts).ready;
                Run::Exec(Box::new(Programs::find(programs, &spec.control_plane, folder, ready)?))
            }
        };
        Ok(Self { spec, run, commands })
    }

    /// Returns the content of the file.
    pub fn spec(&self) -> &TargetSpec {
        &self.spec
    }

    /// Returns a reason if the target cannot be started with a set-up that may be invalid, to read its output.
    fn cannot_start_with(&self, asked: &ControllerSetup) -> Option<String> {
        let programs = match &self.run {
            Run::Reference(_) => return None,
            Run::Installed => {
                return Some("needs the output of the target at its start, but it is already running".to_owned());
            }
            Run::Exec(programs) => programs,
        };
        let lacking = programs.lacks(asked)?;
        Some(format!(
            "starts the target with other settings, but the target file does not say how to pass them \
             (`run.exec.{lacking}`)"
        ))
    }

    /// Returns a reason if a start expects a value to be refused, and the target does not have the option: it would
    /// refuse the name.
    fn has_no_such_option(&self, start: &Start) -> Option<String> {
        let options = &self.spec.settable.options;
        let lacking = |option: &&String| !options.contains(*option);
        if matches!(self.run, Run::Reference(_)) || start.expect != Expected::Refusal {
            return None;
        }
        let option = start.setup.options.keys().find(lacking)?;
        Some(format!("needs the option {option}, which this target does not have"))
    }

    /// Adds the metrics to a running target, if the file gives their URL.
    fn with_metrics(&self, running: Box<dyn Running>, url: Option<String>) -> Box<dyn Running> {
        match (url, &self.spec.metrics) {
            (Some(url), Some(source)) => Box::new(Scraped {
                running,
                url,
                names: source.names.clone(),
            }),
            _ => running,
        }
    }

    fn setup(&self, asked: &ControllerSetup, is_preserved: bool) -> Result<ControllerSetup, Vec<String>> {
        match self.run {
            // The reference controller has every gate and option.
            Run::Reference(_) => Ok(asked.clone()),
            Run::Installed | Run::Exec(_) => self.spec.setup_for(asked, is_preserved),
        }
    }
}

#[async_trait]
impl Target for Described {
    fn name(&self) -> &str {
        &self.spec.implementation.name
    }

    fn implementation(&self) -> Implementation {
        self.spec.implementation.clone()
    }

    fn features(&self) -> BTreeSet<Feature> {
        self.spec.features.clone()
    }

    fn documents(&self) -> DocumentClaims {
        self.spec.documents.clone()
    }

    fn baseline(&self) -> Baseline {
        self.spec.baseline.clone()
    }

    fn writers_of(&self, instance: &str) -> Option<BTreeSet<String>> {
        match self.run {
            Run::Reference(_) => Reference.writers_of(instance),
            Run::Installed | Run::Exec(_) => None,
        }
    }

    fn setup_of(&self, case: &Case) -> ControllerSetup {
        // A case whose set-up is impossible is unsupported, and never started.
        self.setup(&case.controller, case.preserves_state()).unwrap_or_default()
    }

    fn wants_kinds_first(&self) -> bool {
        matches!(self.run, Run::Exec(_))
    }

    fn takes(&self, setup: &ControllerSetup) -> bool {
        self.setup(setup, false).is_ok()
    }

    fn location(&self) -> TargetLocation {
        match self.run {
            Run::Reference(_) | Run::Exec(_) => TargetLocation::Beside,
            Run::Installed => TargetLocation::Elsewhere,
        }
    }

    fn cannot_take(&self, case: &Case) -> Option<String> {
        let mut reasons = self
            .setup(&case.controller, case.preserves_state())
            .err()
            .unwrap_or_default();
        let any = |wanted: fn(&Action) -> bool| case.steps.iter().any(|step| wanted(&step.action));
        let stops = |action: &Action| {
            let Action::Inject(fault) = action else {
                return false;
            };
            matches!(
                fault,
                Fault::StopController | Fault::StopControllerAfter(_) | Fault::StartController
            )
        };
        if matches!(self.run, Run::Installed) && any(stops) {
            reasons.push("stops and starts the target, but this target runs on its own".to_owned());
        }
        let others = |action: &Action| {
            let Action::Inject(fault) = action else {
                return false;
            };
            matches!(fault, Fault::AddController(_) | Fault::CrashController(_))
        };
        if matches!(self.run, Run::Installed) && any(others) {
            reasons.push("starts and ends instances of the target, but this target runs on its own".to_owned());
        }
        match self.run {
            Run::Reference(_) => reasons.extend(Reference.cannot_take(case)),
            Run::Installed | Run::Exec(_) => {
                let lacking = self.commands.lacks(case);
                reasons.extend(lacking.map(|name| {
                    format!("runs the command {name}, and the target file does not say what that is (`spec.commands`)")
                }));
            }
        }
        for step in &case.steps {
            if let Action::Start(start) = &step.action {
                reasons.extend(self.cannot_start_with(&start.setup));
                reasons.extend(self.has_no_such_option(start));
            }
        }
        reasons.dedup();
        (!reasons.is_empty()).then(|| reasons.join("; "))
    }

    fn definitions(&self) -> Option<Arc<Vec<Value>>> {
        match &self.run {
            Run::Exec(programs) => programs.definitions(),
            Run::Reference(definitions) => definitions.clone(),
            Run::Installed => None,
        }
    }

    async fn start_api(
        &self,
        fleet: &dyn Fleet,
        setup: &ControllerSetup,
        log: &Path,
    ) -> Result<Option<Box<dyn Running>>, TargetError> {
        let Run::Exec(programs) = &self.run else {
            return Ok(None);
        };
        let setup = self
            .setup(setup, false)
            .map_err(|lacking| TargetError::Setup(lacking.join("; ")))?;
        let api = programs.start_api(fleet, &setup, log).await?;
        Ok(api.map(|group| -> Box<dyn Running> { Box::new(group) }))
    }

    async fn start(
        &self,
        fleet: &dyn Fleet,
        setup: &ControllerSetup,
        log: &Path,
    ) -> Result<Box<dyn Running>, TargetError> {
        let setup = self
            .setup(setup, false)
            .map_err(|lacking| TargetError::Setup(lacking.join("; ")))?;
        match &self.run {
            Run::Reference(_) => Reference.start(fleet, &setup, log).await,
            Run::Installed => {
                let url = self.spec.metrics.as_ref().map(|source| source.url.fill(&[]));
                Ok(self.with_metrics(Box::new(Elsewhere), url))
            }
            Run::Exec(programs) => {
                let url = self.spec.metrics.as_ref().map(|source| &source.url);
                let (group, url) = programs.start(fleet, &setup, (log, false), url).await?;
                Ok(self.with_metrics(Box::new(group), url))
            }
        }
    }

    async fn start_another(
        &self,
        name: &str,
        fleet: &dyn Fleet,
        setup: &ControllerSetup,
        log: &Path,
    ) -> Result<Box<dyn Running>, TargetError> {
        match self.run {
            Run::Reference(_) => Reference.start_another(name, fleet, setup, log).await,
            Run::Installed | Run::Exec(_) => self.start(fleet, setup, log).await,
        }
    }

    async fn run_command(&self, fleet: &dyn Fleet, name: &str, args: &[String]) -> Result<CommandEnd, TargetError> {
        match self.run {
            Run::Reference(_) => Reference.run_command(fleet, name, args).await,
            Run::Installed | Run::Exec(_) => self.commands.run(fleet, name, args).await,
        }
    }

    async fn start_to_hear(
        &self,
        fleet: &dyn Fleet,
        asked: &ControllerSetup,
        log: &Path,
    ) -> Result<Box<dyn Running>, TargetError> {
        match &self.run {
            Run::Reference(_) => Reference.start(fleet, asked, log).await,
            Run::Installed => Err(TargetError::Start("it is already running".to_owned())),
            Run::Exec(programs) => {
                let mut setup = self.spec.controller.clone();
                setup.feature_gates.extend(asked.feature_gates.clone());
                setup.options.extend(asked.options.clone());
                let url = self.spec.metrics.as_ref().map(|source| &source.url);
                let (group, url) = programs.start(fleet, &setup, (log, true), url).await?;
                Ok(self.with_metrics(Box::new(group), url))
            }
        }
    }
}

/// Time limit of a request for metrics.
const ANSWER: Duration = Duration::from_secs(5);

/// Target with metrics at a URL.
struct Scraped {
    running: Box<dyn Running>,
    url: String,
    names: Names,
}

#[async_trait]
impl Running for Scraped {
    async fn ended(&mut self) -> Ended {
        self.running.ended().await
    }

    async fn said(&mut self, mentions: &[String], within: Duration) -> Vec<String> {
        self.running.said(mentions, within).await
    }

    async fn metrics(&mut self) -> Result<Option<Vec<Sample>>, MetricsError> {
        let text = loopback::get(&self.url, ANSWER, metrics::MOST_BYTES).await;
        let text = text.map_err(|source| MetricsError::Unanswered {
            url: self.url.clone(),
            source,
        })?;
        let mut samples = metrics::read(&text).map_err(MetricsError::Text)?;
        self.names.translate(&mut samples);
        Ok(Some(samples))
    }

    async fn crash(self: Box<Self>) {
        self.running.crash().await;
    }

    async fn stop(self: Box<Self>) {
        self.running.stop().await;
    }
}

/// Target that runs outside of the harness, before and after a case.
struct Elsewhere;

#[async_trait]
impl Running for Elsewhere {
    async fn stop(self: Box<Self>) {}
}

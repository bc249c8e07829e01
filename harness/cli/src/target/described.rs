//! Targets that a target file describes.

use std::{
    collections::BTreeSet,
    env,
    path::{Path, PathBuf},
    time::Duration,
};

use async_trait::async_trait;
use baton_cluster::{
    fleet::{Cluster, Fleet, Standing},
    program::{Program, last_lines},
    runner::{Ended, Running, Target, TargetError, chain},
};
use baton_core::{
    case::model::{Action, Case, ControllerSetup, Lever},
    event::Implementation,
    names::Feature,
    target::{Exec, Launch, TargetSpec, baseline::Baseline},
};
use thiserror::Error;

use super::Reference;

/// How long a command may take to end when it is asked to, before it is killed.
const GRACE: Duration = Duration::from_secs(10);

/// Of what a command wrote, this many lines are told when it ends by itself.
const LAST_LINES: usize = 12;

/// Why what a target file describes cannot be had here.
#[derive(Debug, Error)]
pub enum TargetFileError {
    /// There is no such program.
    #[error("the target's command {command} is not there")]
    NoCommand {
        /// As it stands in the file.
        command: String,
        /// Where it was looked for, and how to get it.
        help: String,
    },
    /// Nothing can be installed on clusters that begin empty.
    #[error("the target is said to be installed, and embedded clusters begin empty")]
    NothingInstalled,
}

impl TargetFileError {
    /// What to do about it.
    pub fn help(&self) -> &str {
        match self {
            Self::NoCommand { help, .. } => help,
            Self::NothingInstalled => "run it on the clusters where it is installed, or let the target be an `exec`",
        }
    }
}

/// A target that a file describes.
#[derive(Debug)]
pub struct Described {
    spec: TargetSpec,
    run: Run,
}

#[derive(Debug)]
enum Run {
    Reference,
    Installed,
    Exec { exec: Exec, program: PathBuf },
}

impl Described {
    /// Takes a checked target file; finds its command, if it names one.
    ///
    /// # Errors
    /// If there is no such command.
    pub fn new(spec: TargetSpec) -> Result<Self, TargetFileError> {
        let run = match &spec.run {
            Launch::Reference => Run::Reference,
            Launch::Installed => Run::Installed,
            Launch::Exec(exec) => Run::Exec {
                program: find(exec, spec.file.parent().unwrap_or(Path::new(".")))?,
                exec: exec.clone(),
            },
        };
        Ok(Self { spec, run })
    }

    /// What the file says.
    pub fn spec(&self) -> &TargetSpec {
        &self.spec
    }

    fn setup(&self, asked: &ControllerSetup) -> Result<ControllerSetup, Vec<String>> {
        match self.run {
            // Every gate and option of it can be set.
            Run::Reference => Ok(asked.clone()),
            Run::Installed | Run::Exec { .. } => self.spec.setup_for(asked),
        }
    }
}

/// Finds the program of a command: a path from the folder of the target file, or a name beside baton or on `PATH`.
fn find(exec: &Exec, folder: &Path) -> Result<PathBuf, TargetFileError> {
    let command = &exec.command;
    let is_path = command.contains('/');
    let folders: Vec<PathBuf> = if is_path {
        vec![folder.to_owned()]
    } else {
        let beside = env::current_exe().ok();
        let beside = beside.as_deref().and_then(Path::parent).map(Path::to_owned);
        // Tests lie one folder deeper than programs.
        let above = beside
            .as_deref()
            .filter(|it| it.ends_with("deps"))
            .and_then(Path::parent)
            .map(Path::to_owned);
        let path = env::var_os("PATH").unwrap_or_default();
        beside.into_iter().chain(above).chain(env::split_paths(&path)).collect()
    };
    let found = folders
        .iter()
        .map(|folder| folder.join(command))
        .find(|file| file.is_file());
    found.ok_or_else(|| {
        let place = if is_path {
            format!("looked for {}", folder.join(command).display())
        } else {
            "looked beside baton and on PATH".to_owned()
        };
        let install = exec
            .install
            .as_ref()
            .map(|install| format!("; {install}"))
            .unwrap_or_default();
        TargetFileError::NoCommand {
            command: command.clone(),
            help: format!("{place}{install}"),
        }
    })
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

    fn baseline(&self) -> Baseline {
        self.spec.baseline.clone()
    }

    fn setup_of(&self, case: &Case) -> ControllerSetup {
        // What cannot be set up is unsupported, and never started.
        self.setup(&case.controller).unwrap_or_default()
    }

    fn standing(&self) -> Standing {
        match self.run {
            Run::Reference | Run::Exec { .. } => Standing::Beside,
            Run::Installed => Standing::Elsewhere,
        }
    }

    fn cannot_take(&self, case: &Case) -> Option<String> {
        let mut reasons = self.setup(&case.controller).err().unwrap_or_default();
        let any = |wanted: fn(&Action) -> bool| case.steps.iter().any(|step| wanted(&step.action));
        let stops = |action: &Action| {
            let Action::Lever(lever) = action else {
                return false;
            };
            matches!(
                lever,
                Lever::StopController | Lever::StopControllerAfter(_) | Lever::StartController
            )
        };
        if matches!(self.run, Run::Installed) && any(stops) {
            reasons.push("stops and starts the target, which runs by itself here".to_owned());
        }
        if !matches!(self.run, Run::Reference) && any(|action| matches!(action, Action::Start(_))) {
            reasons.push("asks what the target says when it starts, which only the built-in one tells".to_owned());
        }
        (!reasons.is_empty()).then(|| reasons.join("; "))
    }

    async fn start(
        &self,
        fleet: &dyn Fleet,
        setup: &ControllerSetup,
        log: &Path,
    ) -> Result<Box<dyn Running>, TargetError> {
        let setup = self
            .setup(setup)
            .map_err(|lacking| TargetError::Setup(lacking.join("; ")))?;
        match &self.run {
            Run::Reference => Reference.start(fleet, &setup, log).await,
            Run::Installed => Ok(Box::new(Elsewhere)),
            Run::Exec { exec, program } => Ok(Box::new(start(exec, program, fleet, &setup, log)?)),
        }
    }
}

/// Something that runs without the harness, before and after.
struct Elsewhere;

#[async_trait]
impl Running for Elsewhere {
    async fn stop(self: Box<Self>) {}
}

/// A command that runs.
struct Started {
    program: Program,
    log: PathBuf,
}

#[async_trait]
impl Running for Started {
    async fn ended(&mut self) -> Ended {
        let status = match self.program.ended().await {
            Ok(status) => status.to_string(),
            Err(error) => format!("its exit status cannot be had: {error}"),
        };
        Ended {
            status,
            last_lines: last_lines(&self.log, LAST_LINES),
        }
    }

    async fn stop(self: Box<Self>) {
        // One whose end cannot be waited for is killed by its watchdog.
        let _ = self.program.stop(GRACE).await;
    }
}

fn start(
    exec: &Exec,
    program: &Path,
    fleet: &dyn Fleet,
    setup: &ControllerSetup,
    log: &Path,
) -> Result<Started, TargetError> {
    let control = kubeconfig(fleet.control())?;
    let members = fleet.members().iter().map(kubeconfig).collect::<Result<Vec<_>, _>>()?;
    let members = members.join(":");
    let places = [
        ("control_kubeconfig", control.as_str()),
        ("member_kubeconfigs", members.as_str()),
    ];
    let filled: Vec<_> = exec
        .env
        .iter()
        .map(|(name, value)| (name.as_str(), value.fill(&places)))
        .collect();
    let own = [
        ("BATON_CONTROL_KUBECONFIG", control.as_str()),
        ("BATON_MEMBER_KUBECONFIGS", members.as_str()),
    ];
    let env = own
        .into_iter()
        .chain(filled.iter().map(|(name, value)| (*name, value.as_str())));
    let args = exec
        .args
        .iter()
        .map(|arg| arg.fill(&places))
        .chain(arguments(exec, setup));
    let program = Program::start(program, args, env, log)
        .map_err(|error| TargetError::Start(format!("{} cannot be started: {}", exec.command, chain(&error))))?;
    Ok(Started {
        program,
        log: log.to_owned(),
    })
}

/// The arguments that set gates and options.
fn arguments(exec: &Exec, setup: &ControllerSetup) -> Vec<String> {
    let gates: Vec<_> = setup
        .feature_gates
        .iter()
        .map(|(gate, on)| format!("{gate}={on}"))
        .collect();
    let gates = gates.join(",");
    let of_gates = exec.feature_gates.iter().filter(|_| !gates.is_empty());
    let mut arguments: Vec<_> = of_gates.map(|template| template.fill(&[("gates", &gates)])).collect();
    for (name, value) in &setup.options {
        arguments.extend(
            exec.option
                .iter()
                .map(|template| template.fill(&[("name", name), ("value", value)])),
        );
    }
    arguments
}

fn kubeconfig(cluster: &Cluster) -> Result<String, TargetError> {
    let file = cluster.kubeconfig().map(|file| file.display().to_string());
    file.ok_or_else(|| {
        let name = cluster.name();
        TargetError::Start(format!(
            "{name} has no kubeconfig: programs cannot reach clusters of this kind"
        ))
    })
}

//! Targets that a target file describes.

use std::{
    collections::BTreeSet,
    env,
    fs::File,
    io::{self, PipeReader, Write as _},
    path::{Path, PathBuf},
    time::Duration,
};

use async_trait::async_trait;
use baton_cluster::{
    error_chain::error_chain,
    fleet::{Cluster, Fleet, TargetLocation},
    program::{Program, last_lines},
    runner::{Ended, Running, Target, TargetError},
};
use baton_core::{
    case::model::{Action, Case, ControllerSetup, Fault},
    implementation::{Exec, Implementation, Launch, TargetSpec, baseline::Baseline},
    names::Feature,
    redact,
};
use thiserror::Error;
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    net::unix::pipe,
    sync::watch,
    task::JoinHandle,
    time::timeout,
};

use super::Reference;

/// How long a command may take to end when it is asked to, before it is killed.
const GRACE: Duration = Duration::from_secs(10);

/// How long the last lines of a command may take to come out of its pipe.
const LAST_WORDS: Duration = Duration::from_secs(1);

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

    /// Why it cannot be started with a set-up that may be wrong, to hear what it says.
    fn cannot_start_with(&self, asked: &ControllerSetup) -> Option<String> {
        let exec = match &self.run {
            Run::Reference => return None,
            Run::Installed => return Some("asks what the target says when it starts, and it runs already".to_owned()),
            Run::Exec { exec, .. } => exec,
        };
        let gates = !asked.feature_gates.is_empty() && exec.feature_gates.is_none();
        let options = !asked.options.is_empty() && exec.option.is_none();
        let lacking = match (gates, options) {
            (true, _) => "featureGates",
            (false, true) => "option",
            (false, false) => return None,
        };
        Some(format!(
            "asks what the target says when it starts with another set-up, and its file does not say how that is passed \
             (`run.exec.{lacking}`)"
        ))
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

    fn location(&self) -> TargetLocation {
        match self.run {
            Run::Reference | Run::Exec { .. } => TargetLocation::Beside,
            Run::Installed => TargetLocation::Elsewhere,
        }
    }

    fn cannot_take(&self, case: &Case) -> Option<String> {
        let mut reasons = self.setup(&case.controller).err().unwrap_or_default();
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
            reasons.push("stops and starts the target, which runs by itself here".to_owned());
        }
        for step in &case.steps {
            if let Action::Start(start) = &step.action {
                reasons.extend(self.cannot_start_with(&start.setup));
            }
        }
        reasons.dedup();
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

    async fn start_to_hear(
        &self,
        fleet: &dyn Fleet,
        asked: &ControllerSetup,
        log: &Path,
    ) -> Result<Box<dyn Running>, TargetError> {
        match &self.run {
            Run::Reference => Reference.start(fleet, asked, log).await,
            Run::Installed => Err(TargetError::Start("it runs already".to_owned())),
            Run::Exec { exec, program } => {
                let mut setup = self.spec.controller.clone();
                setup.feature_gates.extend(asked.feature_gates.clone());
                setup.options.extend(asked.options.clone());
                let call = Call::of(exec, fleet, &setup)?;
                let started = call.to_hear(program, log).map_err(|error| call.cannot(&error))?;
                Ok(Box::new(started))
            }
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
    /// If somebody listens to it.
    captured: Option<CapturedOutput>,
}

/// What a command says, line by line.
struct CapturedOutput {
    lines: watch::Receiver<Vec<String>>,
    /// Ends with the last line.
    listening: JoinHandle<()>,
}

impl CapturedOutput {
    /// Listens to a pipe, and adds to the log what comes.
    fn to(pipe: PipeReader, log: &Path) -> io::Result<Self> {
        let pipe = pipe::Receiver::from_owned_fd(pipe.into())?;
        let mut log = File::options().create(true).append(true).open(log)?;
        let (told, lines) = watch::channel(Vec::new());
        let listening = tokio::spawn(async move {
            let mut pipe = BufReader::new(pipe).lines();
            while let Ok(Some(line)) = pipe.next_line().await {
                // What cannot be kept is captured all the same.
                let _ = writeln!(log, "{line}");
                told.send_modify(|lines| lines.push(redact::text(&line)));
            }
        });
        Ok(Self { lines, listening })
    }
}

#[async_trait]
impl Running for Started {
    async fn ended(&mut self) -> Ended {
        let status = match self.program.ended().await {
            Ok(status) => status.to_string(),
            Err(error) => format!("its exit status cannot be had: {error}"),
        };
        if let Some(captured) = &mut self.captured {
            // What it has started may hold the pipe open for ever.
            let _ = timeout(LAST_WORDS, &mut captured.listening).await;
        }
        Ended {
            status,
            last_lines: last_lines(&self.log, LAST_LINES),
        }
    }

    async fn said(&mut self, mentions: &[String], within: Duration) -> Vec<String> {
        let Some(captured) = &mut self.captured else {
            return Vec::new();
        };
        let mentions_all = |line: &String| mentions.iter().all(|text| line.contains(text.as_str()));
        // In time or not, and whether it has ended or not: what was said counts.
        let _ = timeout(within, captured.lines.wait_for(|lines| lines.iter().any(mentions_all))).await;
        captured.lines.borrow().clone()
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
    let call = Call::of(exec, fleet, setup)?;
    let program = Program::start(program, &call.args, call.env(), log).map_err(|error| call.cannot(&error))?;
    Ok(Started {
        program,
        log: log.to_owned(),
        captured: None,
    })
}

/// A command with all that it is given.
struct Call {
    command: String,
    args: Vec<String>,
    env: Vec<(String, String)>,
}

impl Call {
    fn of(exec: &Exec, fleet: &dyn Fleet, setup: &ControllerSetup) -> Result<Self, TargetError> {
        let control = kubeconfig(fleet.control())?;
        let members = fleet.members().iter().map(kubeconfig).collect::<Result<Vec<_>, _>>()?;
        let members = members.join(":");
        let places = [
            ("control_kubeconfig", control.as_str()),
            ("member_kubeconfigs", members.as_str()),
        ];
        let own = [
            ("BATON_CONTROL_KUBECONFIG".to_owned(), control.clone()),
            ("BATON_MEMBER_KUBECONFIGS".to_owned(), members.clone()),
        ];
        let filled = exec.env.iter().map(|(name, value)| (name.clone(), value.fill(&places)));
        let args = exec.args.iter().map(|arg| arg.fill(&places));
        Ok(Self {
            command: exec.command.clone(),
            args: args.chain(arguments(exec, setup)).collect(),
            env: own.into_iter().chain(filled).collect(),
        })
    }

    fn env(&self) -> impl Iterator<Item = (&str, &str)> {
        self.env.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    fn to_hear(&self, program: &Path, log: &Path) -> io::Result<Started> {
        let (program, pipe) = Program::start_to_hear(program, &self.args, self.env())?;
        Ok(Started {
            program,
            log: log.to_owned(),
            captured: Some(CapturedOutput::to(pipe, log)?),
        })
    }

    fn cannot(&self, error: &io::Error) -> TargetError {
        TargetError::Start(format!("{} cannot be started: {}", self.command, error_chain(error)))
    }
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

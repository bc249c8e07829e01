//! A target that starts for every case: its programs, and the objects that the control plane gets for them.
//!
//! [`Programs::start`] starts programs in order, each when the one before is ready; together they are one [`Running`]
//! for the runner.

use std::{
    collections::BTreeMap,
    env,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use baton_cluster::{
    actions::{self, BATON},
    error_chain::error_chain,
    fleet::{Cluster, Fleet},
    loopback::{self, Certificates, Ports},
    program::Program,
    runner::TargetError,
    scratch::Scratch,
};
use baton_core::{
    case::model::ControllerSetup,
    implementation::{
        ControlPlane, Exec,
        programs::{PORT, Part, VARIABLE, ports},
        template::Template,
    },
};
use serde_json::Value;

use super::{
    definitions,
    error::TargetFileError,
    group::{CapturedOutput, Group, Started},
    webhooks,
};

/// Programs of a target whose files were found.
#[derive(Debug)]
pub(super) struct Programs {
    found: Vec<Found>,
    control_plane: ControlPlane,
    /// Webhook configurations of each file, with the URL that they get.
    webhooks: Vec<(Vec<Value>, Template)>,
    definitions: Option<Arc<Vec<Value>>>,
    /// Values of the environment variables that the file refers to.
    variables: BTreeMap<String, String>,
    /// Certificates of programs that serve others.
    certificates: Certificates,
    ready_within: Duration,
}

#[derive(Debug)]
struct Found {
    exec: Exec,
    path: PathBuf,
}

/// Values of placeholders.
pub(super) struct Values(Vec<(String, String)>);

impl Values {
    pub(super) fn of_variables(variables: &BTreeMap<String, String>) -> Self {
        Self(named(VARIABLE, variables))
    }

    pub(super) fn add(&mut self, name: &str, value: String) {
        self.0.push((name.to_owned(), value));
    }

    pub(super) fn fill(&self, template: &Template) -> String {
        let values: Vec<_> = self
            .0
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        template.fill(&values)
    }
}

impl Programs {
    /// Finds programs and reads the objects for the control plane; `folder` is that of the target file.
    ///
    /// [`TargetFileError`] if a file is not found or invalid.
    pub(super) fn find(
        programs: &[Exec],
        control_plane: &ControlPlane,
        folder: &Path,
        ready_within: Duration,
    ) -> Result<Self, TargetFileError> {
        let variables = variables(programs, Some(control_plane))?;
        let values = Values::of_variables(&variables);
        let path = |template: &Template| folder.join(values.fill(template));
        let found = programs.iter().map(|exec| {
            let path = find(exec, &values.fill(&exec.command), folder)?;
            Ok(Found {
                exec: exec.clone(),
                path,
            })
        });
        let found = found.collect::<Result<_, TargetFileError>>()?;
        let webhooks = control_plane
            .webhooks
            .iter()
            .map(|it| Ok((webhooks::read(&path(&it.file))?, it.url.clone())));
        Ok(Self {
            found,
            control_plane: control_plane.clone(),
            webhooks: webhooks.collect::<Result<_, TargetFileError>>()?,
            definitions: definitions(control_plane, folder)?,
            variables,
            certificates: Certificates::make().map_err(TargetFileError::NoCertificates)?,
            ready_within,
        })
    }

    /// Returns the definitions of the implementation.
    pub(super) fn definitions(&self) -> Option<Arc<Vec<Value>>> {
        self.definitions.clone()
    }

    /// Returns the field that a target file needs to set gates or options, if no program has it.
    pub(super) fn lacks(&self, asked: &ControllerSetup) -> Option<&'static str> {
        let all = || self.found.iter().map(|found| &found.exec);
        let gates = !asked.feature_gates.is_empty() && all().all(|exec| exec.feature_gates.is_none());
        let options = !asked.options.is_empty() && all().all(|exec| exec.option.is_none());
        match (gates, options) {
            (true, _) => Some("featureGates"),
            (false, true) => Some("option"),
            (false, false) => None,
        }
    }

    /// Starts the programs that keep running while the controller is stopped, and creates the objects for them; `None`
    /// if there are no such programs.
    pub(super) async fn start_api(
        &self,
        fleet: &dyn Fleet,
        setup: &ControllerSetup,
        log: &Path,
    ) -> Result<Option<Group>, TargetError> {
        let client = fleet.control().inside(BATON);
        let refused = |error: actions::ActionError| TargetError::Start(error_chain(&error));
        for namespace in &self.control_plane.namespaces {
            actions::create_namespace(&client, namespace).await.map_err(refused)?;
        }
        let programs: Vec<&Found> = self.of(|part| part != Part::Controller);
        if programs.is_empty() {
            return Ok(None);
        }
        let started = self.start_these(&programs, fleet, setup, log, false).await?;
        for (configurations, url) in &self.webhooks {
            let url = started.values.fill(url);
            for configuration in configurations {
                let configuration = webhooks::directed(configuration, &url, self.certificates.ca());
                let applied = actions::apply(&client, &configuration, fleet.namespace()).await;
                applied.map_err(refused)?;
            }
        }
        Ok(Some(started.group))
    }

    /// Starts the controller; `heard` is set if its output is captured. Also returns the URL of its metrics.
    pub(super) async fn start(
        &self,
        fleet: &dyn Fleet,
        setup: &ControllerSetup,
        (log, heard): (&Path, bool),
        metrics: Option<&Template>,
    ) -> Result<(Group, Option<String>), TargetError> {
        let programs = self.of(|part| part == Part::Controller);
        let started = self.start_these(&programs, fleet, setup, log, heard).await?;
        let url = metrics.map(|url| started.values.fill(url));
        Ok((started.group, url))
    }

    fn of(&self, wanted: impl Fn(Part) -> bool) -> Vec<&Found> {
        self.found.iter().filter(|found| wanted(found.exec.part)).collect()
    }

    async fn start_these(
        &self,
        programs: &[&Found],
        fleet: &dyn Fleet,
        setup: &ControllerSetup,
        log: &Path,
        heard: bool,
    ) -> Result<StartedGroup, TargetError> {
        let names = ports(programs.iter().flat_map(|found| found.exec.templates()));
        let ports = Ports::find(names.len())
            .map_err(|error| TargetError::Start(format!("no port is free: {}", error_chain(&error))))?;
        let mut values = self.values(fleet)?;
        let numbers = names.into_iter().zip(ports.numbers());
        values
            .0
            .extend(numbers.map(|(name, port)| (format!("{PORT}{name}"), port.to_string())));
        let mut group = Group::on(ports);
        for found in programs {
            let data = Scratch::new("data").map_err(|error| cannot(&found.exec, &error))?;
            values.0.retain(|(name, _)| name != "data");
            values.0.push(("data".to_owned(), data.path().display().to_string()));
            let log = self.log_of(found, log);
            let call = Call::of(&found.exec, &values, setup);
            let mut started = call
                .start(found, data.path(), log, heard)
                .map_err(|error| cannot(&found.exec, &error))?;
            started.data = Some(data);
            if self.found.len() > 1 {
                started.name = Some(found.exec.name.clone());
            }
            let ready = found.exec.ready.as_ref().map(|url| values.fill(url));
            group.add(started);
            if let Some(url) = ready
                && let Err(error) = self.until_ready(&mut group, found, &url).await
            {
                group.end().await;
                return Err(error);
            }
        }
        Ok(StartedGroup { group, values })
    }

    /// Returns the log of a program: `log` for the controller, a file next to it for each other program.
    fn log_of(&self, found: &Found, log: &Path) -> PathBuf {
        let first = self.found.iter().find(|it| it.exec.part == Part::Controller);
        if first.is_some_and(|first| first.exec.name == found.exec.name) {
            return log.to_owned();
        }
        log.with_extension(format!("{}.log", found.exec.name))
    }

    async fn until_ready(&self, group: &mut Group, found: &Found, url: &str) -> Result<(), TargetError> {
        let within = self.ready_within;
        let answered = tokio::select! {
            biased;
            ended = group.first_to_end() => return Err(TargetError::Ended(ended)),
            answered = loopback::answers(url, within) => answered,
        };
        answered.map_err(|last| TargetError::NotReady {
            program: found.exec.name.clone(),
            within,
            url: url.to_owned(),
            last: error_chain(&last),
            last_lines: group.last_lines(),
        })
    }

    fn values(&self, fleet: &dyn Fleet) -> Result<Values, TargetError> {
        let control = kubeconfig(fleet.control())?;
        let members = fleet.members().iter().map(kubeconfig).collect::<Result<Vec<_>, _>>()?;
        let mut values = named(VARIABLE, &self.variables);
        let certificates = self.certificates.folder().display().to_string();
        values.extend([
            ("control_kubeconfig".to_owned(), control),
            ("member_kubeconfigs".to_owned(), members.join(":")),
            ("certificates".to_owned(), certificates),
        ]);
        Ok(Values(values))
    }
}

struct StartedGroup {
    group: Group,
    values: Values,
}

fn cannot(exec: &Exec, error: &std::io::Error) -> TargetError {
    TargetError::Start(format!("{} cannot be started: {}", exec.name, error_chain(error)))
}

/// Command with its arguments and environment.
struct Call {
    args: Vec<String>,
    env: Vec<(String, String)>,
}

impl Call {
    fn of(exec: &Exec, values: &Values, setup: &ControllerSetup) -> Self {
        let own = [
            ("BATON_CONTROL_KUBECONFIG", "control_kubeconfig"),
            ("BATON_MEMBER_KUBECONFIGS", "member_kubeconfigs"),
        ];
        let own = own.into_iter().filter_map(|(variable, place)| {
            let value = values.0.iter().find(|(name, _)| name == place);
            value.map(|(_, value)| (variable.to_owned(), value.clone()))
        });
        let filled = exec.env.iter().map(|(name, value)| (name.clone(), values.fill(value)));
        let args = exec.args.iter().map(|arg| values.fill(arg));
        Self {
            args: args.chain(arguments(exec, setup)).collect(),
            env: own.chain(filled).collect(),
        }
    }

    fn start(&self, found: &Found, folder: &Path, log: PathBuf, heard: bool) -> std::io::Result<Started> {
        let env = self.env.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let (program, captured) = if heard {
            let (program, pipe) = Program::start_to_hear(&found.path, &self.args, env, folder)?;
            (program, Some(CapturedOutput::to(pipe, &log)?))
        } else {
            (Program::start(&found.path, &self.args, env, folder, &log)?, None)
        };
        Ok(Started {
            name: None,
            environment: found.exec.part == Part::Environment,
            program,
            log,
            captured,
            data: None,
        })
    }
}

/// Returns the arguments that set gates and options.
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

pub(super) fn kubeconfig(cluster: &Cluster) -> Result<String, TargetError> {
    let file = cluster.kubeconfig().map(|file| file.display().to_string());
    file.ok_or_else(|| {
        let name = cluster.name();
        TargetError::Start(format!(
            "{name} has no kubeconfig: programs cannot reach clusters of this kind"
        ))
    })
}

/// Reads the definitions for the control plane.
pub(super) fn definitions(
    control_plane: &ControlPlane,
    folder: &Path,
) -> Result<Option<Arc<Vec<Value>>>, TargetFileError> {
    let Some(template) = &control_plane.definitions else {
        return Ok(None);
    };
    let values = Values::of_variables(&variables([], Some(control_plane))?);
    let read = definitions::read(&folder.join(values.fill(template)))?;
    Ok(Some(Arc::new(read)))
}

/// Reads the environment variables that a target refers to.
pub(super) fn variables<'a>(
    programs: impl IntoIterator<Item = &'a Exec>,
    control_plane: Option<&'a ControlPlane>,
) -> Result<BTreeMap<String, String>, TargetFileError> {
    let of_programs = programs
        .into_iter()
        .flat_map(|exec| exec.templates().map(|it| (it, exec.install.as_ref())));
    let of_plane = control_plane.into_iter().flat_map(ControlPlane::templates);
    let of_plane = of_plane.map(|it| (it, None));
    let mut variables = BTreeMap::new();
    for (template, install) in of_programs.chain(of_plane) {
        for name in template.places().filter_map(|place| place.strip_prefix(VARIABLE)) {
            let value = env::var(name).ok().filter(|value| !value.is_empty());
            let value = value.ok_or_else(|| TargetFileError::NoVariable {
                name: name.to_owned(),
                place: template.to_string(),
                help: install.cloned().unwrap_or_default(),
            })?;
            variables.insert(name.to_owned(), value);
        }
    }
    Ok(variables)
}

fn named(prefix: &str, values: &BTreeMap<String, String>) -> Vec<(String, String)> {
    let named = values
        .iter()
        .map(|(name, value)| (format!("{prefix}{name}"), value.clone()));
    named.collect()
}

/// Finds the program of a command: a path relative to the folder of the target file, or a name, in baton's folder or on
/// `PATH`.
pub(super) fn find(exec: &Exec, command: &str, folder: &Path) -> Result<PathBuf, TargetFileError> {
    let is_path = command.contains('/');
    let folders: Vec<PathBuf> = if is_path {
        vec![folder.to_owned()]
    } else {
        let beside = env::current_exe().ok();
        let beside = beside.as_deref().and_then(Path::parent).map(Path::to_owned);
        // Executables of tests are one folder deeper than programs.
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
        .find(|file| file.is_file())
        // Absolute, because the program starts in another folder.
        .and_then(|file| std::path::absolute(file).ok());
    found.ok_or_else(|| {
        let place = if is_path {
            format!("looked for {}", folder.join(command).display())
        } else if folder.join(command).is_file() {
            format!("looked beside baton and on PATH; write `./{command}` for the one beside the target file")
        } else {
            "looked beside baton and on PATH".to_owned()
        };
        let install = exec
            .install
            .as_ref()
            .map(|install| format!("; {install}"))
            .unwrap_or_default();
        TargetFileError::NoCommand {
            command: command.to_owned(),
            help: format!("{place}{install}"),
        }
    })
}

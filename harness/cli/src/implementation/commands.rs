//! Commands of a target that cases run, such as the one that drains a cluster.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use baton_cluster::{
    error_chain::error_chain,
    fleet::Fleet,
    program::Program,
    runner::{CommandEnd, TargetError},
    scratch::Scratch,
};
use baton_core::{case::model::Action, case::model::Case, implementation::Exec, redact};
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    net::unix::pipe,
};

use super::{
    error::TargetFileError,
    programs::{Values, find, kubeconfig, variables},
};

/// Number of lines of a command's output that are kept.
const MOST_LINES: usize = 10_000;

/// Commands of a target whose programs were found.
#[derive(Debug)]
pub(super) struct Commands {
    found: BTreeMap<String, (Exec, PathBuf)>,
    variables: BTreeMap<String, String>,
}

impl Commands {
    /// Finds the programs of commands; `folder` is that of the target file.
    ///
    /// [`TargetFileError`] if a program is not found, or an environment variable is not set.
    pub(super) fn find(commands: &BTreeMap<String, Exec>, folder: &Path) -> Result<Self, TargetFileError> {
        let variables = variables(commands.values(), None)?;
        let values = Values::of_variables(&variables);
        let found = commands.iter().map(|(name, exec)| {
            let path = find(exec, &values.fill(&exec.command), folder)?;
            Ok((name.clone(), (exec.clone(), path)))
        });
        Ok(Self {
            found: found.collect::<Result<_, TargetFileError>>()?,
            variables,
        })
    }

    /// Returns a command that a case runs and that the target does not have.
    pub(super) fn lacks<'c>(&self, case: &'c Case) -> Option<&'c str> {
        case.steps.iter().find_map(|step| match &step.action {
            Action::Run(run) if !self.found.contains_key(&run.command) => Some(run.command.as_str()),
            _ => None,
        })
    }

    /// Runs a command to its end. If this is dropped, its watchdog kills it.
    pub(super) async fn run(&self, fleet: &dyn Fleet, name: &str, args: &[String]) -> Result<CommandEnd, TargetError> {
        let (exec, path) = self
            .found
            .get(name)
            .ok_or_else(|| TargetError::Start(format!("the target file names no command {name}")))?;
        let members = fleet.members().iter().map(kubeconfig).collect::<Result<Vec<_>, _>>()?;
        let mut values = Values::of_variables(&self.variables);
        values.add("control_kubeconfig", kubeconfig(fleet.control())?);
        values.add("member_kubeconfigs", members.join(":"));
        let env: Vec<_> = exec
            .env
            .iter()
            .map(|(name, value)| (name.as_str(), values.fill(value)))
            .collect();
        let env = env.iter().map(|(name, value)| (*name, value.as_str()));
        let args = exec.args.iter().map(|arg| values.fill(arg)).chain(args.iter().cloned());
        let cannot =
            |error: std::io::Error| TargetError::Start(format!("{name} cannot be run: {}", error_chain(&error)));
        let folder = Scratch::new("data").map_err(cannot)?;
        let (mut program, output) = Program::start_to_hear(path, args, env, folder.path()).map_err(cannot)?;
        let output = pipe::Receiver::from_owned_fd(output.into()).map_err(cannot)?;
        let mut lines = BufReader::new(output).lines();
        let mut said = Vec::new();
        while let Ok(Some(line)) = lines.next_line().await {
            if said.len() < MOST_LINES {
                said.push(redact::text(&line));
            }
        }
        let status = program.ended().await.map_err(cannot)?;
        Ok(CommandEnd {
            exit: status.code(),
            said,
        })
    }
}

//! Runs kind and the container engine's client.

use std::{ffi::OsString, io, net::IpAddr, process::Stdio, time::Duration};

use tokio::process::Command;

use super::error::{KindError, gist};

/// Environment variable that selects the container engine of kind.
const ENGINE: &str = "KIND_EXPERIMENTAL_PROVIDER";

/// Longest time for a query that needs no work.
const ASKED: Duration = Duration::from_secs(60);

/// The programs that the backend runs.
#[derive(Debug, Clone)]
pub struct Programs {
    /// Search path for programs; the `PATH` of the environment if `None`.
    pub search_path: Option<OsString>,
    /// Client of the container engine: `docker`, `podman` or `nerdctl`.
    pub engine: String,
}

impl Programs {
    /// Programs as the environment names them, read as kind reads it.
    pub fn of_environment() -> Self {
        let engine = std::env::var(ENGINE).ok().filter(|name| !name.is_empty());
        Self {
            search_path: None,
            engine: engine.unwrap_or_else(|| "docker".to_owned()),
        }
    }

    /// Checks that both programs exist and the engine answers.
    pub(super) async fn check(&self) -> Result<(), KindError> {
        let kind = Call::kind(&["version"]);
        self.run(&kind, ASKED).await?.succeeded(&kind)?;
        let engine = Call::engine(&self.engine, &["version", "--format", "{{.Server.Version}}"]);
        let answer = self.run(&engine, ASKED).await?;
        if answer.ok {
            return Ok(());
        }
        Err(KindError::EngineDown {
            engine: self.engine.clone(),
            said: gist(&answer.all()),
        })
    }

    /// Memory of the engine in bytes; `None` if it does not report it.
    pub(super) async fn memory(&self) -> Result<Option<u64>, KindError> {
        let call = Call::engine(&self.engine, &["info", "--format", "{{.MemTotal}}"]);
        let answer = self.run(&call, ASKED).await?;
        Ok(answer.stdout.trim().parse().ok())
    }

    /// Addresses of the gateways of a container's networks.
    pub(super) async fn gateways(&self, container: &str) -> Result<Vec<IpAddr>, KindError> {
        const GATEWAYS: &str = "{{range .NetworkSettings.Networks}}{{.Gateway}} {{end}}";
        let call = Call::engine(&self.engine, &["inspect", "--format", GATEWAYS, container]);
        let answer = self.run(&call, ASKED).await?.succeeded(&call)?;
        let words = answer.stdout.split_whitespace();
        Ok(words.filter_map(|word| word.parse().ok()).collect())
    }

    /// Names of all kind clusters on the engine.
    pub(super) async fn clusters(&self) -> Result<Vec<String>, KindError> {
        let call = Call::kind(&["get", "clusters"]);
        let answer = self.run(&call, ASKED).await?.succeeded(&call)?;
        Ok(answer.stdout.lines().map(str::to_owned).collect())
    }

    /// Runs a program to its end. Dropping the future ends the process. An interrupt at the terminal does not reach it,
    /// so that clean-up stays orderly.
    pub(super) async fn run(&self, call: &Call, within: Duration) -> Result<Answer, KindError> {
        let mut command = Command::new(&call.program);
        command.args(&call.arguments).stdin(Stdio::null());
        command.process_group(0).kill_on_drop(true);
        if let Some(path) = &self.search_path {
            command.env("PATH", path);
        }
        let Ok(output) = tokio::time::timeout(within, command.output()).await else {
            let command = call.to_string();
            return Err(KindError::Slow { command, within });
        };
        let output = output.map_err(|source| self.not_started(call, source))?;
        Ok(Answer {
            ok: output.status.success(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        })
    }

    fn not_started(&self, call: &Call, source: io::Error) -> KindError {
        let engine = self.engine.clone();
        match (source.kind(), call.program == engine) {
            (io::ErrorKind::NotFound, true) => KindError::EngineMissing { engine },
            (io::ErrorKind::NotFound, false) => KindError::NotInstalled,
            (_, _) => {
                let command = call.to_string();
                KindError::NotStarted { command, source }
            }
        }
    }
}

/// A program with its arguments.
#[derive(Debug, Clone)]
pub(super) struct Call {
    program: String,
    arguments: Vec<String>,
}

impl Call {
    pub(super) fn kind(arguments: &[&str]) -> Self {
        Self::engine("kind", arguments)
    }

    pub(super) fn engine(engine: &str, arguments: &[&str]) -> Self {
        Self {
            program: engine.to_owned(),
            arguments: arguments.iter().map(|&argument| argument.to_owned()).collect(),
        }
    }

    pub(super) fn with(mut self, option: &str, value: impl Into<String>) -> Self {
        self.arguments.extend([option.to_owned(), value.into()]);
        self
    }
}

impl std::fmt::Display for Call {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.program, self.arguments.join(" "))
    }
}

/// Result of a program.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) ok: bool,
    pub(super) stdout: String,
    stderr: String,
}

impl Answer {
    /// Its output, standard error last.
    pub(super) fn all(&self) -> String {
        format!("{}\n{}", self.stdout, self.stderr)
    }

    pub(super) fn succeeded(self, call: &Call) -> Result<Self, KindError> {
        if self.ok {
            return Ok(self);
        }
        Err(KindError::Failed {
            command: call.to_string(),
            said: gist(&self.all()),
        })
    }
}

//! The implementation under test.

use std::{collections::BTreeSet, fmt, path::Path, sync::Arc, time::Duration};

use async_trait::async_trait;
use baton_core::{
    case::model::{Case, ControllerSetup},
    catalogue::DocumentClaims,
    implementation::{Implementation, baseline::Baseline},
    metrics::{NotMetric, Sample},
    names::Feature,
};
use serde_json::Value;
use thiserror::Error;

use crate::{
    fleet::{Fleet, TargetLocation},
    loopback::LoopbackError,
};

/// A target that cannot run.
#[derive(Debug, Error)]
pub enum TargetError {
    /// A feature gate or an option is unknown to the target, or its value is invalid.
    #[error("{0}")]
    Setup(String),
    /// The target could not be started, or reached.
    #[error("{0}")]
    Start(String),
    /// A program of the target does not become ready.
    #[error(
        "{program} has not become ready within {within:?}: {url}: {last}{}",
        LastWords(last_lines)
    )]
    NotReady {
        /// Name of the program.
        program: String,
        /// Time limit.
        within: Duration,
        /// URL of the readiness check.
        url: String,
        /// Result of the last attempt.
        last: String,
        /// Last lines of its output.
        last_lines: Vec<String>,
    },
    /// The target exited before the first request.
    #[error("the target ended unexpectedly: {0}")]
    Ended(Ended),
}

/// Metrics that cannot be read.
#[derive(Debug, Error)]
pub enum MetricsError {
    /// The endpoint does not answer, or not with metrics.
    #[error("{url}")]
    Unanswered {
        /// URL of the metrics.
        url: String,
        /// Reason.
        source: LoopbackError,
    },
    /// The answer is not in the text format of Prometheus.
    #[error("the metrics are not in the Prometheus text format")]
    Text(#[source] NotMetric),
    /// The case has stopped the target.
    #[error("the target has been stopped")]
    Stopped,
}

/// The implementation under test.
#[async_trait]
pub trait Target: fmt::Debug + Send + Sync {
    /// Name of the target in timelines and reports.
    fn name(&self) -> &str;

    /// Identity of the implementation, for reports.
    fn implementation(&self) -> Implementation {
        Implementation::named(self.name())
    }

    /// Features that it declares. A case that needs another one is unsupported.
    fn features(&self) -> BTreeSet<Feature>;

    /// Specification documents that it claims.
    fn documents(&self) -> DocumentClaims {
        DocumentClaims::default()
    }

    /// Its known defects.
    fn baseline(&self) -> Baseline {
        Baseline::default()
    }

    /// User agents of its writers, if it declares them: then no other client may write its objects.
    fn writers(&self) -> Option<BTreeSet<String>> {
        None
    }

    /// User agents of another instance's writers, if it declares them.
    fn writers_of(&self, _instance: &str) -> Option<BTreeSet<String>> {
        None
    }

    /// Feature gates and options for a case, if the harness sets them.
    fn setup_of(&self, case: &Case) -> ControllerSetup {
        case.controller.clone()
    }

    /// Requires the kinds of a case before the target starts.
    fn wants_kinds_first(&self) -> bool {
        false
    }

    /// Checks whether it can be started with these gates and options.
    fn takes(&self, _setup: &ControllerSetup) -> bool {
        true
    }

    /// Location of the target, which determines its path to the clusters.
    fn location(&self) -> TargetLocation {
        TargetLocation::Beside
    }

    /// Explains why it cannot be configured for a case although it declares the features; `None` if it can.
    fn cannot_take(&self, _case: &Case) -> Option<String> {
        None
    }

    /// Definitions of the target; the control plane gets those of the failover API if `None`.
    fn definitions(&self) -> Option<Arc<Vec<Value>>> {
        None
    }

    /// Starts the parts of the target that keep running while it is stopped, such as webhooks; `None` if there are
    /// none.
    ///
    /// # Errors
    /// [`TargetError`] if they do not run.
    async fn start_api(
        &self,
        _fleet: &dyn Fleet,
        _setup: &ControllerSetup,
        _log: &Path,
    ) -> Result<Option<Box<dyn Running>>, TargetError> {
        Ok(None)
    }

    /// Starts the target on the control plane of a fleet. A program appends its output to the file `log`.
    async fn start(
        &self,
        fleet: &dyn Fleet,
        setup: &ControllerSetup,
        log: &Path,
    ) -> Result<Box<dyn Running>, TargetError>;

    /// Starts another instance of the target under another name.
    ///
    /// # Errors
    /// [`TargetError`] if it does not run.
    async fn start_another(
        &self,
        _name: &str,
        fleet: &dyn Fleet,
        setup: &ControllerSetup,
        log: &Path,
    ) -> Result<Box<dyn Running>, TargetError> {
        self.start(fleet, setup, log).await
    }

    /// Runs a command of the implementation to its end. Dropping the future kills it.
    ///
    /// # Errors
    /// [`TargetError`] if there is no such command, or it cannot be started.
    async fn run_command(&self, _fleet: &dyn Fleet, name: &str, _args: &[String]) -> Result<CommandEnd, TargetError> {
        Err(TargetError::Start(format!("the target has no command {name}")))
    }

    /// Starts the target with exactly this configuration, even if it is unknown, and captures its output.
    async fn start_to_hear(
        &self,
        fleet: &dyn Fleet,
        setup: &ControllerSetup,
        log: &Path,
    ) -> Result<Box<dyn Running>, TargetError> {
        self.start(fleet, setup, log).await
    }
}

/// Result of a command of the implementation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandEnd {
    /// Exit code; `None` if a signal ended it.
    pub exit: Option<i32>,
    /// Lines of its output.
    pub said: Vec<String>,
}

/// Exit of a target that was not stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// Exit status, such as `exit status: 1`.
    pub status: String,
    /// Last lines of its output.
    pub last_lines: Vec<String>,
    /// Set if a program that the implementation needs has ended, and not the implementation.
    pub environment: bool,
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.status)?;
        last_words(&self.last_lines, f)
    }
}

/// The last lines of a program's output, formatted for errors.
pub(super) struct LastWords<'a>(pub &'a [String]);

impl fmt::Display for LastWords<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        last_words(self.0, f)
    }
}

/// Writes the last lines of a target's output below a message.
fn last_words(lines: &[String], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if lines.is_empty() {
        return Ok(());
    }
    write!(f, "\nits last lines:")?;
    lines.iter().try_for_each(|line| write!(f, "\n  {line}"))
}

/// A running target.
#[async_trait]
pub trait Running: Send {
    /// Waits until it exits unasked, and returns how; never completes for a target that cannot exit. May be dropped
    /// while it waits.
    async fn ended(&mut self) -> Ended {
        std::future::pending().await
    }

    /// Messages that it has written since its start, if they are captured. Waits until one of them contains all of
    /// `mentions`, or the time is up.
    async fn said(&mut self, _mentions: &[String], _within: Duration) -> Vec<String> {
        Vec::new()
    }

    /// Kills it, without a chance to release anything; once this returns it writes nothing more.
    async fn crash(self: Box<Self>) {
        self.stop().await;
    }

    /// Its metrics, under the names that cases use; `None` if it declares no endpoint.
    ///
    /// # Errors
    /// [`MetricsError`] if its declared endpoint does not return metrics.
    async fn metrics(&mut self) -> Result<Option<Vec<Sample>>, MetricsError> {
        Ok(None)
    }

    /// Stops it; once this returns it writes nothing more.
    async fn stop(self: Box<Self>);
}

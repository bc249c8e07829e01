//! The implementation under test.

use std::{collections::BTreeSet, fmt, path::Path, sync::Arc, time::Duration};

use async_trait::async_trait;
use baton_core::{
    case::model::{Case, ControllerSetup},
    catalogue::DocumentClaims,
    implementation::{Implementation, baseline::Baseline},
    metrics::Sample,
    names::Feature,
};
use serde_json::Value;
use thiserror::Error;

use crate::fleet::{Fleet, TargetLocation};

/// Why a target does not run.
#[derive(Debug, Error)]
pub enum TargetError {
    /// It does not know a gate or an option that a case needs, or refuses its value.
    #[error("{0}")]
    Setup(String),
    /// It could not be started, or reached.
    #[error("{0}")]
    Start(String),
    /// A program of it does not become ready.
    #[error(
        "{program} has not become ready within {within:?}: {url}: {last}{}",
        LastWords(last_lines)
    )]
    NotReady {
        /// The program.
        program: String,
        /// How long was waited.
        within: Duration,
        /// What was to answer.
        url: String,
        /// What came of the last try.
        last: String,
        /// The last lines that it wrote.
        last_lines: Vec<String>,
    },
    /// It ended by itself before it was asked anything.
    #[error("the target ended by itself: {0}")]
    Ended(Ended),
}

/// Why metrics cannot be read.
#[derive(Debug, Error)]
pub enum MetricsError {
    /// Nobody answers, or not with metrics.
    #[error("{url}: {reason}")]
    Unanswered {
        /// Where they are to be.
        url: String,
        /// What came of it.
        reason: String,
    },
    /// What was answered is not the text format.
    #[error("they are not in the text format of Prometheus: {0}")]
    Text(String),
    /// The case has stopped the target.
    #[error("the target has been stopped")]
    Stopped,
}

/// The implementation under test.
#[async_trait]
pub trait Target: fmt::Debug + Send + Sync {
    /// Its name, as it stands in timelines and reports.
    fn name(&self) -> &str;

    /// Who it is, as reports say it.
    fn implementation(&self) -> Implementation {
        Implementation::named(self.name())
    }

    /// The features that it declares. A case that needs another one is unsupported.
    fn features(&self) -> BTreeSet<Feature>;

    /// The specification documents that it claims.
    fn documents(&self) -> DocumentClaims {
        DocumentClaims::default()
    }

    /// The defects of it that are known.
    fn baseline(&self) -> Baseline {
        Baseline::default()
    }

    /// The user agents under which it writes, if it says so: nobody else is to write its objects then.
    fn writers(&self) -> Option<BTreeSet<String>> {
        None
    }

    /// The user agents under which another instance of it writes that has this name, if it says so.
    fn writers_of(&self, _instance: &str) -> Option<BTreeSet<String>> {
        None
    }

    /// The gates and options that it is started with for a case, as far as the harness says so.
    fn setup_of(&self, case: &Case) -> ControllerSetup {
        case.controller.clone()
    }

    /// Whether the kinds that a case begins with must be there before it starts.
    fn wants_kinds_first(&self) -> bool {
        false
    }

    /// Whether it can be started with these gates and options.
    fn takes(&self, _setup: &ControllerSetup) -> bool {
        true
    }

    /// Where it stands, and with that how it comes to the clusters.
    fn location(&self) -> TargetLocation {
        TargetLocation::Beside
    }

    /// Why it cannot be set up as a case needs it, though it declares the features; none if it can.
    fn cannot_take(&self, _case: &Case) -> Option<String> {
        None
    }

    /// The definitions that it brings along; if there are none, the control plane gets those of the failover API.
    fn definitions(&self) -> Option<Arc<Vec<Value>>> {
        None
    }

    /// Starts what of it goes on while it is stopped, such as webhooks; none if there is nothing of that kind.
    ///
    /// # Errors
    /// [`TargetError`] if that does not run.
    async fn start_api(
        &self,
        _fleet: &dyn Fleet,
        _setup: &ControllerSetup,
        _log: &Path,
    ) -> Result<Option<Box<dyn Running>>, TargetError> {
        Ok(None)
    }

    /// Starts it on the control plane of a fleet. If it is a program, what it writes is added to the file `log`.
    async fn start(
        &self,
        fleet: &dyn Fleet,
        setup: &ControllerSetup,
        log: &Path,
    ) -> Result<Box<dyn Running>, TargetError>;

    /// Starts another instance of it, under a name of its own.
    ///
    /// # Errors
    /// [`TargetError`] if that does not run.
    async fn start_another(
        &self,
        _name: &str,
        fleet: &dyn Fleet,
        setup: &ControllerSetup,
        log: &Path,
    ) -> Result<Box<dyn Running>, TargetError> {
        self.start(fleet, setup, log).await
    }

    /// Runs a command of the implementation to its end; may be dropped while it runs, and is killed then.
    ///
    /// # Errors
    /// [`TargetError`] if there is no such command, or it cannot be started.
    async fn run_command(&self, _fleet: &dyn Fleet, name: &str, _args: &[String]) -> Result<CommandEnd, TargetError> {
        Err(TargetError::Start(format!("the target has no command {name}")))
    }

    /// Starts it with just what is asked for, known to it or not, and listens to what it says.
    async fn start_to_hear(
        &self,
        fleet: &dyn Fleet,
        setup: &ControllerSetup,
        log: &Path,
    ) -> Result<Box<dyn Running>, TargetError> {
        self.start(fleet, setup, log).await
    }
}

/// How a command of the implementation ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandEnd {
    /// Its exit code; none if a signal ended it.
    pub exit: Option<i32>,
    /// What it wrote, a line each.
    pub said: Vec<String>,
}

/// How a target ended that nobody had told to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// Its exit status, in words.
    pub status: String,
    /// The last lines that it wrote.
    pub last_lines: Vec<String>,
    /// Whether it is not the implementation that ended but something that it needs.
    pub environment: bool,
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.status)?;
        last_words(&self.last_lines, f)
    }
}

/// The last lines of a program, as errors tell them.
pub(super) struct LastWords<'a>(pub &'a [String]);

impl fmt::Display for LastWords<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        last_words(self.0, f)
    }
}

/// The last lines that a target wrote, below what there is to say of it.
fn last_words(lines: &[String], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if lines.is_empty() {
        return Ok(());
    }
    write!(f, "\nits last lines:")?;
    lines.iter().try_for_each(|line| write!(f, "\n  {line}"))
}

/// A target that runs.
#[async_trait]
pub trait Running: Send {
    /// Completes when it has ended by itself, and says how; never for one that cannot. May be dropped while it waits.
    async fn ended(&mut self) -> Ended {
        std::future::pending().await
    }

    /// What it has said since it was started, a message each, as far as anybody listens. Waits until one of them
    /// mentions all of these texts, but no longer than it may take.
    async fn said(&mut self, _mentions: &[String], _within: Duration) -> Vec<String> {
        Vec::new()
    }

    /// Ends it without a chance to give anything back; once this returns it writes nothing more.
    async fn crash(self: Box<Self>) {
        self.stop().await;
    }

    /// Its metrics under the names that cases use; nothing if it does not say where they are.
    ///
    /// # Errors
    /// [`MetricsError`] if it says where they are and they are not there.
    async fn metrics(&mut self) -> Result<Option<Vec<Sample>>, MetricsError> {
        Ok(None)
    }

    /// Stops it; once this returns it writes nothing more.
    async fn stop(self: Box<Self>);
}

//! The implementation under test.

use std::{collections::BTreeSet, fmt};

use async_trait::async_trait;
use baton_core::{
    case::model::{Case, ControllerSetup},
    event::Implementation,
    names::Feature,
};
use thiserror::Error;

use crate::fleet::Fleet;

/// Why a target does not run.
#[derive(Debug, Error)]
pub enum TargetError {
    /// It does not know a gate or an option that a case needs, or refuses its value.
    #[error("{0}")]
    Setup(String),
    /// It could not be started, or reached.
    #[error("{0}")]
    Start(String),
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

    /// Why it cannot be set up as a case needs it, though it declares the features; none if it can.
    fn cannot_take(&self, _case: &Case) -> Option<String> {
        None
    }

    /// Starts it on the control plane of a fleet.
    async fn start(&self, fleet: &dyn Fleet, setup: &ControllerSetup) -> Result<Box<dyn Running>, TargetError>;
}

/// A target that runs.
#[async_trait]
pub trait Running: Send {
    /// What it has warned of since it was started, a message each. Waits until it is up.
    async fn warnings(&mut self) -> Vec<String> {
        Vec::new()
    }

    /// Stops it; once this returns it writes nothing more.
    async fn stop(self: Box<Self>);
}

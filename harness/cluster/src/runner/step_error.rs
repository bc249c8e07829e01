//! Errors of steps that act on connections, members or the target.

use std::time::Duration;

use baton_core::names::ClusterName;
use thiserror::Error;

use super::{act_error::ActError, target::TargetError};
use crate::{actions::ActionError, fleet::FleetError};

/// A step, or a part of a move, that could not be carried out.
#[derive(Debug, Error)]
pub(super) enum StepError {
    #[error(transparent)]
    Act(#[from] ActError),
    #[error(transparent)]
    Action(#[from] ActionError),
    #[error(transparent)]
    Fleet(#[from] FleetError),
    #[error(transparent)]
    Target(#[from] TargetError),
    #[error("{backend} clusters cannot disturb a controller at its writes")]
    NoMoves { backend: &'static str },
    #[error("{backend} clusters cannot stop a controller between two writes")]
    NoStop { backend: &'static str },
    #[error("the instance {0} does not run")]
    NotRunning(String),
    #[error(
        "Cluster {member} is still there {} s after it was deleted; no document says how soon it must go",
        waited.as_secs()
    )]
    StillThere { member: ClusterName, waited: Duration },
}

//! Errors of steps that act on objects.

use std::time::Duration;

use baton_core::names::ClusterName;
use thiserror::Error;

use crate::{
    actions::ActionError,
    admission::{AdmissionError, RulesError},
    error_chain::error_chain,
    fleet::FleetError,
};

/// A step that could not be carried out.
#[derive(Debug, Error)]
pub(super) enum ActError {
    #[error(transparent)]
    Action(#[from] ActionError),
    #[error(transparent)]
    Fleet(#[from] FleetError),
    #[error(transparent)]
    Admission(#[from] AdmissionError),
    #[error("the admission rules are wrong: {}", .0.iter().map(|it| error_chain(it)).collect::<Vec<_>>().join("; "))]
    Rules(Vec<RulesError>),
    #[error("{0} is not there")]
    NotThere(String),
    #[error("the definition of {kind} on the control plane has no field {field}")]
    Undefined { kind: String, field: String },
    #[error("{kind} on {cluster} is not observed, {waited:?} after its definition was applied")]
    NotObserved {
        kind: String,
        cluster: ClusterName,
        waited: Duration,
    },
    #[error(
        "the target does not say in `status.apiEnablements` that {member} serves {kind}, {waited:?} after its definition was applied"
    )]
    NotEnabled {
        kind: String,
        member: ClusterName,
        waited: Duration,
    },
}

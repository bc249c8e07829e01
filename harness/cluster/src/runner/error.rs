//! Why there is no timeline.

use std::time::Duration;

use baton_core::timeline::HotLoop;
use thiserror::Error;

use super::target::{Ended, LastWords, TargetError};
use crate::fleet::FleetError;

/// Why a run could not be carried out, through no fault of what is under test as far as one can tell.
#[derive(Debug, Error)]
pub enum RunError {
    /// The target could not be started.
    #[error("the controller under test cannot be started")]
    Target(#[from] TargetError),
    /// The fleet cannot be observed.
    #[error("the fleet cannot be observed")]
    Fleet(#[from] FleetError),
    /// The target does not say that the members are ready.
    #[error(
        "the controller under test has not reported all members Ready within {waited:?}{}{}",
        in_brackets(seen),
        LastWords(last_lines)
    )]
    NotReady {
        /// How long was waited.
        waited: Duration,
        /// What the Clusters of the members say, where it is not that they are ready.
        seen: Vec<String>,
        /// The last lines that it wrote, if it is a program.
        last_lines: Vec<String>,
    },
    /// A definition that the case begins with is refused.
    #[error("the definitions of the case cannot be applied: {0}")]
    Kinds(String),
    /// What the target needs has ended, and not the target itself.
    #[error("the environment broke during the run: {0}")]
    Environment(Ended),
    /// A command of the implementation cannot be run, or does not end, or its metrics cannot be read: nothing can be said of
    /// the case then.
    #[error("step {step}, {text}: {reason}")]
    Command {
        /// The number of the step, from 1.
        step: usize,
        /// What it does.
        text: String,
        /// What is wrong.
        reason: String,
    },
    /// What a step of the case writes is no such object as the API has: nobody but its author can do anything about it.
    #[error("error in the case: step {step}, {text}: {reason}")]
    Case {
        /// The number of the step, from 1.
        step: usize,
        /// What it does.
        text: String,
        /// What the API server said.
        reason: String,
    },
    /// Somebody writes without ever waiting, so that no time passes and the members would never be ready.
    #[error("the fleet does not come to rest before the first step: {0}")]
    HotLoop(HotLoop),
}

fn in_brackets(seen: &[String]) -> String {
    if seen.is_empty() {
        String::new()
    } else {
        format!(" ({})", seen.join("; "))
    }
}

//! Errors of a run that has no timeline.

use std::time::Duration;

use baton_core::timeline::HotLoop;
use thiserror::Error;

use super::target::{Ended, LastWords, TargetError};
use crate::{fleet::FleetError, trial::RefusedObject};

/// A run that failed for another reason than the behavior of the implementation.
#[derive(Debug, Error)]
pub enum RunError {
    /// The target could not be started.
    #[error("the controller under test cannot be started")]
    Target(#[from] TargetError),
    /// The fleet cannot be observed.
    #[error("the fleet cannot be observed")]
    Fleet(#[from] FleetError),
    /// The target does not report the members as ready.
    #[error(
        "the controller under test has not reported all members Ready within {waited:?}{}{}",
        in_brackets(seen),
        LastWords(last_lines)
    )]
    NotReady {
        /// Time limit.
        waited: Duration,
        /// Conditions of the members' Clusters that are not ready.
        seen: Vec<String>,
        /// Last lines of the target's output, if it is a program.
        last_lines: Vec<String>,
    },
    /// A definition of the case was rejected.
    #[error("the definitions of the case cannot be applied: {0}")]
    Kinds(String),
    /// A program that the target needs has ended.
    #[error("the environment broke during the run: {0}")]
    Environment(Ended),
    /// A command of the implementation cannot be run or does not end, or its metrics cannot be read, so the case has no
    /// result.
    #[error("step {step}, {text}: {reason}")]
    Command {
        /// Number of the step, from 1.
        step: usize,
        /// Text of the step.
        text: String,
        /// Reason.
        reason: String,
    },
    /// The object that a step writes is invalid: an error of the case's author.
    #[error("error in the case: step {step}, {text}: {}", refused.refusal.message)]
    Case {
        /// Number of the step, from 1.
        step: usize,
        /// Line of the step in the case's file.
        line: usize,
        /// Text of the step.
        text: String,
        /// The object, and the answer of the API server.
        refused: Box<RefusedObject>,
    },
    /// A client writes without ever waiting, so that virtual time stands still and the members never become ready.
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

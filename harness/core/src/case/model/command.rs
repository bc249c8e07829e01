//! A command of the implementation that a case runs.

use std::{collections::BTreeSet, fmt, time::Duration};

use serde::Serialize;

use crate::names::RequirementId;

/// `run`: a command of the implementation, such as the one that drains a cluster. The step ends when the command does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CommandRun {
    /// `command`: its name in the target file.
    pub command: String,
    /// `args`: its arguments. They may refer to roles and captures.
    pub args: Vec<String>,
    /// `within`: how long it may take.
    pub within: Duration,
    /// `exits`: its exit code.
    pub exits: u8,
    /// `says`: texts that must be in what it writes, each in some line.
    pub says: Vec<String>,
    /// Requirements that are shown if it does; may be empty.
    pub proves: BTreeSet<RequirementId>,
}

impl CommandRun {
    /// Longest time of a command whose case sets no limit.
    pub const WITHIN: Duration = Duration::from_secs(600);
}

impl fmt::Display for CommandRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "run {}", self.command)?;
        self.args.iter().try_for_each(|arg| write!(f, " {arg}"))?;
        write!(f, ": it exits with {}", self.exits)?;
        if !self.says.is_empty() {
            write!(f, ", saying {}", self.says.join(", "))?;
        }
        if !self.proves.is_empty() {
            let proves: Vec<_> = self.proves.iter().map(RequirementId::as_str).collect();
            write!(f, " [{}]", proves.join(", "))?;
        }
        Ok(())
    }
}

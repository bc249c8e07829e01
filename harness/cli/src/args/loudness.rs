//! Amount of output of a run.

use clap::Args;

/// Amount of output of a run.
#[derive(Debug, Clone, Copy, Default, Args)]
pub struct Loudness {
    /// Print a line and a table row for each case; without it, a large run lists only the cases that do not conform
    #[arg(short, long)]
    pub verbose: bool,
    /// Print only defects, counts and errors
    #[arg(short, long, conflicts_with = "verbose")]
    pub quiet: bool,
}

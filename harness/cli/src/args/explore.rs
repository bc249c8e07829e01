//! Options of `explore`.

use std::{num::NonZeroUsize, path::PathBuf, time::Duration};

use baton_core::{case::model::MoveFault, event::Shard};
use clap::{Args, Subcommand};

use super::values::{Named, duration};

/// Options of `explore`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct Explore {
    /// Merge the folders of shards
    #[command(subcommand)]
    pub merge: Option<ExploreCommand>,
    /// The exploration
    #[command(flatten)]
    pub run: ExploreRun,
}

/// Commands below `explore`.
#[derive(Debug, Subcommand)]
pub enum ExploreCommand {
    /// Merge the folders of shards: their journals, findings and coverage
    Merge {
        /// Folder of a shard, as written with --shard and --out
        first: PathBuf,
        /// Folders of the other shards
        others: Vec<PathBuf>,
        /// Write the merged folder to DIR
        #[arg(long, value_name = "DIR")]
        out: PathBuf,
    },
}

/// Options of an exploration.
#[derive(Debug, Args)]
pub struct ExploreRun {
    /// Cases, by name, file or folder
    #[arg(required_unless_present = "label")]
    pub cases: Vec<String>,
    /// Only cases with this label, such as tier=smoke, or tier for any value; repeatable
    #[arg(long, value_name = "KEY[=VALUE]")]
    pub label: Vec<String>,
    /// Explore the implementation that this target file describes [default: the built-in reference controller]
    #[arg(long, value_name = "FILE")]
    pub target: Option<PathBuf>,
    /// Run at most N plans
    #[arg(long, value_name = "N")]
    pub plans: Option<usize>,
    /// Start no further plan after this time, such as 60s
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub budget: Option<Duration>,
    /// Number of faults of a plan: 1, or 2 for pairs after all single faults
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=2))]
    pub depth: u8,
    /// The faults to try, separated by commas
    #[arg(long, value_name = "FAULT", value_delimiter = ',', default_values_t = MoveFault::ALL.map(Named))]
    pub moves: Vec<Named<MoveFault>>,
    /// Only one part of the plans, such as 2/4 for the second of four
    #[arg(long, value_name = "PART/OF")]
    pub shard: Option<Shard>,
    /// Run N plans at once [default: one per processor]
    #[arg(short, long, value_name = "N")]
    pub jobs: Option<NonZeroUsize>,
    /// Random seed of all runs
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// Write the journal and the findings to DIR [default: a new folder next to the timelines of runs]
    #[arg(long, value_name = "DIR", conflicts_with = "resume")]
    pub out: Option<PathBuf>,
    /// Continue the exploration whose journal is in DIR
    #[arg(long, value_name = "DIR")]
    pub resume: Option<PathBuf>,
}

//! Options of `explore`.

use std::{
    ffi::OsString,
    num::NonZeroUsize,
    path::{Path, PathBuf},
    time::Duration,
};

use baton_core::{case::model::MoveFault, event::Shard};
use clap::{Args, Subcommand};

use super::values::{Named, at_least_one, duration};

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
    /// Cases, by name, area, glob, file or folder; '*' for all
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
    /// End a plan after this time; it then counts as inconclusive. In real time, a plan also has
    /// twice the time that its case waits
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "5m")]
    pub max_plan_time: Duration,
    /// Number of faults of a plan: 1, 2 for pairs after all single faults, or 0 for random plans alone
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(0..=2))]
    pub depth: u8,
    /// Then run N plans with two to six random faults
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub random: usize,
    /// Give each random plan exactly N faults, such as 2 for pairs [default: two to six]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(2..=6))]
    pub random_faults: Option<u8>,
    /// The faults to try, separated by commas
    #[arg(long, value_name = "FAULT", value_delimiter = ',', default_values_t = MoveFault::ALL.map(Named))]
    pub moves: Vec<Named<MoveFault>>,
    /// Only one part of the plans, such as 2/4 for the second of four
    #[arg(long, value_name = "PART/OF")]
    pub shard: Option<Shard>,
    /// Run N plans at once [default: one per processor]
    #[arg(short, long, value_name = "N", value_parser = at_least_one)]
    pub jobs: Option<NonZeroUsize>,
    /// Explore in N processes, each with its own part of the plans; one that dies is started again
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub workers: Option<NonZeroUsize>,
    /// Set for such a process: it ends when its standard input is closed
    #[arg(long, hide = true, conflicts_with = "workers")]
    pub worker: bool,
    /// List the moments of the cases, at which faults can be injected, and end
    #[arg(long, conflicts_with_all = ["explain", "workers", "out", "resume"])]
    pub list: bool,
    /// Explain moments, by number or a part of their names, and end
    #[arg(long, value_name = "MOMENT", conflicts_with_all = ["workers", "out", "resume"])]
    pub explain: Option<String>,
    /// Make each finding smaller in at most N runs: fewer and weaker faults, fewer steps; 0 keeps it as it was found
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub shrink: usize,
    /// Random seed of all runs, of the order of pairs, and of random plans
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// Write the journal and the findings to DIR [default: a new folder next to the timelines of runs]
    #[arg(long, value_name = "DIR", conflicts_with = "resume")]
    pub out: Option<PathBuf>,
    /// Continue the exploration whose journal is in DIR
    #[arg(long, value_name = "DIR")]
    pub resume: Option<PathBuf>,
}

impl ExploreRun {
    /// The arguments of worker processes that explore the same, without their parts and folders.
    pub fn of_workers(&self, root: Option<&Path>) -> Vec<OsString> {
        let mut words: Vec<OsString> = vec!["--worker".into()];
        let mut option = |name: &str, value: OsString| words.extend([name.into(), value]);
        for label in &self.label {
            option("--label", label.into());
        }
        for (name, path) in [("--root", root), ("--target", self.target.as_deref())] {
            if let Some(path) = path {
                option(name, path.into());
            }
        }
        if let Some(budget) = self.budget {
            option("--budget", format!("{}ms", budget.as_millis()).into());
        }
        option(
            "--max-plan-time",
            format!("{}ms", self.max_plan_time.as_millis()).into(),
        );
        let moves: Vec<String> = self.moves.iter().map(ToString::to_string).collect();
        option("--moves", moves.join(",").into());
        option("--jobs", self.jobs.unwrap_or(NonZeroUsize::MIN).to_string().into());
        option("--depth", self.depth.to_string().into());
        option("--random", self.random.to_string().into());
        if let Some(faults) = self.random_faults {
            option("--random-faults", faults.to_string().into());
        }
        option("--shrink", self.shrink.to_string().into());
        option("--seed", self.seed.to_string().into());
        words.push("--".into());
        words.extend(self.cases.iter().map(OsString::from));
        words
    }
}

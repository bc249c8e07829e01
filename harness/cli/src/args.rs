//! The command line.

use std::{num::NonZeroUsize, path::PathBuf};

use baton_core::event::Shard;
use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

use crate::{backend::BackendOptions, report::ReportFile};

/// Runs the conformance suite for stateful cluster failover.
#[derive(Debug, Parser)]
#[command(
    name = "baton",
    version,
    max_term_width = 100,
    after_help = "\
Exit codes: 0 everything conforms, 1 something does not, 2 what was given is wrong, 3 the environment is broken,
130 interrupted.

Begin with `baton run`. Write a case of your own with `baton case new` and look at it with `baton plan`."
)]
pub struct Cli {
    /// The repository: where cases/, fixtures/ and snapshots/ are
    #[arg(long, global = true, value_name = "DIR", default_value = ".")]
    pub root: PathBuf,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run cases against the reference controller and say whether it conforms
    ///
    /// Every case gets a fleet of its own: a control plane and members, in this process, with time that passes
    /// only when nothing else happens.
    Run(Box<Run>),
    /// List the cases, or the requirements and what proves them
    List(List),
    /// Explain a requirement: what it says, where it comes from, and which cases prove it
    Explain {
        /// Its id, such as REC-01
        requirement: String,
    },
    /// Write a new case
    #[command(subcommand)]
    Case(Case),
    /// Print what a case does, step by step, without doing it
    Plan {
        /// The case's name or file
        case: String,
    },
    /// Print a JSON Schema for editors
    ///
    /// fixtures/schemas/ has them. A file is completed and checked while it is written if it begins with
    /// `# yaml-language-server: $schema=` and the way to one of them.
    Schema {
        /// Of which files
        #[arg(value_enum)]
        of: Schema,
    },
    /// Check case files without running them
    Lint {
        /// The files; without any, all below cases/
        files: Vec<PathBuf>,
    },
    /// Write down what happens on clusters while somebody else drives, until it is interrupted
    ///
    /// Only reads. Secrets and tokens are left out. `baton judge --recording` judges what was written.
    Record(Record),
    /// Judge a timeline that was written earlier
    Judge(Judge),
    /// Make a page of a report or a recording; verify, compare and merge reports
    #[command(subcommand)]
    Report(Report),
    /// Boot clusters and leave them running, to look at with kubectl
    ///
    /// Prints where the kubeconfigs are and runs until it is interrupted.
    Up(Up),
    /// Evaluate a Kubernetes JSONPath against a status
    ///
    /// Prints the text that a failover would preserve. The file is JSON or YAML and holds what stands under `status`.
    Jsonpath {
        /// The path, such as '{ .jobStatus.jobID }'
        #[arg(allow_hyphen_values = true)]
        path: String,
        /// The file with the status; `-` reads standard input
        file: PathBuf,
    },
    /// Print completions for a shell
    Completions {
        /// The shell
        shell: Shell,
    },
}

/// What there are schemas of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Schema {
    /// Case files
    Case,
    /// Target files
    Target,
}

/// Options of `run`.
#[derive(Debug, Args)]
pub struct Run {
    /// Cases by name or file; without any, all below cases/
    pub cases: Vec<String>,
    /// Which of them
    #[command(flatten)]
    pub selection: Selection,
    /// How many cases run at once [default: one a processor]
    #[arg(short, long, value_name = "N")]
    pub jobs: Option<NonZeroUsize>,
    /// Run each case so many times, with one seed after the other
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    pub repeat: u64,
    /// Try a case that failed again, up to so many times; a pass on a later try stays visible as such
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub retries: u32,
    /// Begin no other case once one has failed
    #[arg(long)]
    pub fail_fast: bool,
    /// Multiply all timeouts, for slow machines
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0, value_parser = factor)]
    pub timeout_factor: f64,
    /// Multiply the periods of cases (tolerations, grace periods, how long they let time pass), where time passes as it
    /// does outside: 0.05 makes 15s of 300s. Each case stays above 10s, and keeps its times where it relies on defaults
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0, value_parser = time_factor)]
    pub time_factor: f64,
    /// Keep the clusters of a case that failed, say where their kubeconfigs are and wait for Enter
    ///
    /// Cases run one at a time then, and on embedded clusters in real time.
    #[arg(long)]
    pub pause_on_failure: bool,
    /// Write the timeline of every case into this folder; those that fail are kept in any case
    #[arg(long, value_name = "DIR")]
    pub timelines: Option<PathBuf>,
    /// Write a report: yaml (ConformanceReport), junit, jsonl (events as they happen) or html; can be repeated
    #[arg(long = "report", value_name = "FORMAT=PATH")]
    pub reports: Vec<ReportFile>,
    /// The implementation under test: a target file, such as fixtures/targets/reference.yaml [default: the reference
    /// controller, built in]
    #[arg(long, value_name = "FILE")]
    pub target: Option<PathBuf>,
    /// Run the cases though a failover does not work, or a feature of the target seems to be switched off
    ///
    /// Without it a target that is not built in has to let one workload fail over first.
    #[arg(long)]
    pub no_preflight: bool,
    /// What decides where chance is allowed; the same seed gives the same run
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// Which clusters they run on
    #[command(flatten)]
    pub on: BackendOptions,
}

/// Which cases are run: those that fit all options that are given.
#[derive(Debug, Args, Default)]
pub struct Selection {
    /// Only cases with this in their name or area/name; with * and ? it must fit all of it; can be repeated
    #[arg(long, value_name = "PATTERN")]
    pub filter: Vec<String>,
    /// Only cases that are about this requirement, such as `REC-01`; can be repeated
    #[arg(long, value_name = "ID")]
    pub requirement: Vec<String>,
    /// Only cases that need this feature, such as `LabelInjection`; can be repeated
    #[arg(long, value_name = "NAME")]
    pub feature: Vec<String>,
    /// Only cases with this label, such as tier=smoke, or tier for any value; can be repeated
    #[arg(long, value_name = "KEY[=VALUE]")]
    pub label: Vec<String>,
    /// Only one of several parts of equal size, such as 2/4; `baton report merge` puts their reports together
    #[arg(long, value_name = "PART/OF")]
    pub shard: Option<Shard>,
    /// Only cases that failed when they were last run, as the folder of timelines knows
    #[arg(long)]
    pub rerun_failed: bool,
}

fn factor(text: &str) -> Result<f64, String> {
    let factor: f64 = text
        .parse()
        .map_err(|_| "a number is expected, such as 2.5".to_owned())?;
    if factor.is_finite() && factor > 0.0 {
        Ok(factor)
    } else {
        Err("a number greater than 0 is expected".to_owned())
    }
}

/// What `report` does.
#[derive(Debug, Subcommand)]
pub enum Report {
    /// Make an HTML page of a ConformanceReport with its timelines, or of a recording
    ///
    /// The page is one file that loads nothing.
    #[command(group(clap::ArgGroup::new("what").required(true)))]
    Html {
        /// The ConformanceReport
        #[arg(group = "what")]
        report: Option<PathBuf>,
        /// A recording of some implementation: judged by the invariants alone
        #[arg(long, value_name = "FILE", group = "what")]
        recording: Option<PathBuf>,
        /// The folder with the timelines of the report; without it there is nothing to draw
        #[arg(long, value_name = "DIR", conflicts_with = "recording")]
        timelines: Option<PathBuf>,
        /// The page
        #[arg(short, long, value_name = "PATH")]
        output: PathBuf,
    },
    /// Judge the evidence of a ConformanceReport again
    ///
    /// Every verdict must follow from its timeline, every timeline must be the one that was reported, and the report
    /// must follow from its verdicts. Exit code 1 if anything does not.
    Verify {
        /// The ConformanceReport
        report: PathBuf,
        /// Files of cases beside those below cases/
        cases: Vec<PathBuf>,
        /// The folder with its timelines
        #[arg(long, value_name = "DIR")]
        timelines: PathBuf,
    },
    /// Say what became better or worse from one ConformanceReport to another
    ///
    /// Exit code 1 if anything became worse.
    Compare {
        /// The earlier one
        before: PathBuf,
        /// The later one
        after: PathBuf,
    },
    /// Make one ConformanceReport of those of all shards
    Merge {
        /// The reports of the shards
        #[arg(required = true)]
        reports: Vec<PathBuf>,
        /// The merged report
        #[arg(short, long, value_name = "PATH")]
        output: PathBuf,
    },
}

/// What `case` does.
#[derive(Debug, Subcommand)]
pub enum Case {
    /// Write a case that conforms, with comments, to begin with
    New {
        /// The folder below cases/ and the case's name, such as recovery/my-case
        #[arg(value_name = "AREA/NAME")]
        name: String,
    },
}

/// Options of `list`.
#[derive(Debug, Args)]
pub struct List {
    /// List the requirements instead, each with the cases that prove it
    #[arg(long)]
    pub requirements: bool,
}

/// Options of `record`.
#[derive(Debug, Args)]
pub struct Record {
    /// The kubeconfig with the contexts of the clusters; its current context does not matter
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: PathBuf,
    /// The context of the control plane
    #[arg(long, value_name = "CONTEXT")]
    pub control: String,
    /// The context of a member; once for each
    #[arg(long = "member", value_name = "CONTEXT", required = true)]
    pub members: Vec<String>,
    /// The file that is written
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
}

/// Options of `judge`.
#[derive(Debug, Args)]
#[command(group(clap::ArgGroup::new("what").required(true)))]
pub struct Judge {
    /// A timeline that `baton run` wrote: judged by the case that it names
    #[arg(group = "what")]
    pub timeline: Option<PathBuf>,
    /// A recording of some implementation: judged by the invariants
    #[arg(long, value_name = "FILE", group = "what")]
    pub recording: Option<PathBuf>,
    /// Judge the recording by this case too: its name or file
    ///
    /// Its steps are looked for in the recording: who drove did what the case does, in the same order, with workloads of
    /// the same names. The namespace and the keys of taints may be others.
    #[arg(long, requires = "recording")]
    pub case: Option<String>,
}

/// Options of `up`.
#[derive(Debug, Args)]
pub struct Up {
    /// How many members; 0 gives a single API server
    #[arg(long, default_value_t = 2)]
    pub members: usize,
    /// Print one JSON document instead of words
    #[arg(long)]
    pub json: bool,
    /// Run the reference controller too
    #[arg(long, conflicts_with = "bare")]
    pub controller: bool,
    /// Leave the clusters as new ones are: no failover API, no members registered, no workload simulator. `--backend
    /// kubeconfig` brings these
    #[arg(long)]
    pub bare: bool,
}

fn time_factor(text: &str) -> Result<f64, String> {
    let factor: Option<f64> = text.parse().ok();
    let factor = factor.filter(|factor| *factor > 0.0 && *factor <= 1.0);
    factor.ok_or_else(|| "a number above 0 and up to 1 is expected".to_owned())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }
}

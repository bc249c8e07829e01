//! The command line.

mod explore;
mod loudness;
mod member;
mod report;
mod scale;
mod values;

use std::{ffi::OsString, num::NonZeroUsize, path::PathBuf, sync::LazyLock};

use baton_core::event::Shard;
use clap::{
    Args, CommandFactory, Error, FromArgMatches, Parser, Subcommand, ValueEnum, builder::RangedU64ValueParser,
    error::ErrorKind,
};
use clap_complete::Shell;

pub use explore::{Explore, ExploreCommand, ExploreRun};
pub use loudness::Loudness;
pub use member::Member;
pub use report::{Evidence, Report};
pub use scale::{Scale, ScaleBackend, ScaleCommand, ScaleRun};
pub use values::{Named, ValueError};

use crate::{
    backend::{self, BackendOptions},
    report::ReportFile,
};

/// Runs the conformance suite for stateful cluster failover.
#[derive(Debug, Parser)]
#[command(
    name = "baton",
    version = version(),
    max_term_width = 100,
    after_help = "\
Exit codes: 0 everything conforms, 1 something deviates, 2 invalid input, 3 the environment is broken or \
a case could not be judged, 130 interrupted.

Logs go to standard error: BATON_LOG=debug, or per crate as in BATON_LOG=baton_cluster=trace (the syntax of RUST_LOG).

Start with `baton run`. Write your own case with `baton case new` and inspect it with `baton plan`."
)]
pub struct Cli {
    /// Folder with your own cases/, fixtures/ and snapshots/, added to the built-in suite; replaces it if it has
    /// cases/requirements.yaml [default: the current folder; the built-in suite alone for `report` commands]
    #[arg(long, global = true, value_name = "DIR", help_heading = "Suite")]
    pub root: Option<PathBuf>,
    /// Command.
    #[command(subcommand)]
    pub command: Command,
}

impl Cli {
    /// Reads a command line as [`Parser::try_parse_from`] does, and refuses options that do nothing on the backend that it
    /// asks for.
    ///
    /// If the command line is invalid, or if it asks for help or the version.
    pub fn read<T: Into<OsString> + Clone>(words: impl IntoIterator<Item = T>) -> Result<Self, Error> {
        let mut command = Self::command();
        let matches = command.try_get_matches_from_mut(words)?;
        if let Some((name, given)) = matches.subcommand()
            && let Some(subcommand) = command.find_subcommand_mut(name)
            && let Some(message) = backend::misplaced(subcommand, given)
        {
            return Err(subcommand.error(ErrorKind::ArgumentConflict, message));
        }
        Self::from_arg_matches(&matches)
    }
}

/// The version of the program and of its built-in suite.
fn version() -> &'static str {
    static VERSION: LazyLock<String> =
        LazyLock::new(|| format!("{} (suite {})", env!("CARGO_PKG_VERSION"), &baton_suite::DIGEST[..12]));
    &VERSION
}

/// Commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run cases and report whether the implementation conforms
    ///
    /// By default the reference controller is tested. Every case gets its own fleet, a control plane and members, in this
    /// process; time there skips ahead whenever nothing is happening.
    Run(Box<Run>),
    /// Search for faults that make the implementation break what the documents promise
    ///
    /// Runs each case again and again, each time with a fault at one of the writes of the implementation: a crash, a
    /// lost answer, a rival write, late notifications. A run that breaks an invariant is written as a case, which
    /// `baton run` replays.
    Explore(Box<Explore>),
    /// Measure and judge how many workloads fail over at once
    Scale(Box<Scale>),
    /// List the cases, or the requirements with the cases that prove them
    List(List),
    /// Explain a requirement: its text, its source and the cases that prove it
    Explain {
        /// The requirement's id, such as REC-01
        requirement: String,
    },
    /// Create a new case
    #[command(subcommand)]
    Case(Case),
    /// Print the steps of cases without running them
    Plan {
        /// Cases, by name, file or folder
        #[arg(required = true)]
        cases: Vec<String>,
        /// Also print the objects that they apply, such as policies, as YAML
        #[arg(long)]
        objects: bool,
    },
    /// Print a JSON Schema for editors
    ///
    /// The schemas are also in fixtures/schemas/. An editor completes and checks a file whose first line is
    /// `# yaml-language-server: $schema=PATH`.
    Schema {
        /// The kind of file
        #[arg(value_enum)]
        of: Schema,
    },
    /// Check case files without running them
    Lint {
        /// Cases, by name, file or folder [default: all]
        #[arg(value_name = "CASES")]
        files: Vec<String>,
    },
    /// Record what happens on existing clusters until interrupted
    ///
    /// Only reads from the clusters. Secrets and tokens are left out. Judge the file with `baton judge --recording`.
    Record(Record),
    /// Judge a timeline or a recording, without clusters
    Judge(Judge),
    /// Render, convert, verify, sign, compare and merge reports
    #[command(subcommand)]
    Report(Report),
    /// Start clusters to explore with kubectl
    ///
    /// Prints the paths of their kubeconfigs and runs until interrupted.
    Up(Up),
    /// Serve members with a workload simulator, and register them with a control plane elsewhere
    Member(Member),
    /// Evaluate a Kubernetes JSONPath against a status
    ///
    /// Prints the text that a failover would preserve. The file is JSON or YAML with the content of `status`.
    Jsonpath {
        /// The path, such as '{ .jobStatus.jobID }'
        #[arg(allow_hyphen_values = true)]
        path: String,
        /// The file with the status, or `-` for standard input
        file: PathBuf,
    },
    /// Print shell completions; those of bash, zsh and fish also complete case names
    Completions {
        /// The shell
        shell: Shell,
    },
}

/// The kinds of files that have schemas.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Schema {
    /// Case files
    Case,
    /// Target files
    Target,
    /// Rules of the workload simulator
    Rules,
}

/// Options of `run`.
#[derive(Debug, Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a separate flag on the command line"
)]
pub struct Run {
    /// Cases, by name, area (proposal), pattern ('queue/*'), file or folder [default: all]
    pub cases: Vec<String>,
    /// Selection of cases
    #[command(flatten)]
    pub selection: Selection,
    /// Amount of output
    #[command(flatten)]
    pub loudness: Loudness,
    /// Number of cases to run at once [default: one per processor; eight with a target that is a program, which mostly
    /// waits; one on existing clusters]
    #[arg(short, long, value_name = "N", value_parser = values::at_least_one)]
    pub jobs: Option<NonZeroUsize>,
    /// Run each case N times, each time with the next seed
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    pub repeat: u64,
    /// Retry a failed case up to N times; reports show that it needed retries
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub retries: u32,
    /// Start no further cases after the first failure
    #[arg(long)]
    pub fail_fast: bool,
    /// Multiply all timeouts by FACTOR, for slow machines
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0, value_parser = factor)]
    pub timeout_factor: f64,
    /// Shorten the periods of cases (tolerations, grace periods, elapse) by FACTOR, above 0 and up to 1, where time is
    /// real: 0.05 turns 300s into 15s
    ///
    /// A period stays 10s or longer, and a case that relies on defaults keeps its own times.
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0, value_parser = time_factor)]
    pub time_factor: f64,
    /// Keep the clusters of a failed case, print their kubeconfigs and wait for Enter
    ///
    /// Cases then run one at a time, and on embedded clusters in real time.
    #[arg(long)]
    pub pause_on_failure: bool,
    /// Write the timelines of all cases to DIR; without it, those of failed cases are kept for twenty runs
    #[arg(long, value_name = "DIR")]
    pub timelines: Option<PathBuf>,
    /// Create or update the snapshots of cases that otherwise conform
    #[arg(long)]
    pub accept_snapshots: bool,
    /// Write a report as yaml (ConformanceReport), junit, summary (Markdown), jsonl (events as they happen) or html;
    /// repeatable
    #[arg(long = "report", value_name = "FORMAT=PATH")]
    pub reports: Vec<ReportFile>,
    /// Test the implementation that this target file describes, such as fixtures/targets/karmada.yaml [default: the
    /// built-in reference controller]
    #[arg(long, value_name = "FILE")]
    pub target: Option<PathBuf>,
    /// Count remarks as deviations: a broken SHOULD or ADVICE ends the run with exit code 1
    #[arg(long)]
    pub strict: bool,
    /// Wait in every case for the whole time
    ///
    /// By default a case ends early, without a verdict, if nothing happens in it and another case of the run waited in
    /// vain for what the same cause prevents, such as a kind of which no workload gets a binding.
    #[arg(long)]
    pub full_waits: bool,
    /// Skip the preflight check
    ///
    /// The preflight lets one workload fail over before the first case, to find a target that is not set up for it.
    /// The built-in reference controller has none.
    #[arg(long)]
    pub no_preflight: bool,
    /// Random seed; the same seed reproduces the same run [default: 0 for the built-in controller, otherwise random]
    #[arg(long)]
    pub seed: Option<u64>,
    /// Clusters to run on
    #[command(flatten)]
    pub on: BackendOptions,
}

/// Profiles of reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Profile {
    /// Cases that need only core features
    Core,
    /// Cases that need any other feature
    Extended,
}

/// Selection of cases: those that match all of the given options.
#[derive(Debug, Args, Default)]
pub struct Selection {
    /// Only cases whose name or area/name contains PATTERN, or matches it if it has * or ?; repeatable
    #[arg(long, value_name = "PATTERN", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub filter: Vec<String>,
    /// Only cases for this requirement, such as REC-01; repeatable
    #[arg(long, value_name = "ID")]
    pub requirement: Vec<String>,
    /// Features that the cases need
    #[arg(
        long,
        value_name = "NAME",
        help = "Only cases that need this feature, such as LabelInjection; repeatable"
    )]
    pub feature: Vec<String>,
    /// Only the cases of this profile
    #[arg(long, value_enum, value_name = "PROFILE")]
    pub profile: Option<Profile>,
    /// Only cases with this label, such as tier=smoke, or tier for any value; repeatable
    #[arg(long, value_name = "KEY[=VALUE]")]
    pub label: Vec<String>,
    /// Only one part of the cases, such as 2/4 for the second of four; `baton report merge` joins the reports
    #[arg(long, value_name = "PART/OF")]
    pub shard: Option<Shard>,
    /// Only cases that failed in the last run, as recorded in the folder of timelines
    #[arg(long)]
    pub rerun_failed: bool,
}

/// With this factor a minute becomes a week.
const LARGEST_FACTOR: u32 = 10_000;

fn factor(text: &str) -> Result<f64, ValueError> {
    let factor: f64 = text.parse().map_err(|_| ValueError::Number)?;
    if factor > 0.0 && factor <= f64::from(LARGEST_FACTOR) {
        Ok(factor)
    } else {
        Err(ValueError::Range(LARGEST_FACTOR))
    }
}

/// Commands below `case`.
#[derive(Debug, Subcommand)]
pub enum Case {
    /// Write a commented case that conforms, as a starting point
    New {
        /// The folder below cases/ and the case's name, such as recovery/my-case
        #[arg(value_name = "AREA/NAME")]
        name: String,
    },
}

/// Options of `list`.
#[derive(Debug, Args)]
pub struct List {
    /// List the requirements with the cases that prove them instead
    #[arg(long, conflicts_with = "names")]
    pub requirements: bool,
    /// Print nothing but the names of the cases, one a line
    #[arg(long)]
    pub names: bool,
}

/// Options of `record`.
#[derive(Debug, Args)]
pub struct Record {
    /// The kubeconfig with the contexts of the clusters; its current context is ignored
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: PathBuf,
    /// The context of the control plane
    #[arg(long, value_name = "CONTEXT")]
    pub control: String,
    /// The context of a member; repeat it for each member
    #[arg(long = "member", value_name = "CONTEXT", required = true)]
    pub members: Vec<String>,
    /// The file to write
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
}

/// Options of `judge`.
#[derive(Debug, Args)]
#[command(group(clap::ArgGroup::new("what").required(true)))]
pub struct Judge {
    /// A timeline written by `baton run`, judged against the case that it names
    #[arg(group = "what")]
    pub timeline: Option<PathBuf>,
    /// A recording, judged against the invariants only
    #[arg(long, value_name = "FILE", group = "what")]
    pub recording: Option<PathBuf>,
    /// The case, by name or file: for a timeline, if its case is not below cases/; for a recording, to judge it against
    /// the case too
    ///
    /// A recording must show the steps of the case in the same order and with workloads of the same names. The
    /// namespace and the keys of taints may differ.
    #[arg(long)]
    pub case: Option<String>,
    /// The target file of the implementation; features that it does not declare are not required [default: all features
    /// are required]
    #[arg(long, value_name = "FILE")]
    pub target: Option<PathBuf>,
}

/// Options of `up`.
#[derive(Debug, Args)]
pub struct Up {
    /// Number of members, up to 50; 0 starts a single API server
    #[arg(long, default_value_t = 2, value_parser = RangedU64ValueParser::<usize>::new().range(..=50))]
    pub members: usize,
    /// Print JSON instead of text
    #[arg(long)]
    pub json: bool,
    /// Also run the reference controller
    #[arg(long, conflicts_with = "bare")]
    pub controller: bool,
    /// Leave the clusters empty: no failover API, no registered members, no workload simulator; `--backend kubeconfig`
    /// sets these up itself
    #[arg(long)]
    pub bare: bool,
}

fn time_factor(text: &str) -> Result<f64, ValueError> {
    let factor: Option<f64> = text.parse().ok();
    let factor = factor.filter(|factor| *factor > 0.0 && *factor <= 1.0);
    factor.ok_or(ValueError::Range(1))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }
    #[rstest]
    #[case(
        "--kubeconfig clusters.yaml",
        "'--kubeconfig' has no effect on '--backend embedded', only on '--backend kubeconfig'"
    )]
    #[case(
        "--simulate none",
        "'--simulate' has no effect on '--backend embedded', only on '--backend kubeconfig'"
    )]
    #[case(
        "--backend kind --assets assets",
        "'--assets' has no effect on '--backend kind', only on '--backend envtest'"
    )]
    #[case(
        "--backend envtest --boot-timeout 9",
        "'--boot-timeout' has no effect on '--backend envtest', only on '--backend kind', '--backend k3s'"
    )]
    fn options_of_another_backend_are_refused(#[case] options: &str, #[case] message: &str) {
        let words = ["baton", "run"].into_iter().chain(options.split(' '));
        let told = Cli::read(words).unwrap_err().to_string();
        assert!(told.contains(message), "{told}");
        assert!(told.contains("Usage: baton run"), "{told}");
    }

    #[test]
    fn a_number_that_must_be_above_0_is_named_as_such() {
        for words in [
            "run -j 0",
            "run -j many",
            "explore x --workers 0",
            "explore x --jobs=-1",
        ] {
            let words = ["baton"].into_iter().chain(words.split(' '));
            let told = Cli::read(words).unwrap_err().to_string();
            assert!(told.contains("expected a whole number above 0"), "{told}");
        }
    }

    #[test]
    fn options_of_the_backend_are_taken() {
        for words in [
            "--backend envtest --assets assets --members 3",
            "--real-time",
            "--backend k3s --image rancher/k3s",
        ] {
            let words = ["baton", "run"].into_iter().chain(words.split(' '));
            Cli::read(words).unwrap();
        }
    }
}

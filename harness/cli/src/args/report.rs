//! The commands below `report`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Commands below `report`.
#[derive(Debug, Subcommand)]
pub enum Report {
    /// Render a ConformanceReport or a recording as an HTML page
    ///
    /// The page is a single file without external resources.
    #[command(group(clap::ArgGroup::new("what").required(true)))]
    Html {
        /// The ConformanceReport
        #[arg(group = "what")]
        report: Option<PathBuf>,
        /// A recording; only the invariants judge it
        #[arg(long, value_name = "FILE", group = "what")]
        recording: Option<PathBuf>,
        /// The folder with the timelines of the report, which the page draws
        #[arg(long, value_name = "DIR", conflicts_with = "recording")]
        timelines: Option<PathBuf>,
        /// The page to write
        #[arg(short, long, value_name = "PATH")]
        output: PathBuf,
    },
    /// Judge the evidence of a ConformanceReport again
    ///
    /// Checks that every timeline is the one that was reported, that every verdict follows from its timeline, and that
    /// the report follows from its verdicts. Exit code 1 if one of these does not hold. The suite in the program judges,
    /// whatever files are in the current folder; `--root` uses the suite of a folder instead.
    Verify {
        /// The report and its evidence
        #[command(flatten)]
        evidence: Evidence,
        /// The public key that the report must be signed by; its signature is REPORT.minisig
        #[arg(long, value_name = "FILE")]
        key: Option<PathBuf>,
    },
    /// Judge the timelines of a ConformanceReport by the judge of this program, and write a new report
    ///
    /// For a report of an earlier Baton whose verdicts have been corrected since: the cases need not run again. The
    /// timelines must be those of the run, as for `verify`. The baseline of the run stays. A case that the suite has
    /// changed since the run is listed as one that could not be run.
    Rejudge {
        /// The report and its evidence
        #[command(flatten)]
        evidence: Evidence,
        /// The new report to write
        #[arg(short, long, value_name = "PATH")]
        output: PathBuf,
    },
    /// Sign a ConformanceReport, and with it its timelines
    ///
    /// Only a report that `verify` confirms is signed. The signature is written to REPORT.minisig, in the format of
    /// minisign. The report has the digest of each timeline, so that neither can be edited afterwards.
    Sign {
        /// The report and its evidence
        #[command(flatten)]
        evidence: Evidence,
        /// The secret key
        #[arg(long, value_name = "FILE")]
        key: PathBuf,
        /// Also sign a report that does not have all cases of the suite
        #[arg(long)]
        partial: bool,
        /// The file whose first line is the password of the key [default: ask for it, if the key has one]
        #[arg(long, value_name = "FILE")]
        password_file: Option<PathBuf>,
    },
    /// Create a pair of keys to sign reports with
    ///
    /// Writes NAME.key, which only you can read, and NAME.pub. Keys of minisign do as well.
    Keygen {
        /// The path of the keys without its ending, such as baton
        name: PathBuf,
        /// Create a key without a password: anyone who has the file can use it
        #[arg(long, conflicts_with = "password_file")]
        no_password: bool,
        /// The file whose first line is the password [default: ask for it]
        #[arg(long, value_name = "FILE")]
        password_file: Option<PathBuf>,
    },
    /// Print a baseline with the defects of a report
    ///
    /// The list goes below `baseline:` in the `spec` of a target file. Entries of the baseline that the report was made
    /// with stay as they are unless they are outdated; each other defect gets an entry whose reason describes the
    /// deviation. Entries for other versions of the implementation are not in a report and are not printed. Proposals
    /// need no entry.
    Baseline {
        /// The ConformanceReport
        report: PathBuf,
        /// Add the remarks too, for runs with --strict
        #[arg(long)]
        remarks: bool,
    },
    /// Show what got better or worse between two reports
    ///
    /// Defects come first: those that are new, gone, or shown by other cases than before, known or not. Requirements and
    /// cases follow. Exit code 1 if something got worse.
    Compare {
        /// The earlier report
        before: PathBuf,
        /// The later report
        after: PathBuf,
    },
    /// Convert a ConformanceReport to JUnit XML
    Junit {
        /// The ConformanceReport
        report: PathBuf,
        /// The file to write
        #[arg(short, long, value_name = "PATH")]
        output: PathBuf,
    },
    /// Print a ConformanceReport as Markdown, for the summary of a CI job
    Summary {
        /// The ConformanceReport
        report: PathBuf,
    },
    /// Write pages that compare the reports of several implementations or versions
    ///
    /// DIR/index.html has a row for each requirement and a column for each report; a page for each report has its defects.
    /// The pages need no network.
    Matrix {
        /// The `ConformanceReports`, those of one implementation in the order of its versions
        #[arg(required = true)]
        reports: Vec<PathBuf>,
        /// The folder to write to; it is created if it does not exist
        #[arg(short, long, value_name = "DIR")]
        output: PathBuf,
    },
    /// Merge the reports of all shards into one
    Merge {
        /// The reports of the shards
        #[arg(required = true)]
        reports: Vec<PathBuf>,
        /// The merged report to write
        #[arg(short, long, value_name = "PATH")]
        output: PathBuf,
    },
}

/// A report and its evidence.
#[derive(Debug, Args)]
pub struct Evidence {
    /// The ConformanceReport
    pub report: PathBuf,
    /// Case files in addition to those of the suite
    pub cases: Vec<PathBuf>,
    /// The folder with the timelines of the report
    #[arg(long, value_name = "DIR")]
    pub timelines: PathBuf,
}

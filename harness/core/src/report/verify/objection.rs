//! Errors in a report.

use thiserror::Error;

use crate::{
    digest::Digest,
    event::Shard,
    names::{CaseId, RequirementId},
};

/// A difference between a report and its evidence.
#[derive(Debug, Error, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Objection {
    /// No case was judged, so the report says nothing about the implementation.
    #[error("nothing was judged: no case of the report was run to its end")]
    NothingJudged,
    /// The result names no timeline.
    #[error("{0}: the report names no timeline")]
    NoEvidence(CaseId),
    /// The timeline's name leads out of the folder.
    #[error("{case}: {file:?} does not name a file in the folder of timelines")]
    Name {
        /// Name of the case.
        case: CaseId,
        /// Name in the report.
        file: String,
    },
    /// The timeline is missing or cannot be read.
    #[error("{case}: {file} cannot be read: {reason}")]
    Unreadable {
        /// Name of the case.
        case: CaseId,
        /// File name of the timeline.
        file: String,
        /// Cause.
        reason: String,
    },
    /// The digest of the timeline differs.
    #[error("{case}: {file} is not the timeline that was reported: its digest is {found}, reported was {reported}")]
    OtherFile {
        /// Name of the case.
        case: CaseId,
        /// File name of the timeline.
        file: String,
        /// Digest of the file.
        found: Digest,
        /// Digest in the report.
        reported: Digest,
    },
    /// The timeline belongs to another run.
    #[error("{case}: {file} is of {found}, reported was {reported}")]
    OtherRun {
        /// Name of the case.
        case: CaseId,
        /// File name of the timeline.
        file: String,
        /// Value in the timeline.
        found: String,
        /// Value in the report.
        reported: String,
    },
    /// The timeline does not name the run that it comes from.
    #[error("{case}: {file} does not say which run it comes from")]
    NoProvenance {
        /// Name of the case.
        case: CaseId,
        /// File name of the timeline.
        file: String,
    },
    /// Two results name the same timeline.
    #[error("{case}: {file} is the timeline of another result too")]
    SharedTimeline {
        /// Name of the second case.
        case: CaseId,
        /// File name of the timeline.
        file: String,
    },
    /// The timelines come from several runs, so the report may be a selection of results.
    #[error(
        "the timelines come from {0} runs that began at different times; a report is of one run, or of one run for each \
         shard: run the cases again"
    )]
    SeveralRuns(usize),
    /// The seeds are not consecutive, as those of one run are.
    #[error(
        "the timelines have the seeds {found}, and a run with {seeds} for each case has consecutive ones: run the cases \
         again"
    )]
    Seeds {
        /// Seeds of the timelines.
        found: String,
        /// Number of seeds in the report.
        seeds: u64,
    },
    /// There is a timeline of the same run whose case the report lacks, or has without a timeline.
    #[error(
        "{case}: {file} is a timeline of this run, and the report has no result of it for the case with the seed {seed}"
    )]
    LeftOut {
        /// Name of the case.
        case: CaseId,
        /// File name of the timeline.
        file: String,
        /// Seed of the case.
        seed: u64,
    },
    /// The shard of the report does not exist.
    #[error("the report is of the shard {0}, which does not exist")]
    NoSuchShard(Shard),
    /// A setting that was fixed before the first case differs from the report.
    #[error("the {0} of the report: not what the run began with, as its timelines say")]
    Settled(String),
    /// The suite has no case of this name.
    #[error(
        "{0}: the suite has no such case; if it is your own, name its file as an argument, or its folder with --root"
    )]
    NoSuchCase(CaseId),
    /// The case of this name in the suite has another digest.
    #[error("{0}: the case here is not the one that was reported; its digest is another one")]
    OtherCase(CaseId),
    /// The report has a case twice with one seed.
    #[error("{case}: stands in the report twice with the seed {seed}")]
    Twice {
        /// Name of the case.
        case: CaseId,
        /// Seed of both results.
        seed: u64,
    },
    /// A case is reported as unsupported, but the timelines do not confirm it.
    #[error("{0}: reported as unsupported, but the run did not begin with it being so")]
    NotUnsupported(CaseId),
    /// There are more results than selected runs.
    #[error("the report has {reported} cases or runs of cases; {selected} were selected")]
    TooMany {
        /// Number of results.
        reported: usize,
        /// Number of selected runs of cases.
        selected: usize,
    },
    /// A requirement is not exactly once in the report and in the catalogue.
    #[error("{id}: stands in the report {reported} times, in the catalogue {catalogue} times")]
    Requirement {
        /// Identifier of the requirement.
        id: RequirementId,
        /// Number of times that it is in the report.
        reported: usize,
        /// Number of times that it is in the catalogue.
        catalogue: usize,
    },
    /// The report differs from the results that follow from the evidence.
    #[error("{of}: {field} is reported as {reported}, but the evidence makes it {judged}")]
    Differs {
        /// Its place: a case, a requirement, the summary, ….
        of: String,
        /// The field.
        field: String,
        /// Value in the report.
        reported: String,
        /// Value that follows from the evidence.
        judged: String,
    },
    /// The digest of the suite does not follow from its cases.
    #[error("the digest of the set of cases does not follow from the cases")]
    Suite,
}

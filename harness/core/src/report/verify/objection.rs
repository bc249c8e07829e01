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
    /// No case of it was judged: it says nothing of the implementation.
    #[error("nothing was judged: no case of the report was run to its end")]
    NothingJudged,
    /// No timeline is named.
    #[error("{0}: the report names no timeline")]
    NoEvidence(CaseId),
    /// The timeline's name leads somewhere else.
    #[error("{case}: {file:?} does not name a file in the folder of timelines")]
    Name {
        /// The case.
        case: CaseId,
        /// Name in the report.
        file: String,
    },
    /// The timeline is not there, or cannot be read.
    #[error("{case}: {file} cannot be read: {reason}")]
    Unreadable {
        /// The case.
        case: CaseId,
        /// Its timeline.
        file: String,
        /// Cause.
        reason: String,
    },
    /// The timeline is another one.
    #[error("{case}: {file} is not the timeline that was reported: its digest is {found}, reported was {reported}")]
    OtherFile {
        /// The case.
        case: CaseId,
        /// Its timeline.
        file: String,
        /// The digest that it has.
        found: Digest,
        /// The digest that the report names.
        reported: Digest,
    },
    /// The timeline belongs to another run.
    #[error("{case}: {file} is of {found}, reported was {reported}")]
    OtherRun {
        /// The case.
        case: CaseId,
        /// Its timeline.
        file: String,
        /// Value in the timeline.
        found: String,
        /// Value in the report.
        reported: String,
    },
    /// The timeline does not say which run it comes from.
    #[error("{case}: {file} does not say which run it comes from")]
    NoProvenance {
        /// The case.
        case: CaseId,
        /// Its timeline.
        file: String,
    },
    /// Two results have one timeline.
    #[error("{case}: {file} is the timeline of another result too")]
    SharedTimeline {
        /// The case that is named second.
        case: CaseId,
        /// The timeline.
        file: String,
    },
    /// The timelines come from several runs, where one run has several to choose from.
    #[error(
        "the timelines come from {0} runs that began at different times; a report is of one run, or of one run for each \
         shard: run the cases again"
    )]
    SeveralRuns(usize),
    /// The seeds do not follow each other, as those of one run do.
    #[error(
        "the timelines have the seeds {found}, and a run with {seeds} for each case has consecutive ones: run the cases \
         again"
    )]
    Seeds {
        /// The seeds of the timelines.
        found: String,
        /// The number of seeds that the report names.
        seeds: u64,
    },
    /// A timeline of the same run is there, and the report does not have its case.
    #[error("{case}: {file} is a timeline of this run, and the report does not have the case with the seed {seed}")]
    LeftOut {
        /// The case.
        case: CaseId,
        /// Its timeline.
        file: String,
        /// The seed.
        seed: u64,
    },
    /// No run has such a part.
    #[error("the report is of the shard {0}, which does not exist")]
    NoSuchShard(Shard),
    /// A setting that was fixed before the first case differs from the report.
    #[error("the {0} of the report: not what the run began with, as its timelines say")]
    Settled(String),
    /// The case is not among those at hand.
    #[error(
        "{0}: the suite has no such case; if it is your own, name its file as an argument, or its folder with --root"
    )]
    NoSuchCase(CaseId),
    /// The case at hand says something else.
    #[error("{0}: the case here is not the one that was reported; its digest is another one")]
    OtherCase(CaseId),
    /// A case stands in the report twice with one seed.
    #[error("{case}: stands in the report twice with the seed {seed}")]
    Twice {
        /// The case.
        case: CaseId,
        /// The seed.
        seed: u64,
    },
    /// A case is said to be unsupported, and the timelines know nothing of it.
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
    /// The requirements of the catalogue and those of the report are not the same ones, or not once each.
    #[error("{id}: stands in the report {reported} times, in the catalogue {catalogue} times")]
    Requirement {
        /// The requirement.
        id: RequirementId,
        /// Number of times that it is in the report.
        reported: usize,
        /// Number of times that it is in the catalogue.
        catalogue: usize,
    },
    /// The report says something else than what follows from its evidence.
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
    /// The digest of the suite is not that of its cases.
    #[error("the digest of the set of cases does not follow from the cases")]
    Suite,
}

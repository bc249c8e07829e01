//! Events of a run and its results. Every output, live or written, consumes these events and nothing else.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    path::PathBuf,
    str::FromStr,
    sync::Arc,
    time::Duration,
};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    catalogue::{Asked, DocumentClaims},
    cause::{self, Cause},
    digest::Digest,
    excerpt,
    implementation::{Implementation, baseline::Baseline},
    judge::{Finding, Verdict},
    measure::Migration,
    names::{CaseId, ClusterName, Feature, RequirementId},
    timeline::Timeline,
};

/// An event of a run.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// The run begins.
    RunStarted(Box<RunStart>),
    /// A case begins.
    CaseStarted {
        /// Name of the case.
        case: CaseId,
        /// Seed of the run of the case.
        seed: u64,
        /// Number of the try, from 1.
        attempt: u32,
        /// Number of steps in the plan.
        steps: usize,
    },
    /// A step of a case begins.
    StepStarted {
        /// The case.
        case: CaseId,
        /// Number of the step in the plan, from 0.
        step: usize,
        /// Description of the step.
        text: String,
    },
    /// A case failed. Its clusters are kept for inspection until the user continues the run.
    Paused {
        /// The case.
        case: CaseId,
        /// Kubeconfig of each cluster.
        kubeconfigs: BTreeMap<ClusterName, PathBuf>,
    },
    /// A case did not conform while it shared a control plane with others. The result is discarded and the case runs
    /// again alone.
    CaseAgain {
        /// The case.
        case: CaseId,
        /// Seed of the run of the case.
        seed: u64,
        /// Discarded result, in one line.
        reason: String,
    },
    /// A case is over.
    CaseEnded(Box<CaseResult>),
    /// The run is over.
    RunEnded(Summary),
}

/// Input of a run: the cases, the backend and the target.
#[derive(Debug, Clone, PartialEq)]
pub struct RunStart {
    /// Time when the run began.
    pub started: Timestamp,
    /// Number of runs of cases in this process: one for each case and seed.
    pub cases: usize,
    /// Cases selected for the run; more than this process runs if it runs a shard.
    pub suite: Suite,
    /// Name of the backend that provides the clusters.
    pub backend: String,
    /// The implementation under test.
    pub target: Implementation,
    /// The features that the implementation declares.
    pub features: BTreeSet<Feature>,
    /// The documents that the implementation claims.
    pub claims: DocumentClaims,
    /// The known deviations of the implementation.
    pub baseline: Baseline,
}

/// The selected cases, whether they run on one machine or on several.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Suite {
    /// Number of cases.
    pub cases: usize,
    /// Digest of the content of the cases. Results of suites with the same digest can be compared.
    pub digest: Digest,
    /// Number of seeds for each case.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub seeds: u64,
    /// The shard that this process runs; `None` if it runs all cases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<Shard>,
    /// Number of cases in the whole suite that these were chosen from. Older reports do not have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whole: Option<usize>,
    /// Digest of the suite that is built into the program. Older reports do not have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub built_in: Option<String>,
    /// Files of the built-in suite that files of the user replace.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub replaced: BTreeSet<String>,
}

fn one() -> u64 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it")]
fn is_one(seeds: &u64) -> bool {
    *seeds == 1
}

/// One of several parts of a suite, each run by a separate process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Shard {
    /// Number of the part, from 1.
    pub number: usize,
    /// Number of parts.
    pub of: usize,
}

impl Shard {
    /// Returns `true` if the part exists. An edited report may name part 0 of 0.
    pub fn exists(self) -> bool {
        (1..=self.of).contains(&self.number)
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

impl FromStr for Shard {
    type Err = String;

    /// Parses `2/4`, the second of four parts.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parts = text.split_once('/');
        let shard = parts.and_then(|(number, of)| {
            let (number, of) = (number.parse().ok()?, of.parse().ok()?);
            Some(Self { number, of }).filter(|shard| shard.exists())
        });
        shard.ok_or_else(|| "a part of several is expected, such as 2/4; the first one is 1/4".to_owned())
    }
}

/// The result of a case.
#[derive(Debug, Clone, PartialEq)]
pub struct CaseResult {
    /// Name of the case.
    pub case: CaseId,
    /// Folder of the case below `cases/`.
    pub area: String,
    /// Digest of the content of the case.
    pub digest: Digest,
    /// Seed of the run of the case.
    pub seed: u64,
    /// Title of the case.
    pub title: String,
    /// Requirements that the case tests.
    pub requirements: Vec<RequirementId>,
    /// Outcome of the case.
    pub outcome: CaseOutcome,
    /// Wall-clock duration.
    pub wall: Duration,
    /// Duration by the clusters' clock.
    pub virtual_time: Duration,
    /// Duration and writes of the first migration, if there was one.
    pub migration: Option<Migration>,
    /// Kubernetes version of each cluster that reports one.
    pub kubernetes: BTreeMap<ClusterName, String>,
    /// Recorded timeline; `None` if the case did not run.
    pub timeline: Option<Arc<Timeline>>,
    /// File and digest of the timeline, if it was written.
    pub evidence: Option<Evidence>,
    /// Log file of the target, if the target is a program and the timeline was written.
    pub log: Option<PathBuf>,
    /// `true` if the target's baseline covers all deviations.
    pub known: bool,
    /// Snapshots that the run wrote because it accepts changes.
    pub accepted: Vec<PathBuf>,
    /// Reason why each earlier try failed, one line each; empty at the first try. The result is that of the last try.
    pub failed_tries: Vec<String>,
}

impl CaseResult {
    /// Returns the number of the try that led to this result, from 1.
    pub fn attempt(&self) -> usize {
        self.failed_tries.len() + 1
    }

    /// Returns `true` if the case conforms and breaks a SHOULD or an ADVICE that it tests.
    pub fn has_remarks(&self) -> bool {
        let CaseOutcome::Conforms(verdict) = &self.outcome else {
            return false;
        };
        verdict.remarks.iter().any(|it| it.is_about(&self.requirements))
    }
}

/// A timeline file, from which others can judge the case again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evidence {
    /// Path of the file.
    pub file: PathBuf,
    /// The digest of the file.
    pub digest: Digest,
}

/// The outcome of a case.
#[derive(Debug, Clone, PartialEq)]
pub enum CaseOutcome {
    /// Everything is as the case demands.
    Conforms(Verdict),
    /// Something is not as the case demands.
    Deviates {
        /// Verdict of the judge.
        verdict: Verdict,
        /// Snapshots that differ from their files.
        snapshots: Vec<SnapshotDifference>,
        /// Timeline around the first finding, one line per entry.
        excerpt: Vec<String>,
        /// Likely cause of the first finding.
        likely_cause: Option<Cause>,
    },
    /// No finding, but the judge could not decide something that the case tests: on these clusters two events were too
    /// close together to know which came first, or an invariant had nothing to judge.
    Inconclusive {
        /// Verdict of the judge.
        verdict: Verdict,
        /// Timeline around the first undecided check, one line per entry.
        excerpt: Vec<String>,
        /// Likely cause, if a wait ended early because the run had shown it.
        likely_cause: Option<Cause>,
    },
    /// The target or the clusters lack something that the case needs; the case did not run.
    Unsupported {
        /// Missing features or capabilities; at least one.
        reasons: Vec<String>,
    },
    /// The case could not run, for a reason outside of the case and the target.
    Broken {
        /// Error and remedy.
        reason: String,
    },
}

/// A snapshot that differs from its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotDifference {
    /// Name of the snapshot.
    pub name: String,
    /// Path of its file.
    pub file: PathBuf,
    /// Unified diff from the file to the recorded snapshot; `None` if the file does not exist yet.
    pub diff: Option<String>,
}

/// Numbers of cases in a run, by outcome.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Summary {
    /// Cases that conform.
    pub conforming: usize,
    /// Cases that conform, but break a SHOULD or an ADVICE that they test.
    pub with_remarks: usize,
    /// Cases that conform, but in which an invariant found a deviation that they do not test and no baseline covers.
    pub showing_others: usize,
    /// Cases that deviate in a way that the target's baseline does not cover.
    pub deviating: usize,
    /// Cases with a check that the judge could not decide.
    pub inconclusive: usize,
    /// Cases that deviate only as the target's baseline says.
    pub known: usize,
    /// Cases that need what the target or the clusters do not have.
    pub unsupported: usize,
    /// Cases that could not be run.
    pub broken: usize,
    /// Cases that did not start because an earlier one failed.
    pub not_begun: usize,
    /// Wall-clock duration of the run.
    pub wall: Duration,
}

impl CaseOutcome {
    /// Returns the outcome for a verdict and the snapshots that differ.
    pub fn judged(verdict: Verdict, snapshots: Vec<SnapshotDifference>, timeline: &Timeline) -> Self {
        let around = |finding: Option<&Finding>| {
            finding
                .map(|finding| excerpt::around(timeline, finding.seq))
                .unwrap_or_default()
        };
        if let Some(reason) = verdict.unsupported {
            return Self::Unsupported { reasons: vec![reason] };
        }
        if !verdict.findings.is_empty() || !snapshots.is_empty() {
            return Self::Deviates {
                excerpt: around(verdict.findings.first().or(verdict.inconclusive.first())),
                likely_cause: cause::of_failure(timeline, &verdict.findings),
                verdict,
                snapshots,
            };
        }
        if verdict.inconclusive.is_empty() {
            return Self::Conforms(verdict);
        }
        Self::Inconclusive {
            excerpt: around(verdict.inconclusive.first()),
            likely_cause: cause::of_early_end(timeline).cloned(),
            verdict,
        }
    }

    /// Returns `true` if a baseline covers all deviations that the judge found. Returns `false` if a snapshot differs
    /// or nothing deviates.
    pub fn is_known(&self, case: &CaseId, baseline: &Baseline, asked: &Asked) -> bool {
        match self {
            Self::Conforms(verdict) => baseline.knows_all(case, verdict, asked),
            Self::Deviates { verdict, snapshots, .. } => {
                snapshots.is_empty() && baseline.knows_all(case, verdict, asked)
            }
            Self::Inconclusive { .. } | Self::Unsupported { .. } | Self::Broken { .. } => false,
        }
    }

    /// Returns the likely cause, if the case failed and something points to one.
    pub fn likely_cause(&self) -> Option<&Cause> {
        match self {
            Self::Deviates { likely_cause, .. } | Self::Inconclusive { likely_cause, .. } => likely_cause.as_ref(),
            Self::Conforms(_) | Self::Unsupported { .. } | Self::Broken { .. } => None,
        }
    }

    /// Returns the cause for which the case ended early, if it did.
    pub fn early_end(&self) -> Option<&Cause> {
        match self {
            Self::Inconclusive { likely_cause, .. } => likely_cause.as_ref(),
            Self::Conforms(_) | Self::Deviates { .. } | Self::Unsupported { .. } | Self::Broken { .. } => None,
        }
    }

    /// Returns the judge's verdict, if the case was judged.
    pub fn verdict(&self) -> Option<&Verdict> {
        match self {
            Self::Conforms(verdict) | Self::Deviates { verdict, .. } | Self::Inconclusive { verdict, .. } => {
                Some(verdict)
            }
            Self::Unsupported { .. } | Self::Broken { .. } => None,
        }
    }

    /// Returns the findings of the judge, or the undecided checks of an inconclusive case; empty if the case was not
    /// judged.
    pub fn findings(&self) -> &[Finding] {
        match self {
            Self::Conforms(verdict) | Self::Deviates { verdict, .. } => &verdict.findings,
            Self::Inconclusive { verdict, .. } => &verdict.inconclusive,
            Self::Unsupported { .. } | Self::Broken { .. } => &[],
        }
    }

    /// Returns `true` if the case failed: something deviates, or the judge could not decide.
    pub fn failed(&self) -> bool {
        match self {
            Self::Deviates { .. } | Self::Inconclusive { .. } | Self::Broken { .. } => true,
            Self::Conforms(_) | Self::Unsupported { .. } => false,
        }
    }

    /// Returns the outcome in one line.
    pub fn headline(&self) -> String {
        match self {
            Self::Conforms(_) => "conforms".to_owned(),
            Self::Deviates { verdict, snapshots, .. } => match (verdict.findings.first(), snapshots.first()) {
                (Some(finding), _) => format!(
                    "{}: expected {}, seen {}",
                    finding.title, finding.expected, finding.seen
                ),
                (None, Some(snapshot)) => format!("the snapshot {} is not as its file", snapshot.name),
                (None, None) => "deviates".to_owned(),
            },
            Self::Inconclusive { verdict, .. } => verdict.inconclusive.first().map_or_else(
                || "inconclusive".to_owned(),
                |open| format!("{}: {}", open.title, open.seen),
            ),
            Self::Unsupported { reasons } => reasons.join("; "),
            Self::Broken { reason } => reason.clone(),
        }
    }
}

impl Summary {
    /// Adds a result to the counts.
    pub fn count(&mut self, result: &CaseResult) {
        match &result.outcome {
            CaseOutcome::Conforms(verdict) => {
                if result.has_remarks() {
                    self.with_remarks += 1;
                } else {
                    self.conforming += 1;
                }
                self.showing_others += usize::from(!verdict.elsewhere.is_empty() && !result.known);
            }
            CaseOutcome::Deviates { .. } if result.known => self.known += 1,
            CaseOutcome::Deviates { .. } => self.deviating += 1,
            CaseOutcome::Inconclusive { .. } => self.inconclusive += 1,
            CaseOutcome::Unsupported { .. } => self.unsupported += 1,
            CaseOutcome::Broken { .. } => self.broken += 1,
        }
    }
}

//! What a run tells while it goes on, and what it came to. Every output, live or written, consumes these events and
//! nothing else.

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
    cause,
    digest::Digest,
    excerpt,
    implementation::{Implementation, baseline::Baseline},
    judge::{Finding, Verdict},
    measure::Migration,
    names::{CaseId, ClusterName, Feature, RequirementId},
    timeline::Timeline,
};

/// Something that a run tells.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// The run begins.
    RunStarted(Box<RunStart>),
    /// A case begins.
    CaseStarted {
        /// Which.
        case: CaseId,
        /// The seed that it is run with.
        seed: u64,
        /// Which try it is, from 1.
        attempt: u32,
        /// How many steps its plan has.
        steps: usize,
    },
    /// A step of a case begins.
    StepStarted {
        /// The case.
        case: CaseId,
        /// Its number in the plan, from 0.
        step: usize,
        /// What it does, in words.
        text: String,
    },
    /// A case has failed, and its clusters are kept to be looked at until somebody says that it goes on.
    Paused {
        /// The case.
        case: CaseId,
        /// Where the kubeconfigs of its clusters are.
        kubeconfigs: BTreeMap<ClusterName, PathBuf>,
    },
    /// A case did not conform beside others on one control plane. That counts for nothing: it is run again, alone.
    CaseAgain {
        /// The case.
        case: CaseId,
        /// The seed that it is run with.
        seed: u64,
        /// What it came to, in a line.
        reason: String,
    },
    /// A case is over.
    CaseEnded(Box<CaseResult>),
    /// The run is over.
    RunEnded(Summary),
}

/// What is run, on what, against whom.
#[derive(Debug, Clone, PartialEq)]
pub struct RunStart {
    /// When it began.
    pub started: Timestamp,
    /// How many runs of cases there are here: one a case and seed.
    pub cases: usize,
    /// What was chosen to be run; more than is run here if this is a shard.
    pub suite: Suite,
    /// The backend that fleets are of.
    pub backend: String,
    /// The implementation under test.
    pub target: Implementation,
    /// The features that it declares.
    pub features: BTreeSet<Feature>,
    /// The documents that it claims.
    pub claims: DocumentClaims,
    /// The deviations of it that are known.
    pub baseline: Baseline,
}

/// The cases that were chosen to be run, on this machine or on several.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Suite {
    /// How many there are.
    pub cases: usize,
    /// What they say. Results of suites with the same digest can be compared.
    pub digest: Digest,
    /// How many seeds each of them is run with.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub seeds: u64,
    /// The part that is run here; none if that is all of it.
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

/// One of several parts of a suite, each run by a process of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Shard {
    /// Which part, from 1.
    pub number: usize,
    /// How many parts there are.
    pub of: usize,
}

impl Shard {
    /// Returns true if there can be such a part: reports that were edited may name the part 0 of 0.
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

    /// Reads `2/4`: the second of four.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parts = text.split_once('/');
        let shard = parts.and_then(|(number, of)| {
            let (number, of) = (number.parse().ok()?, of.parse().ok()?);
            Some(Self { number, of }).filter(|shard| shard.exists())
        });
        shard.ok_or_else(|| "a part of several is expected, such as 2/4; the first one is 1/4".to_owned())
    }
}

/// What a case came to.
#[derive(Debug, Clone, PartialEq)]
pub struct CaseResult {
    /// The case.
    pub case: CaseId,
    /// The folder below `cases/` that it lies in.
    pub area: String,
    /// What it says.
    pub digest: Digest,
    /// The seed that it was run with.
    pub seed: u64,
    /// What it shows.
    pub title: String,
    /// What it is about.
    pub requirements: Vec<RequirementId>,
    /// How it came out.
    pub outcome: CaseOutcome,
    /// How long it took, on the wall.
    pub wall: Duration,
    /// How long it took by the clusters' clock.
    pub virtual_time: Duration,
    /// What its first migration cost, if there was one.
    pub migration: Option<Migration>,
    /// The versions of Kubernetes that its clusters say they have, where they tell.
    pub kubernetes: BTreeMap<ClusterName, String>,
    /// What happened; none if it was not run.
    pub timeline: Option<Arc<Timeline>>,
    /// Where its timeline was written, if it was.
    pub evidence: Option<Evidence>,
    /// Where what the target wrote was put, if it is a program and its timeline was written.
    pub log: Option<PathBuf>,
    /// True if the target's baseline covers all that makes it deviate.
    pub known: bool,
    /// The snapshots that were written because the run accepts them.
    pub accepted: Vec<PathBuf>,
    /// Why earlier tries failed, in a line each; empty unless it was tried again. The result is that of the last try.
    pub failed_tries: Vec<String>,
}

impl CaseResult {
    /// Which try this is the result of, from 1.
    pub fn attempt(&self) -> usize {
        self.failed_tries.len() + 1
    }
}

/// A timeline that was written, so that others can judge it again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evidence {
    /// Its file.
    pub file: PathBuf,
    /// The digest of the file.
    pub digest: Digest,
}

/// How a case came out.
#[derive(Debug, Clone, PartialEq)]
pub enum CaseOutcome {
    /// Everything is as the case says.
    Conforms(Verdict),
    /// Something is not.
    Deviates {
        /// What the judge says.
        verdict: Verdict,
        /// Snapshots that are not as their files.
        snapshots: Vec<SnapshotDifference>,
        /// The timeline around the first finding, a line an entry.
        excerpt: Vec<String>,
        /// What probably went wrong, if a step timed out and the timeline points to it.
        likely_cause: Option<String>,
    },
    /// Nothing is to be objected to, but something that the case is about cannot be told: on these clusters two
    /// events were too close to each other to know which came first, or an invariant had nothing to judge.
    Inconclusive {
        /// What the judge says.
        verdict: Verdict,
        /// The timeline around the first thing that cannot be told, a line an entry.
        excerpt: Vec<String>,
    },
    /// The target or the clusters have not what the case needs; it was not run.
    Unsupported {
        /// What is missing, in words; at least one.
        reasons: Vec<String>,
    },
    /// Neither the case nor the target is to blame.
    Broken {
        /// What went wrong, and what to do.
        reason: String,
    },
}

/// A snapshot that is not as its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotDifference {
    /// The snapshot's name.
    pub name: String,
    /// Its file.
    pub file: PathBuf,
    /// A unified diff from the file to what was seen; none if there is no file yet.
    pub diff: Option<String>,
}

/// The numbers of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Summary {
    /// Cases that conform.
    pub conforming: usize,
    /// Cases that conform, but break a SHOULD or an ADVICE.
    pub with_remarks: usize,
    /// Cases that conform, and in which an invariant found a deviation that they are not about and no baseline covers.
    pub showing_others: usize,
    /// Cases that do not, though the target's baseline does not say so.
    pub deviating: usize,
    /// Cases of which something cannot be told.
    pub inconclusive: usize,
    /// Cases that do not, as the target's baseline says.
    pub known: usize,
    /// Cases that need what the target or the clusters do not have.
    pub unsupported: usize,
    /// Cases that could not be run.
    pub broken: usize,
    /// Cases that were not begun, because an earlier one failed.
    pub not_begun: usize,
    /// How long all of it took, on the wall.
    pub wall: Duration,
}

impl CaseOutcome {
    /// How a case came out of which the judge says this, and with snapshots that differ so.
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
                likely_cause: cause::of_timeout(timeline),
                verdict,
                snapshots,
            };
        }
        if verdict.inconclusive.is_empty() {
            return Self::Conforms(verdict);
        }
        Self::Inconclusive {
            excerpt: around(verdict.inconclusive.first()),
            verdict,
        }
    }

    /// Returns true if a baseline covers all deviations that the judge found; not if a snapshot differs, or nothing deviates.
    pub fn is_known(&self, case: &CaseId, baseline: &Baseline, asked: &Asked) -> bool {
        match self {
            Self::Conforms(verdict) => baseline.knows_all(case, verdict, asked),
            Self::Deviates { verdict, snapshots, .. } => {
                snapshots.is_empty() && baseline.knows_all(case, verdict, asked)
            }
            Self::Inconclusive { .. } | Self::Unsupported { .. } | Self::Broken { .. } => false,
        }
    }

    /// The judge's verdict, if the case was judged.
    pub fn verdict(&self) -> Option<&Verdict> {
        match self {
            Self::Conforms(verdict) | Self::Deviates { verdict, .. } | Self::Inconclusive { verdict, .. } => {
                Some(verdict)
            }
            Self::Unsupported { .. } | Self::Broken { .. } => None,
        }
    }

    /// What the judge objects to; nothing if it did not come to that.
    pub fn findings(&self) -> &[Finding] {
        match self {
            Self::Conforms(verdict) | Self::Deviates { verdict, .. } => &verdict.findings,
            Self::Inconclusive { verdict, .. } => &verdict.inconclusive,
            Self::Unsupported { .. } | Self::Broken { .. } => &[],
        }
    }

    /// Whether it failed: what is asked for is not there, or nobody could tell.
    pub fn failed(&self) -> bool {
        match self {
            Self::Deviates { .. } | Self::Inconclusive { .. } | Self::Broken { .. } => true,
            Self::Conforms(_) | Self::Unsupported { .. } => false,
        }
    }

    /// What it came to, in one line.
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
    /// Counts a result.
    pub fn count(&mut self, result: &CaseResult) {
        match &result.outcome {
            CaseOutcome::Conforms(verdict) => {
                if verdict.remarks.is_empty() {
                    self.conforming += 1;
                } else {
                    self.with_remarks += 1;
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

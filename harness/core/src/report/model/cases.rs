//! Cases in a report: their outcomes, findings and evidence.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::{
    cause::Cause,
    digest::Digest,
    judge::finding::{self, DifferenceKind},
    names::{CaseId, RequirementId},
};

/// Numbers of cases, by outcome.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CaseNumbers {
    /// Cases in which everything was as demanded.
    pub conforming: usize,
    /// Cases that conform, but break a SHOULD or an ADVICE.
    #[serde(default)]
    pub with_remarks: usize,
    /// Cases with a deviation that the baseline does not cover.
    pub deviating: usize,
    /// Cases whose deviations are all in the baseline.
    #[serde(default)]
    pub known: usize,
    /// Cases with a check that the judge could not decide.
    #[serde(default)]
    pub inconclusive: usize,
    /// Cases that need something that the implementation or the clusters lack.
    pub unsupported: usize,
    /// Cases that could not run.
    pub broken: usize,
}

/// The outcome of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum CaseOutcome {
    /// Everything was as the case demands.
    Conforms,
    /// The case conforms, but breaks a SHOULD or an ADVICE.
    Remarks,
    /// Something was not as the case demands.
    Deviates,
    /// Something was not as the case demands, and the baseline covers all of it.
    KnownDeviation,
    /// No deviation, but the judge could not decide everything, such as the order of two events.
    Inconclusive,
    /// The case needs something that the implementation or the clusters lack; it did not run.
    Unsupported,
    /// The case could not run.
    Broken,
}

impl CaseOutcome {
    /// All outcomes, in the order of reports.
    pub const ALL: [Self; 7] = [
        Self::Broken,
        Self::Deviates,
        Self::KnownDeviation,
        Self::Inconclusive,
        Self::Remarks,
        Self::Conforms,
        Self::Unsupported,
    ];

    /// Returns `true` if the case ran to its end, so that its findings count.
    pub fn is_judged(self) -> bool {
        match self {
            Self::Conforms | Self::Remarks | Self::Deviates | Self::KnownDeviation => true,
            Self::Inconclusive | Self::Unsupported | Self::Broken => false,
        }
    }

    /// Returns the outcome in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Conforms => "conforms",
            Self::Remarks => "conforms with remarks",
            Self::Deviates => "deviates",
            Self::KnownDeviation => "known deviation",
            Self::Inconclusive => "inconclusive",
            Self::Unsupported => "unsupported",
            Self::Broken => "could not be run",
        }
    }
}

/// A case and its outcome.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CaseReport {
    /// Name of the case.
    pub name: CaseId,
    /// Folder of the case below `cases/`.
    pub area: String,
    /// Title of the case, a sentence.
    pub title: String,
    /// Digest of the content of the case.
    pub digest: Digest,
    /// Seed of the run of the case.
    pub seed: u64,
    /// Outcome of the last try.
    pub result: CaseOutcome,
    /// Reasons why earlier tries failed; empty at the first try.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed_tries: Vec<String>,
    /// Requirements that the case tests.
    pub requirements: BTreeSet<RequirementId>,
    /// Requirements that the case showed.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub shown: BTreeSet<RequirementId>,
    /// Requirements that the case refuted.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub broken: BTreeSet<RequirementId>,
    /// Requirements that the case tests but neither showed nor refuted, each with the reason.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub not_judged: BTreeMap<RequirementId, String>,
    /// `true` if the baseline covers all deviations.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub known: bool,
    /// Likely cause of the first finding. Older reports do not have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub likely_cause: Option<Cause>,
    /// Findings that break a MUST; if the case is inconclusive, the undecided checks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<FindingReport>,
    /// Deviations that invariants found and that the case does not test.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub elsewhere: Vec<FindingReport>,
    /// Findings that break a SHOULD or an ADVICE.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<FindingReport>,
    /// Findings that break a proposal that the implementation does not claim.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub proposed: Vec<FindingReport>,
    /// Warnings, which do not count as deviations.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<FindingReport>,
    /// Names of the snapshots that differ from their files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub snapshots: Vec<String>,
    /// Reasons why the case is unsupported or could not run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<String>,
    /// Timeline of the case, if it was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<EvidenceReport>,
    /// Durations of the case.
    pub timing: Timing,
}

impl CaseReport {
    /// Returns the outcome in words, with the number of the try unless it was the first.
    pub fn words(&self) -> String {
        match self.failed_tries.len() {
            0 => self.result.words().to_owned(),
            failed => format!("{} on try {}", self.result.words(), failed + 1),
        }
    }
}

impl FindingReport {
    /// Returns `true` if the finding is about the subject of its case: a step found it, or it refutes a requirement that the
    /// case tests.
    pub fn is_about(&self, case: &CaseReport) -> bool {
        finding::is_about(self.step, &self.requirements, &case.requirements)
    }
}

/// A difference between the expected and the seen behavior.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FindingReport {
    /// Requirements that the finding refutes.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub requirements: BTreeSet<RequirementId>,
    /// Subject of the check, as a phrase.
    pub title: String,
    /// Expected behavior.
    pub expected: String,
    /// Seen behavior.
    pub seen: String,
    /// Places where the object differs from the expected one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub differences: Vec<String>,
    /// Path of the field that differs, without indices and names; `None` if the finding concerns no field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// Kind of difference.
    pub difference: DifferenceKind,
    /// Object that the finding is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<String>,
    /// Step of the plan that the finding belongs to, from 1; `None` for invariants.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<usize>,
    /// Step, from 1, whose finding explains this one, so that both count as one defect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub follows: Option<usize>,
    /// Time of the finding, in seconds since the timeline began.
    pub at_secs: f64,
    /// Entry of the timeline that shows it.
    pub entry: u64,
}

/// A timeline that was kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EvidenceReport {
    /// File name, in the folder of timelines.
    pub timeline: String,
    /// Digest of the file.
    pub digest: Digest,
}

/// Durations of a case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Timing {
    /// Wall-clock duration, in seconds.
    pub wall_secs: f64,
    /// Duration by the clusters' clock, in seconds.
    pub clusters_secs: f64,
    /// Duration from the first taint that led to an eviction to the new copy, by the clusters' clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub migration_secs: Option<f64>,
    /// Number of API writes by the implementation in that time, if the clusters report the writer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub migration_writes: Option<usize>,
}

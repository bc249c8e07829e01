//! The ConformanceReport: the test results of an implementation, in a form that can be published, compared and
//! verified.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;

use crate::{
    case::file::API_VERSION,
    catalogue::{Consequence, DocumentClaims, Level, Source, Standing, document},
    cause::Cause,
    digest::Digest,
    event::Suite,
    implementation::{Implementation, versions::VersionRange},
    judge::finding::DifferenceKind,
    names::{CaseId, DocumentId, Feature, RequirementId},
    yaml::plain::{self, YamlError},
};

/// The `kind` of reports.
pub const KIND: &str = "ConformanceReport";

/// The test results of an implementation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ConformanceReport {
    /// `baton.dev/v1alpha1`.
    pub api_version: String,
    /// `ConformanceReport`.
    pub kind: String,
    /// When the run began.
    pub date: Timestamp,
    /// The version of Baton that ran the cases and judged.
    pub baton_version: String,
    /// Implementation under test.
    pub implementation: Implementation,
    /// The selected cases.
    pub suite: Suite,
    /// Backend that the cases ran on.
    pub backend: Backend,
    /// The features that the implementation declares.
    pub features: BTreeSet<Feature>,
    /// The documents that the implementation claims, as a whole or for some features; all of them if left out.
    #[serde(default, skip_serializing_if = "DocumentClaims::is_all")]
    pub claims: DocumentClaims,
    /// The documents that requirements cite.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub documents: BTreeMap<DocumentId, DocumentReport>,
    /// Conformance claims that the results support.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub profiles: Vec<ProfileReport>,
    /// Totals of the report.
    pub summary: Summary,
    /// Defects that cases found, each difference once: deviations first, then remarks, then proposals.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub defects: Vec<Defect>,
    /// The known deviations that the target file lists.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub baseline: Vec<BaselineEntry>,
    /// Every requirement of the catalogue, by id.
    pub requirements: Vec<RequirementReport>,
    /// Every selected case, by name and seed.
    pub cases: Vec<CaseReport>,
}

/// A document that requirements cite.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DocumentReport {
    /// Title.
    pub title: String,
    /// Address.
    pub url: String,
    /// Status of the document in its project.
    pub standing: Standing,
}

/// One difference between a requirement and the behavior that cases saw, however many cases saw it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Defect {
    /// Requirements that the defect breaks; empty if a failed step proves nothing about a requirement.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub requirements: BTreeSet<RequirementId>,
    /// Consequence for the implementation.
    pub consequence: Consequence,
    /// Path of the field that differs, without indices and names; `None` if the defect concerns no field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// Kind of difference.
    pub difference: DifferenceKind,
    /// `true` if the baseline covers the defect.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub known: bool,
    /// The finding of the case that shows the defect most clearly: the first of `cases`.
    pub finding: FindingReport,
    /// Cases that show the defect, the clearest first.
    pub cases: Vec<CaseId>,
}

/// The clusters that an implementation was tested on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Backend {
    /// Name of the backend, such as `embedded`.
    pub name: String,
    /// Kubernetes versions that the clusters report.
    pub kubernetes_versions: BTreeSet<String>,
}

/// Totals of a report.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Summary {
    /// Numbers of cases, by outcome.
    pub cases: CaseNumbers,
    /// Numbers of requirements, by result.
    pub requirements: RequirementNumbers,
    /// Numbers of requirements from documents that the implementation does not claim.
    #[serde(default)]
    pub proposed: RequirementNumbers,
    /// Wall-clock duration of the run in seconds; the sum if the report covers several runs.
    pub wall_secs: f64,
}

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

/// Conformance claim of an implementation for a set of features, in the form of other conformance suites.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ProfileReport {
    /// Name of the set of features.
    pub name: Profile,
    /// Result of the claim.
    pub result: ProfileResult,
    /// The features of the set that the implementation declares.
    pub supported: BTreeSet<Feature>,
    /// The features of the set that the implementation does not declare.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub unsupported: BTreeSet<Feature>,
    /// Results of the MUST requirements of the declared features.
    pub musts: RequirementNumbers,
}

/// A set of features.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Profile {
    /// Features that every implementation has.
    Core,
    /// All other features.
    Extended,
}

impl Profile {
    /// Returns the name as a heading.
    pub fn words(self) -> &'static str {
        match self {
            Self::Core => "Core",
            Self::Extended => "Extended",
        }
    }
}

/// The result of a conformance claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ProfileResult {
    /// Every MUST of the declared features was shown.
    Conforms,
    /// Some were refuted, whether the baseline covers it or not.
    Deviates,
    /// None was refuted, but some were not shown.
    Partial,
    /// A feature of the core is not declared, or none of the extended ones is.
    Unsupported,
}

impl ProfileResult {
    /// Returns the result in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Conforms => "conforms",
            Self::Deviates => "deviates",
            Self::Partial => "partial",
            Self::Unsupported => "unsupported",
        }
    }
}

/// Numbers of requirements, by result.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RequirementNumbers {
    /// Shown by a case and refuted by none.
    pub shown: usize,
    /// Refuted by a case.
    pub broken: usize,
    /// Refuted by cases, with all deviations in the baseline.
    #[serde(default)]
    pub known: usize,
    /// A SHOULD or an ADVICE that a case refutes.
    #[serde(default)]
    pub remarks: usize,
    /// Neither shown nor refuted: a step failed that the check depends on.
    #[serde(default)]
    pub not_judged: usize,
    /// Neither shown nor refuted: no case that ran tests it.
    pub not_shown: usize,
    /// The implementation does not declare the feature, or only unsupported cases test it.
    pub unsupported: usize,
}

impl RequirementNumbers {
    /// Returns the number of requirements.
    pub fn all(&self) -> usize {
        self.shown + self.broken + self.known + self.remarks + self.not_judged + self.not_shown + self.unsupported
    }
}

/// The result of a requirement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum RequirementResult {
    /// A case shows it and none refutes it.
    Shown,
    /// A case refutes it.
    Broken,
    /// A case refutes it, and the baseline covers the deviation.
    KnownDeviation,
    /// A case refutes it, but it is only a SHOULD or an ADVICE.
    Remark,
    /// No case shows or refutes it: in the cases that test it, an earlier step failed or a situation did not last.
    NotJudged,
    /// No case shows or refutes it.
    NotShown,
    /// The implementation does not declare its feature, or all cases that test it are unsupported.
    Unsupported,
}

impl RequirementResult {
    /// All results, in the order of reports.
    pub const ALL: [Self; 7] = [
        Self::Broken,
        Self::KnownDeviation,
        Self::Remark,
        Self::NotJudged,
        Self::NotShown,
        Self::Shown,
        Self::Unsupported,
    ];

    /// Returns the result in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Shown => "shown",
            Self::Broken => "broken",
            Self::KnownDeviation => "known deviation",
            Self::Remark => "remark",
            Self::NotJudged => "not judged",
            Self::NotShown => "not shown",
            Self::Unsupported => "unsupported",
        }
    }
}

/// A requirement and its result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RequirementReport {
    /// Identifier of the requirement.
    pub id: RequirementId,
    /// Level of obligation.
    pub level: Level,
    /// Feature that the requirement belongs to.
    pub feature: Feature,
    /// Text of the requirement.
    pub text: String,
    /// Documents and issues that the requirement is based on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<Source>,
    /// Consequence for the implementation if the requirement is broken.
    pub consequence: Consequence,
    /// Result of the requirement.
    pub result: RequirementResult,
    /// The cases that show it.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub shown_by: BTreeSet<CaseId>,
    /// The cases that refute it.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub broken_by: BTreeSet<CaseId>,
    /// Cases that test it without a result: an earlier step failed, or a situation did not last.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub not_judged_by: BTreeSet<CaseId>,
}

/// A known defect from the target file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BaselineEntry {
    /// Requirement that the defect breaks; `None` for a failing step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requirement: Option<RequirementId>,
    /// Failing step, as findings name it; `None` for a requirement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// Path of the field that differs; `None` if the defect concerns no field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// Kind of difference.
    pub difference: DifferenceKind,
    /// Reason, or the behavior seen instead.
    pub reason: String,
    /// Link to a discussion of the defect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
    /// Affected versions; all if left out.
    #[serde(default, skip_serializing_if = "VersionRange::is_all")]
    pub versions: VersionRange,
    /// Affected cases; all if empty.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub cases: BTreeSet<CaseId>,
    /// `true` if the defect shows in some runs only; such an entry is never outdated.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sometimes: bool,
    /// Cases of the whole suite, selected or not, that can show the defect.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub told_by: BTreeSet<CaseId>,
    /// `true` if all of these cases that the target supports were judged and none showed the defect. Remove the entry
    /// then.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub outdated: bool,
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

/// An error in reading or writing a report.
#[derive(Debug, Error)]
pub enum ReportError {
    /// The text is not YAML, or not in the format of reports.
    #[error("this is not a ConformanceReport")]
    Format(#[source] YamlError),
    /// The text describes another kind or version.
    #[error("this is {kind} of {api_version}; {KIND} of {API_VERSION} is expected")]
    Kind {
        /// The `kind`, or a placeholder if it is missing.
        kind: String,
        /// The `apiVersion`, or a placeholder if it is missing.
        api_version: String,
    },
    /// The report cannot be written as YAML.
    #[error("the report cannot be written as YAML")]
    Write(#[source] YamlError),
    /// The report cannot be written as JUnit XML.
    #[error("the report cannot be written as JUnit XML")]
    Junit(#[source] quick_junit::SerializeError),
}

impl ConformanceReport {
    /// Parses a report from YAML.
    pub fn parse(text: &str) -> Result<Self, ReportError> {
        let value: Value = plain::read(text).map_err(ReportError::Format)?;
        let member = |name: &str| {
            let found = value.get(name).and_then(Value::as_str);
            found.unwrap_or("nothing").to_owned()
        };
        let (kind, api_version) = (member("kind"), member("apiVersion"));
        if kind != KIND || api_version != API_VERSION {
            return Err(ReportError::Kind { kind, api_version });
        }
        plain::read(text).map_err(ReportError::Format)
    }

    /// Returns the address of a source of one of its requirements.
    pub fn link(&self, source: &Source) -> Option<String> {
        document::link(source, |id| {
            let document = self.documents.get(id)?;
            Some((&document.url, document.standing))
        })
    }

    /// Returns the report as YAML.
    pub fn to_yaml(&self) -> Result<String, ReportError> {
        plain::write(self).map_err(ReportError::Write)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_kinds_are_told() {
        let error = ConformanceReport::parse("apiVersion: baton.dev/v1alpha1\nkind: Case\n").unwrap_err();
        let expected = "this is Case of baton.dev/v1alpha1; ConformanceReport of baton.dev/v1alpha1 is expected";
        assert_eq!(error.to_string(), expected);
        let error = ConformanceReport::parse("[]").unwrap_err();
        assert!(error.to_string().starts_with("this is nothing of nothing;"), "{error}");
    }
}

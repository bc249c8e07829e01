//! The ConformanceReport: what an implementation was found to do, in a form that can be published, compared with
//! others and verified.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;

use crate::{
    case::read::API_VERSION,
    catalogue::{Consequence, DocumentClaims, Level, Source, Standing, document},
    digest::Digest,
    event::Suite,
    implementation::{Implementation, versions::VersionRange},
    judge::finding::DifferenceKind,
    names::{CaseId, DocumentId, Feature, RequirementId},
    yaml::plain::{self, YamlError},
};

/// The `kind` of reports.
pub const KIND: &str = "ConformanceReport";

/// What an implementation was found to do.
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
    /// Who was tested.
    pub implementation: Implementation,
    /// The cases that were chosen.
    pub suite: Suite,
    /// What it was tested on.
    pub backend: Backend,
    /// The features that the implementation declares.
    pub features: BTreeSet<Feature>,
    /// The documents that the implementation claims, as a whole or for some features; all of them if left out.
    #[serde(default, skip_serializing_if = "DocumentClaims::is_all")]
    pub claims: DocumentClaims,
    /// The documents that requirements cite.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub documents: BTreeMap<DocumentId, DocumentReport>,
    /// What the implementation can claim.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub profiles: Vec<ProfileReport>,
    /// The numbers.
    pub summary: Summary,
    /// Defects: what cases found, each difference once. Deviations first, then remarks, then proposals.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub defects: Vec<Defect>,
    /// The deviations that the target file says are known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub baseline: Vec<BaselineEntry>,
    /// Every requirement of the catalogue, by id.
    pub requirements: Vec<RequirementReport>,
    /// Every case that was asked, by name and seed.
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

/// One difference between what a requirement demands and what cases saw, however many cases saw it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Defect {
    /// The requirements that it breaks; none if a step failed that proves nothing.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub requirements: BTreeSet<RequirementId>,
    /// Consequence for the implementation.
    pub consequence: Consequence,
    /// Path of the field that differs, without indices and names; none if no field does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// How it differs.
    pub difference: DifferenceKind,
    /// True if the baseline covers it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub known: bool,
    /// The finding of the case that shows it most clearly: the first of `cases`.
    pub finding: FindingReport,
    /// The cases that show it, the clearest first.
    pub cases: Vec<CaseId>,
}

/// The clusters that an implementation was tested on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Backend {
    /// What they are: `embedded`, …
    pub name: String,
    /// The versions of Kubernetes that they say they have.
    pub kubernetes_versions: BTreeSet<String>,
}

/// The numbers of a report.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Summary {
    /// Results of cases.
    pub cases: CaseNumbers,
    /// Results of requirements.
    pub requirements: RequirementNumbers,
    /// Results of requirements of documents that the implementation does not claim.
    #[serde(default)]
    pub proposed: RequirementNumbers,
    /// How long the run took, on the wall; the sum if it was several.
    pub wall_secs: f64,
}

/// How many cases came out how.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CaseNumbers {
    /// Everything was as they say.
    pub conforming: usize,
    /// They conform, but break a SHOULD or an ADVICE.
    #[serde(default)]
    pub with_remarks: usize,
    /// Something was not.
    pub deviating: usize,
    /// Something was not, as the baseline says.
    #[serde(default)]
    pub known: usize,
    /// Something of them cannot be told.
    #[serde(default)]
    pub inconclusive: usize,
    /// They need what the implementation or the clusters have not.
    pub unsupported: usize,
    /// They could not be run.
    pub broken: usize,
}

/// What an implementation can claim of a set of features, as other conformance suites report it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ProfileReport {
    /// Which set.
    pub name: Profile,
    /// Whether it can be claimed.
    pub result: ProfileResult,
    /// The features of the set that the implementation declares.
    pub supported: BTreeSet<Feature>,
    /// Those that it does not.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub unsupported: BTreeSet<Feature>,
    /// How the requirements of the declared features came out that are a MUST.
    pub musts: RequirementNumbers,
}

/// A set of features.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Profile {
    /// What every implementation has.
    Core,
    /// Everything else.
    Extended,
}

impl Profile {
    /// Its name, as a heading.
    pub fn words(self) -> &'static str {
        match self {
            Self::Core => "Core",
            Self::Extended => "Extended",
        }
    }
}

/// Whether a profile can be claimed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ProfileResult {
    /// Every MUST of the declared features was shown.
    Conforms,
    /// Some were refuted, known or not.
    Deviates,
    /// None was refuted, but some were not shown.
    Partial,
    /// A feature of the core is not declared, or none of the extended ones is.
    Unsupported,
}

impl ProfileResult {
    /// It in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Conforms => "conforms",
            Self::Deviates => "deviates",
            Self::Partial => "partial",
            Self::Unsupported => "unsupported",
        }
    }
}

/// How many requirements came out how.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RequirementNumbers {
    /// Shown by a case, refuted by none.
    pub shown: usize,
    /// Refuted by a case.
    pub broken: usize,
    /// Refuted by cases, all of it as the baseline says.
    #[serde(default)]
    pub known: usize,
    /// A SHOULD or an ADVICE that a case refutes.
    #[serde(default)]
    pub remarks: usize,
    /// Neither, because a step failed on which it depends.
    #[serde(default)]
    pub not_judged: usize,
    /// Neither, because no case asked that was run.
    pub not_shown: usize,
    /// Of a feature that the implementation does not declare, or asked by unsupported cases alone.
    pub unsupported: usize,
}

impl RequirementNumbers {
    /// How many there are.
    pub fn all(&self) -> usize {
        self.shown + self.broken + self.known + self.remarks + self.not_judged + self.not_shown + self.unsupported
    }
}

/// What was found of a requirement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum RequirementResult {
    /// Some case shows it and none refutes it.
    Shown,
    /// Some case refutes it.
    Broken,
    /// Some case refutes it, and the baseline says so.
    KnownDeviation,
    /// Some case refutes it, and it is a SHOULD or an ADVICE.
    Remark,
    /// No case shows it and none refutes it: in those that ask, an earlier step failed or a situation did not last.
    NotJudged,
    /// No case shows it, and none refutes it.
    NotShown,
    /// The implementation does not declare its feature, or all cases that ask for it are unsupported.
    Unsupported,
}

impl RequirementResult {
    /// All of them, in the order in which people want to see them.
    pub const ALL: [Self; 7] = [
        Self::Broken,
        Self::KnownDeviation,
        Self::Remark,
        Self::NotJudged,
        Self::NotShown,
        Self::Shown,
        Self::Unsupported,
    ];

    /// It in words.
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

/// A requirement and what was found of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RequirementReport {
    /// Its id.
    pub id: RequirementId,
    /// How binding it is.
    pub level: Level,
    /// The capability that it belongs to.
    pub feature: Feature,
    /// The statement.
    pub text: String,
    /// Its grounds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<Source>,
    /// Consequence for the implementation if it is broken.
    pub consequence: Consequence,
    /// What was found.
    pub result: RequirementResult,
    /// The cases that show it.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub shown_by: BTreeSet<CaseId>,
    /// The cases that refute it.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub broken_by: BTreeSet<CaseId>,
    /// The cases that were to show it and came to nothing: an earlier step failed, or a situation did not last.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub not_judged_by: BTreeSet<CaseId>,
}

/// A defect that the target file says is known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BaselineEntry {
    /// The requirement that it breaks; none for a step that fails.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requirement: Option<RequirementId>,
    /// The step that fails, as findings name it; none for a requirement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// Path of the field that differs; none if no field does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// How it differs.
    pub difference: DifferenceKind,
    /// Reason, or the behavior that is seen instead.
    pub reason: String,
    /// Where it is discussed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
    /// The versions that have it; all if left out.
    #[serde(default, skip_serializing_if = "VersionRange::is_all")]
    pub versions: VersionRange,
    /// The cases in which it is known; empty for all.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub cases: BTreeSet<CaseId>,
    /// True if it shows in some runs only: then it is never stale.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sometimes: bool,
    /// The cases of the whole suite, run here or not, that can show it.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub told_by: BTreeSet<CaseId>,
    /// True if all of them that the target supports were judged, and none showed it: it should be removed then.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub outdated: bool,
}

/// How a case came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum CaseOutcome {
    /// Everything was as it says.
    Conforms,
    /// It conforms, but breaks a SHOULD or an ADVICE.
    Remarks,
    /// Something was not.
    Deviates,
    /// Something was not, and the baseline says so of all of it.
    KnownDeviation,
    /// Nothing was wrong, but on these clusters not everything can be told: the order of two events, for one.
    Inconclusive,
    /// It needs what the implementation or the clusters have not; it was not run.
    Unsupported,
    /// It could not be run.
    Broken,
}

impl CaseOutcome {
    /// All of them, in the order in which people want to see them.
    pub const ALL: [Self; 7] = [
        Self::Broken,
        Self::Deviates,
        Self::KnownDeviation,
        Self::Inconclusive,
        Self::Remarks,
        Self::Conforms,
        Self::Unsupported,
    ];

    /// Returns true if the case ran to an end, so that its findings count.
    pub fn is_judged(self) -> bool {
        match self {
            Self::Conforms | Self::Remarks | Self::Deviates | Self::KnownDeviation => true,
            Self::Inconclusive | Self::Unsupported | Self::Broken => false,
        }
    }

    /// It in words.
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

/// A case and how it came out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CaseReport {
    /// Its name.
    pub name: CaseId,
    /// The folder below `cases/` that it lies in.
    pub area: String,
    /// What it shows, as a sentence.
    pub title: String,
    /// What it says.
    pub digest: Digest,
    /// The seed that it was run with.
    pub seed: u64,
    /// How it came out, at the last try.
    pub result: CaseOutcome,
    /// Why earlier tries failed; empty unless it was tried again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed_tries: Vec<String>,
    /// What it is about.
    pub requirements: BTreeSet<RequirementId>,
    /// What it showed.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub shown: BTreeSet<RequirementId>,
    /// What it refuted.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub broken: BTreeSet<RequirementId>,
    /// What it was to show and neither showed nor refuted, each with the reason.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub not_judged: BTreeMap<RequirementId, String>,
    /// True if the baseline covers all that makes it deviate.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub known: bool,
    /// Everything that was not as it says and breaks a MUST; if it is inconclusive, what cannot be decided.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<FindingReport>,
    /// Deviations that invariants found and that the case is not about.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub elsewhere: Vec<FindingReport>,
    /// Everything that breaks a SHOULD or an ADVICE.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<FindingReport>,
    /// Everything that breaks a proposal that the implementation does not claim.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub proposed: Vec<FindingReport>,
    /// What is no fault, but worth knowing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<FindingReport>,
    /// Names of snapshots that are not as their files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub snapshots: Vec<String>,
    /// Why it is unsupported, or could not be run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<String>,
    /// Its timeline, if that was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<EvidenceReport>,
    /// How long it took.
    pub timing: Timing,
}

impl CaseReport {
    /// How it came out, with the try if it was not the first.
    pub fn words(&self) -> String {
        match self.failed_tries.len() {
            0 => self.result.words().to_owned(),
            failed => format!("{} on try {}", self.result.words(), failed + 1),
        }
    }
}

/// One thing that was not as it should be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FindingReport {
    /// The requirements that it refutes.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub requirements: BTreeSet<RequirementId>,
    /// What was looked at, as a phrase.
    pub title: String,
    /// What should have been.
    pub expected: String,
    /// What was.
    pub seen: String,
    /// The places where the object is not as expected.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub differences: Vec<String>,
    /// Path of the field that differs, without indices and names; none if no field does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// How it differs.
    pub difference: DifferenceKind,
    /// The object that it was seen on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<String>,
    /// The step of the plan that it belongs to, from 1; none for invariants.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<usize>,
    /// When it was seen, in seconds since the timeline began.
    pub at_secs: f64,
    /// The entry of the timeline where it was seen.
    pub entry: u64,
}

/// A timeline that was kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EvidenceReport {
    /// The name of its file, in the folder of timelines.
    pub timeline: String,
    /// The digest of that file.
    pub digest: Digest,
}

/// How long a case took.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Timing {
    /// On the wall.
    pub wall_secs: f64,
    /// By the clusters' clock.
    pub clusters_secs: f64,
    /// From the first taint that led to an eviction to the new copy, by the clusters' clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub migration_secs: Option<f64>,
    /// How many API writes the implementation made in that time, where clusters tell who wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub migration_writes: Option<usize>,
}

/// Why a text is no report.
#[derive(Debug, Error)]
pub enum ReportError {
    /// It is no YAML, or not of the format.
    #[error("this is no ConformanceReport")]
    Format(#[source] YamlError),
    /// It is of another kind or version.
    #[error("this is {kind} of {api_version}; {KIND} of {API_VERSION} is expected")]
    Kind {
        /// The `kind`, or a word for its absence.
        kind: String,
        /// The `apiVersion`, or a word for its absence.
        api_version: String,
    },
    /// It cannot be written as YAML.
    #[error("the report cannot be written as YAML")]
    Write(#[source] YamlError),
    /// It cannot be written as XML.
    #[error("the report cannot be written as JUnit XML")]
    Junit(#[source] quick_junit::SerializeError),
}

impl ConformanceReport {
    /// Reads YAML.
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

    /// Address of a source of one of its requirements.
    pub fn link(&self, source: &Source) -> Option<String> {
        match source {
            Source::Passage(passage) => {
                let document = self.documents.get(&passage.document)?;
                Some(document::link(
                    &document.url,
                    document.standing,
                    &passage.section,
                    passage.lines,
                ))
            }
            Source::Fixed(number) | Source::Issue(number) => Some(document::issue(*number)),
        }
    }

    /// Writes YAML.
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

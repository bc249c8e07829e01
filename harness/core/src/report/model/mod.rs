//! The ConformanceReport: the test results of an implementation, in a form that can be published, compared and
//! verified.

mod cases;
mod requirements;

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;

use crate::{
    case::file::API_VERSION,
    catalogue::{Consequence, DocumentClaims, Source, Standing, document},
    event::Suite,
    implementation::{Implementation, versions::VersionRange},
    judge::finding::DifferenceKind,
    names::{CaseId, DocumentId, Feature, RequirementId},
    yaml::plain::{self, YamlError},
};

pub use cases::{CaseNumbers, CaseOutcome, CaseReport, EvidenceReport, FindingReport, Timing};
pub use requirements::{
    Profile, ProfileReport, ProfileResult, RequirementNumbers, RequirementReport, RequirementResult,
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
    /// The version of Baton that ran the cases. It also judged them unless `judged_by` names another.
    pub baton_version: String,
    /// The Baton that judged the timelines of the run again, at a later time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judged_by: Option<JudgedBy>,
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

/// A program that judged timelines again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct JudgedBy {
    /// Its version.
    pub baton_version: String,
    /// Digest of the suite that is built into it.
    pub suite: String,
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

/// An error in reading or writing a report.
#[derive(Debug, Error)]
pub enum ReportError {
    /// The text is not YAML, or not in the format of reports.
    #[error("this is not a ConformanceReport")]
    Format(#[source] YamlError),
    /// The text lacks a `kind` or an `apiVersion`.
    #[error("expected `kind: {KIND}` and `apiVersion: {API_VERSION}`, found no such fields")]
    NoKind,
    /// The text describes another kind or version.
    #[error("this is {kind} of {api_version}; {KIND} of {API_VERSION} is expected")]
    Kind {
        /// The `kind`.
        kind: String,
        /// The `apiVersion`.
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
        let member = |name: &str| Some(value.get(name)?.as_str()?.to_owned());
        match member("kind").zip(member("apiVersion")) {
            None => return Err(ReportError::NoKind),
            Some((kind, api_version)) if kind != KIND || api_version != API_VERSION => {
                return Err(ReportError::Kind { kind, api_version });
            }
            Some(_) => {}
        }
        plain::read(text).map_err(ReportError::Format)
    }

    /// Returns the version of Baton that ran the cases, and the one that judged them if that is a later program.
    pub fn made_with(&self) -> String {
        match &self.judged_by {
            Some(by) => format!("{}, judged again by {}", self.baton_version, by.baton_version),
            None => self.baton_version.clone(),
        }
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
        for text in ["[]", "kind: ConformanceReport", "\u{feff}kind: ConformanceReport"] {
            let error = ConformanceReport::parse(text).unwrap_err();
            assert!(
                error.to_string().starts_with("expected `kind: ConformanceReport`"),
                "{error}"
            );
        }
    }
}

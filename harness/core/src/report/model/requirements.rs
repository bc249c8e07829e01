//! Requirements in a report: their results, the numbers of them, and the profiles that sum them up.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::{
    catalogue::{Consequence, Level, Source},
    names::{CaseId, Feature, RequirementId},
};

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

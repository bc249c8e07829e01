//! The baseline: known defects of an implementation, so that a run reports only the others.

use std::{collections::BTreeSet, path::PathBuf};

use semver::Version;

use super::versions::VersionRange;
use crate::{
    catalogue::{Asked, Consequence},
    judge::{Finding, Verdict, finding::DifferenceKind},
    names::{CaseId, RequirementId},
};

/// The known defects of a target.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Baseline {
    /// The target file that lists them.
    pub file: PathBuf,
    /// Version of the implementation, if it is a semantic version.
    pub version: Option<Version>,
    /// The entries, in the order of the file.
    pub entries: Vec<KnownDefect>,
}

/// A known defect of a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownDefect {
    /// The requirement that it breaks, or the step that fails.
    pub of: Subject,
    /// Path of the field that differs; `None` if the defect concerns no field.
    pub field: Option<String>,
    /// Kind of difference.
    pub difference: DifferenceKind,
    /// Reason, or the behavior seen instead.
    pub reason: String,
    /// Link to a discussion of the defect.
    pub link: Option<String>,
    /// Affected versions.
    pub versions: VersionRange,
    /// Affected cases; all if empty.
    pub cases: BTreeSet<CaseId>,
    /// `true` if the defect shows in some runs only, such as a race. A run without it then proves nothing, and the
    /// entry stays.
    pub sometimes: bool,
    /// Line in the target file, from 1.
    pub line: usize,
}

/// Subject of a baseline entry.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    /// A requirement that the target breaks.
    Requirement(RequirementId),
    /// A step that fails and proves no requirement: its title in findings.
    Step(String),
}

impl KnownDefect {
    /// Returns `true` if the entry applies to a case for this version of the implementation.
    pub fn applies(&self, case: &CaseId, version: Option<&Version>) -> bool {
        self.versions.contains(version) && (self.cases.is_empty() || self.cases.contains(case))
    }

    /// Returns the requirement that the entry is about; `None` for a step.
    pub fn requirement(&self) -> Option<&RequirementId> {
        match &self.of {
            Subject::Requirement(id) => Some(id),
            Subject::Step(_) => None,
        }
    }

    /// Returns `true` if the entry describes this difference.
    pub fn is(&self, of: &Subject, field: Option<&str>, difference: DifferenceKind) -> bool {
        self.of == *of && self.field.as_deref() == field && self.difference == difference
    }
}

impl Baseline {
    /// Returns the entries that apply to the version of the implementation.
    pub fn holding(&self) -> impl Iterator<Item = &KnownDefect> {
        let version = self.version.as_ref();
        self.entries
            .iter()
            .filter(move |entry| entry.versions.contains(version))
    }

    /// Returns `true` if an entry describes this defect in this case.
    pub fn knows(&self, case: &CaseId, of: &Subject, field: Option<&str>, difference: DifferenceKind) -> bool {
        let version = self.version.as_ref();
        let is = |entry: &KnownDefect| entry.applies(case, version) && entry.is(of, field, difference);
        self.entries.iter().any(is)
    }

    /// Returns `true` if the entries cover every requirement that gives the finding its consequence.
    pub fn covers(&self, case: &CaseId, finding: &Finding, asked: &Asked) -> bool {
        let knows = |of: Subject| self.knows(case, &of, finding.field.as_deref(), finding.kind);
        let gravest = asked.gravest(&finding.requirements).unwrap_or(Consequence::Deviation);
        let mut grave = finding
            .requirements
            .iter()
            .filter(|id| asked.consequence(id) == gravest)
            .peekable();
        if grave.peek().is_none() {
            return knows(Subject::Step(finding.title.clone()));
        }
        grave.all(|id| knows(Subject::Requirement(id.clone())))
    }

    /// Returns `true` if something deviates and the entries cover all of it.
    pub fn knows_all(&self, case: &CaseId, verdict: &Verdict, asked: &Asked) -> bool {
        let deviations = verdict.findings.iter().chain(&verdict.elsewhere);
        let mut deviations = deviations.filter(|finding| finding.follows.is_none()).peekable();
        deviations.peek().is_some() && deviations.all(|finding| self.covers(case, finding, asked))
    }
}

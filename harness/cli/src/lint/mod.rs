//! Checks cases without running them, beyond the errors that reading them finds.
//!
//! - `definitions`: objects that the definitions of the failover API, or of the case, do not allow; errors;
//! - `refused`: objects that an API server with these definitions refuses; errors, only in `baton lint`;
//! - `policies`: paths without braces, keys that are invalid for labels; errors. Selectors that select nothing, kinds
//!   that no step defines; warnings;
//! - `paths`: paths that name a field which a status cannot have; warnings;
//! - `statuses`: conditions that no status can meet; warnings;
//! - `steps`: impossible taints; errors. Objects that are not recorded, gates that are off or misspelt; warnings;
//! - `assertions`: assertions that blame many requirements for one field, ask for a label that is not injected, or look
//!   at values that are not recorded; warnings;
//! - `matchers`: matchers that hold for any value or for none, or are misspelt; warnings;
//! - `names`: names and labels that no API accepts; errors where the case writes them, otherwise warnings. Objects that no
//!   step creates; warnings;
//! - `faults`: ends of faults that did not begin; warnings;
//! - `scripts`: scripts of customizations that are not valid Lua; warnings;
//! - `simulator`: statuses that nothing writes, rules for kinds that nothing defines; warnings;
//! - `place`: positions in the files of a case.
//!
//! An error is an object that an API server with these definitions refuses or prunes. `baton run` leaves such a case
//! out, unless the implementation may bring other definitions: then it prints the errors and runs the case.

mod assertions;
mod definitions;
mod faults;
mod matchers;
mod names;
mod paths;
mod place;
mod policies;
mod refused;
mod scripts;
mod simulator;
mod statuses;
mod steps;

use std::collections::BTreeSet;

use baton_cluster::{fleet::FleetError, trial::RefusedObject};
use baton_core::{case::model::Case, names::CaseId, yaml::Diagnostic};
use thiserror::Error;

use self::{definitions::Definitions, place::Sources, refused::Trials, simulator::RuleFiles};
use crate::files::Roots;

/// Result of the checks.
#[derive(Debug, Default)]
pub struct Findings {
    /// Likely mistakes in the files of simulator rules.
    rules: Vec<Diagnostic>,
    /// Findings in each case, in the order of the cases.
    cases: Vec<CaseFindings>,
}

/// Findings in one case.
#[derive(Debug)]
struct CaseFindings {
    case: CaseId,
    /// Errors, given the known definitions.
    errors: Vec<Diagnostic>,
    /// Likely mistakes.
    warnings: Vec<Diagnostic>,
}

/// An error that keeps objects from being tried out.
#[derive(Debug, Error)]
pub enum TrialError {
    /// No async runtime can be created.
    #[error("cannot start the async runtime")]
    Runtime(#[source] std::io::Error),
    /// The API server cannot be started.
    #[error("cannot start an API server to try the objects of the cases on")]
    Server(#[from] FleetError),
}

impl Findings {
    /// Adds the objects of cases that an API server with the suite's definitions refuses, where no other error is known
    /// in the same line. It takes longer than the other checks.
    ///
    /// # Errors
    /// If the API server cannot be started.
    pub fn with_refused(mut self, roots: &Roots, cases: &[Case]) -> Result<Self, TrialError> {
        let sources = Sources::new(roots);
        let mut trials = Trials::new().map_err(TrialError::Runtime)?;
        for (case, known) in cases.iter().zip(&mut self.cases) {
            let mut refused = trials.errors(case, &sources)?;
            refused.retain(|new| {
                let same_line = |it: &Diagnostic| it.file == new.file && it.line == new.line;
                !known.errors.iter().any(same_line)
            });
            add(&mut known.errors, &refused);
            known.errors = sorted(std::mem::take(&mut known.errors));
        }
        Ok(self)
    }

    /// Returns the errors of all cases. Scenarios of one file that share an error report it once.
    pub fn errors(&self) -> Vec<Diagnostic> {
        let mut errors = Vec::new();
        for case in &self.cases {
            add(&mut errors, &case.errors);
        }
        errors
    }

    /// Returns `true` if a case has an error.
    pub fn has_error(&self, case: &CaseId) -> bool {
        let of_case = |it: &&CaseFindings| it.case == *case;
        self.cases.iter().find(of_case).is_some_and(|it| !it.errors.is_empty())
    }

    /// Returns the likely mistakes in all cases and in the rules. Scenarios of one file that share one report it once.
    pub fn warnings(&self) -> Vec<Diagnostic> {
        let mut warnings = self.rules.clone();
        for case in &self.cases {
            add(&mut warnings, &case.warnings);
        }
        warnings
    }

    /// Returns the errors, then the likely mistakes, of some of the cases, with those in the rules.
    pub fn all_of(mut self, cases: &[Case]) -> Vec<Diagnostic> {
        let ids: BTreeSet<&CaseId> = cases.iter().map(|case| &case.id).collect();
        self.cases.retain(|it| ids.contains(&it.case));
        [self.errors(), self.warnings()].concat()
    }
}

/// Checks cases. Results are in the order of the cases and of their lines.
pub fn look(roots: &Roots, cases: &[Case]) -> Findings {
    let sources = Sources::new(roots);
    let bundled = Definitions::bundled();
    let rules = RuleFiles::read(roots, &sources);
    let of_case = |case: &Case| {
        let known = bundled.with_those_of(case);
        let errors = [
            definitions::errors(case, &known, &sources),
            policies::errors(case, &sources),
            steps::errors(case, &sources),
            names::errors(case, &sources),
        ];
        let warnings = [
            policies::warnings(case, &known, &sources),
            steps::warnings(case, &sources),
            scripts::warnings(case, &sources),
            assertions::sweeping(case, &sources),
            assertions::never_injected(case, &sources),
            assertions::no_texts(case, &sources),
            assertions::dropped(case, &sources),
            paths::missing_fields(case, &sources),
            statuses::impossible(case, &sources),
            matchers::warnings(case, &sources),
            names::warnings(case, &sources),
            names::unknown(case, &sources),
            faults::without_beginning(case, &sources),
            simulator::unwritten(case, &rules, &sources),
        ];
        CaseFindings {
            case: case.id.clone(),
            errors: sorted(errors.concat()),
            warnings: sorted(warnings.concat()),
        }
    };
    Findings {
        rules: sorted(rules.warnings(roots, &sources, cases)),
        cases: cases.iter().map(of_case).collect(),
    }
}

/// Returns the position of an invalid object of a case, which a run has found: its file, line and column.
pub fn place_of_refused(roots: &Roots, case: &Case, line: usize, refused: &RefusedObject) -> String {
    let sources = Sources::new(roots);
    let found = refused::place(case, line, &refused.object, &refused.refusal, &sources);
    format!("{}:{}:{}", found.file.display(), found.line, found.column)
}

/// Sorts findings by their places.
fn sorted(mut found: Vec<Diagnostic>) -> Vec<Diagnostic> {
    found.sort_by(|a, b| (&a.file, a.line, a.column).cmp(&(&b.file, b.line, b.column)));
    found
}

/// Adds the findings that are not there yet.
fn add(all: &mut Vec<Diagnostic>, new: &[Diagnostic]) {
    for diagnostic in new {
        if !all.contains(diagnostic) {
            all.push(diagnostic.clone());
        }
    }
}

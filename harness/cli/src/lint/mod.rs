//! Checks cases without running them, beyond the errors that reading them finds.
//!
//! - `definitions`: objects that the definitions of the failover API, or of the case, do not allow; errors;
//! - `policies`: paths without braces, keys that are invalid for labels; errors. Selectors that select nothing, kinds
//!   that no step defines; warnings;
//! - `paths`: paths that name a field which a status cannot have; warnings;
//! - `statuses`: conditions that no status can meet; warnings;
//! - `steps`: impossible taints; errors. Objects that are not recorded, gates that are off or misspelt; warnings;
//! - `assertions`: assertions that blame many requirements for one field, or ask for a label that is not injected;
//!   warnings;
//! - `scripts`: scripts of customizations that are not valid Lua; warnings;
//! - `simulator`: statuses that nothing writes, rules for kinds that nothing defines; warnings;
//! - `place`: positions in the files of a case.
//!
//! An error is an object that an API server with these definitions refuses or prunes. `baton run` leaves such a case
//! out, unless the implementation may bring other definitions: then it prints the errors and runs the case.

mod assertions;
mod definitions;
mod paths;
mod place;
mod policies;
mod scripts;
mod simulator;
mod statuses;
mod steps;

use std::collections::BTreeSet;

use baton_core::{case::model::Case, names::CaseId, yaml::Diagnostic};

use self::{definitions::Definitions, place::Sources, simulator::RuleFiles};
use crate::files::Roots;

/// Result of the checks.
#[derive(Debug, Default)]
pub struct Findings {
    /// Errors, given the known definitions.
    pub errors: Vec<Diagnostic>,
    /// Cases with such errors.
    pub cases: BTreeSet<CaseId>,
    /// Likely mistakes.
    pub warnings: Vec<Diagnostic>,
}

impl Findings {
    /// Returns all errors and warnings.
    pub fn all(self) -> Vec<Diagnostic> {
        [self.errors, self.warnings].concat()
    }
}

/// Checks cases. Results are in the order of the cases and of their lines; scenarios of one file that share a result
/// report it once.
pub fn look(roots: &Roots, cases: &[Case]) -> Findings {
    let sources = Sources::new(roots);
    let bundled = Definitions::bundled();
    let mut findings = Findings::default();
    let rules = RuleFiles::read(roots, &sources);
    add(&mut findings.warnings, rules.warnings(roots, &sources, cases));
    for case in cases {
        let known = bundled.with_those_of(case);
        let errors = [
            definitions::errors(case, &known, &sources),
            policies::errors(case, &sources),
            steps::errors(case, &sources),
        ];
        let warnings = [
            policies::warnings(case, &known, &sources),
            steps::warnings(case, &sources),
            scripts::warnings(case, &sources),
            assertions::sweeping(case, &sources),
            assertions::never_injected(case, &sources),
            assertions::no_texts(case, &sources),
            paths::missing_fields(case, &sources),
            statuses::impossible(case, &sources),
            simulator::unwritten(case, &rules, &sources),
        ];
        let errors = errors.concat();
        if !errors.is_empty() {
            findings.cases.insert(case.id.clone());
        }
        add(&mut findings.errors, errors);
        add(&mut findings.warnings, warnings.concat());
    }
    findings
}

fn add(all: &mut Vec<Diagnostic>, mut new: Vec<Diagnostic>) {
    new.sort_by(|a, b| (&a.file, a.line, a.column).cmp(&(&b.file, b.line, b.column)));
    for diagnostic in new {
        if !all.contains(&diagnostic) {
            all.push(diagnostic);
        }
    }
}

//! Implementations that do what the documents demand in another way than the reference controller: each changes something
//! that no document fixes. A case that finds a deviation demands too much.
//!
//! `content`: other content of objects; `timing`: other times and orders of writes.

mod content;
mod timing;

use baton_cluster::clock::Clock;
use baton_core::case::model::Case;

use crate::{
    fault::Fault,
    mutant::Mutant,
    verdict::{self, Trial},
};

/// An implementation that conforms in another way.
#[derive(Debug, Clone, Copy)]
pub struct Allowed {
    /// Its name.
    pub name: &'static str,
    /// Difference from the reference controller.
    pub differs: &'static str,
    /// Cases that it does not run, because the difference is what they are about.
    pub without: &'static [&'static str],
    /// Changes the requests of the reference controller; called for each start of it.
    pub fault: fn(&Clock) -> Fault,
}

/// Returns all of them.
pub fn all() -> Vec<Allowed> {
    let mut all = content::all();
    all.extend(timing::all());
    all
}

/// Runs cases with one of these implementations; returns the deviations, and the runs without a result.
pub fn try_out(trial: &Trial, it: &Allowed, cases: &[&Case]) -> Vec<String> {
    let mutant = Mutant {
        name: it.name,
        breaks: "",
        defect: it.differs,
        fault: it.fault,
    };
    let is_allowed = |case: &&&Case| !it.without.contains(&case.id.as_str());
    let cases: Vec<&Case> = cases.iter().filter(is_allowed).copied().collect();
    let blamed = verdict::each(&cases, |case| trial.blamed(&mutant, case));
    let found = cases.iter().zip(blamed).filter(|(_, blamed)| !blamed.is_empty());
    found
        .map(|(case, blamed)| format!("{}: {}", case.id, blamed.join("\n")))
        .collect()
}

/// The cases of a share: every case belongs to the share of one implementation.
pub fn share<'a>(cases: &[&'a Case], number: usize, of: usize) -> Vec<&'a Case> {
    cases.iter().skip(number).step_by(of).copied().collect()
}

//! The mutants, by area.

mod accepted;
mod application;
mod clearing;
mod dependencies;
mod disturbed;
mod drain;
mod edits;
mod flink;
mod gates;
mod interpretation;
mod invariants;
mod leader;
mod metrics;
mod moves;
mod policy;
mod prefer;
mod preservation;
mod purge;
mod queue;
mod rates;
mod recovery;
mod tainting;
mod taints;
mod validation;
mod writers;

use crate::mutant::Mutant;

/// All of them, in the order of their areas.
pub fn all() -> Vec<Mutant> {
    let areas = [
        policy::mutants(),
        preservation::mutants(),
        recovery::mutants(),
        purge::mutants(),
        clearing::mutants(),
        taints::mutants(),
        prefer::mutants(),
        tainting::mutants(),
        queue::mutants(),
        rates::mutants(),
        metrics::mutants(),
        validation::mutants(),
        application::mutants(),
        gates::mutants(),
        dependencies::mutants(),
        drain::mutants(),
        interpretation::mutants(),
        leader::mutants(),
        moves::mutants(),
        flink::mutants(),
        writers::mutants(),
        edits::mutants(),
        disturbed::mutants(),
        accepted::mutants(),
    ];
    let mut mutants: Vec<Mutant> = areas.into_iter().flatten().collect();
    mutants.extend(invariants::mutants(&mutants));
    mutants
}

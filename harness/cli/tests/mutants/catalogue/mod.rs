//! The mutants, by area.

mod flink;
mod gates;
mod policy;
mod preservation;
mod purge;
mod recovery;
mod taints;
mod writers;

use crate::mutant::Mutant;

/// All of them, in the order of their areas.
pub fn all() -> Vec<Mutant> {
    let areas = [
        policy::mutants(),
        preservation::mutants(),
        recovery::mutants(),
        purge::mutants(),
        taints::mutants(),
        gates::mutants(),
        flink::mutants(),
        writers::mutants(),
    ];
    areas.into_iter().flatten().collect()
}

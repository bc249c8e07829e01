//! Mutants that appear only after faults of reads: lists from a cache that lags, and reads that are refused.

use baton_core::case::model::MoveFault;

use super::Explored;
use crate::{
    fault::{Fault, Of},
    mutant::Mutant,
    pieces::remove,
};

/// Returns all of them.
pub fn all() -> Vec<Explored> {
    vec![
        Explored {
            mutant: Mutant {
                name: "stale-binding-is-written",
                breaks: "REC-01",
                defect: "after a restart, bindings come from a cache that may lag, and are written without a resource version",
                fault: |_| {
                    Fault::none()
                        .of_any_age(Of::Bindings)
                        .written(Of::Bindings, |body| remove(body, "/metadata", "resourceVersion"))
                },
            },
            case: "statefulset-directly",
            faults: &[MoveFault::StaleRestart],
        },
        Explored {
            mutant: Mutant {
                name: "refused-read-is-absence",
                breaks: "PRG-03",
                defect: "a copy counts as gone if the read after its deletion was answered with 503",
                fault: |_| Fault::none().refused_is_absent(Of::Copies),
            },
            case: "held-by-finalizer",
            faults: &[MoveFault::RefuseReads],
        },
    ]
}

//! Mutants that appear only after two faults: neither of the two shows them alone.

use baton_core::case::model::MoveFault;

use super::{Explored, defects::lose_labels};
use crate::{
    fault::{Fault, Of},
    mutant::Mutant,
    pieces::{Memory, list, tasks},
};

/// Returns all of them.
pub fn all() -> Vec<Explored> {
    vec![Explored {
        mutant: Mutant {
            name: "restart-and-refusal-lose-labels",
            breaks: "REC-01",
            defect: "after a restart, Works are written without labels once the control plane has refused one",
            fault: |_| restart_and_refusal_lose_labels(),
        },
        case: "statefulset-directly",
        faults: &[MoveFault::CrashAfter, MoveFault::LoseRequest],
    }]
}

fn restart_and_refusal_lose_labels() -> Fault {
    #[derive(Default)]
    struct Seen {
        /// The first binding that this process read was made before it started; `None` if it read none.
        has_restarted: Option<bool>,
        has_refusal: bool,
    }
    let seen: Memory<Seen> = Memory::new();
    let (reads, answers) = (seen.clone(), seen.clone());
    Fault::none()
        .read(Of::Bindings, move |binding| {
            let is_scheduled = list(binding, "/spec/clusters").next().is_some() || tasks(binding).next().is_some();
            reads.get().has_restarted.get_or_insert(is_scheduled);
        })
        .after(Of::Works, move |call, answer, _| {
            answers.get().has_refusal |= call.is_write() && answer["code"] == 503;
            Box::pin(std::future::ready(()))
        })
        .written(Of::Works, move |body| {
            let seen = seen.get();
            if seen.has_refusal && seen.has_restarted == Some(true) {
                lose_labels(body);
            }
        })
}

//! Drains.

use crate::{
    catalogue::tainting::taints_deleted,
    fault::{Fault, Of},
    mutant::Mutant,
    pieces::{remove, tasks, text},
};

pub fn mutants() -> Vec<Mutant> {
    vec![
        Mutant {
            name: "drain-forgets-cluster-bindings",
            breaks: "DRN-01",
            defect: "what has no namespace stays on a drained cluster",
            fault: |_| {
                Fault::none().skipped(Of::Bindings, |call| {
                    let drained = tasks(&mut call.body.clone()).any(|task| text(task, "/reason") == "Drained");
                    call.at.plural == "clusterresourcebindings" && drained
                })
            },
        },
        Mutant {
            name: "unjoin-taints-what-was-drained",
            breaks: "DRN-03",
            defect: "a drained cluster that is being deleted gets a NoExecute taint",
            fault: |_| taints_deleted(|cluster| cluster["metadata"]["annotations"]["baton.dev/drain"].is_string()),
        },
        Mutant {
            name: "deletion-preserves-nothing",
            breaks: "DRN-02",
            defect: "preserveResourcesOnDeletion is overlooked",
            fault: |_| {
                Fault::none().read(Of::Works, |work| {
                    remove(work, "/spec", "preserveResourcesOnDeletion");
                })
            },
        },
    ]
}

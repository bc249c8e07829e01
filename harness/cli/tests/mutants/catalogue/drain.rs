//! Drains.

use crate::{
    catalogue::tainting::taints_deleted,
    fault::{Fault, Of},
    mutant::Mutant,
    pieces::{Memory, remove, tasks, text},
};

pub fn mutants() -> Vec<Mutant> {
    vec![
        Mutant {
            name: "drain-asks-the-gate",
            breaks: "DRN-01",
            defect: "without the gate Failover a drain moves nothing",
            fault: |_| {
                let off: Memory<bool> = Memory::new();
                let is_off = off.clone();
                Fault::none()
                    .setup(move |setup| *off.get() = setup.feature_gates.get("Failover") != Some(&true))
                    .read(Of::Clusters, move |cluster| {
                        if *is_off.get() {
                            remove(cluster, "/metadata/annotations", "baton.dev/drain");
                        }
                    })
            },
        },
        Mutant {
            name: "drain-loses-state",
            breaks: "DRN-01",
            defect: "what a drain moves arrives without its state",
            fault: |_| {
                Fault::none().written(Of::Bindings, |binding| {
                    for task in tasks(binding).filter(|task| text(task, "/reason") == "Drained") {
                        remove(task, "", "preservedLabelState");
                    }
                })
            },
        },
        Mutant {
            name: "drain-reports-too-early",
            breaks: "DRN-01",
            defect: "the command says that the cluster is empty as soon as it has asked for that",
            fault: |_| {
                Fault::none()
                    .args(|args| {
                        let value = args.iter().position(|arg| arg == "--timeout").map(|at| at + 1);
                        if let Some(value) = value.and_then(|at| args.get_mut(at)) {
                            "0s".clone_into(value);
                        }
                    })
                    .ends(|end| {
                        end.exit = Some(0);
                        end.said = vec!["evicted 0 of 2".to_owned(), "evicted 2 of 2".to_owned()];
                    })
            },
        },
        Mutant {
            name: "drain-never-fails",
            breaks: "DRN-01",
            defect: "the command says that it has succeeded although something is left on the cluster",
            fault: |_| Fault::none().ends(|end| end.exit = Some(0)),
        },
        Mutant {
            name: "unjoin-taints-what-was-drained",
            breaks: "DRN-01",
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

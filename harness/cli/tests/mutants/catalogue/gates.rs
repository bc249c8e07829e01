//! Gates and options.

use baton_core::case::model::ControllerSetup;

use crate::{
    fault::{Fault, Of},
    mutant::Mutant,
    pieces::{remove, tasks, text},
};

pub fn mutants() -> Vec<Mutant> {
    let mut mutants = effects();
    mutants.extend(start_up());
    mutants
}

fn effects() -> Vec<Mutant> {
    vec![
        Mutant {
            name: "failover-gate-ignored",
            breaks: "GAT-01",
            defect: "the gate Failover is off, and workloads are moved all the same",
            fault: |_| Fault::none().setup(|setup| gate(setup, "Failover", true)),
        },
        Mutant {
            name: "failover-gate-taints",
            breaks: "GAT-06",
            defect: "the gate Failover is off, and policies taint clusters all the same",
            fault: |_| Fault::none().setup(|setup| gate(setup, "Failover", true)),
        },
        Mutant {
            name: "injection-gate-ignored",
            breaks: "GAT-02",
            defect: "the gate StatefulFailoverInjection is off, and state is preserved and injected all the same",
            fault: |_| Fault::none().setup(|setup| gate(setup, "StatefulFailoverInjection", true)),
        },
        Mutant {
            name: "injection-gate-stops-failover",
            breaks: "GAT-02",
            defect: "without the gate StatefulFailoverInjection there is no failover at all",
            fault: |_| {
                Fault::none().setup(|setup| {
                    let on = setup.feature_gates.get("StatefulFailoverInjection") == Some(&true);
                    if !on {
                        gate(setup, "Failover", false);
                    }
                })
            },
        },
        Mutant {
            name: "injection-gate-of-clusters-alone",
            breaks: "GAT-03",
            defect: "the gate StatefulFailoverInjection has no say over application failover",
            fault: |_| {
                Fault::none()
                    .setup(|setup| gate(setup, "StatefulFailoverInjection", true))
                    .written(Of::Bindings, |binding| {
                        for task in tasks(binding).filter(|task| text(task, "/reason") == "TaintUntolerated") {
                            remove(task, "", "preservedLabelState");
                        }
                    })
            },
        },
    ]
}

fn start_up() -> Vec<Mutant> {
    vec![
        Mutant {
            name: "deprecated-gate-in-silence",
            breaks: "GAT-04",
            defect: "the gate GracefulEviction is accepted without a warning",
            fault: |_| {
                Fault::none().setup(|setup| {
                    setup.feature_gates.remove("GracefulEviction");
                })
            },
        },
        Mutant {
            name: "unknown-gate-accepted",
            breaks: "GAT-05",
            defect: "a gate that is misspelt is overlooked",
            fault: |_| {
                Fault::none().setup(|setup| {
                    let known = ["Failover", "StatefulFailoverInjection", "GracefulEviction"];
                    setup.feature_gates.retain(|name, _| known.contains(&name.as_str()));
                })
            },
        },
        Mutant {
            name: "bad-option-falls-back",
            breaks: "GAT-05",
            defect: "an option's value that makes no sense is taken for the default",
            fault: |_| Fault::none().setup(|setup| setup.options.clear()),
        },
    ]
}

fn gate(setup: &mut ControllerSetup, name: &str, on: bool) {
    setup.feature_gates.insert(name.to_owned(), on);
}

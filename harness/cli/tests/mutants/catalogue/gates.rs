//! Gates and options.

use baton_core::case::model::ControllerSetup;

use crate::{fault::Fault, mutant::Mutant};

pub fn mutants() -> Vec<Mutant> {
    vec![
        Mutant {
            name: "failover-gate-ignored",
            breaks: "GAT-01",
            defect: "the gate Failover is off, and workloads are moved all the same",
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
    ]
}

fn gate(setup: &mut ControllerSetup, name: &str, on: bool) {
    setup.feature_gates.insert(name.to_owned(), on);
}

//! Several instances of the controller.

use serde_json::json;

use crate::{
    fault::{Fault, Of},
    mutant::Mutant,
};

pub fn mutants() -> Vec<Mutant> {
    vec![
        Mutant {
            name: "two-leaders",
            breaks: "EVQ-07",
            defect: "every instance takes itself for the leader",
            fault: |_| {
                Fault::none().setup(|setup| {
                    setup.options.remove("leader-elect");
                })
            },
        },
        Mutant {
            name: "standby-never-leads",
            breaks: "EVQ-07",
            defect: "an instance waits for a day before it takes over the Lease of one that is gone",
            fault: |_| {
                Fault::none().written(Of::Leases, |lease| {
                    if let Some(lasts) = lease.pointer_mut("/spec/leaseDurationSeconds") {
                        *lasts = json!(86_400);
                    }
                })
            },
        },
    ]
}

//! Scripts that say whether an object is healthy.

use serde_json::json;

use crate::{
    fault::{Fault, Of},
    mutant::Mutant,
    pieces::list,
};

pub fn mutants() -> Vec<Mutant> {
    vec![
        Mutant {
            name: "script-ignored",
            breaks: "APP-10",
            defect: "the built-in rule of a kind counts, whatever a script says",
            fault: |_| Fault::none().hidden(Of::Customizations, |_, _| true),
        },
        Mutant {
            name: "script-error-is-unhealthy",
            breaks: "APP-10",
            defect: "an object is unhealthy if the script of its kind fails",
            fault: |_| {
                Fault::none().read(Of::Works, |work| {
                    for seen in list(work, "/status/manifestStatuses").filter(|seen| seen["health"] == "Unknown") {
                        seen["health"] = json!("Unhealthy");
                    }
                })
            },
        },
    ]
}

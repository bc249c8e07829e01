//! Scripts that say whether an object is healthy.

use serde_json::json;

use crate::{
    fault::{Fault, Of},
    mutant::Mutant,
    pieces::remove,
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
            name: "script-of-the-proposal-ignored",
            breaks: "APP-21",
            defect: "the place that the proposal gives a script is not looked at",
            fault: |_| {
                Fault::none().read(Of::Customizations, |customization| {
                    remove(customization, "/spec", "healthInterpretation");
                })
            },
        },
        Mutant {
            name: "script-error-is-unhealthy",
            breaks: "APP-18",
            defect: "an object is unhealthy if the script of its kind fails",
            fault: |_| {
                Fault::none().read(Of::Customizations, |customization| {
                    let script = customization.pointer_mut("/spec/customizations/healthInterpretation/luaScript");
                    if let Some(script) =
                        script.filter(|script| script.as_str().is_some_and(|it| it.contains("no.such")))
                    {
                        *script = json!("function InterpretHealth(observedObj) return false end");
                    }
                })
            },
        },
    ]
}

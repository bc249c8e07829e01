//! Tasks that are forgotten.

use serde_json::{Value, json};

use super::policy::pretended;
use crate::{
    fault::{Fault, Of},
    mutant::Mutant,
};

pub fn mutants() -> Vec<Mutant> {
    vec![
        Mutant {
            name: "moves-without-a-task",
            breaks: "TNT-11",
            defect: "a failed cluster leaves the scheduling result, and no task says so",
            fault: |_| without_task(Fault::none()),
        },
        Mutant {
            name: "old-copy-stays-without-a-task",
            breaks: "PRG-03",
            defect: "no task is written, the old copy stays, and a new one is created",
            fault: |_| without_task(pretended(Of::Copies)),
        },
        Mutant {
            name: "task-cleared-with-the-result",
            breaks: "GRE-04",
            defect: "the task is cleared as soon as the result names another cluster, before a copy runs there",
            fault: |_| {
                Fault::none().written(Of::Bindings, |body| {
                    let names = body.pointer("/spec/clusters").and_then(Value::as_array);
                    if names.is_some_and(|names| !names.is_empty()) {
                        body["spec"]["gracefulEvictionTasks"] = Value::Null;
                    }
                })
            },
        },
    ]
}

/// No task is ever written.
fn without_task(fault: Fault) -> Fault {
    fault.written(Of::Bindings, |body| {
        if body.pointer("/spec/gracefulEvictionTasks").is_some_and(Value::is_array) {
            body["spec"]["gracefulEvictionTasks"] = json!([]);
        }
    })
}

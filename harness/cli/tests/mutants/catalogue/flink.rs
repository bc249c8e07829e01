//! The chain by which a Flink job finds its last checkpoint.

use serde_json::{Map, Value, json};

use super::recovery::{labels_added_later, labels_under_gracefully};
use crate::{
    fault::Fault,
    mutant::Mutant,
    pieces::{LastTask, labelled},
    wire::Call,
};

/// The label that the rules of the flink cases look for.
const JOB_ID: &str = "failover.karmada.io/failover-jobid";

pub fn mutants() -> Vec<Mutant> {
    vec![
        Mutant {
            name: "job-id-lost",
            breaks: "FLK-01",
            defect: "state of FlinkDeployments is kept in the task and never reaches the new copy",
            fault: |_| of_flink(|_, last, labels| labels.retain(|key, _| !last.state().contains_key(key))),
        },
        Mutant {
            name: "job-id-too-late",
            breaks: "FLK-02",
            defect: "the label comes with an update, when the admission policy has already let the object pass",
            fault: |_| labels_added_later(),
        },
        Mutant {
            name: "job-id-of-nobody",
            breaks: "FLK-03",
            defect: "the label names another job, which has no checkpoint to resume from",
            fault: |_| {
                of_flink(|_, last, labels| {
                    for key in last
                        .state()
                        .keys()
                        .filter(|key| labels.contains_key(*key))
                        .cloned()
                        .collect::<Vec<_>>()
                    {
                        labels.insert(key, json!("00000000000000000000000000000000"));
                    }
                })
            },
        },
        Mutant {
            name: "job-id-from-the-start",
            breaks: "FLK-04",
            defect: "a job that never failed over is given a label, and looks for a checkpoint that is not there",
            fault: |_| {
                of_flink(|_, last, labels| {
                    if last.task.is_null() {
                        labels.insert(JOB_ID.to_owned(), json!("00000000000000000000000000000000"));
                    }
                })
            },
        },
        Mutant {
            name: "job-id-under-gracefully",
            breaks: "FLK-05",
            defect: "a job that runs twice for a while is given the label, and begins where the other one still writes",
            fault: |_| labels_under_gracefully(),
        },
    ]
}

fn of_flink(edit: fn(&Call, &LastTask, &mut Map<String, Value>)) -> Fault {
    labelled(move |call, last, labels| {
        if call.at.plural == "flinkdeployments" {
            edit(call, last, labels);
        }
    })
}

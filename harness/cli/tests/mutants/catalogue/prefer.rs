//! Taints that move only what may be moved.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::taints::effect_read_as;
use crate::{
    fault::{Fault, Of},
    mutant::Mutant,
    pieces::{Memory, list, remove, tasks, text},
};

pub fn mutants() -> Vec<Mutant> {
    vec![
        Mutant {
            name: "prefer-evicts-everything",
            breaks: "PNE-01",
            defect: "a PreferNoExecute taint moves workloads whose policy says nothing of failover",
            fault: |_| effect_read_as("PreferNoExecute", "NoExecute"),
        },
        Mutant {
            name: "prefer-evicts-nothing",
            breaks: "PNE-02",
            defect: "a PreferNoExecute taint is taken for one that only new workloads avoid",
            fault: |_| effect_read_as("PreferNoExecute", "NoSchedule"),
        },
        Mutant {
            name: "prefer-attracts",
            breaks: "PNE-05",
            defect: "new workloads that would leave at once are put on a cluster with a PreferNoExecute taint",
            fault: |_| {
                Fault::none().read(Of::Clusters, |cluster| {
                    if let Some(taints) = cluster.pointer_mut("/spec/taints").and_then(Value::as_array_mut) {
                        taints.retain(|taint| taint["effect"] != "PreferNoExecute");
                    }
                })
            },
        },
        Mutant {
            name: "prefer-evicts-at-once",
            breaks: "PNE-02",
            defect: "a workload does not wait its 300 seconds if its policy does not say how long",
            fault: |_| {
                of_policy(|_, cluster| {
                    // Fields that policies leave out have their defaults.
                    if cluster.get("tolerationSeconds").is_none_or(|it| it == 300) {
                        cluster["tolerationSeconds"] = json!(0);
                    }
                })
            },
        },
        Mutant {
            name: "prefer-tolerated-like-others",
            breaks: "PNE-03",
            defect: "clusterTolerations hold an eviction by PreferNoExecute back",
            fault: |_| {
                of_policy(|placement, cluster| {
                    let tolerated = placement.pointer("/clusterTolerations/0");
                    let seconds = tolerated.map(|it| it.get("tolerationSeconds").cloned().unwrap_or(json!(1_000_000)));
                    if let Some(seconds) = seconds {
                        cluster["tolerationSeconds"] = seconds;
                    }
                })
            },
        },
        Mutant {
            name: "prefer-without-state",
            breaks: "PNE-04",
            defect: "nothing is preserved when a PreferNoExecute taint is what moves a workload",
            fault: |_| of_preferred(|task| remove(task, "", "preservedLabelState")),
        },
        Mutant {
            name: "prefer-at-once-without-mode",
            breaks: "PNE-04",
            defect: "the task has no purge mode if the workload tolerates the taint for 0 seconds",
            fault: |_| of_preferred(|task| remove(task, "", "purgeMode")),
        },
    ]
}

/// Changes what policies say of failover from clusters, knowing where they place.
fn of_policy(edit: fn(&Value, &mut Value)) -> Fault {
    Fault::none().read(Of::Policies, move |policy| {
        let placement = policy.pointer("/spec/placement").cloned().unwrap_or_default();
        if let Some(cluster) = policy.pointer_mut("/spec/failover/cluster") {
            edit(&placement, cluster);
        }
    })
}

/// Changes the tasks that leave a cluster with a `PreferNoExecute` taint.
fn of_preferred(edit: fn(&mut Value)) -> Fault {
    let preferred: Memory<BTreeSet<String>> = Memory::new();
    let seen = preferred.clone();
    Fault::none()
        .read(Of::Clusters, move |cluster| {
            if list(cluster, "/spec/taints").any(|taint| taint["effect"] == "PreferNoExecute") {
                seen.get().insert(text(cluster, "/metadata/name").to_owned());
            }
        })
        .written(Of::Bindings, move |binding| {
            let preferred = preferred.get();
            tasks(binding)
                .filter(|task| preferred.contains(text(task, "/fromCluster")))
                .for_each(edit);
        })
}

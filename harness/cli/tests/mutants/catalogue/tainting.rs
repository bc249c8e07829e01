//! Policies that taint clusters.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::{
    fault::{Fault, Of},
    mutant::Mutant,
    pieces::{Memory, list, merge, remove, text},
};

pub fn mutants() -> Vec<Mutant> {
    let mut mutants = windows();
    mutants.extend(conditions_and_targets());
    mutants
}

fn windows() -> Vec<Mutant> {
    vec![
        Mutant {
            name: "taints-at-once",
            breaks: "CTP-01",
            defect: "a policy taints as soon as its conditions match",
            fault: |_| of_taints(|taint| taint["addOnMatchSeconds"] = json!(1)),
        },
        Mutant {
            name: "taints-late",
            breaks: "CTP-01",
            defect: "a policy taints ten seconds late",
            fault: |_| {
                of_taints(|taint| {
                    let seconds = taint["addOnMatchSeconds"].as_u64().unwrap_or(300);
                    taint["addOnMatchSeconds"] = json!(seconds + 10);
                })
            },
        },
        Mutant {
            name: "never-untaints",
            breaks: "CTP-02",
            defect: "the taints of a policy stay when its conditions match no longer",
            fault: |_| of_taints(|taint| taint["removeOnMismatchSeconds"] = json!(1_000_000)),
        },
        Mutant {
            name: "untaints-at-once",
            breaks: "CTP-02",
            defect: "the taints of a policy go as soon as its conditions match no longer",
            fault: |_| of_taints(|taint| taint["removeOnMismatchSeconds"] = json!(1)),
        },
        Mutant {
            name: "default-window-wrong",
            breaks: "CTP-03",
            defect: "a policy that does not say how long waits for a minute",
            fault: |_| {
                of_taints(|taint| {
                    if taint["addOnMatchSeconds"].as_u64().is_none_or(|seconds| seconds == 300) {
                        taint["addOnMatchSeconds"] = json!(60);
                    }
                })
            },
        },
        Mutant {
            name: "edit-not-noticed",
            breaks: "CTP-11",
            defect: "a policy stays as it was first read",
            fault: |_| {
                let first: Memory<BTreeMap<String, Value>> = Memory::new();
                Fault::none().read(Of::TaintPolicies, move |policy| {
                    let uid = text(policy, "/metadata/uid").to_owned();
                    let spec = policy["spec"].clone();
                    policy["spec"] = first.get().entry(uid).or_insert(spec).clone();
                })
            },
        },
    ]
}

fn conditions_and_targets() -> Vec<Mutant> {
    vec![
        Mutant {
            name: "any-condition-is-enough",
            breaks: "CTP-04",
            defect: "of several conditions only the first is looked at",
            fault: |_| {
                Fault::none().read(Of::TaintPolicies, |policy| {
                    if let Some(conditions) = policy
                        .pointer_mut("/spec/matchConditions")
                        .and_then(Value::as_array_mut)
                    {
                        conditions.truncate(1);
                    }
                })
            },
        },
        Mutant {
            name: "not-in-read-as-in",
            breaks: "CTP-04",
            defect: "the operator NotIn is taken for In",
            fault: |_| {
                Fault::none().read(Of::TaintPolicies, |policy| {
                    for condition in list(policy, "/spec/matchConditions") {
                        condition["operator"] = json!("In");
                    }
                })
            },
        },
        Mutant {
            name: "every-cluster-is-target",
            breaks: "CTP-05",
            defect: "a policy taints clusters that it does not target",
            fault: |_| Fault::none().read(Of::TaintPolicies, |policy| remove(policy, "/spec", "targetCluster")),
        },
        Mutant {
            name: "excluded-clusters-too",
            breaks: "CTP-14",
            defect: "a policy taints clusters that it excludes",
            fault: |_| of_target("exclude"),
        },
        Mutant {
            name: "writes-all-taints",
            breaks: "CTP-07",
            defect: "a policy that taints a cluster takes the taints of others away",
            fault: |_| {
                Fault::none().written(Of::Clusters, |cluster| {
                    if let Some(taints) = cluster.pointer_mut("/spec/taints").and_then(Value::as_array_mut)
                        && taints.len() > 1
                    {
                        taints.drain(..1);
                    }
                })
            },
        },
        Mutant {
            name: "taints-by-itself",
            breaks: "CTP-08",
            defect: "a cluster that turns NotReady gets a NoExecute taint that no policy has",
            fault: |_| taints_by_itself(),
        },
        Mutant {
            name: "released-form-unknown",
            breaks: "CTP-09",
            defect: "the released form of a policy is not understood",
            fault: |_| Fault::none().read(Of::TaintPolicies, |policy| remove(policy, "/spec", "taints")),
        },
    ]
}

/// Takes something out of what policies say of their targets.
fn of_target(member: &'static str) -> Fault {
    Fault::none().read(Of::TaintPolicies, move |policy| {
        remove(policy, "/spec/targetCluster", member);
    })
}

/// A `NotReady` that the controller writes brings a taint with it.
fn taints_by_itself() -> Fault {
    Fault::none().after(Of::Clusters, |call, answer, hands| {
        let client = hands["control"].clone();
        let path = call.at.path.trim_end_matches("/status").to_owned();
        let conditions = answer.pointer("/status/conditions").and_then(Value::as_array);
        let unready = |it: &Value| it["type"] == "Ready" && it["status"] != "True";
        let turns = call.is_write() && conditions.is_some_and(|all| all.iter().any(unready));
        let taint = json!({"key": "cluster.karmada.io/not-ready", "effect": "NoExecute"});
        Box::pin(async move {
            if turns {
                merge(&client, path, &json!({"spec": {"taints": [taint]}})).await;
            }
        })
    })
}

/// Changes what policies say of the taints that they add.
fn of_taints(edit: fn(&mut Value)) -> Fault {
    Fault::none().read(Of::TaintPolicies, move |policy| {
        list(policy, "/spec/taintsToAdd")
            .filter(|taint| taint.is_object())
            .for_each(edit);
    })
}

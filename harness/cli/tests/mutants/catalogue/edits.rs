//! Edits of users after a failure, and failures that come together.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::{
    fault::{Fault, Of},
    mutant::Mutant,
    pieces::{Memory, list, merge, tasks, text},
};

pub fn mutants() -> Vec<Mutant> {
    let mut mutants = claims();
    mutants.extend(moved());
    mutants.extend(at_once());
    mutants
}

/// Policies that are edited after a cluster failed, so that workloads gain or lose the claim to leave it.
fn claims() -> Vec<Mutant> {
    vec![
        Mutant {
            name: "toleration-follows-policies",
            breaks: "EVQ-05",
            defect: "a workload that tolerates a failure for a time stays if its policy tolerates it for ever by then",
            fault: |_| {
                stays_after(|before, now| {
                    let tolerated = |binding: &Value| binding.pointer("/spec/placement/clusterTolerations/0").cloned();
                    let for_a_time = |it: &Value| it["tolerationSeconds"].as_i64().is_some_and(|it| it >= 60);
                    tolerated(before).is_some_and(|it| for_a_time(&it))
                        && tolerated(now).is_some_and(|it| it.get("tolerationSeconds").is_none())
                })
            },
        },
        Mutant {
            name: "failover-follows-policies",
            breaks: "EVQ-05",
            defect: "a workload that a PreferNoExecute taint affected stays if its policy has no failover by then",
            fault: |_| {
                stays_after(|before, now| {
                    let has_failover = |binding: &Value| binding.pointer("/spec/failover/cluster").is_some();
                    has_failover(before) && !has_failover(now)
                })
            },
        },
        Mutant {
            name: "gains-a-time",
            breaks: "EVQ-06",
            defect: "a workload that tolerated a failure for ever leaves when its policy tolerates it for a time",
            fault: |_| {
                Fault::none().read(Of::Policies, |policy| {
                    for toleration in list(policy, "/spec/placement/clusterTolerations") {
                        if toleration.get("tolerationSeconds").is_none() {
                            toleration["tolerationSeconds"] = json!(1_000_000);
                        }
                    }
                })
            },
        },
        Mutant {
            name: "gains-a-failover",
            breaks: "EVQ-06",
            defect: "a workload leaves because of an earlier PreferNoExecute taint when its policy gets failover.cluster",
            fault: |_| {
                Fault::none().read(Of::Policies, |policy| {
                    if policy.pointer("/spec/failover/cluster").is_none() {
                        policy["spec"]["failover"]["cluster"] = json!({"tolerationSeconds": 1_000_000});
                    }
                })
            },
        },
    ]
}

/// Workloads that move because of another change.
fn moved() -> Vec<Mutant> {
    vec![
        Mutant {
            name: "scaled-away",
            breaks: "TNT-02",
            defect: "a workload on a cluster with a NoSchedule taint is scheduled anew when it is scaled",
            fault: |_| moved_when(|patch| patch.pointer("/spec/replicas").is_some()),
        },
        Mutant {
            name: "edited-away",
            breaks: "TNT-02",
            defect: "a workload on a cluster with a NoSchedule taint is scheduled anew when its policy is edited",
            fault: |_| moved_when(|patch| patch.pointer("/spec/placement").is_some()),
        },
        Mutant {
            name: "scaled-away-with-the-gate-off",
            breaks: "GAT-01",
            defect: "a workload on a tainted cluster is scheduled anew when it is scaled, though the gate is off",
            fault: |_| moved_when(|patch| patch.pointer("/spec/replicas").is_some()),
        },
    ]
}

fn at_once() -> Vec<Mutant> {
    vec![
        Mutant {
            name: "two-kinds-two-tasks",
            breaks: "PRG-10",
            defect: "a workload that is unhealthy on a failed cluster has two tasks for it",
            fault: |_| two_kinds_two_tasks(),
        },
        Mutant {
            name: "one-new-copy-is-enough",
            breaks: "GRE-01",
            defect: "of several new copies one that is healthy ends the migration",
            fault: |_| one_new_copy_is_enough(),
        },
    ]
}

/// No task is written for a binding once it has changed like this.
fn stays_after(lost: fn(&Value, &Value) -> bool) -> Fault {
    let first: Memory<BTreeMap<String, Value>> = Memory::new();
    let staying: Memory<BTreeSet<String>> = Memory::new();
    let seen = staying.clone();
    Fault::none()
        .read(Of::Bindings, move |binding| {
            let name = text(binding, "/metadata/name").to_owned();
            let mut first = first.get();
            if lost(first.entry(name.clone()).or_insert_with(|| binding.clone()), binding) {
                seen.get().insert(name);
            }
        })
        .skipped(Of::Bindings, move |call| {
            tasks(&mut call.body.clone()).next().is_some() && staying.get().contains(&call.at.name)
        })
}

/// A workload on a tainted cluster goes to another one when something like this is written to its binding.
fn moved_when(is_reason: fn(&Value) -> bool) -> Fault {
    let tainted: Memory<BTreeMap<String, bool>> = Memory::new();
    let seen = tainted.clone();
    Fault::none()
        .read(Of::Clusters, move |cluster| {
            let name = text(cluster, "/metadata/name").to_owned();
            let is_tainted = list(cluster, "/spec/taints").next().is_some();
            seen.get().insert(name, is_tainted);
        })
        .after(Of::Bindings, move |call, answer, hands| {
            let present = text(answer, "/spec/clusters/0/name").to_owned();
            let clusters = tainted.get();
            let free = clusters.iter().find(|(_, is_tainted)| !**is_tainted);
            let is_tainted = clusters.get(&present).copied().unwrap_or_default();
            let other = free.filter(|_| is_tainted && is_reason(&call.body));
            let other = other.map(|(name, _)| json!({"spec": {"clusters": [{"name": name, "replicas": 2}]}}));
            let (control, path) = (hands["control"].clone(), call.at.path.clone());
            Box::pin(async move {
                if let Some(other) = other {
                    merge(&control, path, &other).await;
                }
            })
        })
}

fn two_kinds_two_tasks() -> Fault {
    let both: Memory<BTreeSet<String>> = Memory::new();
    let seen = both.clone();
    Fault::none()
        .read(Of::Bindings, move |binding| {
            let has = |kind: &str| binding.pointer(&format!("/spec/failover/{kind}")).is_some();
            if has("application") && has("cluster") {
                seen.get().insert(text(binding, "/metadata/name").to_owned());
            }
        })
        .written_at(Of::Bindings, move |call, body| {
            let list = body
                .pointer_mut("/spec/gracefulEvictionTasks")
                .and_then(Value::as_array_mut);
            let Some(list) = list.filter(|list| list.len() == 1 && both.get().contains(&call.at.name)) else {
                return;
            };
            let mut second = list[0].clone();
            second["reason"] = json!("ApplicationFailure");
            list.push(second);
        })
}

fn one_new_copy_is_enough() -> Fault {
    Fault::none().after(Of::Bindings, |call, answer, hands| {
        let chosen: Vec<String> = list(&mut answer.clone(), "/spec/clusters")
            .map(|it| text(it, "/name").to_owned())
            .collect();
        let has_tasks = tasks(&mut answer.clone()).next().is_some();
        let is_healthy = list(&mut answer.clone(), "/status/aggregatedStatus").any(|item| {
            text(item, "/health") == "Healthy" && chosen.iter().any(|name| *name == text(item, "/clusterName"))
        });
        let control = hands["control"].clone();
        let path = call.at.path.trim_end_matches("/status").to_owned();
        Box::pin(async move {
            if has_tasks && is_healthy {
                merge(&control, path, &json!({"spec": {"gracefulEvictionTasks": null}})).await;
            }
        })
    })
}

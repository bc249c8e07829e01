//! Policies that taint clusters.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::{
    fault::{Carried, Fault, Of},
    mutant::Mutant,
    pieces::{Memory, get, list, merge, remove, text},
};

pub fn mutants() -> Vec<Mutant> {
    let mut mutants = windows();
    mutants.extend(memory());
    mutants.extend(conditions_and_targets());
    mutants.extend(ownership());
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
    ]
}

fn memory() -> Vec<Mutant> {
    vec![
        Mutant {
            name: "short-recovery-overlooked",
            breaks: "CTP-06",
            defect: "a condition that is well again for a moment does not begin its window anew",
            fault: |_| first_recovery_overlooked(),
        },
        Mutant {
            name: "restart-restarts-the-windows",
            breaks: "CTP-16",
            defect: "a restart of the controller begins all windows anew",
            fault: |clock| {
                let began = json!(clock().to_string());
                Fault::none()
                    .read(Of::TaintPolicies, |policy| remove(policy, "/status", "windows"))
                    .read(Of::Clusters, move |cluster| {
                        for condition in list(cluster, "/status/conditions") {
                            if text(condition, "/lastTransitionTime") < began.as_str().unwrap_or_default() {
                                condition["lastTransitionTime"] = began.clone();
                            }
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
            name: "missing-condition-is-unknown",
            breaks: "CTP-10",
            defect: "a condition that a cluster does not have counts as Unknown, which NotIn matches",
            fault: |_| {
                Fault::none().read(Of::Clusters, |cluster| {
                    let missing = json!({"type": "NobodyHasIt", "status": "Unknown", "reason": "Missing",
                        "message": "", "lastTransitionTime": "2020-01-01T00:00:00Z"});
                    if let Some(conditions) = cluster.pointer_mut("/status/conditions").and_then(Value::as_array_mut) {
                        conditions.push(missing);
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
    ]
}

fn ownership() -> Vec<Mutant> {
    vec![
        Mutant {
            name: "takes-taints-for-its-own",
            breaks: "CTP-12",
            defect: "a policy removes a taint with its key and effect that another writer has added",
            fault: |_| taken_for_its_own(),
        },
        Mutant {
            name: "matches-so-it-is-its-own",
            breaks: "CTP-12",
            defect: "a policy that matches takes a taint with its key and effect for its own",
            fault: |_| its_own_once_it_matches(),
        },
        Mutant {
            name: "one-policy-a-taint",
            breaks: "CTP-15",
            defect: "of several policies with the same taint only the first counts",
            fault: |_| {
                let first: Memory<String> = Memory::new();
                Fault::none().hidden(Of::TaintPolicies, move |_, policy| {
                    let mut first = first.get();
                    if first.is_empty() {
                        text(policy, "/metadata/uid").clone_into(&mut first);
                    }
                    *first != text(policy, "/metadata/uid")
                })
            },
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
            name: "taints-what-is-deleted",
            breaks: "CTP-08",
            defect: "a cluster that is being deleted gets a NoExecute taint that no policy has",
            fault: |_| taints_deleted(|_| true),
        },
        Mutant {
            name: "released-form-unknown",
            breaks: "CTP-09",
            defect: "the released form of a policy is not understood",
            fault: |_| Fault::none().read(Of::TaintPolicies, |policy| remove(policy, "/spec", "taints")),
        },
    ]
}

/// The first time that a condition is well again, it is seen as it was before.
fn first_recovery_overlooked() -> Fault {
    // By condition: when it was well again, once it was not.
    let recovered: Memory<BTreeMap<String, String>> = Memory::new();
    Fault::none().read(Of::Clusters, move |cluster| {
        let uid = text(cluster, "/metadata/uid").to_owned();
        let mut recovered = recovered.get();
        for condition in list(cluster, "/status/conditions").filter(|it| it["type"] != "Ready") {
            let key = format!("{uid} {}", text(condition, "/type"));
            let since = text(condition, "/lastTransitionTime").to_owned();
            if text(condition, "/status") == "False" {
                recovered.entry(key).or_default();
                continue;
            }
            let first = recovered.get_mut(&key).map(|first| {
                if first.is_empty() {
                    first.clone_from(&since);
                }
                first.clone()
            });
            if first == Some(since) {
                condition["status"] = json!("False");
            }
        }
    })
}

/// A taint that is there counts as added by each policy that adds one like it.
fn taken_for_its_own() -> Fault {
    const LONG_AGO: &str = "2020-01-01T00:00:00Z";
    let there: Memory<BTreeMap<String, Vec<Value>>> = Memory::new();
    let seen = there.clone();
    Fault::none()
        .read(Of::Clusters, move |cluster| {
            let name = text(cluster, "/metadata/name").to_owned();
            let taints = list(cluster, "/spec/taints").map(|taint| {
                taint["timeAdded"] = json!(LONG_AGO);
                taint.clone()
            });
            let taints = taints.collect();
            seen.get().insert(name, taints);
        })
        .read(Of::TaintPolicies, move |policy| {
            let there = there.get();
            let added = there.iter().flat_map(|(cluster, taints)| {
                taints.iter().map(move |taint| {
                    json!({"cluster": cluster, "key": taint["key"], "effect": taint["effect"], "since": LONG_AGO})
                })
            });
            let added: Vec<Value> = added.collect();
            policy["status"] = json!({"taints": added});
        })
}

/// Taints of others count as a policy's own from the moment at which a condition is not true.
fn its_own_once_it_matches() -> Fault {
    const LONG_AGO: &str = "2020-01-01T00:00:00Z";
    let there: Memory<Vec<Value>> = Memory::new();
    let seen = there.clone();
    Fault::none()
        .read(Of::Clusters, move |cluster| {
            let name = text(cluster, "/metadata/name").to_owned();
            list(cluster, "/spec/taints").for_each(|taint| taint["timeAdded"] = json!(LONG_AGO));
            if !list(cluster, "/status/conditions").any(|condition| condition["status"] == "False") {
                return;
            }
            for taint in list(cluster, "/spec/taints") {
                let own = json!({"cluster": name, "key": taint["key"], "effect": taint["effect"], "since": LONG_AGO});
                let mut seen = seen.get();
                if !seen.contains(&own) {
                    seen.push(own);
                }
            }
        })
        .read(Of::TaintPolicies, move |policy| {
            policy["status"] = json!({"taints": *there.get()});
        })
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

/// A check of a member's readiness taints its Cluster, if the Cluster is being deleted.
pub(super) fn taints_deleted(which: fn(&Value) -> bool) -> Fault {
    Fault::none().before(Of::Probes, move |call, hands| {
        let client = hands["control"].clone();
        let path = format!("/apis/cluster.karmada.io/v1alpha1/clusters/{}", call.cluster);
        let taint = json!({"key": "cluster.karmada.io/terminating", "effect": "NoExecute"});
        Box::pin(async move {
            let cluster = get(&client, path.clone()).await;
            if cluster.pointer("/metadata/deletionTimestamp").is_some() && which(&cluster) {
                merge(&client, path, &json!({"spec": {"taints": [taint]}})).await;
            }
            Carried::On
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

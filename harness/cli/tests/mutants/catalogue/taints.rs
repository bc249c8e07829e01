//! Taints, tolerations, and where the workload goes.

use std::{collections::BTreeMap, time::Duration};

use serde_json::{Value, json};

use crate::{
    fault::{Carried, Fault, Of},
    mutant::Mutant,
    pieces::{Memory, Uids, list, map, on, remove, tasks, text, uid},
};

/// Duration of a turn in the queue at a rate of 0.01.
const TURN: Duration = Duration::from_secs(100);

pub fn mutants() -> Vec<Mutant> {
    let mut mutants = effects();
    mutants.extend(times());
    mutants.extend(tolerations_misread());
    mutants.extend(budget_and_place());
    mutants
}

fn effects() -> Vec<Mutant> {
    vec![
        Mutant {
            name: "taint-evicts-nothing",
            breaks: "TNT-01",
            defect: "a NoExecute taint moves nothing",
            fault: |_| effect_read_as("NoExecute", "NoSchedule"),
        },
        Mutant {
            name: "scheduled-onto-a-tainted-cluster",
            breaks: "TNT-01",
            defect: "new workloads are put onto a cluster with a NoExecute taint",
            fault: |_| scheduled_onto("NoExecute"),
        },
        Mutant {
            name: "no-schedule-evicts",
            breaks: "TNT-02",
            defect: "a NoSchedule taint evicts what runs on the cluster",
            fault: |_| effect_read_as("NoSchedule", "NoExecute"),
        },
        Mutant {
            name: "no-schedule-ignored",
            breaks: "TNT-02",
            defect: "new workloads are put onto a cluster with a NoSchedule taint",
            fault: |_| {
                Fault::none().read(Of::Clusters, |cluster| {
                    if let Some(taints) = cluster.pointer_mut("/spec/taints").and_then(Value::as_array_mut) {
                        taints.retain(|taint| taint["effect"] != "NoSchedule");
                    }
                })
            },
        },
    ]
}

#[expect(clippy::too_many_lines, reason = "a table")]
fn times() -> Vec<Mutant> {
    vec![
        Mutant {
            name: "toleration-seconds-ignored",
            breaks: "TNT-03",
            defect: "a toleration with seconds holds nothing back",
            fault: |_| tolerations(|toleration| toleration["tolerationSeconds"] = json!(0)),
        },
        Mutant {
            name: "toleration-never-ends",
            breaks: "TNT-03",
            defect: "a toleration with seconds tolerates for ever",
            fault: |_| tolerations(|toleration| remove(toleration, "", "tolerationSeconds")),
        },
        Mutant {
            name: "toleration-of-five-minutes",
            breaks: "TNT-03",
            defect: "a toleration without seconds is over after 300 seconds",
            fault: |_| {
                tolerations(|toleration| {
                    if toleration.get("tolerationSeconds").is_none() {
                        toleration["tolerationSeconds"] = json!(300);
                    }
                })
            },
        },
        Mutant {
            name: "late-by-half-a-minute",
            breaks: "TNT-03",
            defect: "an eviction comes thirty seconds after it was due",
            fault: |_| later_by(30),
        },
        Mutant {
            name: "late-by-twenty-seconds",
            breaks: "TNT-03",
            defect: "an eviction comes twenty seconds after it was due",
            fault: |_| later_by(20),
        },
        Mutant {
            name: "longest-toleration-counts",
            breaks: "TNT-04",
            defect: "of several tolerations that match, the longest counts",
            fault: |_| Fault::none().read(Of::Bindings, keep_longest),
        },
        Mutant {
            name: "evicted-although-the-taint-went",
            breaks: "TNT-05",
            defect: "a taint that was removed in time evicts all the same",
            fault: |_| taints_that_stay(),
        },
        Mutant {
            name: "restart-pauses-the-clock",
            breaks: "TNT-07",
            defect: "the time that the controller was away does not count as tolerated",
            fault: |clock| {
                // A life of the controller that begins after the taint came is one after a restart.
                let begun = clock();
                Fault::none().read(Of::Clusters, move |cluster| {
                    for taint in list(cluster, "/spec/taints") {
                        let added = text(taint, "/timeAdded").parse::<jiff::Timestamp>();
                        let Ok(added) = added else { continue };
                        if added < begun {
                            taint["timeAdded"] = json!((added + jiff::SignedDuration::from_secs(50)).to_string());
                        }
                    }
                })
            },
        },
        Mutant {
            name: "restart-resets-the-clock",
            breaks: "TNT-07",
            defect: "a restart of the controller begins the toleration anew",
            fault: |clock| {
                let clock = clock.clone();
                let seen: Memory<BTreeMap<String, Value>> = Memory::new();
                Fault::none().read(Of::Clusters, move |cluster| {
                    let uid = uid(cluster);
                    for taint in list(cluster, "/spec/taints") {
                        let key = format!("{uid} {}", text(taint, "/key"));
                        let now = || json!(clock().to_string());
                        let first = seen.get().entry(key).or_insert_with(now).clone();
                        taint["timeAdded"] = first;
                    }
                })
            },
        },
    ]
}

fn tolerations_misread() -> Vec<Mutant> {
    vec![
        Mutant {
            name: "tolerations-for-no-execute-alone",
            breaks: "TNT-09",
            defect: "a toleration does not count for NoSchedule taints",
            fault: |_| {
                Fault::none().read(Of::Policies, |policy| {
                    for toleration in list(policy, "/spec/placement/clusterTolerations") {
                        toleration["effect"] = json!("NoExecute");
                    }
                })
            },
        },
        Mutant {
            name: "equal-never-tolerates",
            breaks: "TNT-09",
            defect: "a toleration with the operator Equal, or without one, tolerates nothing",
            fault: |_| {
                tolerations(|toleration| {
                    if text(toleration, "/operator") != "Exists" {
                        toleration["key"] = json!("none");
                    }
                })
            },
        },
        Mutant {
            name: "equal-compares-keys",
            breaks: "TNT-09",
            defect: "operator Equal does not look at the value",
            fault: |_| tolerations(|toleration| toleration["operator"] = json!("Exists")),
        },
        Mutant {
            name: "effect-not-compared",
            breaks: "TNT-09",
            defect: "a toleration of another effect counts",
            fault: |_| tolerations(|toleration| remove(toleration, "", "effect")),
        },
        Mutant {
            name: "no-effect-means-none",
            breaks: "TNT-09",
            defect: "a toleration without effect tolerates no effect instead of every one",
            fault: |_| unless_there("effect", "NoSchedule"),
        },
        Mutant {
            name: "no-key-means-none",
            breaks: "TNT-09",
            defect: "a toleration without key tolerates no taint instead of every one",
            fault: |_| unless_there("key", "none"),
        },
        Mutant {
            name: "toleration-added",
            breaks: "TNT-01",
            defect: "a toleration of five minutes is added to every policy",
            fault: |_| {
                Fault::none().written(Of::Bindings, |body| {
                    if let Some(placement) = map(body, "/spec/placement") {
                        let own = json!({"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300});
                        placement.insert("clusterTolerations".to_owned(), json!([own]));
                    }
                })
            },
        },
    ]
}

fn budget_and_place() -> Vec<Mutant> {
    vec![
        Mutant {
            name: "tolerating-uses-up-the-rate",
            breaks: "TNT-08",
            defect: "workloads that tolerate for ever take turns in the queue and use up the eviction rate",
            fault: |_| tolerating_uses_up_the_rate(),
        },
        Mutant {
            name: "destination-anywhere",
            breaks: "TNT-10",
            defect: "a workload that fails over may go to a cluster that its policy does not name",
            fault: |_| {
                Fault::none().written(Of::Bindings, |body| {
                    for target in list(body, "/spec/clusters").filter(|target| target["name"] == "member2") {
                        target["name"] = json!("member3");
                    }
                })
            },
        },
    ]
}

/// Taints that are removed are seen all the same.
pub fn taints_that_stay() -> Fault {
    let seen: Memory<BTreeMap<String, Value>> = Memory::new();
    Fault::none().read(Of::Clusters, move |cluster| {
        let mut seen = seen.get();
        if list(cluster, "/spec/taints").next().is_some() {
            seen.insert(uid(cluster), cluster["spec"]["taints"].clone());
        } else if let Some(taints) = seen.get(&uid(cluster)) {
            cluster["spec"]["taints"] = taints.clone();
        }
    })
}

/// Taints of one effect are taken for taints of another.
pub fn effect_read_as(effect: &'static str, other: &'static str) -> Fault {
    Fault::none().read(Of::Clusters, move |cluster| {
        for taint in list(cluster, "/spec/taints").filter(|taint| taint["effect"] == effect) {
            taint["effect"] = json!(other);
        }
    })
}

/// The first scheduling result names a cluster with a taint of this effect.
fn scheduled_onto(effect: &'static str) -> Fault {
    let tainted: Memory<BTreeMap<String, bool>> = Memory::new();
    let seen = tainted.clone();
    let scheduled: Memory<bool> = Memory::new();
    Fault::none()
        .read(Of::Clusters, move |cluster| {
            let is_tainted = list(cluster, "/spec/taints").any(|taint| taint["effect"] == effect);
            seen.get()
                .insert(text(cluster, "/metadata/name").to_owned(), is_tainted);
        })
        .written(Of::Bindings, move |body| {
            let mut scheduled = scheduled.get();
            let tainted = tainted.get();
            let name = tainted.iter().find(|(_, tainted)| **tainted).map(|(name, _)| name);
            for target in list(body, "/spec/clusters").filter(|_| !*scheduled) {
                target["name"] = name.map_or_else(|| target["name"].clone(), |name| json!(name));
            }
            *scheduled |= list(body, "/spec/clusters").next().is_some();
        })
}

/// Tolerations last longer than they say.
fn later_by(more: i64) -> Fault {
    tolerations(move |toleration| {
        if let Some(seconds) = toleration.get("tolerationSeconds").and_then(Value::as_i64) {
            toleration["tolerationSeconds"] = json!(seconds + more);
        }
    })
}

fn tolerations(edit: impl Fn(&mut Value) + Send + Sync + 'static) -> Fault {
    Fault::none().read(Of::Bindings, move |binding| {
        list(binding, "/spec/placement/clusterTolerations").for_each(&edit);
    })
}

fn unless_there(member: &'static str, value: &'static str) -> Fault {
    Fault::none().read(Of::Bindings, move |binding| {
        for toleration in list(binding, "/spec/placement/clusterTolerations") {
            if toleration.get(member).is_none() {
                toleration[member] = json!(value);
            }
        }
    })
}

fn keep_longest(binding: &mut Value) {
    let seconds = |toleration: &Value| {
        toleration
            .get("tolerationSeconds")
            .and_then(Value::as_i64)
            .unwrap_or(i64::MAX)
    };
    let tolerations = binding
        .pointer_mut("/spec/placement/clusterTolerations")
        .and_then(Value::as_array_mut);
    if let Some(tolerations) = tolerations
        && let Some(longest) = tolerations.iter().map(seconds).max()
    {
        tolerations.retain(|toleration| seconds(toleration) == longest);
    }
}

/// Every binding that tolerates for ever delays the next eviction by as much as an eviction would.
fn tolerating_uses_up_the_rate() -> Fault {
    let tolerating: Uids = Uids::new();
    let counted = tolerating.clone();
    Fault::none()
        .read(Of::Bindings, move |binding| {
            let for_ever = |toleration: &mut Value| toleration.get("tolerationSeconds").is_none();
            if list(binding, "/spec/placement/clusterTolerations").any(for_ever) {
                tolerating.get().insert(uid(binding));
            }
        })
        .before(Of::Bindings, move |call, _| {
            let evicts = tasks(&mut call.body.clone()).next().is_some();
            if !evicts {
                return on();
            }
            let wait = TURN * u32::try_from(counted.get().len()).unwrap_or(u32::MAX);
            Box::pin(async move {
                tokio::time::sleep(wait).await;
                Carried::On
            })
        })
}

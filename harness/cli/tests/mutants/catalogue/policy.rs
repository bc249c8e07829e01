//! Policies, and how they reach the binding.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::{
    fault::{Fault, Of},
    mutant::Mutant,
    pieces::{Memory, Uids, deleted_uid, list, map, remove, text, uid},
};

pub fn mutants() -> Vec<Mutant> {
    let mut mutants = selection();
    mutants.extend(contents());
    mutants.extend(lifetime());
    mutants
}

fn selection() -> Vec<Mutant> {
    vec![
        Mutant {
            name: "selector-without-name",
            breaks: "POL-01",
            defect: "a policy that selects by name gets every resource of the kind",
            fault: |_| Fault::none().read(Of::Policies, |policy| forget_in_selectors(policy, "name")),
        },
        Mutant {
            name: "spread-ignored",
            breaks: "POL-02",
            defect: "spreadConstraints have no effect: the workload runs on every cluster that the policy names",
            fault: |_| {
                Fault::none()
                    .read(Of::Policies, |policy| {
                        remove(policy, "/spec/placement", "spreadConstraints");
                    })
                    .read(Of::Bindings, |binding| {
                        remove(binding, "/spec/placement", "spreadConstraints");
                    })
            },
        },
        Mutant {
            name: "affinity-ignored",
            breaks: "POL-02",
            defect: "clusterAffinity has no effect: the workload may run anywhere",
            fault: |_| {
                Fault::none()
                    .read(Of::Policies, |policy| {
                        remove(policy, "/spec/placement", "clusterAffinity");
                    })
                    .read(Of::Bindings, |binding| {
                        remove(binding, "/spec/placement", "clusterAffinity");
                    })
            },
        },
        Mutant {
            name: "cluster-policies-ignored",
            breaks: "POL-04",
            defect: "ClusterPropagationPolicies lead to nothing",
            fault: |_| Fault::none().hidden(Of::ClusterPolicies, |_, _| true),
        },
    ]
}

fn contents() -> Vec<Mutant> {
    vec![
        Mutant {
            name: "failover-not-carried",
            breaks: "POL-03",
            defect: "what the policy says of failover does not reach the binding",
            fault: |_| Fault::none().written(Of::Bindings, |body| remove(body, "/spec", "failover")),
        },
        Mutant {
            name: "failover-carried-once",
            breaks: "POL-03",
            defect: "what the policy says of failover reaches the binding when it is made and never again",
            fault: |_| {
                Fault::none().written(Of::Bindings, |body| {
                    let is_new = body.pointer("/spec/resource").is_some();
                    if !is_new {
                        remove(body, "/spec", "failover");
                    }
                })
            },
        },
        Mutant {
            name: "directly-not-understood",
            breaks: "POL-05",
            defect: "purgeMode Directly is taken for Gracefully",
            fault: |_| Fault::none().read(Of::Policies, |policy| read_mode_as(policy, "Directly", "Gracefully")),
        },
        Mutant {
            name: "gracefully-not-understood",
            breaks: "POL-05",
            defect: "purgeMode Gracefully, which is also what no mode means, is taken for Directly",
            fault: |_| Fault::none().read(Of::Policies, |policy| read_mode_as(policy, "Gracefully", "Directly")),
        },
        Mutant {
            name: "older-spelling-not-understood",
            breaks: "POL-06",
            defect: "purgeMode Immediately is taken for Gracefully",
            fault: |_| Fault::none().read(Of::Policies, |policy| read_mode_as(policy, "Immediately", "Gracefully")),
        },
        Mutant {
            name: "health-made-up",
            breaks: "POL-07",
            defect: "every copy that was applied is shown as Healthy",
            fault: |_| Fault::none().read(Of::Works, healthy),
        },
        Mutant {
            name: "statuses-mixed-up",
            breaks: "POL-07",
            defect: "the status of one cluster is shown for another",
            fault: |_| Fault::none().written(Of::Bindings, mix_up),
        },
        Mutant {
            name: "image-of-before",
            breaks: "POL-31",
            defect: "a copy is created with the image that the workload had at first",
            fault: |_| created_with_first_image(),
        },
    ]
}

fn lifetime() -> Vec<Mutant> {
    vec![
        Mutant {
            name: "works-left",
            breaks: "POL-14",
            defect: "Works, and with them the copies, stay when the workload is deleted",
            fault: |_| pretended(Of::Works),
        },
        Mutant {
            name: "copies-left",
            breaks: "POL-08",
            defect: "copies on members stay when the policy or the workload is deleted",
            fault: |_| pretended(Of::Copies),
        },
        Mutant {
            name: "refused-kind-stops-all",
            breaks: "POL-07",
            defect: "no status comes from a member any more that refuses a single kind",
            fault: |_| refused_kind_stops_all(),
        },
        Mutant {
            name: "status-collected-once",
            breaks: "POL-07",
            defect: "the first status that a cluster reports is shown for ever (a watch that broke and was not renewed)",
            fault: |_| {
                let shown: Memory<BTreeMap<String, Value>> = Memory::new();
                Fault::none().read(Of::Copies, move |copy| {
                    if copy.pointer("/status/jobStatus").is_some() {
                        let first = shown
                            .get()
                            .entry(uid(copy))
                            .or_insert_with(|| copy["status"].clone())
                            .clone();
                        copy["status"] = first;
                    }
                })
            },
        },
    ]
}

/// The first write of a copy on each cluster has the image of the fixture.
fn created_with_first_image() -> Fault {
    let created: Memory<BTreeSet<(String, String)>> = Memory::new();
    Fault::none().written_at(Of::Copies, move |call, copy| {
        if created.get().insert((call.cluster.clone(), call.at.path.clone())) {
            for container in list(copy, "/spec/template/spec/containers") {
                if text(container, "/image") == "nginx:1.28" {
                    container["image"] = json!("nginx:1.27");
                }
            }
        }
    })
}

/// From the moment at which a member refuses something, the status of its copies is shown as it was.
fn refused_kind_stops_all() -> Fault {
    let refused: Memory<bool> = Memory::new();
    let stopped = refused.clone();
    let shown: Memory<BTreeMap<String, Value>> = Memory::new();
    Fault::none()
        .after(Of::Copies, move |_, answer, _| {
            *refused.get() |= answer["code"] == 403;
            Box::pin(std::future::ready(()))
        })
        .read(Of::Copies, move |copy| {
            let mut shown = shown.get();
            let last = shown.entry(uid(copy)).or_default();
            if *stopped.get() {
                copy["status"] = last.clone();
            } else {
                *last = copy["status"].clone();
            }
        })
}

fn forget_in_selectors(policy: &mut Value, member: &str) {
    for selector in list(policy, "/spec/resourceSelectors") {
        remove(selector, "", member);
    }
}

fn read_mode_as(policy: &mut Value, mode: &str, other: &str) {
    if text(policy, "/spec/failover/cluster/purgeMode") == mode {
        policy["spec"]["failover"]["cluster"]["purgeMode"] = json!(other);
    }
}

/// Shows every copy of a Work as healthy.
pub fn healthy(work: &mut Value) {
    for status in list(work, "/status/manifestStatuses") {
        status["health"] = json!("Healthy");
    }
}

/// Hands the statuses of clusters round.
pub fn mix_up(binding: &mut Value) {
    let statuses: Vec<Value> = list(binding, "/status/aggregatedStatus")
        .map(|item| item.get("status").cloned().unwrap_or_default())
        .collect();
    let others = statuses.iter().cycle().skip(1);
    for (item, status) in list(binding, "/status/aggregatedStatus").zip(others) {
        if let Some(item) = map(item, "") {
            item.insert("status".to_owned(), status.clone());
        }
    }
}

/// Deletions that are answered and not carried out; what is still there is not looked at again.
pub fn pretended(of: Of) -> Fault {
    let pretended = Uids::new();
    let hidden = pretended.clone();
    Fault::none()
        .skipped(of, move |call| {
            let is_deletion = call.method == http::Method::DELETE;
            if is_deletion {
                pretended.get().insert(deleted_uid(call));
            }
            is_deletion
        })
        .hidden(of, move |_, object| hidden.get().contains(&uid(object)))
}

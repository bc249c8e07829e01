//! Mutants that appear only after users act at one write: taints go and come back, another cluster is tainted, a policy is edited.

use std::collections::BTreeMap;

use baton_core::case::model::MoveFault;
use serde_json::json;

use super::{Explored, defects::forget_state};
use crate::{
    fault::{Carried, Fault, Of},
    mutant::Mutant,
    pieces::{Memory, binding_path, list, map, merge, rules, tasks, text},
};

/// Returns all of them.
pub fn all() -> Vec<Explored> {
    vec![
        Explored {
            mutant: Mutant {
                name: "taint-again-forgets-state",
                breaks: "STP-11",
                defect: "a taint that goes and comes again during an eviction takes the preserved state from its task",
                fault: |_| taint_again_forgets_state(),
            },
            case: "last-value",
            faults: &[MoveFault::FlapTaints],
        },
        Explored {
            mutant: Mutant {
                name: "one-taint-less-is-recovery",
                breaks: "GRE-02",
                defect: "a cluster that loses one of two taints counts as recovered, and its task is dropped",
                fault: |_| one_taint_less_is_recovery(),
            },
            case: "held-by-finalizer",
            faults: &[MoveFault::TaintCluster],
        },
        Explored {
            mutant: Mutant {
                name: "mode-of-the-policy",
                breaks: "REC-01",
                defect: "an eviction goes on in the mode that the policy names by then, not in that of its task",
                fault: |_| mode_of_the_policy(),
            },
            case: "statefulset-directly",
            faults: &[MoveFault::EditPolicies],
        },
        Explored {
            mutant: Mutant {
                name: "alias-of-the-policy",
                breaks: "REC-01",
                defect: "labels have the names that the policy gives them by then, not those of the task",
                fault: |_| alias_of_the_policy(),
            },
            case: "statefulset-directly",
            faults: &[MoveFault::EditPolicies],
        },
    ]
}

fn taint_again_forgets_state() -> Fault {
    #[derive(Default)]
    struct Seen {
        is_moving: bool,
        tainted: BTreeMap<String, bool>,
        went: bool,
        came_again: bool,
    }
    let seen: Memory<Seen> = Memory::new();
    let (of_clusters, of_writes, after) = (seen.clone(), seen.clone(), seen.clone());
    Fault::none()
        .read(Of::Bindings, move |binding| {
            seen.get().is_moving = tasks(binding).next().is_some();
        })
        .read(Of::Clusters, move |cluster| {
            let mut seen = of_clusters.get();
            let is_tainted = list(cluster, "/spec/taints").any(|it| it["effect"] == "NoExecute");
            let before = seen
                .tainted
                .insert(text(cluster, "/metadata/name").to_owned(), is_tainted);
            match (before, is_tainted) {
                (Some(true), false) => seen.went |= seen.is_moving,
                (Some(false), true) => seen.came_again |= seen.went,
                _ => {}
            }
        })
        .written(Of::Bindings, move |body| {
            if of_writes.get().came_again {
                forget_state(body);
            }
        })
        .after(Of::Bindings, move |call, answer, hands| {
            let mut forgotten = answer.clone();
            forget_state(&mut forgotten);
            let changes = forgotten != *answer && after.get().came_again;
            let left = json!({"spec": {"gracefulEvictionTasks": forgotten["spec"]["gracefulEvictionTasks"]}});
            let control = hands["control"].clone();
            let path = call.at.path.trim_end_matches("/status").to_owned();
            Box::pin(async move {
                if changes {
                    merge(&control, path, &left).await;
                }
            })
        })
}

fn one_taint_less_is_recovery() -> Fault {
    #[derive(Default)]
    struct Seen {
        moving: Option<String>,
        taints: BTreeMap<String, usize>,
        has_recovered: bool,
    }
    let seen: Memory<Seen> = Memory::new();
    let (of_clusters, at_probes) = (seen.clone(), seen.clone());
    Fault::none()
        .read(Of::Bindings, move |binding| {
            let path = binding_path(binding);
            seen.get().moving = tasks(binding).next().is_some().then_some(path);
        })
        .read(Of::Clusters, move |cluster| {
            let mut seen = of_clusters.get();
            let taints = list(cluster, "/spec/taints")
                .filter(|it| it["effect"] == "NoExecute")
                .count();
            let before = seen.taints.insert(text(cluster, "/metadata/name").to_owned(), taints);
            seen.has_recovered |= taints > 0 && before.is_some_and(|before| before > taints);
        })
        .before(Of::Probes, move |_, hands| {
            let mut seen = at_probes.get();
            let has_recovered = seen.has_recovered;
            let recovered = seen.moving.take_if(|_| has_recovered);
            let control = hands["control"].clone();
            Box::pin(async move {
                if let Some(path) = recovered {
                    merge(&control, path, &json!({"spec": {"gracefulEvictionTasks": null}})).await;
                }
                Carried::On
            })
        })
}

fn mode_of_the_policy() -> Fault {
    Fault::none().read(Of::Bindings, |binding| {
        let mode = binding.pointer("/spec/failover/cluster/purgeMode").cloned();
        if let Some(mode) = mode {
            for task in tasks(binding) {
                task["purgeMode"] = mode.clone();
            }
        }
    })
}

fn alias_of_the_policy() -> Fault {
    #[derive(Default)]
    struct Names {
        first: Vec<String>,
        now: Vec<String>,
    }
    let names: Memory<Names> = Memory::new();
    let known = names.clone();
    Fault::none()
        .read(Of::Bindings, move |binding| {
            let rules = rules(binding).into_iter().flatten();
            let aliases: Vec<String> = rules.map(|rule| text(rule, "/aliasLabelName").to_owned()).collect();
            let mut names = names.get();
            if names.first.is_empty() {
                names.first.clone_from(&aliases);
            }
            names.now = aliases;
        })
        .written(Of::Works, move |work| {
            let names = known.get();
            for manifest in list(work, "/spec/workload/manifests") {
                let Some(labels) = map(manifest, "/metadata/labels") else {
                    continue;
                };
                for (first, now) in names.first.iter().zip(&names.now) {
                    if let Some(value) = labels.remove(first) {
                        labels.insert(now.clone(), value);
                    }
                }
            }
        })
}

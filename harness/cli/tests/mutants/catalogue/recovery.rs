//! State, as it is given to the new copy.

use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::{
    fault::{Doing, Fault, Of},
    mutant::Mutant,
    pieces::{LastTask, Memory, labelled, later, map, merge, tasks, template_path, text},
    wire::{Call, Hands},
};

/// The label of everything that the controller manages.
const MANAGED: &str = "karmada.io/managed";

pub fn mutants() -> Vec<Mutant> {
    let mut mutants = on_destination();
    mutants.extend(where_none_belong());
    mutants.extend(predecessors());
    mutants.extend(consecutive());
    mutants
}

fn on_destination() -> Vec<Mutant> {
    vec![
        Mutant {
            name: "labels-missing",
            breaks: "REC-01",
            defect: "the new copy is created without the labels",
            fault: |_| labelled(|_, last, labels| labels.retain(|key, _| !last.state().contains_key(key))),
        },
        Mutant {
            name: "labels-added-later",
            breaks: "REC-01",
            defect: "the labels come with the second revision: no admission webhook sees them on creation",
            fault: |_| labels_added_later(),
        },
        Mutant {
            name: "empty-label-left-out",
            breaks: "REC-02",
            defect: "a preserved text that is empty does not become a label",
            fault: |_| labelled(|_, _, labels| labels.retain(|_, value| value.as_str() != Some(""))),
        },
        Mutant {
            name: "labels-under-another-key",
            breaks: "REC-02",
            defect: "the labels carry the value under another key than the rule's alias",
            fault: |_| {
                labelled(|_, last, labels| {
                    for (key, value) in last.state() {
                        if labels.remove(&key).is_some() {
                            labels.insert(format!("{key}-restored"), value);
                        }
                    }
                })
            },
        },
        Mutant {
            name: "user-labels-lost",
            breaks: "REC-09",
            defect: "a copy with preserved state has lost the labels of its template",
            fault: |_| {
                labelled(|_, last, labels| {
                    let state = last.state();
                    if state.keys().any(|key| labels.contains_key(key)) {
                        labels.retain(|key, _| state.contains_key(key) || key == MANAGED);
                    }
                })
            },
        },
        Mutant {
            name: "template-wins",
            breaks: "REC-09",
            defect: "where the template has the key too, its value stays and the state is lost",
            fault: |_| {
                let own: Memory<Map<String, Value>> = Memory::new();
                labelled(move |_, last, labels| {
                    if last.task.is_null() {
                        own.get().extend(labels.clone());
                    }
                    for (key, value) in labels.iter_mut() {
                        *value = own.get().get(key).cloned().unwrap_or_else(|| value.clone());
                    }
                })
            },
        },
        Mutant {
            name: "labels-removed-early",
            breaks: "REC-11",
            defect: "the labels are taken away before the migrated workload is healthy",
            fault: |_| Fault::none().after(Of::Copies, remove_labels_soon),
        },
    ]
}

fn where_none_belong() -> Vec<Mutant> {
    vec![
        Mutant {
            name: "labels-back-home",
            breaks: "REC-03",
            defect: "a workload that returns to the cluster that it left is given the labels",
            fault: |_| injecting(|call, last| call.cluster == last.from()),
        },
        Mutant {
            name: "labels-under-gracefully",
            breaks: "REC-05",
            defect: "labels are injected under Gracefully too, while the old copy still runs",
            fault: |_| labels_under_gracefully(),
        },
        Mutant {
            name: "labels-with-two-clusters",
            breaks: "REC-06",
            defect: "labels are injected although the workload runs on two clusters",
            fault: |_| injecting(|call, last| last.before() > 1 && call.cluster != last.from()),
        },
        Mutant {
            name: "labels-on-the-template",
            breaks: "REC-08",
            defect: "the labels are written onto the template on the control plane",
            fault: |_| Fault::none().after(Of::Bindings, label_template),
        },
        Mutant {
            name: "labels-on-every-move",
            breaks: "REC-10",
            defect: "a workload that its policy moves is given the state of an earlier failover",
            fault: |_| injecting(|_, last| !last.task.is_null() && !last.pending),
        },
    ]
}

fn predecessors() -> Vec<Mutant> {
    vec![
        Mutant {
            name: "predecessors-not-recorded",
            breaks: "REC-04",
            defect: "clustersBeforeFailover is empty in evictions by taint",
            fault: |_| {
                Fault::none().written(Of::Bindings, |body| {
                    tasks(body).for_each(|task| task["clustersBeforeFailover"] = json!([]));
                })
            },
        },
        Mutant {
            name: "predecessors-are-all-clusters",
            breaks: "REC-04",
            defect: "clustersBeforeFailover lists every cluster that the policy names",
            fault: |_| {
                Fault::none().written(Of::Bindings, |body| {
                    tasks(body).for_each(|task| task["clustersBeforeFailover"] = json!(["member1", "member2"]));
                })
            },
        },
    ]
}

fn consecutive() -> Vec<Mutant> {
    vec![
        Mutant {
            name: "state-of-the-first-failover",
            breaks: "REC-07",
            defect: "in a second failover the state of the first one is injected",
            fault: |_| {
                labelled(|_, last, labels| {
                    let state = last.state();
                    for (key, value) in &last.first {
                        if state.contains_key(key) && labels.contains_key(key) {
                            labels.insert(key.clone(), value.clone());
                        }
                    }
                })
            },
        },
        Mutant {
            name: "old-state-where-there-is-none",
            breaks: "REC-07",
            defect: "in a second failover without state the state of the first one is injected",
            fault: |_| {
                labelled(|_, last, labels| {
                    if !last.task.is_null() && last.pending && last.state().is_empty() {
                        labels.extend(last.first.clone());
                    }
                })
            },
        },
    ]
}

/// Labels with the state of the task under Gracefully.
pub fn labels_under_gracefully() -> Fault {
    injecting(|call, last| text(&last.task, "/purgeMode") == "Gracefully" && call.cluster != last.from())
}

/// Labels with the state of the last task on copies that should have none.
fn injecting(wrongly: fn(&Call, &LastTask) -> bool) -> Fault {
    labelled(move |call, last, labels| {
        if wrongly(call, last) {
            let state = if last.state().is_empty() {
                last.first.clone()
            } else {
                last.state()
            };
            labels.extend(state);
        }
    })
}

/// The first application on a cluster comes without labels, and does not look like what was wanted; the next one mends it.
pub fn labels_added_later() -> Fault {
    let began: Memory<Vec<String>> = Memory::new();
    let first = began.clone();
    let fault = labelled(move |call, last, labels| {
        if last.pending && !began.get().contains(&call.cluster) {
            labels.retain(|key, _| !last.state().contains_key(key));
        }
    });
    fault.written_at(Of::Copies, move |call, body| {
        let mut first = first.get();
        if !first.contains(&call.cluster) {
            first.push(call.cluster.clone());
            if let Some(annotations) = map(body, "/metadata/annotations") {
                annotations.insert("work.karmada.io/manifest-hash".to_owned(), json!("first"));
            }
        }
    })
}

fn remove_labels_soon(call: &Call, copy: &Value, hands: &Hands) -> Doing<()> {
    let labels = copy
        .pointer("/metadata/labels")
        .and_then(Value::as_object)
        .cloned()
        .unwrap_or_default();
    let state = labels.keys().filter(|key| key.starts_with("baton.dev/"));
    let none: Map<String, Value> = state.map(|key| (key.clone(), Value::Null)).collect();
    let (member, path) = (hands[&call.cluster].clone(), call.at.path.clone());
    if call.is_write() && !none.is_empty() {
        later(Duration::from_secs(30), async move {
            merge(&member, path, &json!({"metadata": {"labels": none}})).await;
        });
    }
    Box::pin(std::future::ready(()))
}

fn label_template(call: &Call, binding: &Value, hands: &Hands) -> Doing<()> {
    let mut binding = binding.clone();
    let state = tasks(&mut binding)
        .last()
        .and_then(|task| task.get("preservedLabelState").cloned());
    let control = hands["control"].clone();
    let is_write = call.is_write();
    Box::pin(async move {
        if let Some(state) = state.filter(|_| is_write) {
            merge(
                &control,
                template_path(&binding),
                &json!({"metadata": {"labels": state}}),
            )
            .await;
        }
    })
}

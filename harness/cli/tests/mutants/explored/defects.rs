//! Mutants that appear only after a fault at one write: a lost answer, a refused request, a conflict, or a watch that expires.

use baton_core::case::model::MoveFault;
use http::Method;
use serde_json::{Value, json};

use super::Explored;
use crate::{
    fault::{Fault, Of},
    mutant::Mutant,
    pieces::{Memory, Uids, deleted_uid, list, map, on, remove, tasks, uid},
};

/// Case in which a workload with state moves.
const STATEFUL: &str = "statefulset-directly";

/// Returns all of them.
pub fn all() -> Vec<Explored> {
    let mut all = vec![Explored {
        mutant: Mutant {
            name: "lost-deletion-is-done",
            breaks: "PRG-03",
            defect: "a copy counts as gone once its deletion got no answer",
            fault: |_| lost_deletion_is_done(),
        },
        case: "held-by-finalizer",
        fault: MoveFault::LoseAnswer,
    }];
    let stateful = |mutants: Vec<Mutant>, fault| {
        mutants.into_iter().map(move |mutant| Explored {
            mutant,
            case: STATEFUL,
            fault,
        })
    };
    all.extend(stateful(after_lost_answers(), MoveFault::LoseAnswer));
    all.extend(stateful(after_conflicts(), MoveFault::Rival));
    all.extend(stateful(after_refusals(), MoveFault::LoseRequest));
    all.extend(stateful(after_expired_watches(), MoveFault::ExpireWatches));
    all
}

fn after_lost_answers() -> Vec<Mutant> {
    vec![Mutant {
        name: "labels-lost-with-an-answer",
        breaks: "REC-01",
        defect: "copies are created without labels once the answer to a write of a binding got lost",
        fault: |_| {
            let (fault, unanswered) = unanswered(Of::Bindings);
            fault.written(Of::Works, move |body| {
                if *unanswered.get() > 0 {
                    lose_labels(body);
                }
            })
        },
    }]
}

fn after_conflicts() -> Vec<Mutant> {
    vec![
        Mutant {
            name: "conflict-forgets-predecessors",
            breaks: "REC-04",
            defect: "after a conflict, tasks do not name the clusters before the failover",
            fault: |_| once_answered(409, Of::Bindings, forget_predecessors),
        },
        Mutant {
            name: "conflict-forgets-state",
            breaks: "STP-02",
            defect: "after a conflict, tasks have no preserved state",
            fault: |_| once_answered(409, Of::Bindings, forget_state),
        },
        Mutant {
            name: "conflict-drops-the-task",
            breaks: "TNT-11",
            defect: "after a conflict, the cluster leaves the result and no task is written",
            fault: |_| {
                once_answered(409, Of::Bindings, |body| {
                    if tasks(body).next().is_some() {
                        body["spec"]["gracefulEvictionTasks"] = json!([]);
                    }
                })
            },
        },
    ]
}

fn after_refusals() -> Vec<Mutant> {
    vec![
        Mutant {
            name: "refusal-loses-labels",
            breaks: "REC-01",
            defect: "a Work that the control plane refused at first is written without labels",
            fault: |_| once_answered(503, Of::Works, lose_labels),
        },
        Mutant {
            name: "refusal-forgets-predecessors",
            breaks: "REC-04",
            defect: "a task that the control plane refused at first does not name the clusters before the failover",
            fault: |_| once_answered(503, Of::Bindings, forget_predecessors),
        },
        Mutant {
            name: "refusal-forgets-state",
            breaks: "STP-02",
            defect: "a task that the control plane refused at first has no preserved state",
            fault: |_| once_answered(503, Of::Bindings, forget_state),
        },
    ]
}

fn after_expired_watches() -> Vec<Mutant> {
    vec![Mutant {
        name: "second-list-loses-labels",
        breaks: "REC-01",
        defect: "Works are written without labels once Works were listed again",
        fault: |_| once_listed_again(Of::Works, lose_labels),
    }]
}

fn lost_deletion_is_done() -> Fault {
    let unanswered: Uids = Memory::new();
    let (asks, answered) = (unanswered.clone(), unanswered.clone());
    Fault::none()
        .before(Of::Copies, move |call, _| {
            if call.method == Method::DELETE {
                asks.get().insert(deleted_uid(call));
            }
            on()
        })
        .after(Of::Copies, move |call, _, _| {
            answered.get().remove(&deleted_uid(call));
            Box::pin(std::future::ready(()))
        })
        .hidden(Of::Copies, move |_, copy| unanswered.get().contains(&uid(copy)))
}

/// The number of writes of these objects that got no answer.
fn unanswered(of: Of) -> (Fault, Memory<u32>) {
    let unanswered: Memory<u32> = Memory::new();
    let (asks, answered) = (unanswered.clone(), unanswered.clone());
    let fault = Fault::none()
        .before(of, move |call, _| {
            if call.is_write() && call.at.subresource.is_empty() {
                *asks.get() += 1;
            }
            on()
        })
        .after(of, move |call, _, _| {
            if call.is_write() && call.at.subresource.is_empty() {
                *answered.get() -= 1;
            }
            Box::pin(std::future::ready(()))
        });
    (fault, unanswered)
}

/// Changes all writes of these objects after one that was answered with this code.
fn once_answered(code: u16, of: Of, edit: impl Fn(&mut Value) + Send + Sync + 'static) -> Fault {
    let seen: Memory<bool> = Memory::new();
    let told = seen.clone();
    Fault::none()
        .after(of, move |call, answer, _| {
            *told.get() |= call.is_write() && answer["code"] == code;
            Box::pin(std::future::ready(()))
        })
        .written(of, move |body| {
            if *seen.get() {
                edit(body);
            }
        })
}

/// Changes all writes of these objects once they were listed for the second time.
fn once_listed_again(of: Of, edit: impl Fn(&mut Value) + Send + Sync + 'static) -> Fault {
    let lists: Memory<u32> = Memory::new();
    let told = lists.clone();
    Fault::none()
        .after(of, move |_, answer, _| {
            *told.get() += u32::from(answer["items"].is_array());
            Box::pin(std::future::ready(()))
        })
        .written(of, move |body| {
            if *lists.get() > 1 {
                edit(body);
            }
        })
}

fn lose_labels(work: &mut Value) {
    for manifest in list(work, "/spec/workload/manifests") {
        if let Some(labels) = map(manifest, "/metadata/labels") {
            labels.retain(|key, _| !key.starts_with("failover.karmada.io/"));
        }
    }
}

fn forget_state(binding: &mut Value) {
    for task in tasks(binding) {
        remove(task, "", "preservedLabelState");
    }
}

fn forget_predecessors(binding: &mut Value) {
    for task in tasks(binding) {
        remove(task, "", "clustersBeforeFailover");
    }
}

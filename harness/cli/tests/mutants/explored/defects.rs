//! Mutants that appear only after a fault at one write: a lost answer, a refused request, a conflict, a connection that breaks, a
//! watch that expires, or a crash.

use std::collections::{BTreeMap, BTreeSet};

use baton_cluster::clock::Clock;
use baton_core::case::model::MoveFault;
use http::Method;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::{Explored, on_stateful};
use crate::{
    fault::{Fault, Of},
    mutant::Mutant,
    pieces::{Memory, Uids, binding_path, deleted_uid, list, map, merge, on, remove, tasks, text, uid},
};

/// Returns all of them.
pub fn all() -> Vec<Explored> {
    let mut all = deletions();
    all.extend(conflicts_of_tasks());
    all.extend(on_stateful(after_lost_answers(), &[MoveFault::LoseAnswer]));
    all.extend(on_stateful(after_conflicts(), &[MoveFault::Rival]));
    all.extend(on_stateful(after_refusals(), &[MoveFault::LoseRequest]));
    all.extend(on_stateful(after_expired_watches(), &[MoveFault::ExpireWatches]));
    all.extend(on_stateful(after_broken_connections(), &[MoveFault::BreakConnections]));
    all.extend(on_stateful(after_crashes(), &[MoveFault::CrashAfter]));
    all
}

fn deletions() -> Vec<Explored> {
    vec![
        Explored {
            mutant: Mutant {
                name: "lost-deletion-is-done",
                breaks: "PRG-03",
                defect: "a copy counts as gone once its deletion got no answer",
                fault: |_| lost_deletion_is_done(),
            },
            case: "held-by-finalizer",
            faults: &[MoveFault::LoseAnswer],
        },
        Explored {
            mutant: Mutant {
                name: "refused-deletion-is-done",
                breaks: "PRG-03",
                defect: "a copy counts as gone once its deletion was answered with 503",
                fault: |_| refused_deletion_is_done(),
            },
            case: "held-by-finalizer",
            faults: &[MoveFault::LoseRequest],
        },
    ]
}

fn conflicts_of_tasks() -> Vec<Explored> {
    vec![
        Explored {
            mutant: Mutant {
                name: "conflict-clears-all-tasks",
                breaks: "PRG-05",
                defect: "a conflict while one of two tasks is cleared clears both",
                fault: |_| conflict_clears_all_tasks(),
            },
            case: "each-its-own-period",
            faults: &[MoveFault::Rival],
        },
        Explored {
            mutant: Mutant {
                name: "conflict-doubles-the-rate",
                breaks: "RAT-01",
                defect: "after a conflict at a task, every eviction takes another workload with it",
                fault: |_| conflict_doubles_the_rate(),
            },
            case: "queue-in-turn",
            faults: &[MoveFault::Rival],
        },
    ]
}

fn after_lost_answers() -> Vec<Mutant> {
    vec![
        Mutant {
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
        },
        Mutant {
            name: "labels-lost-with-an-answer-of-a-member",
            breaks: "REC-01",
            defect: "copies are applied without labels once the answer to a write on a member got lost",
            fault: |_| {
                let (fault, unanswered) = unanswered(Of::Copies);
                fault.written(Of::Copies, move |body| {
                    if *unanswered.get() > 1 {
                        lose_own_labels(body);
                    }
                })
            },
        },
    ]
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
            name: "conflict-loses-labels",
            breaks: "REC-01",
            defect: "after a conflict at a Work, Works are written without labels",
            fault: |_| once_answered(409, Of::Works, lose_labels),
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
            name: "refusal-loses-labels-on-a-member",
            breaks: "REC-01",
            defect: "a copy that its cluster refused at first is created without labels",
            fault: |_| once_answered(503, Of::Copies, lose_own_labels),
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

fn after_broken_connections() -> Vec<Mutant> {
    vec![Mutant {
        name: "broken-watch-loses-labels",
        breaks: "REC-01",
        defect: "Works are written without labels once the connection of their watch broke",
        fault: |clock| broken_watch_loses_labels(clock.clone()),
    }]
}

fn after_crashes() -> Vec<Mutant> {
    vec![
        Mutant {
            name: "young-task-is-not-read",
            breaks: "REC-01",
            defect: "after a restart, tasks that are younger than a second are not read",
            fault: |clock| young_task_is_not_read(clock),
        },
        Mutant {
            name: "restart-without-a-result-loses-labels",
            breaks: "REC-01",
            defect: "after a restart, a binding with a task and no result gets copies without labels",
            fault: |_| restart_without_a_result_loses_labels(),
        },
    ]
}

fn conflict_clears_all_tasks() -> Fault {
    #[derive(Default)]
    struct Seen {
        tasks: usize,
        has_conflict: bool,
    }
    let seen: Memory<Seen> = Memory::new();
    let (told, writes) = (seen.clone(), seen.clone());
    let clears_one = |body: &mut Value, before: usize| {
        let left = tasks(body).count();
        left > 0 && left < before
    };
    Fault::none()
        .read(Of::Bindings, move |binding| seen.get().tasks = tasks(binding).count())
        .after(Of::Bindings, move |call, answer, _| {
            let mut seen = told.get();
            let clears_one = clears_one(&mut call.body.clone(), seen.tasks);
            seen.has_conflict |= clears_one && answer["code"] == 409;
            Box::pin(std::future::ready(()))
        })
        .written(Of::Bindings, move |body| {
            let seen = writes.get();
            if seen.has_conflict && clears_one(body, seen.tasks) {
                body["spec"]["gracefulEvictionTasks"] = Value::Null;
            }
        })
}

fn conflict_doubles_the_rate() -> Fault {
    #[derive(Default)]
    struct Seen {
        /// Paths of the bindings that have no task.
        waiting: BTreeSet<String>,
        has_conflict: bool,
    }
    let seen: Memory<Seen> = Memory::new();
    let known = seen.clone();
    Fault::none()
        .read(Of::Bindings, move |binding| {
            let path = binding_path(binding);
            let waiting = &mut seen.get().waiting;
            if tasks(binding).next().is_some() {
                waiting.remove(&path);
            } else {
                waiting.insert(path);
            }
        })
        .after(Of::Bindings, move |call, answer, hands| {
            let mut seen = known.get();
            let evicts = tasks(&mut call.body.clone()).next().is_some() && call.at.subresource.is_empty();
            seen.has_conflict |= evicts && answer["code"] == 409;
            let is_double = evicts && seen.has_conflict && answer["code"] != 409;
            let other = seen.waiting.iter().find(|path| **path != call.at.path);
            let other = other.filter(|_| is_double).cloned();
            let moved = json!({"spec": {
                "clusters": null,
                "gracefulEvictionTasks": call.body["spec"]["gracefulEvictionTasks"],
            }});
            let control = hands["control"].clone();
            Box::pin(async move {
                if let Some(path) = other {
                    merge(&control, path, &moved).await;
                }
            })
        })
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

fn refused_deletion_is_done() -> Fault {
    let refused: Uids = Memory::new();
    let hidden = refused.clone();
    Fault::none()
        .after(Of::Copies, move |call, answer, _| {
            if call.method == Method::DELETE && answer["code"] == 503 {
                refused.get().insert(deleted_uid(call));
            }
            Box::pin(std::future::ready(()))
        })
        .hidden(Of::Copies, move |_, copy| hidden.get().contains(&uid(copy)))
}

/// Time within which a program asks for the same list three times only if a connection broke.
const BROKEN: SignedDuration = SignedDuration::from_secs(60);

fn broken_watch_loses_labels(clock: Clock) -> Fault {
    let asked: Memory<BTreeMap<String, Vec<Timestamp>>> = Memory::new();
    let known = asked.clone();
    Fault::none()
        .before(Of::Works, move |call, _| {
            if !call.is_write() && call.at.name.is_empty() {
                asked.get().entry(call.at.path.clone()).or_default().push(clock());
            }
            on()
        })
        .written(Of::Works, move |body| {
            let close = |three: &[Timestamp]| three[2].duration_since(three[0]) < BROKEN;
            if known.get().values().any(|times| times.windows(3).any(close)) {
                lose_labels(body);
            }
        })
}

fn young_task_is_not_read(clock: &Clock) -> Fault {
    let start = clock();
    let own: Memory<bool> = Memory::new();
    let writes = own.clone();
    Fault::none()
        .written(Of::Bindings, move |body| *writes.get() |= tasks(body).next().is_some())
        .read(Of::Bindings, move |binding| {
            let is_young = |task: &Value| {
                let written = text(task, "/creationTimestamp").parse::<Timestamp>();
                written.is_ok_and(|written| start.duration_since(written) <= SignedDuration::from_secs(1))
            };
            let all = binding
                .pointer_mut("/spec/gracefulEvictionTasks")
                .and_then(Value::as_array_mut);
            if let Some(all) = all.filter(|_| !*own.get()) {
                all.retain(|task| !is_young(task));
            }
        })
}

fn restart_without_a_result_loses_labels() -> Fault {
    #[derive(Default)]
    struct Seen {
        first: bool,
        is_between: bool,
    }
    let seen: Memory<Seen> = Memory::new();
    let known = seen.clone();
    Fault::none()
        .read(Of::Bindings, move |binding| {
            let mut seen = seen.get();
            if !seen.first {
                seen.first = true;
                seen.is_between = tasks(binding).next().is_some() && list(binding, "/spec/clusters").next().is_none();
            }
        })
        .written(Of::Works, move |body| {
            if known.get().is_between {
                lose_labels(body);
            }
        })
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

/// The number of times that these objects were listed.
fn lists(of: Of) -> (Fault, Memory<u32>) {
    let lists: Memory<u32> = Memory::new();
    let told = lists.clone();
    let fault = Fault::none().after(of, move |_, answer, _| {
        *told.get() += u32::from(answer["items"].is_array());
        Box::pin(std::future::ready(()))
    });
    (fault, lists)
}

/// Changes all writes of these objects once they were listed for the second time.
fn once_listed_again(of: Of, edit: impl Fn(&mut Value) + Send + Sync + 'static) -> Fault {
    let (fault, lists) = lists(of);
    fault.written(of, move |body| {
        if *lists.get() > 1 {
            edit(body);
        }
    })
}

pub fn lose_labels(work: &mut Value) {
    list(work, "/spec/workload/manifests").for_each(lose_own_labels);
}

fn lose_own_labels(object: &mut Value) {
    if let Some(labels) = map(object, "/metadata/labels") {
        labels.retain(|key, _| !key.starts_with("failover.karmada.io/"));
    }
}

pub fn forget_state(binding: &mut Value) {
    for task in tasks(binding) {
        remove(task, "", "preservedLabelState");
    }
}

fn forget_predecessors(binding: &mut Value) {
    for task in tasks(binding) {
        remove(task, "", "clustersBeforeFailover");
    }
}

//! How the old copy leaves.

use std::time::Duration;

use http::{Method, StatusCode};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{
    policy::{healthy, pretended},
    preservation::silent,
};
use crate::{
    fault::{Carried, Fault, Of},
    mutant::Mutant,
    pieces::{Memory, Uids, answers, delete, deleted_uid, is_directly, later, on, remove, tasks, text, uid},
    wire::not_found,
};

/// The option that says how workloads leave whose policy does not.
const MODE: &str = "no-execute-taint-eviction-purge-mode";

pub fn mutants() -> Vec<Mutant> {
    let mut mutants = directly();
    mutants.extend(never());
    mutants.extend(unreachable());
    mutants.extend(gracefully());
    mutants.extend(recorded());
    mutants.extend(tasks_over_time());
    mutants
}

fn never() -> Vec<Mutant> {
    vec![
        Mutant {
            name: "never-not-understood",
            breaks: "PRG-09",
            defect: "purgeMode Never is taken for Gracefully: the old copy goes when the new one is healthy",
            fault: |_| {
                Fault::none().read(Of::Policies, |policy| {
                    if text(policy, "/spec/failover/application/purgeMode") == "Never" {
                        policy["spec"]["failover"]["application"]["purgeMode"] = json!("Gracefully");
                    }
                })
            },
        },
        Mutant {
            name: "never-ends-by-itself",
            breaks: "PRG-09",
            defect: "a task under Never is carried out as one under Gracefully",
            fault: |_| {
                Fault::none().read(Of::Bindings, |binding| {
                    for task in tasks(binding) {
                        if task["purgeMode"] == "Never" {
                            task["purgeMode"] = json!("Gracefully");
                            remove(task, "", "suppressDeletion");
                        }
                    }
                })
            },
        },
    ]
}

fn directly() -> Vec<Mutant> {
    vec![
        Mutant {
            name: "removal-not-awaited",
            breaks: "PRG-01",
            defect: "the new copy is created as soon as the removal of the old one has been asked for",
            fault: |_| removal_not_awaited(),
        },
        Mutant {
            name: "marked-counts-as-gone",
            breaks: "PRG-02",
            defect: "an object that a finalizer holds is not waited for once it is marked for deletion",
            fault: |_| {
                Fault::none().hidden(Of::Copies, |_, copy| {
                    copy.pointer("/metadata/deletionTimestamp").is_some()
                })
            },
        },
        Mutant {
            name: "old-copy-stays",
            breaks: "PRG-03",
            defect: "the old copy is never removed, and the new one is created in addition",
            fault: |_| pretended(Of::Copies),
        },
        Mutant {
            name: "pods-outlive-the-object",
            breaks: "PRG-03",
            defect: "the object is removed and its pods go on running on the origin",
            fault: |_| {
                Fault::none().written(Of::Copies, |body| {
                    if body.get("preconditions").is_some() {
                        body["propagationPolicy"] = json!("Orphan");
                    }
                })
            },
        },
        Mutant {
            name: "result-keeps-the-origin",
            breaks: "PRG-11",
            defect: "the task is written while the scheduling result still names the cluster that it empties",
            fault: |_| {
                Fault::none().written(Of::Bindings, |body| {
                    if tasks(body).any(|task| is_directly(task)) {
                        remove(body, "/spec", "clusters");
                    }
                })
            },
        },
        Mutant {
            name: "destination-named-early",
            breaks: "PRG-13",
            defect: "the scheduling result names the destination before the old object is gone",
            fault: |_| {
                Fault::none().written(Of::Bindings, |body| {
                    let from = tasks(body)
                        .find(|task| is_directly(task))
                        .map(|task| text(task, "/fromCluster").to_owned());
                    let is_empty = body
                        .pointer("/spec/clusters")
                        .is_some_and(|clusters| *clusters == json!([]) || clusters.is_null());
                    if let (Some(from), true) = (from, is_empty) {
                        let other = if from == "member1" { "member2" } else { "member1" };
                        body["spec"]["clusters"] = json!([{"name": other, "replicas": 2}]);
                    }
                })
            },
        },
    ]
}

fn unreachable() -> Vec<Mutant> {
    vec![
        Mutant {
            name: "unreachable-counts-as-gone",
            breaks: "PRG-04",
            defect: "the new copy is created while the origin is cut off (the removal is given up after a while)",
            fault: |_| {
                Fault::none().before(Of::Copies, |call, hands| {
                    let asked = answers(call, hands);
                    let (method, missing) = (call.method.clone(), not_found(call));
                    Box::pin(async move {
                        if !matches!(method, Method::DELETE | Method::GET) || asked.await {
                            Carried::On
                        } else if method == Method::GET {
                            Carried::Instead(StatusCode::NOT_FOUND, missing)
                        } else {
                            Carried::Instead(StatusCode::OK, json!({"kind": "Status", "status": "Success"}))
                        }
                    })
                })
            },
        },
        Mutant {
            name: "cut-off-in-silence",
            breaks: "PRG-15",
            defect: "an unreachable origin is not reported",
            fault: |_| silent(),
        },
        Mutant {
            name: "left-after-healing",
            breaks: "PRG-12",
            defect: "a removal that failed while the origin was cut off is not made up for: the copy stays there",
            fault: |_| left_after_healing(),
        },
    ]
}

fn gracefully() -> Vec<Mutant> {
    vec![
        Mutant {
            name: "old-copy-not-held",
            breaks: "PRG-05",
            defect: "under Gracefully the old copy is removed at once",
            fault: |_| {
                Fault::none().read(Of::Bindings, |binding| {
                    tasks(binding).for_each(|task| task["purgeMode"] = json!("Directly"));
                })
            },
        },
        Mutant {
            name: "old-copy-gone-before-new-is-healthy",
            breaks: "PRG-05",
            defect: "under Gracefully the old copy is removed when the new one exists, healthy or not",
            fault: |_| Fault::none().read(Of::Works, healthy),
        },
        Mutant {
            name: "purged-although-nothing-fits",
            breaks: "PRG-06",
            defect: "an empty scheduling result counts as all healthy: the old copy is removed and none is left",
            fault: |_| {
                Fault::none().read(Of::Bindings, |binding| {
                    let nowhere = binding
                        .pointer("/spec/clusters")
                        .and_then(Value::as_array)
                        .is_none_or(Vec::is_empty);
                    if nowhere {
                        remove(binding, "/spec", "gracefulEvictionTasks");
                    }
                })
            },
        },
    ]
}

fn recorded() -> Vec<Mutant> {
    vec![
        Mutant {
            name: "replicas-not-recorded",
            breaks: "PRG-07",
            defect: "the task does not say how many replicas ran on the cluster",
            fault: |_| in_tasks(|task| remove(task, "", "replicas")),
        },
        Mutant {
            name: "producer-not-recorded",
            breaks: "PRG-07",
            defect: "the task names another producer",
            fault: |_| in_tasks(|task| task["producer"] = json!("Evictor")),
        },
        Mutant {
            name: "mode-not-recorded",
            breaks: "PRG-07",
            defect: "the task does not record its purge mode",
            fault: |_| in_tasks(|task| task["purgeMode"] = json!("Gracefully")),
        },
        Mutant {
            name: "mode-option-ignored",
            breaks: "PRG-08",
            defect: "the controller's option for the purge mode has no effect",
            fault: |_| Fault::none().setup(|setup| drop(setup.options.remove(MODE))),
        },
        Mutant {
            name: "mode-option-namespaced-only",
            breaks: "PRG-08",
            defect: "the option has no effect on kinds in no namespace",
            fault: |_| {
                Fault::none().written_at(Of::Bindings, |call, body| {
                    if call.at.plural == "clusterresourcebindings" {
                        tasks(body).for_each(|task| task["purgeMode"] = json!("Gracefully"));
                    }
                })
            },
        },
    ]
}

fn tasks_over_time() -> Vec<Mutant> {
    vec![
        Mutant {
            name: "task-written-twice",
            breaks: "PRG-10",
            defect: "repeated taints lead to several tasks for one cluster",
            fault: |_| {
                Fault::none().written(Of::Bindings, |body| {
                    if let Some(tasks) = body
                        .pointer_mut("/spec/gracefulEvictionTasks")
                        .and_then(Value::as_array_mut)
                        && let Some(last) = tasks.last().cloned()
                    {
                        tasks.push(last);
                    }
                })
            },
        },
        Mutant {
            name: "task-never-cleared",
            breaks: "GRE-01",
            defect: "the task stays when the new copy is healthy",
            fault: |_| {
                Fault::none().skipped(Of::Bindings, |call| {
                    call.body
                        .pointer("/spec/gracefulEvictionTasks")
                        .is_some_and(Value::is_null)
                })
            },
        },
        Mutant {
            name: "task-lost-in-a-restart",
            breaks: "GRE-06",
            defect: "a controller that starts anew knows nothing of the tasks that are pending",
            fault: |clock| task_lost_in_a_restart(clock()),
        },
        Mutant {
            name: "task-lost-to-another-writer",
            breaks: "GRE-07",
            defect: "a concurrently written task is lost: the list is overwritten with an older one",
            fault: |_| {
                Fault::none().written(Of::Bindings, |body| {
                    if let Some(tasks) = body
                        .pointer_mut("/spec/gracefulEvictionTasks")
                        .and_then(Value::as_array_mut)
                    {
                        tasks.drain(..tasks.len().saturating_sub(1));
                    }
                })
            },
        },
    ]
}

fn in_tasks(edit: fn(&mut Value)) -> Fault {
    Fault::none().written(Of::Bindings, move |body| tasks(body).for_each(edit))
}

/// Tasks from before the controller's start are not seen.
fn task_lost_in_a_restart(started: Timestamp) -> Fault {
    Fault::none().read(Of::Bindings, move |binding| {
        if let Some(tasks) = binding
            .pointer_mut("/spec/gracefulEvictionTasks")
            .and_then(Value::as_array_mut)
        {
            tasks.retain(|task| {
                let written = text(task, "/creationTimestamp").parse::<Timestamp>();
                written.is_ok_and(|written| written >= started)
            });
        }
    })
}

/// A deletion is answered at once and carried out half a minute later.
fn removal_not_awaited() -> Fault {
    let asked = Uids::new();
    let hidden = asked.clone();
    Fault::none()
        .before(Of::Copies, move |call, hands| {
            if call.method != Method::DELETE {
                return on();
            }
            asked.get().insert(deleted_uid(call));
            let (member, path) = (hands[&call.cluster].clone(), call.at.path.clone());
            later(Duration::from_secs(30), async move { delete(&member, path).await });
            let done = json!({"kind": "Status", "status": "Success"});
            Box::pin(std::future::ready(Carried::Instead(StatusCode::OK, done)))
        })
        .hidden(Of::Copies, move |_, copy| hidden.get().contains(&uid(copy)))
}

/// A removal that met a member that was cut off is forgotten when it answers again.
fn left_after_healing() -> Fault {
    let failed: Memory<Vec<String>> = Memory::new();
    let left = Uids::new();
    let hidden = left.clone();
    Fault::none()
        .before(Of::Copies, move |call, hands| {
            if call.method != Method::DELETE {
                return on();
            }
            let asked = answers(call, hands);
            let (failed, left, uid) = (failed.clone(), left.clone(), deleted_uid(call));
            Box::pin(async move {
                let reached = asked.await;
                if reached && failed.get().contains(&uid) {
                    left.get().insert(uid);
                    return Carried::Instead(StatusCode::OK, json!({"kind": "Status", "status": "Success"}));
                }
                if reached {
                    return Carried::On;
                }
                failed.get().push(uid);
                let status = json!({"kind": "Status", "status": "Failure", "code": 504, "reason": "Timeout"});
                Carried::Instead(StatusCode::GATEWAY_TIMEOUT, status)
            })
        })
        .hidden(Of::Copies, move |_, copy| hidden.get().contains(&uid(copy)))
}

//! Tasks of recovered clusters; restarts of the controller and conflicting writes.

use std::{collections::BTreeMap, time::Duration};

use http::{Method, StatusCode};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::taints::taints_that_stay;
use crate::{
    fault::{Carried, Fault, Of},
    mutant::Mutant,
    pieces::{Memory, delete, later, list, merge, on, remove, tasks, template_path, text, uid},
};

pub fn mutants() -> Vec<Mutant> {
    let mut mutants = recovered();
    mutants.extend(met_by_others());
    mutants
}

#[expect(clippy::too_many_lines, reason = "a table: an entry for each mutant")]
fn recovered() -> Vec<Mutant> {
    vec![
        Mutant {
            name: "recovery-not-noticed",
            breaks: "GRE-02",
            defect: "a workload that fits nowhere does not go back when its cluster recovers",
            fault: |_| taints_that_stay(),
        },
        Mutant {
            name: "task-stays-after-recovery",
            breaks: "GRE-03",
            defect: "the task of a cluster stays when the workload is back there",
            fault: |_| task_stays_after_recovery(),
        },
        Mutant {
            name: "removed-when-its-cluster-recovers",
            breaks: "GRE-02",
            defect: "the copy on the only cluster is removed when that recovers and the task is cleared",
            fault: |_| {
                Fault::none().after(Of::Bindings, |call, answer, hands| {
                    let cleared = call
                        .body
                        .pointer("/spec/gracefulEvictionTasks")
                        .is_some_and(Value::is_null);
                    let home = text(answer, "/spec/clusters/0/name");
                    let Some(member) = hands.get(home).filter(|_| cleared).cloned() else {
                        return Box::pin(std::future::ready(()));
                    };
                    let path = template_path(answer);
                    Box::pin(async move { delete(&member, path).await })
                })
            },
        },
        Mutant {
            name: "restored-only-if-nothing-else-fits",
            breaks: "GRE-02",
            defect: "a workload whose scheduling failed moves although its cluster has recovered, if another one fits",
            fault: |_| {
                Fault::none().read(Of::Bindings, |binding| {
                    if list(binding, "/spec/clusters").next().is_none() {
                        tasks(binding).for_each(|task| task["purgeMode"] = json!("Never"));
                    }
                })
            },
        },
        Mutant {
            name: "deleted-once-more",
            breaks: "POL-23",
            defect: "a deletion of the old copy is repeated later, and meets the copy that has come back",
            fault: |_| {
                Fault::none().after(Of::Copies, |call, _, hands| {
                    let (member, path) = (hands[&call.cluster].clone(), call.at.path.clone());
                    if call.method == Method::DELETE {
                        later(Duration::from_secs(70), async move { delete(&member, path).await });
                    }
                    Box::pin(std::future::ready(()))
                })
            },
        },
        Mutant {
            name: "recovery-not-noticed-at-the-timeout",
            breaks: "GRE-15",
            defect: "a workload that fits nowhere runs nowhere when its cluster has recovered and its grace period is over",
            fault: |_| taints_that_stay(),
        },
        Mutant {
            name: "no-status-is-not-healthy",
            breaks: "GRE-14",
            defect: "a workload of a kind without a status never counts as healthy",
            fault: |_| {
                Fault::none().read(Of::Works, |work| {
                    if text(work, "/spec/workload/manifests/0/kind") == "ConfigMap" {
                        for item in list(work, "/status/manifestStatuses") {
                            item["health"] = json!("Unknown");
                        }
                    }
                })
            },
        },
        Mutant {
            name: "grace-period-of-the-task-before",
            breaks: "GRE-12",
            defect: "a task without a grace period has that of the task before it",
            fault: |_| {
                Fault::none().read(Of::Bindings, |binding| {
                    let mut before = Value::Null;
                    for task in tasks(binding) {
                        if task["gracePeriodSeconds"].is_null() {
                            task["gracePeriodSeconds"] = before.clone();
                        }
                        before = task["gracePeriodSeconds"].clone();
                    }
                })
            },
        },
        Mutant {
            name: "time-stops-with-never",
            breaks: "GRE-12",
            defect: "as long as one copy is left to the user, the grace period of no other ends",
            fault: |_| {
                Fault::none().read(Of::Bindings, |binding| {
                    let waits = tasks(binding).any(|task| text(task, "/purgeMode") == "Never");
                    for task in tasks(binding).filter(|_| waits) {
                        task["gracePeriodSeconds"] = json!(100_000);
                    }
                })
            },
        },
        Mutant {
            name: "tasks-of-cluster-bindings-stay",
            breaks: "GRE-01",
            defect: "the tasks of objects without a namespace are never cleared",
            fault: |_| {
                Fault::none().skipped(Of::Bindings, |call| {
                    let cleared = call
                        .body
                        .pointer("/spec/gracefulEvictionTasks")
                        .is_some_and(Value::is_null);
                    call.at.plural == "clusterresourcebindings" && cleared
                })
            },
        },
        Mutant {
            name: "turned-back-on-recovery",
            breaks: "GRE-04",
            defect: "a migration that has begun is given up when the old cluster recovers",
            fault: |_| turned_back(),
        },
        Mutant {
            name: "completed-but-turned-back",
            breaks: "GRE-10",
            defect: "a workload that has moved goes back when its old cluster recovers soon",
            fault: |_| turned_back(),
        },
        Mutant {
            name: "result-of-a-user-undone",
            breaks: "GRE-11",
            defect: "a result that a user sets back is taken for none as long as there is a task",
            fault: |_| {
                Fault::none().read(Of::Bindings, |binding| {
                    let left: Vec<Value> = tasks(binding).map(|task| task["fromCluster"].clone()).collect();
                    if let Some(clusters) = binding.pointer_mut("/spec/clusters").and_then(Value::as_array_mut) {
                        clusters.retain(|cluster| !left.contains(&cluster["name"]));
                    }
                    if list(binding, "/spec/clusters").next().is_none() {
                        tasks(binding).for_each(|task| task["purgeMode"] = json!("Never"));
                    }
                })
            },
        },
    ]
}

/// Half a minute after an eviction has begun, the old cluster is the result again.
pub fn turned_back() -> Fault {
    Fault::none().after(Of::Bindings, |call, answer, hands| {
        let from = tasks(&mut call.body.clone())
            .map(|task| text(task, "/fromCluster").to_owned())
            .last();
        if let Some(from) = from {
            let (control, path) = (hands["control"].clone(), call.at.path.clone());
            let replicas = answer.pointer("/spec/replicas").cloned().unwrap_or_default();
            let back = json!({"spec": {"clusters": [{"name": from, "replicas": replicas}]}});
            later(
                Duration::from_secs(30),
                async move { merge(&control, path, &back).await },
            );
        }
        Box::pin(std::future::ready(()))
    })
}

fn met_by_others() -> Vec<Mutant> {
    vec![
        Mutant {
            name: "suppressed-blocks-others",
            breaks: "GRE-12",
            defect: "as long as the removal of one copy waits for a user, no other task is cleared",
            fault: |_| suppressed_blocks_others(),
        },
        Mutant {
            name: "status-lost-to-a-conflict",
            breaks: "STP-11",
            defect: "a status whose write met a conflict is not written again",
            fault: |_| status_lost_to_a_conflict(),
        },
        Mutant {
            name: "status-of-before-the-crash-lost",
            breaks: "POL-07",
            defect: "a controller that starts anew does not look at statuses that were collected before",
            fault: |clock| status_of_before(clock()),
        },
        Mutant {
            name: "writes-over-others",
            breaks: "GRE-07",
            defect: "tasks are written over the changes of other writers",
            fault: |_| {
                Fault::none().written(Of::Bindings, |binding| {
                    if tasks(binding).next().is_some() {
                        remove(binding, "/metadata", "resourceVersion");
                    }
                })
            },
        },
        Mutant {
            name: "bindings-deleted-in-a-restart",
            breaks: "POL-13",
            defect: "a controller that starts anew deletes the bindings that it finds, and makes them again",
            fault: |clock| deleted_in_a_restart(Of::Bindings, clock()),
        },
        Mutant {
            name: "works-deleted-in-a-restart",
            breaks: "GRE-06",
            defect: "a controller that starts anew deletes the Works that it finds, and makes them again",
            fault: |clock| deleted_in_a_restart(Of::Works, clock()),
        },
    ]
}

/// Tasks are not cleared when, or once, the scheduling result names their cluster.
fn task_stays_after_recovery() -> Fault {
    let home: Memory<bool> = Memory::new();
    let seen = home.clone();
    let clears = |body: &Value| body.pointer("/spec/gracefulEvictionTasks").is_some_and(Value::is_null);
    Fault::none()
        .read(Of::Bindings, move |binding| {
            let from: Vec<String> = tasks(binding)
                .map(|task| text(task, "/fromCluster").to_owned())
                .collect();
            *seen.get() =
                list(binding, "/spec/clusters").any(|target| from.iter().any(|from| target["name"] == from.as_str()));
        })
        .skipped(Of::Bindings, move |call| clears(&call.body) && *home.get())
        .written(Of::Bindings, move |body| {
            if clears(body) && list(body, "/spec/clusters").next().is_some() {
                remove(body, "/spec", "gracefulEvictionTasks");
            }
        })
}

/// Tasks next to a suppressed one are restored after they are cleared.
fn suppressed_blocks_others() -> Fault {
    let known: Memory<Vec<Value>> = Memory::new();
    let seen = known.clone();
    Fault::none()
        .read(Of::Bindings, move |binding| {
            *seen.get() = tasks(binding).map(|task| task.clone()).collect();
        })
        .written(Of::Bindings, move |body| {
            let known = known.get();
            let suppressed = known.iter().any(|task| task["suppressDeletion"] == true);
            let kept: Vec<String> = tasks(body).map(|task| text(task, "/fromCluster").to_owned()).collect();
            let listed = body
                .pointer_mut("/spec/gracefulEvictionTasks")
                .and_then(Value::as_array_mut);
            if let Some(listed) = listed.filter(|_| suppressed) {
                let cleared = known
                    .iter()
                    .filter(|task| !kept.iter().any(|from| task["fromCluster"] == from.as_str()));
                listed.extend(cleared.cloned());
            }
        })
}

/// After a conflict the next status is only said to have been written.
fn status_lost_to_a_conflict() -> Fault {
    let met: Memory<bool> = Memory::new();
    let noticed = met.clone();
    Fault::none()
        .before(Of::Bindings, move |call, _| {
            if call.at.subresource != "status" || !std::mem::take(&mut *met.get()) {
                return on();
            }
            let answer = call.body.clone();
            Box::pin(std::future::ready(Carried::Instead(StatusCode::OK, answer)))
        })
        .after(Of::Bindings, move |_, answer, _| {
            *noticed.get() |= answer["code"] == 409;
            Box::pin(std::future::ready(()))
        })
}

/// Objects from before the controller's start are deleted when it lists them.
fn deleted_in_a_restart(of: Of, started: Timestamp) -> Fault {
    Fault::none().after(of, move |call, answer, hands| {
        let is_old = |object: &&Value| {
            let created = text(object, "/metadata/creationTimestamp").parse::<Timestamp>();
            created.is_ok_and(|created| created < started)
        };
        let of_all = call.at.path.trim_end_matches(&call.at.plural).to_owned();
        let path = |object: &Value| {
            let (namespace, name) = (text(object, "/metadata/namespace"), text(object, "/metadata/name"));
            format!("{of_all}namespaces/{namespace}/{}/{name}", call.at.plural)
        };
        let items = answer["items"].as_array().into_iter().flatten();
        let paths: Vec<String> = items.filter(is_old).map(path).collect();
        let control = hands["control"].clone();
        Box::pin(async move {
            for path in paths {
                delete(&control, path).await;
            }
        })
    })
}

/// Works from before the controller's start seem to have no status until it changes.
fn status_of_before(started: Timestamp) -> Fault {
    let found: Memory<BTreeMap<String, Value>> = Memory::new();
    Fault::none().read(Of::Works, move |work| {
        let created = text(work, "/metadata/creationTimestamp").parse::<Timestamp>();
        if created.is_ok_and(|created| created < started) {
            let status = work["status"].clone();
            let mut found = found.get();
            if *found.entry(uid(work)).or_insert_with(|| status.clone()) == status {
                work["status"] = Value::Null;
            }
        }
    })
}

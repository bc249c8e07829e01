//! What becomes of tasks when clusters recover, and of everything when controllers start anew or writes meet others.

use std::time::Duration;

use http::StatusCode;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::taints::taints_that_stay;
use crate::{
    fault::{Carried, Fault, Of},
    mutant::Mutant,
    pieces::{Memory, delete, later, list, merge, on, remove, tasks, template_path, text},
};

pub fn mutants() -> Vec<Mutant> {
    let mut mutants = recovered();
    mutants.extend(met_by_others());
    mutants
}

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
            breaks: "PRG-09",
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

/// Tasks beside one that is suppressed are put back when they are cleared.
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

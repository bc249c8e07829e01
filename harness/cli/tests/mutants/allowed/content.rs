//! Other content of objects.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::Allowed;
use crate::{
    fault::{Fault, Of},
    pieces::{Memory, create, list, map, remove, tasks, text},
};

/// Key of labels, annotations and conditions that this implementation alone has.
const OWN: &str = "example.io/another";

/// Mark before words that are not those of the reference controller.
const OTHERWISE: &str = "In other words: ";

#[expect(clippy::too_many_lines, reason = "a table: an entry for each implementation")]
pub fn all() -> Vec<Allowed> {
    vec![
        Allowed {
            name: "own-labels",
            differs: "bindings, Works and copies have a label and an annotation of the implementation",
            without: &[],
            fault: |_| {
                [Of::Bindings, Of::Works, Of::Copies]
                    .into_iter()
                    .fold(Fault::none(), |fault, of| {
                        fault.written_at(of, |call, body| {
                            if call.method != http::Method::DELETE && call.at.subresource.is_empty() {
                                mark(body);
                            }
                        })
                    })
            },
        },
        Allowed {
            name: "own-conditions",
            differs: "bindings have a condition of the implementation",
            without: &[],
            fault: |_| {
                Fault::none()
                    .written(Of::Bindings, |body| {
                        if let Some(conditions) = body.pointer_mut("/status/conditions").and_then(Value::as_array_mut) {
                            conditions.push(json!({"type": OWN, "status": "True", "reason": "Example",
                                "message": "an example", "lastTransitionTime": "2026-01-01T00:00:00Z"}));
                        }
                    })
                    .read(Of::Bindings, |binding| {
                        if let Some(conditions) =
                            binding.pointer_mut("/status/conditions").and_then(Value::as_array_mut)
                        {
                            conditions.retain(|condition| condition["type"] != OWN);
                        }
                    })
            },
        },
        Allowed {
            name: "other-words",
            differs: "conditions and Events have other reasons and messages",
            without: &[],
            fault: |_| {
                let say = |said: &mut Value| {
                    if let Some(reason) = said["reason"].as_str() {
                        said["reason"] = json!(format!("Other{reason}"));
                    }
                    if let Some(message) = said["message"].as_str() {
                        said["message"] = json!(format!("{OTHERWISE}{message}"));
                    }
                };
                let unsay = |said: &mut Value| {
                    if let Some(reason) = said["reason"].as_str().and_then(|it| it.strip_prefix("Other")) {
                        said["reason"] = json!(reason);
                    }
                    if let Some(message) = said["message"].as_str().and_then(|it| it.strip_prefix(OTHERWISE)) {
                        said["message"] = json!(message);
                    }
                };
                Fault::none()
                    .written(Of::Bindings, move |body| list(body, "/status/conditions").for_each(say))
                    .read(Of::Bindings, move |body| {
                        list(body, "/status/conditions").for_each(unsay);
                    })
                    .written(Of::Events, move |body| say(body))
                    .read(Of::Events, move |body| unsay(body))
            },
        },
        Allowed {
            name: "other-order",
            differs: "clusters, statuses and tasks stand in the opposite order in bindings",
            without: &[],
            fault: |_| {
                Fault::none()
                    .written(Of::Bindings, |body| sort(body, true))
                    .read(Of::Bindings, |body| sort(body, false))
            },
        },
        Allowed {
            name: "empty-state",
            differs: "a task without state has an empty map of it",
            without: &[],
            fault: |_| {
                Fault::none()
                    .written(Of::Bindings, |body| {
                        for task in tasks(body) {
                            if task.get("preservedLabelState").is_none_or(Value::is_null) {
                                task["preservedLabelState"] = json!({});
                            }
                        }
                    })
                    .read(Of::Bindings, |body| {
                        for task in tasks(body) {
                            if task["preservedLabelState"] == json!({}) {
                                remove(task, "", "preservedLabelState");
                            }
                        }
                    })
            },
        },
        Allowed {
            name: "predecessors-only-with-state",
            differs: "a task without state does not name the clusters before the failover",
            without: &[],
            fault: |_| {
                Fault::none().written(Of::Bindings, |body| {
                    for task in tasks(body) {
                        let state = task.get("preservedLabelState").and_then(Value::as_object);
                        if state.is_none_or(Map::is_empty) {
                            remove(task, "", "clustersBeforeFailover");
                        }
                    }
                })
            },
        },
        Allowed {
            name: "other-reasons",
            differs: "a task has another reason, another producer and a message",
            without: &[],
            fault: |_| {
                Fault::none()
                    .written(Of::Bindings, |body| {
                        for task in tasks(body) {
                            task["reason"] = json!(format!("Other{}", text(task, "/reason")));
                            task["producer"] = json!("Another");
                            task["message"] = json!("the workload leaves this cluster");
                        }
                    })
                    .read(Of::Bindings, |body| {
                        for task in tasks(body) {
                            if let Some(reason) = text(task, "/reason").strip_prefix("Other") {
                                task["reason"] = json!(reason);
                            }
                        }
                    })
            },
        },
        Allowed {
            name: "bare-tasks",
            differs: "a task does not say its purge mode and its replicas",
            without: &[],
            fault: |_| bare_tasks(),
        },
        Allowed {
            name: "empty-lists",
            differs: "bindings without a result or without tasks have empty lists of them",
            without: &[],
            fault: |_| {
                Fault::none().written_at(Of::Bindings, |call, body| {
                    let is_whole = body.get("kind").is_some() && call.at.subresource.is_empty();
                    if let Some(spec) = map(body, "/spec").filter(|_| is_whole) {
                        for member in ["clusters", "gracefulEvictionTasks"] {
                            let list = spec.entry(member).or_insert(Value::Null);
                            if list.is_null() {
                                *list = json!([]);
                            }
                        }
                    }
                })
            },
        },
        Allowed {
            name: "events-only",
            differs: "bindings have no conditions but Scheduled and FullyApplied: Events say the rest",
            without: &[],
            fault: |_| events_only(),
        },
        Allowed {
            name: "conditions-only",
            differs: "there are no Events: conditions say everything",
            without: &[],
            fault: |_| Fault::none().skipped(Of::Events, |_| true),
        },
        Allowed {
            name: "own-objects",
            differs: "the implementation keeps its own ConfigMaps on the control plane and on members",
            without: &[],
            fault: |_| {
                [Of::Bindings, Of::Copies].into_iter().fold(Fault::none(), |fault, of| {
                    fault.after(of, |call, answer, hands| {
                        let client = hands[&call.cluster].clone();
                        let namespace = call.at.namespace.clone();
                        let name = format!("another-{}", text(answer, "/metadata/name").replace([':', '.'], "-"));
                        let is_new =
                            call.is_write() && !namespace.is_empty() && answer.pointer("/metadata/uid").is_some();
                        Box::pin(async move {
                            if is_new {
                                let own = json!({"apiVersion": "v1", "kind": "ConfigMap",
                                    "metadata": {"name": name}, "data": {"kept": "here"}});
                                create(&client, format!("/api/v1/namespaces/{namespace}/configmaps"), &own).await;
                            }
                        })
                    })
                })
            },
        },
        Allowed {
            name: "foreground",
            differs: "copies are deleted with their pods first, in the foreground",
            without: &[],
            fault: |_| {
                Fault::none().written_at(Of::Copies, |call, body| {
                    if call.method == http::Method::DELETE {
                        if body.is_null() {
                            *body = json!({"apiVersion": "v1", "kind": "DeleteOptions"});
                        }
                        body["propagationPolicy"] = json!("Foreground");
                    }
                })
            },
        },
    ]
}

/// Keeps the fields of tasks that need not be there from the API, and shows them to the controller.
fn bare_tasks() -> Fault {
    let kept: Memory<BTreeMap<(String, String), Map<String, Value>>> = Memory::new();
    let shown = kept.clone();
    let key = |binding: &str, task: &Value| (binding.to_owned(), text(task, "/fromCluster").to_owned());
    Fault::none()
        .written_at(Of::Bindings, move |call, body| {
            for task in tasks(body) {
                let key = key(&call.at.name, task);
                let Some(fields) = task.as_object_mut() else { continue };
                let taken = ["purgeMode", "replicas"].map(|field| fields.remove_entry(field));
                kept.get().insert(key, taken.into_iter().flatten().collect());
            }
        })
        .read(Of::Bindings, move |binding| {
            let name = text(binding, "/metadata/name").to_owned();
            let failover = binding.pointer("/spec/failover").cloned().unwrap_or_default();
            for task in tasks(binding) {
                let taken = shown.get().get(&key(&name, task)).cloned();
                if let Some((fields, taken)) = task.as_object_mut().zip(taken) {
                    fields.extend(taken);
                } else if task.get("purgeMode").is_none() {
                    // After a restart, the policy says it.
                    let is_of_application = text(task, "/reason") == "ApplicationFailure";
                    let part = if is_of_application { "application" } else { "cluster" };
                    task["purgeMode"] = failover[part]["purgeMode"].clone();
                }
            }
        })
}

/// Keeps the conditions that not every binding has from the API, and shows them to the controller.
fn events_only() -> Fault {
    let kept: Memory<BTreeMap<String, Vec<Value>>> = Memory::new();
    let shown = kept.clone();
    let is_of_every_binding = |condition: &Value| matches!(text(condition, "/type"), "Scheduled" | "FullyApplied");
    Fault::none()
        .written_at(Of::Bindings, move |call, body| {
            if let Some(conditions) = body.pointer_mut("/status/conditions").and_then(Value::as_array_mut) {
                let (every, own) = conditions.drain(..).partition(is_of_every_binding);
                *conditions = every;
                kept.get().insert(call.at.name.clone(), own);
            }
        })
        .read(Of::Bindings, move |binding| {
            let own = shown
                .get()
                .get(text(binding, "/metadata/name"))
                .cloned()
                .unwrap_or_default();
            let conditions = binding.pointer_mut("/status/conditions").and_then(Value::as_array_mut);
            if let Some(conditions) = conditions {
                conditions.extend(own);
            }
        })
}

/// Adds a label and an annotation to an object that is written whole.
fn mark(body: &mut Value) {
    let is_whole = body.get("kind").is_some();
    if let Some(metadata) = map(body, "/metadata").filter(|_| is_whole) {
        for place in ["labels", "annotations"] {
            let own = metadata.entry(place).or_insert_with(|| json!({}));
            own[OWN] = json!("here");
        }
    }
}

/// Sorts the lists of a binding by cluster.
fn sort(binding: &mut Value, is_reverse: bool) {
    for (pointer, key) in [
        ("/spec/clusters", "/name"),
        ("/spec/gracefulEvictionTasks", "/fromCluster"),
        ("/status/aggregatedStatus", "/clusterName"),
    ] {
        if let Some(items) = binding.pointer_mut(pointer).and_then(Value::as_array_mut) {
            items.sort_by_key(|item| text(item, key).to_owned());
            if is_reverse {
                items.reverse();
            }
        }
    }
}

//! Other times and orders of writes.

use std::time::Duration;

use http::Method;
use serde_json::{Value, json};

use super::Allowed;
use crate::{
    fault::{Carried, Doing, Fault, Of},
    pieces::{Memory, get, merge, remove},
    wire::Call,
};

/// Time that a slow write takes.
const SLOW: Duration = Duration::from_secs(1);

#[expect(clippy::too_many_lines, reason = "a table: an entry for each implementation")]
pub fn all() -> Vec<Allowed> {
    vec![
        Allowed {
            name: "slow-decisions",
            differs: "each write of a binding takes a second",
            without: &[],
            fault: |_| {
                slowly(Fault::none(), Of::Bindings, |call| {
                    call.is_write() && call.at.subresource.is_empty()
                })
            },
        },
        Allowed {
            name: "slow-statuses",
            differs: "each write of the status of a binding takes a second",
            // After its start, it evicts by a status that is old.
            without: &["healthy-while-stopped-deployment"],
            fault: |_| {
                slowly(Fault::none(), Of::Bindings, |call| {
                    call.is_write() && call.at.subresource == "status"
                })
            },
        },
        Allowed {
            name: "slow-works",
            differs: "each write of a Work takes a second",
            without: &[],
            fault: |_| slowly(Fault::none(), Of::Works, Call::is_write),
        },
        Allowed {
            name: "slow-members",
            differs: "each write to a member takes a second",
            without: &[],
            fault: |_| slowly(Fault::none(), Of::Copies, Call::is_write),
        },
        Allowed {
            name: "slow-deletions",
            differs: "the deletion of a copy takes three seconds longer",
            without: &[],
            fault: |_| Fault::none().before(Of::Copies, |call, _| wait(call.method == Method::DELETE, 3 * SLOW)),
        },
        Allowed {
            name: "slow-clearing",
            differs: "a task is cleared three seconds later",
            without: &[],
            fault: |_| {
                Fault::none().before(Of::Bindings, |call, _| {
                    let clears = call
                        .body
                        .pointer("/spec/gracefulEvictionTasks")
                        .is_some_and(|tasks| tasks.is_null() || tasks.as_array().is_some_and(Vec::is_empty));
                    wait(clears, 3 * SLOW)
                })
            },
        },
        Allowed {
            name: "slow-start",
            differs: "the implementation needs five seconds before it writes anything",
            without: &[],
            fault: |_| {
                let began: Memory<Option<tokio::time::Instant>> = Memory::new();
                [Of::Bindings, Of::Works, Of::Copies, Of::Clusters]
                    .into_iter()
                    .fold(Fault::none(), |fault, of| {
                        let began = began.clone();
                        fault.before(of, move |call, _| {
                            let began = *began.get().get_or_insert_with(tokio::time::Instant::now);
                            let is_write = call.is_write();
                            Box::pin(async move {
                                if is_write {
                                    tokio::time::sleep_until(began + 5 * SLOW).await;
                                }
                                Carried::On
                            })
                        })
                    })
            },
        },
        Allowed {
            name: "applied-first",
            differs: "a binding says first that a workload was applied, and its status and health a second later",
            without: &[],
            fault: |_| {
                let is_of_status = |call: &Call| call.at.subresource == "status" && call.method == Method::PATCH;
                Fault::none()
                    .before(Of::Bindings, move |call, hands| {
                        let control = hands["control"].clone();
                        let items = call
                            .body
                            .pointer("/status/aggregatedStatus")
                            .and_then(Value::as_array)
                            .cloned();
                        let items = items.filter(|_| is_of_status(call)).unwrap_or_default();
                        let path = call.at.path.clone();
                        Box::pin(async move {
                            if items.is_empty() {
                                return Carried::On;
                            }
                            let binding = get(&control, path.trim_end_matches("/status").to_owned()).await;
                            let known = binding
                                .pointer("/status/aggregatedStatus")
                                .and_then(Value::as_array)
                                .cloned();
                            let known = known.unwrap_or_default();
                            let is_known =
                                |item: &Value| known.iter().any(|it| it["clusterName"] == item["clusterName"]);
                            if items.iter().all(is_known) {
                                return Carried::On;
                            }
                            let bare = items.into_iter().map(|item| {
                                if is_known(&item) {
                                    item
                                } else {
                                    json!({"clusterName": item["clusterName"], "applied": item["applied"]})
                                }
                            });
                            let first = json!({"status": {"aggregatedStatus": bare.collect::<Vec<_>>()}});
                            merge(&control, path, &first).await;
                            tokio::time::sleep(SLOW).await;
                            Carried::On
                        })
                    })
                    .written_at(Of::Bindings, move |call, body| {
                        if is_of_status(call) {
                            remove(body, "/metadata", "resourceVersion");
                        }
                    })
            },
        },
        Allowed {
            name: "task-first",
            differs: "the task is written first, and the scheduling result changes with another write",
            without: &[],
            fault: |_| {
                let is_split = |body: &Value| {
                    body.pointer("/spec/clusters").is_some()
                        && body
                            .pointer("/spec/gracefulEvictionTasks")
                            .is_some_and(|it| !it.is_null())
                };
                Fault::none()
                    .before(Of::Bindings, move |call, hands| {
                        let client = hands["control"].clone();
                        let split = is_split(&call.body) && call.method == Method::PATCH;
                        let (path, body) = (call.at.path.clone(), call.body.clone());
                        Box::pin(async move {
                            if split {
                                let first =
                                    json!({"spec": {"gracefulEvictionTasks": body["spec"]["gracefulEvictionTasks"]}});
                                merge(&client, path, &first).await;
                            }
                            Carried::On
                        })
                    })
                    .written(Of::Bindings, move |body| {
                        if is_split(body) {
                            remove(body, "/metadata", "resourceVersion");
                        }
                    })
            },
        },
    ]
}

/// Delays requests by a second.
fn slowly(fault: Fault, of: Of, is_slow: impl Fn(&Call) -> bool + Send + Sync + 'static) -> Fault {
    fault.before(of, move |call, _| wait(is_slow(call), SLOW))
}

/// Lets a request go on, after a while if it is slow.
fn wait(is_slow: bool, time: Duration) -> Doing<Carried> {
    Box::pin(async move {
        if is_slow {
            tokio::time::sleep(time).await;
        }
        Carried::On
    })
}

//! Defects by which one refused request, or one unhealthy cluster, harms other workloads and clusters.

use std::collections::{BTreeMap, BTreeSet};

use baton_cluster::clock::Clock;
use http::{Method, StatusCode};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::{
    fault::{Carried, Fault, Of},
    mutant::Mutant,
    pieces::{Memory, get, list, merge, remove, tasks, text, uid},
};

/// Time that a member may take to answer.
const PATIENCE: SignedDuration = SignedDuration::from_secs(4);

pub fn mutants() -> Vec<Mutant> {
    let mut mutants = clusters();
    mutants.extend(workloads());
    mutants
}

/// Clusters, and requests that are refused or never answered.
fn clusters() -> Vec<Mutant> {
    vec![
        Mutant {
            name: "refused-result-forgotten",
            breaks: "POL-15",
            defect: "a scheduling result that the control plane did not store is not written again",
            fault: |_| refused_result_forgotten(),
        },
        Mutant {
            name: "silent-member-holds-all",
            breaks: "POL-16",
            defect: "while one member does not answer, nothing is written to any other",
            fault: |clock| silent_member_holds_all(clock.clone()),
        },
        Mutant {
            name: "refused-work-stops-the-others",
            breaks: "POL-17",
            defect: "after a Work that was refused, the Works for other clusters are not written",
            fault: |_| refused_work_stops_the_others(),
        },
        Mutant {
            name: "missing-credentials-are-a-failure",
            breaks: "POL-18",
            defect: "a cluster is not Ready as soon as its credentials cannot be read",
            fault: |_| missing_credentials_are_a_failure(),
        },
        Mutant {
            name: "new-counts-as-ready",
            breaks: "POL-19",
            defect: "a cluster that joins counts as Ready before it was reached",
            fault: |_| new_counts_as_ready(),
        },
        Mutant {
            name: "unjoined-clusters-stay",
            breaks: "GAT-10",
            defect: "a Cluster object that is deleted waits for workloads that nothing moves",
            fault: |_| unjoined_clusters_stay(),
        },
    ]
}

/// Workloads, their policies, copies and dependencies.
fn workloads() -> Vec<Mutant> {
    vec![
        Mutant {
            name: "other-schedulers-ignored",
            breaks: "POL-20",
            defect: "workloads of another scheduler are scheduled like all others",
            fault: |_| {
                Fault::none().read(Of::Bindings, |binding| {
                    remove(binding, "/spec", "schedulerName");
                })
            },
        },
        Mutant {
            name: "kept-on-clusters-of-before",
            breaks: "POL-21",
            defect: "a workload that is scheduled again stays on a cluster of its earlier result, allowed or not",
            fault: |_| kept_on_clusters_of_before(),
        },
        Mutant {
            name: "applied-once-is-applied",
            breaks: "POL-22",
            defect: "an object that was applied once counts as applied although its copy is gone and cannot be created again",
            fault: |_| applied_once(),
        },
        Mutant {
            name: "policies-by-name-alone",
            breaks: "POL-03",
            defect: "a policy that was deleted and created again counts as the one that was there before",
            fault: |_| {
                let first: Memory<BTreeMap<String, String>> = Memory::new();
                Fault::none().hidden(Of::Policies, move |_, policy| {
                    let name = text(policy, "/metadata/name").to_owned();
                    *first.get().entry(name).or_insert_with(|| uid(policy)) != uid(policy)
                })
            },
        },
        Mutant {
            name: "dependencies-left",
            breaks: "APP-22",
            defect: "the copies of dependencies stay when the workload is deleted",
            fault: |_| {
                Fault::none().skipped(Of::Bindings, |call| {
                    call.method == Method::DELETE && call.at.name.ends_with("-persistentvolumeclaim")
                })
            },
        },
        Mutant {
            name: "flink-error-is-healthy",
            breaks: "FLK-06",
            defect: "a FlinkDeployment with any error counts as Healthy while its job has not started",
            fault: |_| {
                Fault::none().read(Of::Works, |work| {
                    for status in list(work, "/status/manifestStatuses") {
                        if !text(status, "/status/error").is_empty() {
                            status["health"] = json!("Healthy");
                        }
                    }
                })
            },
        },
    ]
}

/// Once a scheduling result was refused, later ones are not sent, and answered as if they were stored.
fn refused_result_forgotten() -> Fault {
    let refused: Memory<bool> = Memory::new();
    let seen = refused.clone();
    Fault::none()
        .skipped(Of::Bindings, move |call| {
            *seen.get() && call.body.pointer("/spec/clusters").is_some()
        })
        .after(Of::Bindings, move |call, answer, _| {
            let is_refused = answer["code"].as_u64().is_some_and(|code| code >= 500);
            *refused.get() |= is_refused && call.body.pointer("/spec/clusters").is_some();
            Box::pin(std::future::ready(()))
        })
}

/// No copy is written while a request to another member has not been answered for some seconds.
fn silent_member_holds_all(clock: Clock) -> Fault {
    let asked: Memory<BTreeMap<String, Timestamp>> = Memory::new();
    let answered = asked.clone();
    Fault::none()
        .before(Of::Copies, move |call, _| {
            let (now, mut asked) = (clock(), asked.get());
            let is_held = call.is_write()
                && asked
                    .iter()
                    .any(|(member, since)| *member != call.cluster && now.duration_since(*since) > PATIENCE);
            asked.entry(call.cluster.clone()).or_insert(now);
            Box::pin(std::future::ready(if is_held {
                Carried::Instead(StatusCode::GATEWAY_TIMEOUT, failure(504))
            } else {
                Carried::On
            }))
        })
        .after(Of::Copies, move |call, _, _| {
            answered.get().remove(&call.cluster);
            Box::pin(std::future::ready(()))
        })
}

/// Once a Work was refused, all later ones are.
fn refused_work_stops_the_others() -> Fault {
    let refused: Memory<bool> = Memory::new();
    let seen = refused.clone();
    Fault::none()
        .before(Of::Works, move |call, _| {
            let stops = call.method == Method::POST && *seen.get();
            Box::pin(std::future::ready(if stops {
                Carried::Instead(StatusCode::INTERNAL_SERVER_ERROR, failure(500))
            } else {
                Carried::On
            }))
        })
        .after(Of::Works, move |_, answer, _| {
            *refused.get() |= answer["code"] == 422;
            Box::pin(std::future::ready(()))
        })
}

/// Members whose Cluster names a Secret that does not exist seem not to be ready.
fn missing_credentials_are_a_failure() -> Fault {
    Fault::none().before(Of::Probes, |call, hands| {
        let control = hands["control"].clone();
        let path = format!("/apis/cluster.karmada.io/v1alpha1/clusters/{}", call.cluster);
        Box::pin(async move {
            let cluster = get(&control, path).await;
            let reference = |member: &str| text(&cluster, &format!("/spec/secretRef/{member}")).to_owned();
            let (namespace, name) = (reference("namespace"), reference("name"));
            let secret = get(&control, format!("/api/v1/namespaces/{namespace}/secrets/{name}")).await;
            if name.is_empty() || !secret["metadata"].is_null() {
                return Carried::On;
            }
            Carried::Instead(StatusCode::SERVICE_UNAVAILABLE, failure(503))
        })
    })
}

/// Clusters that join, after those that were there at the start, count as Ready until they have reported a version.
fn new_counts_as_ready() -> Fault {
    let reached: Memory<BTreeSet<String>> = Memory::new();
    Fault::none().read(Of::Clusters, move |cluster| {
        let name = text(cluster, "/metadata/name").to_owned();
        if cluster.pointer("/status/kubernetesVersion").is_some() {
            reached.get().insert(name);
        } else if reached.get().contains(&name) {
            cluster["status"]["conditions"] = json!([{
                "type": "Ready", "status": "True", "reason": "Joined", "message": "it has just joined",
                "lastTransitionTime": "2025-01-01T00:00:00Z",
            }]);
        }
    })
}

/// Cluster objects have a finalizer that is never removed.
fn unjoined_clusters_stay() -> Fault {
    Fault::none().before(Of::Probes, |call, hands| {
        let control = hands["control"].clone();
        let path = format!("/apis/cluster.karmada.io/v1alpha1/clusters/{}", call.cluster);
        Box::pin(async move {
            merge(
                &control,
                path,
                &json!({"metadata": {"finalizers": ["baton.dev/workloads"]}}),
            )
            .await;
            Carried::On
        })
    })
}

/// A result without the first cluster of the one before names that cluster alone, unless it has a task.
fn kept_on_clusters_of_before() -> Fault {
    let results: Memory<BTreeMap<String, Value>> = Memory::new();
    let known = results.clone();
    Fault::none()
        .read(Of::Bindings, move |binding| {
            let is_moving = tasks(binding).next().is_some();
            let first = binding["spec"]["clusters"][0]["name"].clone();
            let first = if is_moving { Value::Null } else { first };
            results.get().insert(text(binding, "/metadata/name").to_owned(), first);
        })
        .written_at(Of::Bindings, move |call, body| {
            let before = known.get().get(&call.at.name).cloned().unwrap_or_default();
            let is_moving = tasks(body).next().is_some();
            let named: Vec<Value> = list(body, "/spec/clusters").map(|one| one.clone()).collect();
            let stays = named.is_empty() || named.iter().any(|one| one["name"] == before);
            if before.is_null() || stays || is_moving {
                return;
            }
            let replicas: i64 = named.iter().filter_map(|one| one["replicas"].as_i64()).sum();
            body["spec"]["clusters"] = json!([{"name": before, "replicas": replicas}]);
        })
}

/// Answer of a server that cannot carry out a request.
fn failure(code: u16) -> Value {
    json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "InternalError", "message": "not now", "code": code})
}

/// Works that were applied once seem to be applied for ever.
fn applied_once() -> Fault {
    let applied: Memory<BTreeMap<String, Value>> = Memory::new();
    Fault::none().read(Of::Works, move |work| {
        let conditions = &work["status"]["conditions"];
        let is_applied = |one: &Value| one["type"] == "Applied" && one["status"] == "True";
        let mut applied = applied.get();
        if conditions.as_array().is_some_and(|all| all.iter().any(is_applied)) {
            applied.insert(uid(work), conditions.clone());
        } else if let Some(before) = applied.get(&uid(work)) {
            work["status"]["conditions"] = before.clone();
        }
    })
}

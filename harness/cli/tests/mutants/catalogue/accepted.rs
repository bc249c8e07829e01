//! Defects that only an accepted fix speaks of.

use std::collections::{BTreeMap, BTreeSet};

use http::Method;
use serde_json::{Map, Value, json};

use crate::{
    fault::{Carried, Fault, Of},
    mutant::Mutant,
    pieces::{Memory, binding_path, delete, get, list, map, merge, policy_path, remove, text},
};

#[expect(clippy::too_many_lines, reason = "a table: an entry for each mutant")]
pub fn mutants() -> Vec<Mutant> {
    vec![
        Mutant {
            name: "strangers-removed",
            breaks: "POL-24",
            defect: "an object goes with the Work of its name, also if a user made it",
            fault: |_| {
                Fault::none().after(Of::Works, |call, _, hands| {
                    let member = call
                        .at
                        .namespace
                        .strip_prefix("karmada-es-")
                        .and_then(|it| hands.get(it));
                    let name = call.at.name.rsplit_once('-').map(|(name, _)| name);
                    match (member.cloned(), name) {
                        (Some(member), Some(name)) if call.method == Method::DELETE => {
                            let path = format!("/apis/apps/v1/namespaces/default/deployments/{name}");
                            Box::pin(async move { delete(&member, path).await })
                        }
                        _ => Box::pin(std::future::ready(())),
                    }
                })
            },
        },
        Mutant {
            name: "labels-of-clusters-kept",
            breaks: "POL-25",
            defect: "a label of a cluster keeps the value that it had first",
            fault: |_| {
                let first: Memory<BTreeMap<String, Map<String, Value>>> = Memory::new();
                Fault::none().read(Of::Clusters, move |cluster| {
                    let name = text(cluster, "/metadata/name").to_owned();
                    if let Some(labels) = map(cluster, "/metadata/labels") {
                        let mut first = first.get();
                        let known = first.entry(name).or_default();
                        for (key, value) in labels.iter_mut() {
                            value.clone_from(known.entry(key.clone()).or_insert_with(|| value.clone()));
                        }
                    }
                })
            },
        },
        Mutant {
            name: "labels-only-added",
            breaks: "POL-26",
            defect: "a label that was on a copy once stays there",
            fault: |_| {
                let applied: Memory<BTreeMap<String, Map<String, Value>>> = Memory::new();
                Fault::none().written_at(Of::Copies, move |call, body| {
                    if let Some(labels) = map(body, "/metadata/labels") {
                        let mut applied = applied.get();
                        let known = applied.entry(format!("{} {}", call.cluster, call.at.path)).or_default();
                        known.extend(labels.clone());
                        labels.clone_from(known);
                    }
                })
            },
        },
        Mutant {
            name: "policy-of-unknown-kind-held",
            breaks: "POL-27",
            defect: "a policy that selects a kind that the control plane does not have keeps a finalizer",
            fault: |_| hold_policies_of_unknown_kinds(),
        },
        Mutant {
            name: "leaves-a-cluster-without-its-kind",
            breaks: "POL-28",
            defect: "a workload is scheduled elsewhere when its cluster no longer serves its kind",
            fault: |_| leave_clusters_without_the_kind(),
        },
        Mutant {
            name: "status-lost-in-a-conflict",
            breaks: "POL-29",
            defect: "a binding loses the status of a cluster while a change meets a conflict there",
            fault: |_| lose_status_in_conflicts(),
        },
        Mutant {
            name: "numbers-as-floats",
            breaks: "POL-30",
            defect: "numbers of statuses are read as floating point numbers",
            fault: |_| Fault::none().read(Of::Copies, |copy| as_floats(&mut copy["status"])),
        },
        Mutant {
            name: "dependencies-as-they-were",
            breaks: "APP-24",
            defect: "the Work of a ConfigMap keeps the content that it began with",
            fault: |_| {
                let first: Memory<BTreeMap<String, Value>> = Memory::new();
                Fault::none().written_at(Of::Works, move |call, work| {
                    let Some(manifest) = work.pointer_mut("/spec/workload/manifests/0") else {
                        return;
                    };
                    if text(manifest, "/kind") == "ConfigMap" {
                        let name = format!("{} {}", call.at.namespace, text(manifest, "/metadata/name"));
                        manifest.clone_from(first.get().entry(name).or_insert_with(|| manifest.clone()));
                    }
                })
            },
        },
        Mutant {
            name: "tasks-need-the-gate",
            breaks: "GRE-16",
            defect: "while the gate Failover is off, tasks are not looked at",
            fault: |_| {
                let is_off: Memory<bool> = Memory::new();
                let seen = is_off.clone();
                Fault::none()
                    .setup(move |setup| *is_off.get() = setup.feature_gates.get("Failover") == Some(&false))
                    .read(Of::Bindings, move |binding| {
                        if *seen.get() {
                            remove(binding, "/spec", "gracefulEvictionTasks");
                        }
                    })
            },
        },
    ]
}

fn lose_status_in_conflicts() -> Fault {
    let binding: Memory<String> = Memory::new();
    let known = binding.clone();
    Fault::none()
        .after(Of::Bindings, move |call, answer, _| {
            if call.is_write() && answer.pointer("/status/aggregatedStatus/0/status").is_some() {
                *binding.get() = binding_path(answer);
            }
            Box::pin(std::future::ready(()))
        })
        .after(Of::Copies, move |_, answer, hands| {
            let path = known.get().clone();
            let control = hands["control"].clone();
            let is_conflict = answer["code"] == 409 && !path.is_empty();
            Box::pin(async move {
                if is_conflict {
                    let mut items = get(&control, path.clone()).await["status"]["aggregatedStatus"].take();
                    for item in items.as_array_mut().into_iter().flatten() {
                        remove(item, "", "status");
                    }
                    merge(
                        &control,
                        format!("{path}/status"),
                        &json!({"status": {"aggregatedStatus": items}}),
                    )
                    .await;
                }
            })
        })
}

/// Rounds whole numbers as a floating point number does.
fn as_floats(value: &mut Value) {
    match value {
        Value::Number(number) =>
        {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_precision_loss,
                reason = "this is the defect"
            )]
            if let Some(whole) = number.as_i64() {
                *number = (whole as f64 as i64).into();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(as_floats),
        Value::Object(fields) => fields.values_mut().for_each(as_floats),
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

fn hold_policies_of_unknown_kinds() -> Fault {
    let found: Memory<Vec<String>> = Memory::new();
    let held = found.clone();
    Fault::none()
        .read(Of::Policies, move |policy| {
            let is_unknown =
                list(policy, "/spec/resourceSelectors").any(|it| it["apiVersion"] == "example.baton.dev/v1");
            if is_unknown && policy.pointer("/metadata/finalizers").is_none() {
                found.get().push(policy_path(policy));
            }
        })
        .before(Of::Probes, move |_, hands| {
            let found = held.get().pop();
            let control = hands["control"].clone();
            Box::pin(async move {
                if let Some(path) = found {
                    let finalizer = json!({"metadata": {"finalizers": ["example.baton.dev/held"]}});
                    merge(&control, path, &finalizer).await;
                }
                Carried::On
            })
        })
}

fn leave_clusters_without_the_kind() -> Fault {
    let [serving, lost]: [Memory<BTreeSet<String>>; 2] = [Memory::new(), Memory::new()];
    let left = lost.clone();
    Fault::none()
        .before(Of::Probes, move |call, hands| {
            let (serving, lost) = (serving.clone(), lost.clone());
            let (name, member) = (call.cluster.clone(), hands[&call.cluster].clone());
            let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/tenants.example.baton.dev";
            Box::pin(async move {
                if !get(&member, path.to_owned()).await.is_null() {
                    lost.get().remove(&name);
                    serving.get().insert(name);
                } else if serving.get().contains(&name) {
                    lost.get().insert(name);
                }
                Carried::On
            })
        })
        .after(Of::Bindings, move |_, binding, hands| {
            let targets = binding.pointer("/spec/clusters").and_then(Value::as_array);
            let mut names = targets.into_iter().flatten().map(|it| text(it, "/name"));
            let is_left = names.any(|name| left.get().contains(name));
            let name = text(binding, "/metadata/name");
            let path = format!("/apis/work.karmada.io/v1alpha2/clusterresourcebindings/{name}");
            let other = if left.get().contains("member1") {
                "member2"
            } else {
                "member1"
            };
            let control = hands["control"].clone();
            Box::pin(async move {
                if is_left {
                    merge(&control, path, &json!({"spec": {"clusters": [{"name": other}]}})).await;
                }
            })
        })
}

//! Workloads that leave because they are not healthy.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::{
    fault::{Fault, Of},
    mutant::Mutant,
    pieces::{Memory, binding_path, later, list, map, merge, remove, tasks, text, uid},
};

pub fn mutants() -> Vec<Mutant> {
    let mut mutants = when();
    mutants.extend(health());
    mutants.extend(how());
    mutants.extend(spellings());
    mutants.extend(first_status());
    mutants
}

fn when() -> Vec<Mutant> {
    vec![
        Mutant {
            name: "unhealthy-moves-unasked",
            breaks: "APP-01",
            defect: "an unhealthy workload is moved although its policy does not ask for that",
            fault: |_| {
                Fault::none().read(Of::Policies, |policy| {
                    if let Some(failover) = map(policy, "/spec/failover") {
                        let default = json!({"decisionConditions": {"tolerationSeconds": 10}, "purgeMode": "Directly"});
                        failover.entry("application").or_insert(default);
                    }
                })
            },
        },
        Mutant {
            name: "unhealthy-leaves-soon",
            breaks: "APP-02",
            defect: "an unhealthy workload leaves after a second, whatever its policy says",
            fault: |_| of_policy(|application| application["decisionConditions"] = json!({"tolerationSeconds": 1})),
        },
        Mutant {
            name: "unhealthy-by-default-for-long",
            breaks: "APP-23",
            defect: "a workload whose policy sets no tolerationSeconds may be unhealthy for five minutes",
            fault: |_| of_policy(default_is_five_minutes),
        },
        Mutant {
            name: "zero-is-the-default",
            breaks: "APP-02",
            defect: "tolerationSeconds 0 is taken for the default",
            fault: |_| {
                Fault::none().read(Of::Bindings, |binding| {
                    let seconds =
                        binding.pointer_mut("/spec/failover/application/decisionConditions/tolerationSeconds");
                    if let Some(seconds) = seconds.filter(|seconds| **seconds == 0) {
                        *seconds = json!(10);
                    }
                })
            },
        },
        Mutant {
            name: "unhealthy-time-outlives-the-workload",
            breaks: "APP-02",
            defect: "a workload that is created anew has the unhealthy time of the one before it",
            fault: |_| unhealthy_time_outlives(),
        },
        Mutant {
            name: "one-for-all",
            breaks: "POL-12",
            defect: "with one resource of a policy all others leave",
            fault: |_| one_for_all(),
        },
        Mutant {
            name: "delay-ignored",
            breaks: "APP-05",
            defect: "delaySeconds holds nothing back",
            fault: |_| of_policy(|application| remove(application, "/preConditions", "delaySeconds")),
        },
        Mutant {
            name: "never-healthy-moves",
            breaks: "APP-06",
            defect: "a workload that was never healthy fails over although the policy says that it must have been",
            fault: |_| of_policy(|application| remove(application, "/preConditions", "healthyState")),
        },
    ]
}

fn health() -> Vec<Mutant> {
    vec![
        Mutant {
            name: "unhealthy-time-adds-up",
            breaks: "APP-03",
            defect: "the clock of a workload that was healthy again goes on from where it was",
            fault: |_| {
                let first: Memory<BTreeMap<String, Value>> = Memory::new();
                Fault::none().read(Of::Bindings, move |binding| {
                    let uid = uid(binding);
                    for item in list(binding, "/status/aggregatedStatus") {
                        if let Some(since) = item.get("unhealthySince").cloned() {
                            let key = format!("{uid} {}", text(item, "/clusterName"));
                            item["unhealthySince"] = first.get().entry(key).or_insert(since).clone();
                        }
                    }
                })
            },
        },
        Mutant {
            name: "unknown-counts-as-healthy",
            breaks: "APP-17",
            defect: "a workload whose health is unknown for a moment has its clock taken back",
            fault: |_| {
                Fault::none().read(Of::Bindings, |binding| {
                    let mut unknown_somewhere = false;
                    unknown(binding, |item| {
                        remove(item, "", "unhealthySince");
                        unknown_somewhere = true;
                    });
                    let conditions = binding.pointer_mut("/status/conditions").and_then(Value::as_array_mut);
                    if let Some(conditions) = conditions.filter(|_| unknown_somewhere) {
                        conditions.retain(|it| !it["type"].as_str().is_some_and(|it| it.starts_with("UnhealthyOn.")));
                    }
                })
            },
        },
        Mutant {
            name: "unknown-counts-as-unhealthy",
            breaks: "APP-04",
            defect: "a workload whose health is unknown is moved",
            fault: |_| {
                Fault::none().read(Of::Bindings, |binding| {
                    unknown(binding, |item| {
                        item["unhealthySince"] = item["creationTimestamp"].clone();
                        item["health"] = json!("Unhealthy");
                    });
                })
            },
        },
    ]
}

fn how() -> Vec<Mutant> {
    vec![
        Mutant {
            name: "mode-of-clusters-alone",
            breaks: "APP-07",
            defect: "the purge mode has no say over unhealthy workloads: they leave Gracefully",
            fault: |_| of_policy(|application| application["purgeMode"] = json!("Gracefully")),
        },
        Mutant {
            name: "grace-period-not-recorded",
            breaks: "APP-07",
            defect: "the task does not say how long the old copy may stay",
            fault: |_| {
                Fault::none().written(Of::Bindings, |binding| {
                    of_health(binding, |task| remove(task, "", "gracePeriodSeconds"));
                })
            },
        },
        Mutant {
            name: "grace-period-recorded-in-vain",
            breaks: "APP-07",
            defect: "the grace period of an unhealthy workload is recorded, and the default counts",
            fault: |_| {
                Fault::none().read(Of::Bindings, |binding| {
                    for task in tasks(binding).filter(|task| text(task, "/reason") == "ApplicationFailure") {
                        task["gracePeriodSeconds"] = json!(600);
                    }
                })
            },
        },
        Mutant {
            name: "grace-period-of-another-task",
            breaks: "APP-07",
            defect: "the grace period of an earlier task counts for later ones too",
            fault: |_| {
                Fault::none().written(Of::Bindings, |binding| {
                    of_health(binding, |task| task["gracePeriodSeconds"] = json!(600));
                })
            },
        },
        Mutant {
            name: "blocks-too-short",
            breaks: "APP-08",
            defect: "a cluster that an unhealthy workload left is free again after 100 seconds",
            fault: |_| of_policy(|application| application["blockPredecessorSeconds"] = json!(100)),
        },
        Mutant {
            name: "zero-is-no-block",
            breaks: "APP-08",
            defect: "blockPredecessorSeconds 0 blocks nothing",
            fault: |_| {
                of_policy(|application| {
                    if application["blockPredecessorSeconds"] == 0 {
                        application["blockPredecessorSeconds"] = json!(1);
                    }
                })
            },
        },
    ]
}

fn spellings() -> Vec<Mutant> {
    vec![
        Mutant {
            name: "waits-in-silence",
            breaks: "APP-19",
            defect: "that no cluster is open to an unhealthy workload is not told",
            fault: |_| {
                Fault::none()
                    .skipped(Of::Events, |_| true)
                    .written(Of::Bindings, |binding| {
                        if let Some(conditions) =
                            binding.pointer_mut("/status/conditions").and_then(Value::as_array_mut)
                        {
                            conditions.retain(|it| it["status"] == "True" && text(it, "/type") == "Scheduled");
                        }
                    })
            },
        },
        Mutant {
            name: "blocked-everywhere-blocks-nothing",
            breaks: "APP-15",
            defect: "a workload that every cluster is closed to goes back at once",
            fault: |_| {
                Fault::none().read(Of::Bindings, |binding| {
                    if list(binding, "/spec/activeEvictionHistory").count() > 1 {
                        remove(binding, "/spec", "activeEvictionHistory");
                    }
                })
            },
        },
        Mutant {
            name: "older-spelling-of-clusters-alone",
            breaks: "APP-14",
            defect: "in failover.application Immediately is taken for Gracefully",
            fault: |_| {
                of_policy(|application| {
                    if application["purgeMode"] == "Immediately" {
                        application["purgeMode"] = json!("Gracefully");
                    }
                })
            },
        },
        Mutant {
            name: "state-of-clusters-alone",
            breaks: "APP-09",
            defect: "no state of unhealthy workloads is preserved",
            fault: |_| of_policy(|application| remove(application, "", "statePreservation")),
        },
        Mutant {
            name: "healthy-copies-move-too",
            breaks: "APP-11",
            defect: "when one copy is not healthy, all copies are moved",
            fault: |_| {
                Fault::none().written(Of::Bindings, |binding| {
                    let mut others = Vec::new();
                    of_health(binding, |task| {
                        let mut other = task.clone();
                        other["fromCluster"] = json!("member2");
                        others.push(other);
                    });
                    if let Some(tasks) = binding
                        .pointer_mut("/spec/gracefulEvictionTasks")
                        .and_then(Value::as_array_mut)
                    {
                        tasks.extend(others);
                    }
                })
            },
        },
    ]
}

fn first_status() -> Vec<Mutant> {
    vec![
        Mutant {
            name: "delay-from-the-creation",
            breaks: "APP-05",
            defect: "the time of delaySeconds begins before a status is collected",
            fault: |clock| {
                let now = clock();
                Fault::none().written(Of::Works, move |work| {
                    for manifest in list(work, "/status/manifestStatuses") {
                        manifest["firstCollected"] = json!(now.to_string());
                    }
                })
            },
        },
        Mutant {
            name: "first-moment-moves",
            breaks: "POL-10",
            defect: "creationTimestamp is the moment of the last status, not of the first",
            fault: |clock| {
                let clock = Arc::clone(clock);
                Fault::none().written(Of::Works, move |work| {
                    for manifest in list(work, "/status/manifestStatuses") {
                        if manifest.get("firstCollected").is_some() {
                            manifest["firstCollected"] = json!(clock().to_string());
                        }
                    }
                })
            },
        },
        Mutant {
            name: "settled-on-one-is-settled-on-all",
            breaks: "POL-10",
            defect: "a workload that was healthy on one cluster is settled on all",
            fault: |_| {
                Fault::none().written(Of::Bindings, |binding| {
                    if list(binding, "/status/aggregatedStatus").any(|item| item["settled"] == true) {
                        list(binding, "/status/aggregatedStatus").for_each(|item| item["settled"] = json!(true));
                    }
                })
            },
        },
        Mutant {
            name: "rules-of-the-cluster-alone",
            breaks: "APP-09",
            defect: "an application failover preserves what the rules for the failure of clusters say",
            fault: |_| rules_for_both("cluster", "application"),
        },
        Mutant {
            name: "rules-of-the-application-alone",
            breaks: "STP-01",
            defect: "a cluster failover preserves what the rules for the failure of the application say",
            fault: |_| rules_for_both("application", "cluster"),
        },
        Mutant {
            name: "application-state-lost-in-a-restart",
            breaks: "APP-09",
            defect: "a controller that starts anew does not know the state of unhealthy workloads that it has preserved",
            fault: |clock| {
                let started = clock();
                Fault::none().read(Of::Bindings, move |binding| {
                    tasks(binding)
                        .filter(|task| text(task, "/reason") == "ApplicationFailure")
                        .filter(|task| is_before(task, started))
                        .for_each(|task| remove(task, "", "preservedLabelState"));
                })
            },
        },
    ]
}

/// Returns true if a task is older than the present life of the controller.
fn is_before(task: &Value, started: Timestamp) -> bool {
    let created = text(task, "/creationTimestamp").parse::<Timestamp>();
    created.is_ok_and(|created| created < started)
}

/// The rules for one kind of failover count for the other too, if a policy has both.
fn rules_for_both(from: &'static str, to: &'static str) -> Fault {
    Fault::none().read(Of::Policies, move |policy| {
        let [from, to] = [from, to].map(|kind| format!("/spec/failover/{kind}/statePreservation"));
        let rules = policy.pointer(&from).cloned();
        if let (Some(rules), Some(place)) = (rules, policy.pointer_mut(&to)) {
            *place = rules;
        }
    })
}

/// Changes what policies say of unhealthy workloads, where they do.
fn of_policy(edit: fn(&mut Value)) -> Fault {
    Fault::none().read(Of::Policies, move |policy| {
        if let Some(application) = policy.pointer_mut("/spec/failover/application") {
            edit(application);
        }
    })
}

fn default_is_five_minutes(application: &mut Value) {
    if let Some(seconds) = application.pointer_mut("/decisionConditions/tolerationSeconds")
        && *seconds == 10
    {
        *seconds = json!(300);
    }
}

/// The tasks of unhealthy workloads.
fn of_health(binding: &mut Value, edit: impl FnMut(&mut Value)) {
    tasks(binding)
        .filter(|task| text(task, "/reason") == "ApplicationFailure")
        .for_each(edit);
}

/// Changes the statuses of clusters whose health is unknown.
fn unknown(binding: &mut Value, edit: impl FnMut(&mut Value)) {
    list(binding, "/status/aggregatedStatus")
        .filter(|item| text(item, "/health") == "Unknown")
        .for_each(edit);
}

/// The task of one binding is written into all the others.
fn one_for_all() -> Fault {
    let bindings: Memory<BTreeSet<String>> = Memory::new();
    let seen = bindings.clone();
    Fault::none()
        .read(Of::Bindings, move |binding| {
            seen.get().insert(binding_path(binding));
        })
        .after(Of::Bindings, move |call, _, hands| {
            let task = tasks(&mut call.body.clone()).last().cloned();
            let others: Vec<String> = bindings
                .get()
                .iter()
                .filter(|path| **path != call.at.path)
                .cloned()
                .collect();
            let control = hands["control"].clone();
            Box::pin(async move {
                for path in task.is_some().then_some(others).into_iter().flatten() {
                    merge(
                        &control,
                        path,
                        &json!({"spec": {"clusters": [], "gracefulEvictionTasks": [task]}}),
                    )
                    .await;
                }
            })
        })
}

/// Twenty seconds after a second binding of a name shows an unhealthy copy, a task is written for it.
fn unhealthy_time_outlives() -> Fault {
    let known: Memory<BTreeMap<String, String>> = Memory::new();
    Fault::none().after(Of::Bindings, move |call, answer, hands| {
        let items = answer.pointer("/status/aggregatedStatus").and_then(Value::as_array);
        let sick = items.into_iter().flatten().find(|item| item["health"] == "Unhealthy");
        let from = sick.map(|item| item["clusterName"].clone());
        let (name, uid) = (text(answer, "/metadata/name").to_owned(), uid(answer));
        let first = known.get().entry(name).or_insert_with(|| uid.clone()).clone();
        let is_ready = items.is_some_and(|items| items.iter().any(|item| item["settled"] == true));
        if let Some(from) = from.filter(|_| first != uid && is_ready && call.at.subresource == "status") {
            let (control, path) = (
                hands["control"].clone(),
                call.at.path.trim_end_matches("/status").to_owned(),
            );
            let task =
                json!({"fromCluster": from, "purgeMode": "Directly", "reason": "ApplicationFailure", "producer": "mutant", "replicas": 2});
            let evicted = json!({"spec": {"clusters": [], "gracefulEvictionTasks": [task]}});
            later(
                Duration::from_secs(20),
                async move { merge(&control, path, &evicted).await },
            );
        }
        Box::pin(std::future::ready(()))
    })
}

//! The eviction queue: its order, its rates, what is seen of it.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{preservation::silent, taints::taints_that_stay};
use crate::{
    fault::{Carried, Fault, Of},
    mutant::Mutant,
    pieces::{Memory, list, merge, remove, tasks, text},
};

pub fn mutants() -> Vec<Mutant> {
    let mut mutants = order();
    mutants.extend(fairness());
    mutants.extend(rates());
    mutants.extend(seen());
    mutants.extend(recorded());
    mutants
}

fn order() -> Vec<Mutant> {
    vec![
        Mutant {
            name: "last-in-first-out",
            breaks: "EVQ-01",
            defect: "who tolerates a failure for longer leaves earlier",
            fault: |_| {
                Fault::none().read(Of::Bindings, |binding| {
                    for toleration in list(binding, "/spec/placement/clusterTolerations") {
                        if let Some(seconds) = toleration["tolerationSeconds"].as_u64() {
                            toleration["tolerationSeconds"] = json!(30_u64.saturating_sub(seconds));
                        }
                    }
                })
            },
        },
        Mutant {
            name: "queue-lost-in-a-restart",
            breaks: "EVQ-04",
            defect: "clusters that failed before a restart are forgotten",
            fault: |clock| {
                let began = clock();
                Fault::none().read(Of::Clusters, move |cluster| {
                    if let Some(taints) = cluster.pointer_mut("/spec/taints").and_then(Value::as_array_mut) {
                        taints.retain(|taint| {
                            let added = text(taint, "/timeAdded").parse::<Timestamp>().ok();
                            added.is_none_or(|added| added >= began)
                        });
                    }
                })
            },
        },
        Mutant {
            name: "claim-gained-later",
            breaks: "EVQ-06",
            defect: "a workload whose policy tolerates a failure no longer is evicted by it",
            fault: |_| {
                Fault::none()
                    .after(Of::Bindings, |call, _, hands| {
                        let placement = call.body.pointer("/spec/placement").cloned();
                        let plain = placement.is_some_and(|it| it.get("clusterTolerations").is_none_or(Value::is_null));
                        let control = hands["control"].clone();
                        Box::pin(async move {
                            if !plain {
                                return;
                            }
                            for member in ["member1", "member2"] {
                                let path = format!("/apis/cluster.karmada.io/v1alpha1/clusters/{member}");
                                merge(&control, path, &json!({"metadata": {"annotations": {"look": "again"}}})).await;
                            }
                        })
                    })
                    .read(Of::Clusters, |cluster| {
                        if text(cluster, "/metadata/annotations/look") == "again" {
                            for taint in list(cluster, "/spec/taints") {
                                taint["timeAdded"] = json!("2020-01-01T00:00:00Z");
                            }
                        }
                    })
            },
        },
    ]
}

fn fairness() -> Vec<Mutant> {
    vec![Mutant {
        name: "blocked-blocks",
        breaks: "EVQ-08",
        defect: "while one workload cannot leave, no other one does",
        fault: |_| {
            let blocked: Memory<bool> = Memory::new();
            let is_blocked = blocked.clone();
            Fault::none()
                .written(Of::Bindings, move |binding| {
                    let mut conditions = list(binding, "/status/conditions");
                    if conditions.any(|it| it["type"] == "FailoverBlocked" && it["status"] == "True") {
                        *blocked.get() = true;
                    }
                })
                .before(Of::Bindings, move |call, _| {
                    let mut body = call.body.clone();
                    let held = *is_blocked.get() && call.is_write() && tasks(&mut body).next().is_some();
                    Box::pin(async move {
                        if held {
                            Carried::Instead(http::StatusCode::OK, body)
                        } else {
                            Carried::On
                        }
                    })
                })
        },
    }]
}

fn rates() -> Vec<Mutant> {
    vec![
        Mutant {
            name: "rate-doubled",
            breaks: "RAT-01",
            defect: "workloads leave at twice the rate",
            fault: |_| {
                Fault::none().setup(|setup| {
                    let rate = setup
                        .options
                        .get("resource-eviction-rate")
                        .and_then(|it| it.parse::<f64>().ok());
                    option(
                        setup,
                        "resource-eviction-rate",
                        &(2.0 * rate.unwrap_or(0.5)).to_string(),
                    );
                })
            },
        },
        Mutant {
            name: "secondary-rate-ignored",
            breaks: "RAT-02",
            defect: "the rate stays as it is however many clusters of a large federation are faulty",
            fault: |_| Fault::none().setup(|setup| option(setup, "secondary-resource-eviction-rate", "0.5")),
        },
        Mutant {
            name: "ten-clusters-are-many",
            breaks: "RAT-04",
            defect: "a federation of just the number in large-cluster-num-threshold counts as large",
            fault: |_| {
                Fault::none().setup(|setup| {
                    if !setup.options.contains_key("large-cluster-num-threshold") {
                        option(setup, "large-cluster-num-threshold", "9");
                    }
                })
            },
        },
        Mutant {
            name: "at-least-counts",
            breaks: "RAT-04",
            defect: "a share of faulty clusters that is just the threshold counts as over it",
            fault: |_| Fault::none().setup(|setup| option(setup, "unhealthy-cluster-threshold", "0.549")),
        },
        Mutant {
            name: "slow-for-good",
            breaks: "RAT-05",
            defect: "the slower rate stays though enough clusters have recovered",
            fault: |_| taints_that_stay(),
        },
    ]
}

fn seen() -> Vec<Mutant> {
    vec![
        Mutant {
            name: "queue-in-silence",
            breaks: "OBS-02",
            defect: "workloads that enter or leave the queue are not reported",
            fault: |_| Fault::none().skipped(Of::Events, |_| true),
        },
        Mutant {
            name: "waiting-is-no-condition",
            breaks: "OBS-05",
            defect: "the binding does not say that it waits for its eviction",
            fault: |_| silent(),
        },
        Mutant {
            name: "plugins-not-chosen",
            breaks: "GRE-08",
            defect: "the option evict-plugins has no effect",
            fault: |_| {
                Fault::none().setup(|setup| {
                    setup.options.remove("evict-plugins");
                })
            },
        },
        Mutant {
            name: "controllers-not-chosen",
            breaks: "GAT-07",
            defect: "the option controllers has no effect",
            fault: |_| {
                Fault::none().setup(|setup| {
                    setup.options.remove("controllers");
                })
            },
        },
    ]
}

#[expect(clippy::too_many_lines, reason = "a table: an entry for each mutant")]
fn recorded() -> Vec<Mutant> {
    vec![
        Mutant {
            name: "deprecated-option-has-an-effect",
            breaks: "GAT-08",
            defect: "the option enable-taint-manager still switches the taint manager off",
            fault: |_| {
                Fault::none().setup(|setup| {
                    if setup
                        .options
                        .get("enable-taint-manager")
                        .is_some_and(|value| value == "false")
                    {
                        option(setup, "controllers", "*,-taint-manager");
                    }
                })
            },
        },
        Mutant {
            name: "time-of-the-match",
            breaks: "CTP-13",
            defect: "timeAdded of a taint is when the conditions began to match",
            fault: |_| {
                Fault::none().written(Of::Clusters, |cluster| {
                    for taint in list(cluster, "/spec/taints") {
                        let added = text(taint, "/timeAdded").parse::<Timestamp>().ok();
                        let earlier = added.and_then(|it| it.checked_sub(jiff::SignedDuration::from_secs(60)).ok());
                        if let Some(earlier) = earlier {
                            taint["timeAdded"] = json!(earlier.to_string());
                        }
                    }
                })
            },
        },
        Mutant {
            name: "replicas-lost",
            breaks: "POL-11",
            defect: "the replicas of a failed cluster go nowhere",
            fault: |_| {
                let failed: Memory<bool> = Memory::new();
                Fault::none().written(Of::Bindings, move |binding| {
                    let has_failed = *failed.get() || tasks(binding).next().is_some();
                    *failed.get() = has_failed;
                    if has_failed {
                        for target in list(binding, "/spec/clusters") {
                            target["replicas"] = json!(1);
                        }
                    }
                })
            },
        },
        Mutant {
            name: "replicas-lost-directly",
            breaks: "POL-11",
            defect: "under Directly the replicas of a failed cluster go nowhere",
            fault: |_| {
                one_replica_less(|task| {
                    text(task, "/purgeMode") == "Directly" && text(task, "/reason") == "TaintUntolerated"
                })
            },
        },
        Mutant {
            name: "replicas-of-a-sick-cluster-lost",
            breaks: "POL-11",
            defect: "of the replicas that leave a cluster where they are unhealthy one goes nowhere",
            fault: |_| one_replica_less(|task| text(task, "/reason") == "ApplicationFailure"),
        },
        Mutant {
            name: "aggregated-is-duplicated",
            breaks: "POL-11",
            defect: "under Aggregated each cluster gets all replicas",
            fault: |_| {
                Fault::none().read(Of::Bindings, |binding| {
                    let division = "/spec/placement/replicaScheduling";
                    if text(binding, &format!("{division}/replicaDivisionPreference")) == "Aggregated"
                        && let Some(division) = binding.pointer_mut(division)
                    {
                        division["replicaSchedulingType"] = json!("Duplicated");
                    }
                })
            },
        },
        Mutant {
            name: "history-missing",
            breaks: "APP-08",
            defect: "it is not recorded which clusters an unhealthy workload has left",
            fault: |_| {
                Fault::none().written(Of::Bindings, |binding| {
                    remove(binding, "/spec", "activeEvictionHistory");
                })
            },
        },
    ]
}

/// A result is one replica short once a task like this has been written.
fn one_replica_less(is_meant: fn(&Value) -> bool) -> Fault {
    let failed: Memory<bool> = Memory::new();
    Fault::none().written(Of::Bindings, move |binding| {
        let has_failed = *failed.get() || tasks(binding).any(|task| is_meant(task));
        *failed.get() = has_failed;
        let is_shared_out = list(binding, "/spec/clusters").count() > 1;
        let first = list(binding, "/spec/clusters")
            .next()
            .filter(|_| has_failed && is_shared_out);
        if let Some(target) = first {
            target["replicas"] = json!(1);
        }
    })
}

fn option(setup: &mut baton_core::case::model::ControllerSetup, name: &str, value: &str) {
    setup.options.insert(name.to_owned(), value.to_owned());
}

//! Evictions that come too fast, too late, or although nothing is left to go to.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::{clearing::turned_back, preservation::silent, taints::taints_that_stay};
use crate::{
    fault::{Fault, Of},
    mutant::Mutant,
    pieces::{Memory, list, merge, remove, tasks, text},
};

#[expect(clippy::too_many_lines, reason = "a table")]
pub fn mutants() -> Vec<Mutant> {
    vec![
        Mutant {
            name: "queue-outlives-the-fault",
            breaks: "EVQ-02",
            defect: "what waits in the queue is evicted though its cluster has recovered",
            fault: |_| taints_that_stay(),
        },
        Mutant {
            name: "tasks-taken-back",
            breaks: "EVQ-03",
            defect: "an eviction that has begun is undone when the cluster recovers",
            fault: |_| turned_back(),
        },
        Mutant {
            name: "queue-follows-policies",
            breaks: "EVQ-05",
            defect: "what is queued stays if its policy comes to tolerate every taint",
            fault: |_| tolerated_by_now(),
        },
        Mutant {
            name: "never-stops",
            breaks: "RAT-03",
            defect: "evictions go on however many clusters are faulty",
            fault: |_| {
                Fault::none().setup(|setup| {
                    let threshold = ("unhealthy-cluster-threshold".to_owned(), "1".to_owned());
                    setup.options.extend([threshold]);
                })
            },
        },
        Mutant {
            name: "bad-rate-accepted",
            breaks: "GAT-09",
            defect: "a rate that is none is replaced by the default",
            fault: |_| Fault::none().setup(|setup| setup.options.clear()),
        },
        Mutant {
            name: "infeasible-evicted",
            breaks: "PRE-01",
            defect: "a workload is evicted though too few clusters are left for its spread",
            fault: |_| {
                Fault::none().read(Of::Bindings, |binding| {
                    for constraint in list(binding, "/spec/placement/spreadConstraints") {
                        constraint["minGroups"] = json!(1);
                    }
                })
            },
        },
        Mutant {
            name: "divided-replicas-evicted",
            breaks: "PRE-02",
            defect: "divided replicas leave a cluster though no other one matches",
            fault: |_| evicted_nevertheless(),
        },
        Mutant {
            name: "given-up-in-silence",
            breaks: "PRE-03",
            defect: "neither an event nor a condition tells that an eviction is given up",
            fault: |_| silent(),
        },
        Mutant {
            name: "given-up-for-good",
            breaks: "PRE-04",
            defect: "an eviction that was given up is not taken up again when another cluster comes to match",
            fault: |_| {
                let first: Memory<BTreeMap<String, Value>> = Memory::new();
                Fault::none().read(Of::Bindings, move |binding| {
                    let uid = text(binding, "/metadata/uid").to_owned();
                    let affinity = binding["spec"]["placement"]["clusterAffinity"].clone();
                    let known = first.get().entry(uid).or_insert(affinity).clone();
                    binding["spec"]["placement"]["clusterAffinity"] = known;
                })
            },
        },
        Mutant {
            name: "period-of-the-option",
            breaks: "GRE-05",
            defect: "the grace period of a policy is ignored",
            fault: |_| {
                Fault::none().read(Of::Policies, |policy| {
                    remove(policy, "/spec/failover/cluster", "gracePeriodSeconds");
                })
            },
        },
        Mutant {
            name: "another-default-period",
            breaks: "GRE-13",
            defect: "without the option the grace period is 5 minutes",
            fault: |_| {
                Fault::none().setup(|setup| {
                    let option = setup.options.entry("graceful-eviction-timeout".to_owned());
                    option.or_insert_with(|| "5m".to_owned());
                })
            },
        },
        Mutant {
            name: "period-option-ignored",
            breaks: "GRE-09",
            defect: "the grace period is 10 minutes, whatever the option says",
            fault: |_| {
                Fault::none().setup(|setup| {
                    setup.options.remove("graceful-eviction-timeout");
                })
            },
        },
        Mutant {
            name: "prefer-cancel-missed",
            breaks: "PNE-06",
            defect: "a PreferNoExecute taint that was removed in time evicts all the same",
            fault: |_| taints_that_stay(),
        },
        Mutant {
            name: "either-precondition",
            breaks: "APP-13",
            defect: "application failover does not ask whether the workload was healthy once if a delay is set",
            fault: |_| {
                Fault::none().read(Of::Policies, |policy| {
                    remove(policy, "/spec/failover/application/preConditions", "healthyState");
                })
            },
        },
        Mutant {
            name: "work-without-labels",
            breaks: "REC-12",
            defect: "the labels are in the Work from its second revision on",
            fault: |_| {
                Fault::none().written(Of::Works, |work| {
                    for manifest in list(work, "/spec/workload/manifests") {
                        remove(manifest, "/metadata/labels", "baton.dev/state");
                    }
                })
            },
        },
        Mutant {
            name: "settled-forgotten",
            breaks: "POL-10",
            defect: "a workload that is sick is not settled",
            fault: |_| {
                Fault::none().written(Of::Bindings, |binding| {
                    for item in list(binding, "/status/aggregatedStatus").filter(|item| item["health"] != "Healthy") {
                        item["settled"] = json!(false);
                    }
                })
            },
        },
        Mutant {
            name: "settled-at-once",
            breaks: "POL-10",
            defect: "a workload is settled on a cluster before it was healthy there",
            fault: |_| {
                Fault::none().written(Of::Bindings, |binding| {
                    for item in list(binding, "/status/aggregatedStatus") {
                        item["settled"] = json!(true);
                    }
                })
            },
        },
        Mutant {
            name: "first-moment-of-the-newest",
            breaks: "POL-10",
            defect: "the first moment of all clusters is that of the last one",
            fault: |_| {
                Fault::none().written(Of::Bindings, |binding| {
                    let moments = list(binding, "/status/aggregatedStatus")
                        .map(|item| text(item, "/creationTimestamp").to_owned());
                    if let Some(last) = moments.max() {
                        for item in list(binding, "/status/aggregatedStatus") {
                            item["creationTimestamp"] = json!(last);
                        }
                    }
                })
            },
        },
        Mutant {
            name: "applied-always",
            breaks: "POL-09",
            defect: "a binding says of every copy that it is applied",
            fault: |_| {
                Fault::none().written(Of::Bindings, |binding| {
                    for item in list(binding, "/status/aggregatedStatus") {
                        item["applied"] = json!(true);
                    }
                })
            },
        },
        Mutant {
            name: "in-the-way-counts-as-applied",
            breaks: "POL-09",
            defect: "an object counts as applied if another one is in its place",
            fault: |_| {
                Fault::none().written(Of::Bindings, |binding| {
                    let in_the_way = |item: &&mut Value| text(item, "/appliedMessage").contains("already exists");
                    for item in list(binding, "/status/aggregatedStatus").filter(in_the_way) {
                        item["applied"] = json!(true);
                        item["appliedMessage"] = Value::Null;
                    }
                })
            },
        },
    ]
}

/// No task is written for a workload whose policy tolerates every taint by now.
fn tolerated_by_now() -> Fault {
    let tolerant: Memory<BTreeSet<String>> = Memory::new();
    let seen = tolerant.clone();
    Fault::none()
        .read(Of::Bindings, move |binding| {
            let name = text(binding, "/metadata/name").to_owned();
            if list(binding, "/spec/placement/clusterTolerations").any(|it| it.get("key").is_none()) {
                seen.get().insert(name);
            }
        })
        .skipped(Of::Bindings, move |call| {
            tasks(&mut call.body.clone()).next().is_some() && tolerant.get().contains(&call.at.name)
        })
}

/// Evicts a workload although its eviction was reported as cancelled.
fn evicted_nevertheless() -> Fault {
    Fault::none().after(Of::Bindings, |call, answer, hands| {
        let conditions = call.body.pointer("/status/conditions").and_then(Value::as_array);
        let mut conditions = conditions.into_iter().flatten();
        let from = conditions
            .find(|it| it["reason"] == "NoClusterMatches")
            .and_then(|it| text(it, "/message").split_whitespace().nth(2))
            .map(str::to_owned);
        let control = hands["control"].clone();
        let path = call.at.path.trim_end_matches("/status").to_owned();
        let clusters = answer.pointer("/spec/clusters").and_then(Value::as_array);
        let clusters = clusters.cloned().unwrap_or_default();
        Box::pin(async move {
            let Some(from) = from else { return };
            let left: Vec<&Value> = clusters.iter().filter(|it| it["name"] != *from).collect();
            let task = json!({"fromCluster": from, "reason": "TaintUntolerated", "producer": "TaintManager"});
            merge(
                &control,
                path,
                &json!({"spec": {"clusters": left, "gracefulEvictionTasks": [task]}}),
            )
            .await;
        })
    })
}

//! Evictions that come too fast, too late, or although nothing is left to go to.

use serde_json::json;

use super::taints::taints_that_stay;
use crate::{
    fault::{Fault, Of},
    mutant::Mutant,
    pieces::{list, remove},
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
            name: "rate-of-zero-ignored",
            breaks: "RAT-01",
            defect: "a rate of 0 means the default rate",
            fault: |_| {
                Fault::none().setup(|setup| {
                    setup.options.remove("resource-eviction-rate");
                })
            },
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
            breaks: "GRE-09",
            defect: "the default grace period is 5 minutes, whatever the option says",
            fault: |_| {
                Fault::none().setup(|setup| {
                    let period = ("graceful-eviction-timeout".to_owned(), "5m".to_owned());
                    setup.options.extend([period]);
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
    ]
}

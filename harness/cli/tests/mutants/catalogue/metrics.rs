//! Metrics that are not there, or not right.

use baton_core::metrics::Sample;

use crate::{fault::Fault, mutant::Mutant};

pub fn mutants() -> Vec<Mutant> {
    vec![
        Mutant {
            name: "metric-missing",
            breaks: "OBS-01",
            defect: "the metric evict_rate is missing",
            fault: |_| Fault::none().metrics(|samples| samples.retain(|it| it.name != "evict_rate")),
        },
        Mutant {
            name: "label-missing",
            breaks: "OBS-03",
            defect: "metrics do not say which cluster they are about",
            fault: |_| {
                each(|sample| {
                    sample.labels.remove("cluster_name");
                })
            },
        },
        Mutant {
            name: "kind-without-version",
            breaks: "OBS-03",
            defect: "the label resource_kind has no API version",
            fault: |_| {
                each(|sample| {
                    if let Some(kind) = sample.labels.get_mut("resource_kind") {
                        *kind = kind.rsplit('/').next().unwrap_or_default().to_owned();
                    }
                })
            },
        },
        Mutant {
            name: "success-always-one",
            breaks: "OBS-04",
            defect: "evictions that are given up do not count",
            fault: |_| of("evict_success_rate", "1"),
        },
        Mutant {
            name: "one-fault-at-most",
            breaks: "OBS-04",
            defect: "cluster_fault_num says whether there is a fault, not how many",
            fault: |_| {
                each(|sample| {
                    if sample.name == "cluster_fault_num" && sample.value != "0.0" {
                        "1".clone_into(&mut sample.value);
                    }
                })
            },
        },
    ]
}

fn of(name: &'static str, value: &'static str) -> Fault {
    each(move |sample| {
        if sample.name == name {
            value.clone_into(&mut sample.value);
        }
    })
}

fn each(edit: impl Fn(&mut Sample) + Send + Sync + 'static) -> Fault {
    Fault::none().metrics(move |samples| samples.iter_mut().for_each(&edit))
}

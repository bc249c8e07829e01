//! Dependencies of workloads.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::{
    fault::{Fault, Of},
    mutant::Mutant,
    pieces::{Memory, list, remove, text},
};

/// Returns `true` if a binding is of a dependency of workloads.
fn is_of_dependency(binding: &Value) -> bool {
    ["ConfigMap", "Secret", "ServiceAccount", "PersistentVolumeClaim"].contains(&text(binding, "/spec/resource/kind"))
}

#[expect(clippy::too_many_lines, reason = "a table: an entry for each mutant")]
pub fn mutants() -> Vec<Mutant> {
    vec![
        Mutant {
            name: "dependencies-missing",
            breaks: "APP-12",
            defect: "propagateDeps is overlooked",
            fault: |_| {
                Fault::none().read(Of::Bindings, |binding| {
                    remove(binding, "/spec", "propagateDeps");
                })
            },
        },
        Mutant {
            name: "one-dependency-of-a-kind",
            breaks: "APP-16",
            defect: "of several dependencies of one kind only the first arrives",
            fault: |_| only_the_first_of_a_kind(),
        },
        Mutant {
            name: "one-dependency-of-a-kind-moves",
            breaks: "APP-16",
            defect: "of several dependencies of one kind only the first moves with the workload",
            fault: |_| {
                let first: Memory<BTreeMap<String, (String, Value)>> = Memory::new();
                Fault::none().read(Of::Bindings, move |binding| {
                    let [kind, name] =
                        ["kind", "name"].map(|member| text(binding, &format!("/spec/resource/{member}")).to_owned());
                    let required = binding.pointer("/spec/requiredBy").cloned().unwrap_or_default();
                    if !is_of_dependency(binding) || required.is_null() {
                        return;
                    }
                    let known = first
                        .get()
                        .entry(kind)
                        .or_insert_with(|| (name.clone(), required))
                        .clone();
                    if known.0 != name {
                        binding["spec"]["requiredBy"] = known.1;
                    }
                })
            },
        },
        Mutant {
            name: "dependencies-do-not-move",
            breaks: "APP-16",
            defect: "dependencies stay on the cluster to which they went first",
            fault: |_| {
                let first = Memory::<BTreeMap<String, Value>>::new();
                Fault::none().read(Of::Bindings, move |binding| {
                    for requirer in list(binding, "/spec/requiredBy") {
                        let key = text(requirer, "/name").to_owned();
                        let clusters = first
                            .get()
                            .entry(key)
                            .or_insert_with(|| requirer["clusters"].clone())
                            .clone();
                        requirer["clusters"] = clusters;
                    }
                })
            },
        },
        Mutant {
            name: "only-configuration-follows",
            breaks: "APP-20",
            defect: "service accounts and volume claims stay behind",
            fault: |_| {
                Fault::none().read(Of::Bindings, |binding| {
                    let kind = text(binding, "/spec/resource/kind");
                    if ["ServiceAccount", "PersistentVolumeClaim"].contains(&kind) {
                        remove(binding, "/spec", "requiredBy");
                    }
                })
            },
        },
        Mutant {
            name: "shared-dependency-removed",
            breaks: "APP-16",
            defect: "of those that need something only one is looked at",
            fault: |_| {
                Fault::none().read(Of::Bindings, |binding| {
                    if let Some(requirers) = binding.pointer_mut("/spec/requiredBy").and_then(Value::as_array_mut) {
                        requirers.truncate(1);
                    }
                })
            },
        },
    ]
}

/// Bindings of a second object of a kind are only said to have been written.
fn only_the_first_of_a_kind() -> Fault {
    let first: Memory<BTreeMap<String, String>> = Memory::new();
    Fault::none().skipped(Of::Bindings, move |call| {
        let kind = text(&call.body, "/spec/resource/kind").to_owned();
        let name = text(&call.body, "/spec/resource/name").to_owned();
        is_of_dependency(&call.body) && *first.get().entry(kind).or_insert_with(|| name.clone()) != name
    })
}

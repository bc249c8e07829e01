//! What workloads depend on.

use serde_json::{Value, json};

use crate::{
    fault::{Fault, Of},
    mutant::Mutant,
    pieces::{list, remove, text},
};

/// Whether a binding is of something that workloads depend on.
fn is_of_dependency(binding: &Value) -> bool {
    ["ConfigMap", "Secret", "ServiceAccount", "PersistentVolumeClaim"].contains(&text(binding, "/spec/resource/kind"))
}

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
            name: "dependencies-always",
            breaks: "APP-12",
            defect: "dependencies follow without being asked to",
            fault: |_| {
                Fault::none().read(Of::Bindings, |binding| {
                    if !is_of_dependency(binding)
                        && let Some(spec) = binding.get_mut("spec")
                    {
                        spec["propagateDeps"] = json!(true);
                    }
                })
            },
        },
        Mutant {
            name: "dependencies-do-not-move",
            breaks: "APP-16",
            defect: "dependencies stay on the cluster to which they went first",
            fault: |_| {
                let first = crate::pieces::Memory::<std::collections::BTreeMap<String, Value>>::new();
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

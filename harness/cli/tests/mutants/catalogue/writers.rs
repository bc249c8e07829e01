//! Writers, and the number of their writes: defects that only invariants find, not requirements.

use serde_json::{Value, json};

use crate::{
    fault::{Doing, Fault, Of},
    mutant::{ANOTHER, Mutant},
    pieces::{create, merge},
    wire::{Call, Hands},
};

pub fn mutants() -> Vec<Mutant> {
    vec![
        Mutant {
            name: "second-writer",
            breaks: "onlyTheTargetWritesBindings",
            defect: "another program writes bindings too",
            fault: |_| {
                Fault::none().after(Of::Bindings, |call, _, hands| {
                    touch(call, ANOTHER, hands, &json!({"touched": "once"}))
                })
            },
        },
        Mutant {
            name: "second-binding",
            breaks: "oneBindingPerWorkload",
            defect: "a workload gets two bindings",
            fault: |_| {
                Fault::none().after(Of::Bindings, |call, answer, hands| {
                    let client = hands["control"].clone();
                    let created = answer["metadata"]["name"].as_str().filter(|_| call.method == http::Method::POST);
                    let twin = created.map(|name| {
                        let metadata = json!({
                            "name": format!("{name}-twin"),
                            "namespace": answer["metadata"]["namespace"],
                            "labels": answer["metadata"]["labels"],
                            "ownerReferences": answer["metadata"]["ownerReferences"],
                        });
                        json!({"apiVersion": answer["apiVersion"], "kind": answer["kind"], "metadata": metadata, "spec": answer["spec"]})
                    });
                    let path = call.at.path.clone();
                    Box::pin(async move {
                        if let Some(twin) = twin {
                            create(&client, path, &twin).await;
                        }
                    })
                })
            },
        },
        Mutant {
            name: "policy-rewritten",
            breaks: "policiesUntouched",
            defect: "the toleration of five minutes that others add is written into the policy itself",
            fault: |_| {
                Fault::none().after(Of::Bindings, |call, answer, hands| {
                    let client = hands["control"].clone();
                    let named = |part: &str| {
                        let named =
                            answer["metadata"]["annotations"][format!("propagationpolicy.karmada.io/{part}")].as_str();
                        named.map(str::to_owned)
                    };
                    let policy = named("namespace").zip(named("name")).filter(|_| call.is_write());
                    let own = json!({"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300});
                    let written = json!({"spec": {"placement": {"clusterTolerations": [own]}}});
                    Box::pin(async move {
                        if let Some((namespace, name)) = policy {
                            let of_namespace = format!("/apis/policy.karmada.io/v1alpha1/namespaces/{namespace}");
                            merge(&client, format!("{of_namespace}/propagationpolicies/{name}"), &written).await;
                        }
                    })
                })
            },
        },
        Mutant {
            name: "idle-writes",
            breaks: "noWriteChangesNothing",
            defect: "every write is made twice, and the second one changes nothing",
            fault: |_| Fault::none().after(Of::Bindings, |call, _, hands| touch(call, "control", hands, &json!({}))),
        },
    ]
}

/// Merges annotations into a binding whose status was written.
fn touch(call: &Call, hand: &str, hands: &Hands, annotations: &Value) -> Doing<()> {
    let client = hands[hand].clone();
    let path = call.at.path.trim_end_matches("/status").to_owned();
    let merged = json!({"metadata": {"annotations": annotations}});
    let is_status = call.is_write() && call.at.subresource == "status";
    Box::pin(async move {
        if is_status {
            merge(&client, path, &merged).await;
        }
    })
}

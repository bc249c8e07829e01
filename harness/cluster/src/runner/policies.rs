//! Edits that a user makes to the policies of a case.

use baton_core::case::model::ObjectRef;
use kube::Client;
use serde_json::{Value, json};

use crate::actions::{self, ActionError};

const API_VERSION: &str = "policy.karmada.io/v1alpha1";
const KIND: &str = "PropagationPolicy";

/// Added to the names of labels.
const EDITED: &str = "-edited";

/// Edits `spec.failover` of all policies in a namespace: purge modes are swapped, and the rules of state preservation name
/// other labels. Returns the number of policies that it changed.
pub(super) async fn edit(control: &Client, namespace: &str) -> Result<usize, ActionError> {
    let mut edited = 0;
    for policy in actions::list(control, API_VERSION, KIND, namespace).await? {
        let Some(failover) = policy.pointer("/spec/failover").and_then(edited_failover) else {
            continue;
        };
        let of = ObjectRef {
            api_version: API_VERSION.to_owned(),
            kind: KIND.to_owned(),
            namespace: Some(namespace.to_owned()),
            name: policy["metadata"]["name"].as_str().unwrap_or_default().to_owned(),
        };
        actions::patch(control, &of, &json!({"spec": {"failover": failover}})).await?;
        edited += 1;
    }
    Ok(edited)
}

/// `spec.failover` after the edit; `None` if it has nothing to edit.
fn edited_failover(failover: &Value) -> Option<Value> {
    let mut edited = failover.clone();
    for behavior in edited.as_object_mut()?.values_mut() {
        let other = match behavior["purgeMode"].as_str() {
            Some("Directly") => Some("Gracefully"),
            Some("Gracefully") => Some("Directly"),
            _ => None,
        };
        if let Some(other) = other {
            behavior["purgeMode"] = json!(other);
        }
        let rules = behavior
            .pointer_mut("/statePreservation/rules")
            .and_then(Value::as_array_mut);
        for rule in rules.into_iter().flatten() {
            if let Some(alias) = rule["aliasLabelName"].as_str() {
                rule["aliasLabelName"] = json!(format!("{alias}{EDITED}"));
            }
        }
    }
    (edited != *failover).then_some(edited)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn purge_modes_are_swapped_and_rules_name_other_labels() {
        let rule = |alias: &str| json!({"aliasLabelName": alias, "jsonPath": "{.replicas}"});
        let failover = json!({
            "application": {"purgeMode": "Gracefully", "decisionConditions": {"tolerationSeconds": 10}},
            "cluster": {"purgeMode": "Directly", "statePreservation": {"rules": [rule("replicas"), rule("ready")]}},
        });
        let edited = json!({
            "application": {"purgeMode": "Directly", "decisionConditions": {"tolerationSeconds": 10}},
            "cluster": {
                "purgeMode": "Gracefully",
                "statePreservation": {"rules": [rule("replicas-edited"), rule("ready-edited")]},
            },
        });
        assert_eq!(edited_failover(&failover), Some(edited));
    }

    #[test]
    fn a_policy_with_another_mode_and_without_rules_stays_as_it_is() {
        assert_eq!(edited_failover(&json!({"cluster": {"purgeMode": "Never"}})), None);
        assert_eq!(edited_failover(&json!({"cluster": null})), None);
    }
}

//! New pods: status, quality of service, and what the default admission plugins add.

use serde_json::{Map, Value, json};

use super::{copy, object_in};
use crate::qos::quality_of_service;

/// A pod starts as pending.
pub(super) fn create(members: &mut Map<String, Value>) {
    let class = quality_of_service(members.get("spec").unwrap_or(&Value::Null));
    let mut status = json!({"phase": "Pending", "qosClass": class});
    let gates = members
        .get("spec")
        .and_then(|spec| spec.get("schedulingGates")?.as_array());
    if gates.is_some_and(|gates| !gates.is_empty()) {
        let created = members
            .get("metadata")
            .and_then(|metadata| metadata.get("creationTimestamp"));
        status["conditions"] = json!([{
            "type": "PodScheduled", "status": "False", "reason": "SchedulingGated",
            "message": "Scheduling is blocked due to non-empty scheduling gates",
            "lastProbeTime": null, "lastTransitionTime": created,
        }]);
    }
    members.insert("status".to_owned(), status);
    let labels = members.get("metadata").and_then(|metadata| metadata.get("labels"));
    let labels = labels.and_then(Value::as_object).cloned().unwrap_or_default();
    let Some(spec) = object_in(members, "spec") else { return };
    select_by_own_labels(spec, &labels);
    if spec
        .get("terminationGracePeriodSeconds")
        .and_then(Value::as_i64)
        .is_some_and(|seconds| seconds < 0)
    {
        spec.insert("terminationGracePeriodSeconds".to_owned(), Value::from(1));
    }
}

/// Where the keys of labels are named in which other pods are to be the same as this one, or not, its values of them
/// are added to what the others are selected by.
fn select_by_own_labels(spec: &mut Map<String, Value>, labels: &Map<String, Value>) {
    for kind in ["podAffinity", "podAntiAffinity"] {
        let affinity = spec
            .get_mut("affinity")
            .and_then(|affinity| affinity.get_mut(kind)?.as_object_mut());
        let Some(affinity) = affinity else { continue };
        let preferred = affinity.get_mut("preferredDuringSchedulingIgnoredDuringExecution");
        for weighted in preferred.and_then(Value::as_array_mut).into_iter().flatten() {
            if let Some(term) = weighted.get_mut("podAffinityTerm") {
                add_own_labels(term, labels);
            }
        }
        let required = affinity.get_mut("requiredDuringSchedulingIgnoredDuringExecution");
        for term in required.and_then(Value::as_array_mut).into_iter().flatten() {
            add_own_labels(term, labels);
        }
    }
    let spreads = spec.get_mut("topologySpreadConstraints").and_then(Value::as_array_mut);
    for constraint in spreads.into_iter().flatten() {
        add_own_labels(constraint, labels);
    }
}

fn add_own_labels(term: &mut Value, labels: &Map<String, Value>) {
    let mut added = Vec::new();
    for (field, operator) in [("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn")] {
        let keys = term.get(field).and_then(Value::as_array).into_iter().flatten();
        for key in keys.filter_map(Value::as_str) {
            if let Some(value) = labels.get(key) {
                added.push(json!({"key": key, "operator": operator, "values": [value]}));
            }
        }
    }
    let selector = term.get_mut("labelSelector").and_then(Value::as_object_mut);
    let Some(selector) = selector.filter(|_| !added.is_empty()) else {
        return;
    };
    let expressions = selector.entry("matchExpressions").or_insert_with(|| json!([]));
    if let Some(expressions) = expressions.as_array_mut() {
        expressions.extend(added);
    }
}

/// Takes from the new specification of a pod what a resize changes: what its containers ask for.
pub(super) fn resize(new: &Map<String, Value>, spec: &mut Map<String, Value>) {
    copy(spec, new, "resources");
    for list in ["containers", "initContainers"] {
        let wanted = new.get(list).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let there = spec.get_mut(list).and_then(Value::as_array_mut);
        let there = there.map_or(&mut [][..], Vec::as_mut_slice);
        let names = |containers: &[Value]| -> Vec<Option<Value>> {
            containers
                .iter()
                .map(|container| container.get("name").cloned())
                .collect()
        };
        if names(there) != names(wanted) {
            // Validation says so.
            copy(spec, new, list);
            continue;
        }
        for (container, wanted) in there.iter_mut().zip(wanted) {
            if let (Value::Object(wanted), Some(container)) = (wanted, container.as_object_mut()) {
                copy(container, wanted, "resources");
                copy(container, wanted, "resizePolicy");
            }
        }
    }
}

/// Adds to a new pod what the default admission plugins add: priority, and tolerations of nodes that fail.
pub fn admit(pod: &mut Value) {
    let members = pod.as_object_mut();
    let Some(spec) = members.and_then(|members| object_in(members, "spec")) else {
        return;
    };
    spec.entry("priority").or_insert_with(|| 0.into());
    spec.entry("preemptionPolicy")
        .or_insert_with(|| "PreemptLowerPriority".into());
    tolerate_failing_nodes(spec);
}

/// What admission does to a pod that is written again.
pub fn readmit(pod: &mut Value, old: &Value) {
    let members = pod.as_object_mut();
    let Some(spec) = members.and_then(|members| object_in(members, "spec")) else {
        return;
    };
    tolerate_failing_nodes(spec);
    for key in ["priority", "preemptionPolicy"] {
        if let Some(given) = old.get("spec").and_then(|old| old.get(key)) {
            spec.entry(key).or_insert_with(|| given.clone());
        }
    }
}

/// Unless it says something else, a pod stays five minutes on a node that is not ready or unreachable.
fn tolerate_failing_nodes(spec: &mut Map<String, Value>) {
    let tolerations = spec.entry("tolerations").or_insert_with(|| json!([]));
    let Some(tolerations) = tolerations.as_array_mut() else {
        return;
    };
    let missing: Vec<&str> = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"]
        .into_iter()
        .filter(|key| !tolerations.iter().any(|toleration| tolerates(toleration, key)))
        .collect();
    for key in missing {
        tolerations.push(json!({"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}));
    }
}

fn tolerates(toleration: &Value, key: &str) -> bool {
    let text = |field: &str| toleration.get(field).and_then(Value::as_str).unwrap_or_default();
    matches!(text("effect"), "" | "NoExecute") && (text("key").is_empty() || text("key") == key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pod_gets_priority_and_tolerations() {
        let mut pod = json!({"metadata": {}, "spec": {"tolerations": [
            {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"},
        ]}});
        admit(&mut pod);
        assert_eq!(pod["spec"]["priority"], json!(0));
        assert_eq!(
            pod["spec"]["tolerations"][1]["key"],
            json!("node.kubernetes.io/unreachable")
        );
    }
}

//! New pods: status, quality of service, and what the default admission plugins add.

use serde_json::{Map, Value, json};

use super::{copy, object_in};
use crate::qos::quality_of_service;

/// A pod starts as pending.
pub(super) fn create(members: &mut Map<String, Value>) {
    let class = quality_of_service(members.get("spec").unwrap_or(&Value::Null));
    let status = json!({"phase": "Pending", "qosClass": class});
    members.insert("status".to_owned(), status);
    let Some(spec) = object_in(members, "spec") else { return };
    if spec
        .get("terminationGracePeriodSeconds")
        .and_then(Value::as_i64)
        .is_some_and(|seconds| seconds < 0)
    {
        spec.insert("terminationGracePeriodSeconds".to_owned(), Value::from(1));
    }
}

/// Takes the resources of the containers from the new specification.
pub(super) fn resize(new: &Map<String, Value>, spec: &mut Map<String, Value>) {
    let wanted = new.get("containers").and_then(Value::as_array).into_iter().flatten();
    let kept = spec
        .get_mut("containers")
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten();
    for (container, wanted) in kept.zip(wanted) {
        if let (Some(container), Value::Object(wanted)) = (container.as_object_mut(), wanted) {
            copy(container, wanted, "resources");
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

//! New pods: status, quality of service, and the additions of the default admission plugins.

use serde_json::{Map, Value, json};

use super::object_in;
use crate::qos::quality_of_service;

/// Sets the phase of a new pod to pending.
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

/// Priority classes of every cluster, with their values.
const SYSTEM_CLASSES: [(&str, i64); 2] = [
    ("system-cluster-critical", 2_000_000_000),
    ("system-node-critical", 2_000_001_000),
];

/// The name of a priority class that does not exist.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("no PriorityClass with name {0} was found")]
pub struct UnknownPriorityClass(String);

/// Adds to a new pod the additions of the default admission plugins: priority, and tolerations of failing nodes.
/// `class` returns a priority class by its name.
///
/// # Errors
/// The pod names a class that does not exist.
pub fn admit(pod: &mut Value, class: impl FnOnce(&str) -> Option<Value>) -> Result<(), UnknownPriorityClass> {
    let members = pod.as_object_mut();
    let Some(spec) = members.and_then(|members| object_in(members, "spec")) else {
        return Ok(());
    };
    let name = spec.get("priorityClassName").and_then(Value::as_str);
    let mut priority = Value::from(0);
    if let Some(name) = name.filter(|name| !name.is_empty()) {
        let system = SYSTEM_CLASSES.iter().find(|(known, _)| *known == name);
        let found = system
            .map(|(_, value)| Value::from(*value))
            .or_else(|| class(name)?.get("value").cloned());
        priority = found.ok_or_else(|| UnknownPriorityClass(name.to_owned()))?;
    }
    spec.insert("priority".to_owned(), priority);
    spec.entry("preemptionPolicy")
        .or_insert_with(|| "PreemptLowerPriority".into());
    tolerate_failing_nodes(spec);
    Ok(())
}

/// Applies admission to an updated pod.
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

/// Adds tolerations of five minutes for nodes that are not ready or unreachable, unless the pod already tolerates them.
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
        assert_eq!(admit(&mut pod, |_| None), Ok(()));
        assert_eq!(pod["spec"]["priority"], json!(0));
        assert_eq!(
            pod["spec"]["tolerations"][1]["key"],
            json!("node.kubernetes.io/unreachable")
        );
    }
}

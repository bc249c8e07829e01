//! Creates the binding of a resource from its policy.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::api::{Binding, BindingSpec, ObjectReference, Policy};
use crate::keys::TemplateKey;
use crate::names;

/// Returns the binding of a resource under a policy: the policy's current fields, applied to the existing binding
/// (POL-03). The scheduling result and the tasks are kept.
pub fn binding(template: &TemplateKey, object: &Value, policy: &Policy, existing: Option<&Binding>) -> Binding {
    let mut binding = dependency(template, object, existing);
    name_policy(binding.metadata.annotations.get_or_insert_default(), policy);
    let (spec, policy) = (&mut binding.spec, &policy.spec);
    spec.replicas = replicas(&template.gvk.kind, object);
    spec.placement = Some(policy.placement.clone());
    spec.failover.clone_from(&policy.failover);
    spec.propagate_deps = policy.propagate_deps;
    spec.conflict_resolution = policy.conflict_resolution;
    spec.preserve_resources_on_deletion = policy.preserve_resources_on_deletion;
    spec.scheduler_name.clone_from(&policy.scheduler_name);
    binding
}

/// Returns the binding of a resource that no policy selects but other resources need (APP-12). It has no fields of a
/// policy.
pub fn dependency(template: &TemplateKey, object: &Value, existing: Option<&Binding>) -> Binding {
    let mut binding = existing.cloned().unwrap_or_default();
    let key = template.binding();
    binding.metadata.name = Some(key.name);
    binding.metadata.namespace = key.namespace;
    if !binding.has_finalizer(names::BINDING_FINALIZER) {
        let finalizers = binding.metadata.finalizers.get_or_insert_default();
        finalizers.push(names::BINDING_FINALIZER.to_owned());
    }
    if let Some(annotations) = &mut binding.metadata.annotations {
        annotations.retain(|key, _| !POLICY_ANNOTATIONS.contains(&key.as_str()));
    }
    let known = std::mem::take(&mut binding.spec);
    binding.spec = BindingSpec {
        clusters: known.clusters,
        graceful_eviction_tasks: known.graceful_eviction_tasks,
        active_eviction_history: known.active_eviction_history,
        required_by: known.required_by,
        ..BindingSpec::default()
    };
    binding.spec.resource = ObjectReference {
        api_version: template.gvk.api_version(),
        kind: template.gvk.kind.clone(),
        namespace: template.key.namespace.clone(),
        name: template.key.name.clone(),
        uid: object
            .pointer("/metadata/uid")
            .and_then(Value::as_str)
            .map(str::to_owned),
    };
    binding
}

const POLICY_ANNOTATIONS: [&str; 3] = [names::POLICY_NAME, names::POLICY_NAMESPACE, names::CLUSTER_POLICY_NAME];

fn name_policy(annotations: &mut BTreeMap<String, String>, policy: &Policy) {
    if let Some(namespace) = policy.namespace() {
        annotations.insert(names::POLICY_NAME.to_owned(), policy.name().to_owned());
        annotations.insert(names::POLICY_NAMESPACE.to_owned(), namespace.to_owned());
    } else {
        annotations.insert(names::CLUSTER_POLICY_NAME.to_owned(), policy.name().to_owned());
    }
}

/// Returns the replicas that a resource requests; `None` for kinds without replicas.
pub fn replicas(kind: &str, object: &Value) -> Option<i32> {
    let number = |path: &str| object.pointer(path).and_then(Value::as_i64);
    let count = match kind {
        "Deployment" | "StatefulSet" | "ReplicaSet" | "ReplicationController" => number("/spec/replicas").or(Some(1)),
        "Job" => Some(pods_of_job(object)),
        "Pod" => Some(1),
        "FlinkDeployment" => Some(number("/spec/jobManager/replicas").unwrap_or(1) + task_managers(object)),
        _ => number("/spec/replicas"),
    };
    count.and_then(|count| i32::try_from(count).ok())
}

/// Returns the number of pods of a Job that run at the same time: never more than it has to complete.
fn pods_of_job(object: &Value) -> i64 {
    let number = |path: &str| object.pointer(path).and_then(Value::as_i64);
    let parallelism = number("/spec/parallelism").unwrap_or(1);
    number("/spec/completions").map_or(parallelism, |completions| parallelism.min(completions))
}

/// Returns the number of task managers of a FlinkDeployment: the configured number, or as many as its parallelism
/// needs.
fn task_managers(object: &Value) -> i64 {
    let number = |path: &str| object.pointer(path).and_then(Value::as_i64);
    if let Some(replicas) = number("/spec/taskManager/replicas") {
        return replicas;
    }
    let slots = object
        .pointer("/spec/flinkConfiguration/taskmanager.numberOfTaskSlots")
        .and_then(|slots| slots.as_i64().or_else(|| slots.as_str()?.parse().ok()))
        .filter(|slots| *slots > 0)
        .unwrap_or(1);
    let parallelism = number("/spec/job/parallelism").unwrap_or(1).max(1);
    parallelism.saturating_add(slots - 1) / slots
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn template() -> TemplateKey {
        TemplateKey {
            gvk: crate::keys::Gvk::new("apps/v1", "Deployment"),
            key: crate::keys::ObjectKey::new(Some("ns"), "deploy"),
        }
    }

    #[test]
    fn a_changed_policy_reaches_the_binding_and_leaves_its_result_alone() {
        let object = json!({"metadata": {"uid": "u"}, "spec": {"replicas": 2}});
        let policy = |mode: &str| -> Policy {
            serde_json::from_value(json!({
                "metadata": {"name": "p", "namespace": "ns"},
                "spec": {"resourceSelectors": [], "failover": {"cluster": {"purgeMode": mode}}}
            }))
            .unwrap()
        };
        let mut first = binding(&template(), &object, &policy("Directly"), None);
        assert_eq!(first.name(), "deploy-deployment");
        assert_eq!(first.spec.replicas, Some(2));
        first.spec.clusters = vec![crate::api::TargetCluster {
            name: "member1".into(),
            replicas: Some(2),
        }];
        let second = binding(&template(), &object, &policy("Gracefully"), Some(&first));
        assert_eq!(second.spec.clusters, first.spec.clusters);
        assert_ne!(second.spec.failover, first.spec.failover);
        assert_eq!(
            binding(&template(), &object, &policy("Gracefully"), Some(&second)),
            second
        );
    }

    #[test]
    fn replicas_per_kind() {
        for (kind, object, expected) in [
            ("Deployment", json!({"spec": {"replicas": 3}}), Some(3)),
            ("StatefulSet", json!({"spec": {}}), Some(1)),
            ("Job", json!({"spec": {"parallelism": 4}}), Some(4)),
            ("Job", json!({"spec": {"parallelism": 4, "completions": 2}}), Some(2)),
            ("Job", json!({"spec": {"completions": 2}}), Some(1)),
            ("ConfigMap", json!({"data": {}}), None),
            (
                "FlinkDeployment",
                json!({"spec": {"flinkConfiguration": {"taskmanager.numberOfTaskSlots": "2"}, "job": {"parallelism": 3}}}),
                Some(3),
            ),
            (
                "FlinkDeployment",
                json!({"spec": {"jobManager": {"replicas": 1}, "taskManager": {"replicas": 1}}}),
                Some(2),
            ),
        ] {
            assert_eq!(replicas(kind, &object), expected, "{kind} {object}");
        }
    }
}

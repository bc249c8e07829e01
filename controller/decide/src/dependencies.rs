//! Propagates the resources that a workload refers to along with the workload (APP-12, APP-16).
//!
//! [`of`] collects the names in a workload's pod template. Each named resource has its binding, whose `requiredBy`
//! lists the bindings that need the resource, with their clusters ([`required_by`]). A binding that only follows others
//! has no placement ([`follows`]): it is neither scheduled nor evicted.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::api::binding::BindingSnapshot;
use crate::api::{Binding, BindingSpec, TargetCluster};
use crate::keys::{Gvk, ObjectKey, TemplateKey};

/// Kinds that a pod template can refer to; all belong to the core group.
const KINDS: [&str; 4] = ["ConfigMap", "PersistentVolumeClaim", "Secret", "ServiceAccount"];

/// Type of secrets that each cluster creates for itself.
const TOKEN: &str = "kubernetes.io/service-account-token";

/// Returns true if workloads can depend on this kind.
pub fn is_dependency(gvk: &Gvk) -> bool {
    gvk.group.is_empty() && gvk.version == "v1" && KINDS.contains(&gvk.kind.as_str())
}

/// Returns true if the object belongs to its cluster only and is not propagated.
pub fn stays_at_home(object: &Value) -> bool {
    object.get("type").and_then(Value::as_str) == Some(TOKEN)
}

/// Returns true if the binding only follows the bindings that require it.
pub fn follows(spec: &BindingSpec) -> bool {
    spec.placement.is_none()
}

/// Returns the resources in a workload's namespace that the workload refers to, without those that every cluster
/// provides.
pub fn of(template: &Value) -> BTreeSet<TemplateKey> {
    let mut names = Names {
        namespace: template.pointer("/metadata/namespace").and_then(Value::as_str),
        found: BTreeSet::new(),
    };
    let Some(namespaced) = names.namespace.map(|_| template) else {
        return names.found;
    };
    let pods: &[&str] = match namespaced.get("kind").and_then(Value::as_str) {
        Some("Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet" | "ReplicationController" | "Job") => {
            &["/spec/template/spec"]
        }
        Some("CronJob") => &["/spec/jobTemplate/spec/template/spec"],
        Some("Pod") => &["/spec"],
        Some("FlinkDeployment") => {
            names.add("ServiceAccount", template.pointer("/spec/serviceAccount"));
            &[
                "/spec/podTemplate/spec",
                "/spec/jobManager/podTemplate/spec",
                "/spec/taskManager/podTemplate/spec",
            ]
        }
        Some(_) | None => &[],
    };
    for path in pods {
        if let Some(pod) = template.pointer(path) {
            names.pod(pod);
        }
    }
    names.found
}

/// Returns the entry for `requiredBy`: the clusters of the binding's result and those that still have a copy.
pub fn required_by(binding: &Binding, occupied: &BTreeSet<String>) -> BindingSnapshot {
    let chosen = binding.spec.clusters.iter().map(|target| target.name.clone());
    let clusters: BTreeSet<String> = chosen.chain(occupied.iter().cloned()).collect();
    BindingSnapshot {
        namespace: binding.namespace().map(str::to_owned),
        name: binding.name().to_owned(),
        clusters: targets(clusters),
    }
}

/// Returns `preserveResourcesOnDeletion` of a resource that these bindings need: its copies are kept if those of one workload
/// are (DRN-02).
pub fn preserves(requirers: impl IntoIterator<Item = impl AsRef<Binding>>) -> Option<bool> {
    let keeps = |it: &Binding| it.spec.preserve_resources_on_deletion == Some(true);
    requirers.into_iter().any(|it| keeps(it.as_ref())).then_some(true)
}

/// Returns the clusters on which other bindings require this one.
pub fn clusters(spec: &BindingSpec) -> Vec<TargetCluster> {
    let required = spec.required_by.iter().flat_map(|requirer| &requirer.clusters);
    targets(required.map(|target| target.name.clone()).collect())
}

fn targets(names: BTreeSet<String>) -> Vec<TargetCluster> {
    let target = |name| TargetCluster { name, replicas: None };
    names.into_iter().map(target).collect()
}

/// Resources found so far.
struct Names<'a> {
    namespace: Option<&'a str>,
    found: BTreeSet<TemplateKey>,
}

impl Names<'_> {
    fn add(&mut self, kind: &str, name: Option<&Value>) {
        let Some(name) = name.and_then(Value::as_str).filter(|name| !name.is_empty()) else {
            return;
        };
        if (kind, name) == ("ServiceAccount", "default") || (kind, name) == ("ConfigMap", "kube-root-ca.crt") {
            return;
        }
        self.found.insert(TemplateKey {
            gvk: Gvk::new("v1", kind),
            key: ObjectKey::new(self.namespace, name),
        });
    }

    fn pod(&mut self, pod: &Value) {
        self.add("ServiceAccount", pod.get("serviceAccountName"));
        for secret in items(pod, "imagePullSecrets") {
            self.add("Secret", secret.get("name"));
        }
        for volume in items(pod, "volumes") {
            self.source(volume);
            self.add(
                "PersistentVolumeClaim",
                volume.pointer("/persistentVolumeClaim/claimName"),
            );
            let projected = volume.get("projected");
            for source in projected.into_iter().flat_map(|projected| items(projected, "sources")) {
                self.source(source);
            }
        }
        for containers in ["containers", "initContainers"] {
            for container in items(pod, containers) {
                self.container(container);
            }
        }
    }

    /// Adds the resources of a volume, or of one source of a projected volume.
    fn source(&mut self, source: &Value) {
        self.add("ConfigMap", source.pointer("/configMap/name"));
        self.add("Secret", source.pointer("/secret/secretName"));
        self.add("Secret", source.pointer("/secret/name"));
    }

    fn container(&mut self, container: &Value) {
        for variable in items(container, "env") {
            self.add("ConfigMap", variable.pointer("/valueFrom/configMapKeyRef/name"));
            self.add("Secret", variable.pointer("/valueFrom/secretKeyRef/name"));
        }
        for all in items(container, "envFrom") {
            self.add("ConfigMap", all.pointer("/configMapRef/name"));
            self.add("Secret", all.pointer("/secretRef/name"));
        }
    }
}

fn items<'v>(object: &'v Value, list: &str) -> impl Iterator<Item = &'v Value> {
    object.get(list).and_then(Value::as_array).into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use serde_json::json;

    fn names(template: &Value) -> Vec<String> {
        of(template).iter().map(TemplateKey::to_string).collect()
    }

    #[test]
    fn all_places_of_a_pod_template_are_looked_at() {
        let pod = json!({
            "serviceAccountName": "runner",
            "imagePullSecrets": [{"name": "registry"}],
            "volumes": [
                {"configMap": {"name": "files"}},
                {"secret": {"secretName": "certificate"}},
                {"persistentVolumeClaim": {"claimName": "data"}},
                {"projected": {"sources": [{"configMap": {"name": "kube-root-ca.crt"}}, {"secret": {"name": "part"}}]}},
            ],
            "containers": [{"env": [
                {"valueFrom": {"configMapKeyRef": {"name": "one", "key": "k"}}},
                {"valueFrom": {"secretKeyRef": {"name": "word", "key": "k"}}},
            ]}],
            "initContainers": [{"envFrom": [{"configMapRef": {"name": "all"}}, {"secretRef": {"name": "words"}}]}],
        });
        let expected = [
            "ConfigMap ns/all",
            "ConfigMap ns/files",
            "ConfigMap ns/one",
            "PersistentVolumeClaim ns/data",
            "Secret ns/certificate",
            "Secret ns/part",
            "Secret ns/registry",
            "Secret ns/word",
            "Secret ns/words",
            "ServiceAccount ns/runner",
        ];
        let metadata = json!({"name": "x", "namespace": "ns"});
        for (kind, spec) in [
            ("Deployment", json!({"template": {"spec": pod}})),
            ("CronJob", json!({"jobTemplate": {"spec": {"template": {"spec": pod}}}})),
            ("Pod", pod.clone()),
            (
                "FlinkDeployment",
                json!({"taskManager": {"podTemplate": {"spec": pod}}}),
            ),
        ] {
            assert_eq!(
                names(&json!({"kind": kind, "metadata": metadata, "spec": spec})),
                expected,
                "{kind}"
            );
        }
    }

    #[test]
    fn what_every_cluster_has_is_left_out() {
        let flink = |account: &str| {
            json!({"kind": "FlinkDeployment", "metadata": {"name": "x", "namespace": "ns"},
                "spec": {"serviceAccount": account}})
        };
        assert_eq!(names(&flink("flink")), ["ServiceAccount ns/flink"]);
        assert!(names(&flink("default")).is_empty());
        assert!(stays_at_home(&json!({"type": "kubernetes.io/service-account-token"})));
        assert!(!stays_at_home(&json!({"type": "Opaque"})));
    }

    #[test]
    fn it_is_wanted_where_the_workload_is_and_will_be() {
        let binding = testing::binding(&json!({"clusters": [{"name": "member2"}]}));
        let snapshot = required_by(&binding, &BTreeSet::from(["member1".to_owned()]));
        let mut spec = BindingSpec {
            required_by: vec![snapshot.clone(), snapshot],
            ..BindingSpec::default()
        };
        let names = |spec: &BindingSpec| -> Vec<String> { clusters(spec).into_iter().map(|it| it.name).collect() };
        assert_eq!(names(&spec), ["member1", "member2"]);
        assert!(follows(&spec) && !follows(&binding.spec));
        spec.required_by.clear();
        assert!(names(&spec).is_empty());
    }

    #[test]
    fn copies_are_kept_if_those_of_one_workload_are() {
        let binding = |keeps: bool| Box::new(testing::binding(&json!({"preserveResourcesOnDeletion": keeps})));
        assert_eq!(preserves([binding(false), binding(true)]), Some(true));
        assert_eq!(preserves([binding(false)]), None);
    }
}

//! The Works of a binding: one per cluster of the scheduling result, and one per cluster whose old copy still waits.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use crate::api::work::WorkloadTemplate;
use crate::api::{Binding, PurgeMode, TargetCluster, Work, WorkSpec};
use crate::evict::mode_of;
use crate::inject;
use crate::manifest;
use crate::names;

/// Works of a binding to create, change and delete.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Decision {
    /// Works to create.
    pub create: Vec<Work>,
    /// Works to change, each with its current and its new version.
    pub update: Vec<(Arc<Work>, Work)>,
    /// Works to delete.
    pub delete: Vec<Arc<Work>>,
}

/// Decides the Works. `existing` contains them by cluster, including Works that are being deleted. If `template` is
/// `None`, the resource is gone or unknown, and no Work is created or changed. `gate` is `StatefulFailoverInjection`.
pub fn decide(
    binding: &Binding,
    template: Option<&Value>,
    existing: &BTreeMap<String, Arc<Work>>,
    gate: bool,
) -> Decision {
    let mut decision = Decision::default();
    let ending = binding.is_being_deleted();
    for (cluster, work) in existing {
        let unwanted = ending || !has_copy(binding, cluster);
        if unwanted && !work.is_being_deleted() {
            decision.delete.push(Arc::clone(work));
        }
    }
    let Some(template) = template.filter(|_| !ending) else {
        return decision;
    };
    for target in &binding.spec.clusters {
        let present = existing.get(&target.name);
        if present.is_some_and(|work| work.is_being_deleted()) {
            continue;
        }
        let wanted = work(binding, template, target, present.map(Arc::as_ref), gate);
        match present {
            None => decision.create.push(wanted),
            Some(present) if **present != wanted => decision.update.push((Arc::clone(present), wanted)),
            Some(_) => {}
        }
    }
    decision
}

/// Returns true if the workload of a binding has a copy on the cluster: a new one, or an old one that is kept for now.
pub fn has_copy(binding: &Binding, cluster: &str) -> bool {
    is_scheduled(binding, cluster) || is_held(binding, cluster)
}

fn is_scheduled(binding: &Binding, cluster: &str) -> bool {
    binding.spec.clusters.iter().any(|target| target.name == cluster)
}

/// Returns true if the old copy on the cluster is kept for now (PRG-05, PRG-09).
fn is_held(binding: &Binding, cluster: &str) -> bool {
    binding
        .spec
        .graceful_eviction_tasks
        .iter()
        .any(|task| task.from_cluster == cluster && mode_of(task) != PurgeMode::Directly)
}

fn work(binding: &Binding, template: &Value, target: &TargetCluster, existing: Option<&Work>, gate: bool) -> Work {
    let name = names::work_name(&binding.spec.resource);
    let namespace = names::execution_space(&target.name);
    let labels = inject::labels(binding, &target.name, existing, gate);

    let mut object = manifest::manifest(template);
    manifest::set_replicas(&mut object, target);
    manifest::add_labels(
        &mut object,
        labels.iter().map(|(key, value)| (key.as_str(), value.as_str())),
    );
    manifest::add_labels(&mut object, [(names::MANAGED_LABEL, "true")]);
    manifest::add_annotations(
        &mut object,
        [
            (names::WORK_NAME, name.as_str()),
            (names::WORK_NAMESPACE, namespace.as_str()),
        ],
    );

    let mut work = existing.cloned().unwrap_or_default();
    if existing.is_none() {
        work.metadata.finalizers = Some(vec![names::WORK_FINALIZER.to_owned()]);
        work.metadata.annotations = Some(annotations(binding, &labels));
    }
    work.metadata.name = Some(name);
    work.metadata.namespace = Some(namespace);
    work.spec = WorkSpec {
        workload: WorkloadTemplate {
            manifests: vec![object],
        },
        preserve_resources_on_deletion: binding.spec.preserve_resources_on_deletion,
    };
    work
}

fn annotations(binding: &Binding, labels: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let mut annotations = BTreeMap::new();
    if let Some(namespace) = binding.namespace() {
        annotations.insert(names::BINDING_NAME.to_owned(), binding.name().to_owned());
        annotations.insert(names::BINDING_NAMESPACE.to_owned(), namespace.to_owned());
    } else {
        annotations.insert(names::CLUSTER_BINDING_NAME.to_owned(), binding.name().to_owned());
    }
    if !labels.is_empty()
        && let Ok(json) = serde_json::to_string(labels)
    {
        annotations.insert(names::INJECTED_LABELS.to_owned(), json);
    }
    annotations
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use serde_json::json;

    fn template() -> Value {
        json!({"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "deploy", "namespace": "ns", "labels": {"app": "web"}}, "spec": {"replicas": 5}})
    }

    fn clusters(names: &[&str]) -> Value {
        names.iter().map(|name| json!({"name": name, "replicas": 2})).collect()
    }

    fn made(binding: &Binding) -> BTreeMap<String, Arc<Work>> {
        let decision = decide(binding, Some(&template()), &BTreeMap::new(), true);
        decision
            .create
            .into_iter()
            .map(|work| {
                (
                    names::cluster_of_space(work.namespace().unwrap()).unwrap().to_owned(),
                    Arc::new(work),
                )
            })
            .collect()
    }

    #[test]
    fn one_work_per_cluster_with_its_replicas() {
        let works = made(&testing::binding(&json!({"clusters": clusters(&["member1"])})));
        let work = &works["member1"];
        assert_eq!(work.namespace(), Some("karmada-es-member1"));
        let object = &work.spec.workload.manifests[0];
        assert_eq!(object["spec"]["replicas"], 2);
        assert_eq!(
            object["metadata"]["labels"],
            json!({"app": "web", "karmada.io/managed": "true"})
        );
    }

    #[test]
    fn deciding_again_changes_nothing() {
        let binding = testing::binding(&json!({"clusters": clusters(&["member1", "member2"])}));
        assert_eq!(
            decide(&binding, Some(&template()), &made(&binding), true),
            Decision::default()
        );
    }

    #[test]
    fn the_old_copy_goes_or_waits_by_purge_mode() {
        let works = made(&testing::binding(&json!({"clusters": clusters(&["member1"])})));
        for (mode, deleted) in [
            ("Directly", 1),
            ("Immediately", 1),
            ("Gracefully", 0),
            ("Graciously", 0),
            ("Never", 0),
        ] {
            let task = json!([{"fromCluster": "member1", "purgeMode": mode, "reason": "r", "producer": "p"}]);
            let binding = testing::binding(&json!({"gracefulEvictionTasks": task}));
            assert_eq!(
                decide(&binding, Some(&template()), &works, true).delete.len(),
                deleted,
                "{mode}"
            );
        }
    }

    #[test]
    fn a_binding_that_ends_takes_its_works_along() {
        let mut binding = testing::binding(&json!({"clusters": clusters(&["member1"])}));
        let works = made(&binding);
        binding.metadata.deletion_timestamp =
            Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(testing::at(0)));
        let decision = decide(&binding, None, &works, true);
        assert_eq!((decision.delete.len(), decision.create.len()), (1, 0));
    }

    #[test]
    fn an_unknown_template_changes_nothing() {
        let binding = testing::binding(&json!({"clusters": clusters(&["member1"])}));
        assert_eq!(decide(&binding, None, &made(&binding), true), Decision::default());
    }

    #[test]
    fn labels_of_the_failover_are_recorded_with_the_work() {
        let task = json!([{"fromCluster": "member1", "purgeMode": "Directly", "reason": "r", "producer": "p",
            "clustersBeforeFailover": ["member1"], "preservedLabelState": {"app": "2"}}]);
        let binding = testing::binding(&json!({"clusters": clusters(&["member2"]), "gracefulEvictionTasks": task}));
        let works = made(&binding);
        assert_eq!(
            works["member2"].spec.workload.manifests[0]["metadata"]["labels"]["app"],
            "2"
        );
        // The task is over, the labels stay.
        let later = testing::binding(&json!({"clusters": clusters(&["member2"])}));
        assert_eq!(decide(&later, Some(&template()), &works, true), Decision::default());
    }
}

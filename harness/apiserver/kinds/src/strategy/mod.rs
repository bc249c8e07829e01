//! Preparation of a built-in object for a write, before validation: fields that are kept or dropped, and the
//! generation.
//!
//! A create starts without status and with generation 1; a write of the object itself keeps the status, and a write of
//! `status` keeps everything else; the generation increases when the kind's specification changes. `kinds` has further
//! rules of single kinds.

mod kinds;
mod pods;

use serde_json::{Map, Value};

use crate::codec;
use crate::members::{copy, object_in, put, unset};
use crate::resources::Resource;

pub use pods::{admit, readmit};

/// The fields of a kind whose changes count as a new generation; `None` for a kind without generations.
fn generation_of(resource: &Resource) -> Option<&'static [&'static str]> {
    match (resource.group, resource.kind) {
        ("", "Pod" | "ReplicationController")
        | ("apps", "DaemonSet" | "ReplicaSet" | "StatefulSet" | "Deployment")
        | ("batch" | "policy", _)
        | ("networking.k8s.io", "Ingress" | "IngressClass" | "NetworkPolicy") => Some(&["spec"]),
        ("admissionregistration.k8s.io", _) => Some(&["webhooks"]),
        ("", "PodTemplate") => Some(&["template"]),
        ("discovery.k8s.io", _) => Some(&["addressType", "endpoints", "ports"]),
        ("scheduling.k8s.io", _) => Some(&[]),
        _ => None,
    }
}

/// Prepares a decoded object for a create: no status, generation 1, and the values that the kind sets. `metadata` must
/// already have its name and uid.
pub fn prepare_create(resource: &Resource, object: &mut Value) {
    let Some(members) = object.as_object_mut() else { return };
    // A node may have a status from the start.
    if resource.subresource("status").is_some() && resource.kind != "Node" {
        members.remove("status");
        if let Some(status) = codec::zero_status(resource.group, resource.version, resource.kind) {
            members.insert("status".to_owned(), status);
        }
    }
    if generation_of(resource).is_some() {
        put(members, &["metadata", "generation"], Value::from(1));
    }
    kinds::create(resource, members);
    if matches!(resource.kind, "Namespace" | "PersistentVolumeClaim") {
        // The default of their new status is its phase.
        crate::defaults::default(resource.group, resource.kind, object);
    }
}

/// Sets the values that reading a validated new object back from the store sets: a job without labels gets those of its
/// template, which it has from [`prepare_create`].
pub fn complete_create(resource: &Resource, object: &mut Value) {
    if let ("batch", "Job", Some(members)) = (resource.group, resource.kind, object.as_object_mut()) {
        crate::defaults::labels_from_template(members);
    }
}

/// Keeps the parts of the old object that a write of the object, or of a subresource, cannot change, and counts the
/// generation.
pub fn prepare_update(resource: &Resource, new: &mut Value, old: &Value, subresource: Option<&str>) {
    let (Some(members), Some(before)) = (new.as_object_mut(), old.as_object()) else {
        return;
    };
    if matches!(subresource, Some("status" | "approval")) {
        let is_new = |key: &str| matches!(key, "metadata" | "status");
        members.retain(|key, _| is_new(key));
        let kept = before.iter().filter(|(key, _)| !is_new(key));
        members.extend(kept.map(|(key, value)| (key.clone(), value.clone())));
        kinds::update_status(resource, members, before);
    } else {
        if resource.subresource("status").is_some() {
            copy(members, before, "status");
        }
        kinds::update(resource, members, before, subresource);
    }
    count_generation(resource, members, before, subresource);
}

fn count_generation(
    resource: &Resource,
    members: &mut Map<String, Value>,
    before: &Map<String, Value>,
    subresource: Option<&str>,
) {
    fn of_metadata<'a>(members: &'a Map<String, Value>, key: &str) -> Option<&'a Value> {
        members.get("metadata")?.get(key)
    }
    let old = of_metadata(before, "generation").cloned();
    let Some(fields) = generation_of(resource) else {
        match old {
            Some(old) => put(members, &["metadata", "generation"], old),
            None => unset(members, "generation"),
        }
        return;
    };
    let is_main = !matches!(subresource, Some("status" | "approval"));
    let changed = fields.iter().any(|field| members.get(*field) != before.get(*field))
        || (resource.kind == "Deployment" && of_metadata(members, "annotations") != of_metadata(before, "annotations"));
    if old.is_none() && !changed {
        unset(members, "generation");
        return;
    }
    let generation = old.and_then(|old| old.as_i64()).unwrap_or(0) + i64::from(is_main && changed);
    put(members, &["metadata", "generation"], Value::from(generation));
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::resources;
    use super::*;

    fn resource(group: &str, plural: &str) -> &'static Resource {
        resources::by_plural(group, "v1", plural).expect("in the catalogue")
    }

    #[test]
    fn a_status_is_not_created_and_not_changed_by_a_write_of_the_object() {
        let deployments = resource("apps", "deployments");
        let mut object =
            json!({"metadata": {"name": "d", "generation": 7}, "spec": {"replicas": 1}, "status": {"replicas": 3}});
        prepare_create(deployments, &mut object);
        assert_eq!(object["metadata"]["generation"], json!(1));
        assert_eq!(object["status"], json!({}));
        let old = object;
        let mut new = old.clone();
        new["status"] = json!({"replicas": 4});
        new["spec"] = json!({"replicas": 2});
        prepare_update(deployments, &mut new, &old, None);
        assert_eq!(
            (&new["status"], &new["metadata"]["generation"]),
            (&json!({}), &json!(2))
        );
    }

    #[test]
    fn a_write_of_the_status_changes_nothing_else() {
        let deployments = resource("apps", "deployments");
        let old = json!({"metadata": {"name": "d", "generation": 1, "labels": {"a": "1"}}, "spec": {"replicas": 1}, "status": {}});
        let mut new = json!({"metadata": {"name": "d", "labels": {"a": "2"}, "annotations": {"x": "y"}}, "spec": {}, "status": {"replicas": 2}});
        prepare_update(deployments, &mut new, &old, Some("status"));
        assert_eq!(
            new,
            json!({
                "metadata": {"name": "d", "generation": 1, "labels": {"a": "1"}, "annotations": {"x": "y"}},
                "spec": {"replicas": 1}, "status": {"replicas": 2},
            })
        );
    }

    #[test]
    fn a_job_gets_its_selector_from_its_uid() {
        let mut job = json!({"metadata": {"name": "j", "uid": "u"}, "spec": {"template": {"metadata": {}}}});
        prepare_create(resource("batch", "jobs"), &mut job);
        assert_eq!(job["metadata"].get("labels"), None);
        complete_create(resource("batch", "jobs"), &mut job);
        assert_eq!(
            job["spec"]["selector"],
            json!({"matchLabels": {"batch.kubernetes.io/controller-uid": "u"}})
        );
        let labels = json!({
            "batch.kubernetes.io/controller-uid": "u", "batch.kubernetes.io/job-name": "j",
            "controller-uid": "u", "job-name": "j",
        });
        assert_eq!(
            (
                &job["metadata"]["labels"],
                &job["spec"]["template"]["metadata"]["labels"]
            ),
            (&labels, &labels)
        );
    }
}

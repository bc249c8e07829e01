//! Builds the object for a member from the resource on the control plane.

use serde_json::{Map, Value, json};

use crate::api::TargetCluster;

/// Labels by which the API server identifies the pods of a Job; another API server must set different values.
const JOB_LABELS: [&str; 4] = [
    "controller-uid",
    "batch.kubernetes.io/controller-uid",
    "job-name",
    "batch.kubernetes.io/job-name",
];

/// Annotations that bind a `PersistentVolumeClaim` to a volume.
const BOUND: [&str; 2] = [
    "pv.kubernetes.io/bind-completed",
    "pv.kubernetes.io/bound-by-controller",
];

/// Returns the resource without its status and without the fields that the control plane's API server sets.
pub fn manifest(template: &Value) -> Value {
    let Some(object) = template.as_object() else {
        return Value::Null;
    };
    let mut manifest: Map<String, Value> = object
        .iter()
        .filter(|(key, _)| *key != "status" && *key != "metadata")
        .map(|(k, v)| (k.clone(), v.clone()))
        .collect();
    manifest.insert("metadata".to_owned(), metadata(template));
    let mut manifest = Value::Object(manifest);
    match manifest.get("kind").and_then(Value::as_str) {
        Some("Job") => forget_job_identity(&mut manifest),
        Some("Service") => forget(&mut manifest, "/spec", &["clusterIP", "clusterIPs"], |ip| {
            *ip == json!("None")
        }),
        // Tokens and volumes are each cluster's own.
        Some("ServiceAccount") => forget(&mut manifest, "", &["secrets"], |_| false),
        Some("PersistentVolumeClaim") => {
            forget(&mut manifest, "/spec", &["volumeName"], |_| false);
            forget(&mut manifest, "/metadata/annotations", &BOUND, |_| false);
        }
        Some("Pod") => forget(&mut manifest, "/spec", &["nodeName"], |_| false),
        _ => {}
    }
    manifest
}

fn metadata(template: &Value) -> Value {
    let mut metadata = Map::new();
    for key in ["name", "namespace", "labels", "annotations"] {
        if let Some(value) = template.get("metadata").and_then(|metadata| metadata.get(key)) {
            metadata.insert(key.to_owned(), value.clone());
        }
    }
    if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
        annotations.remove("kubectl.kubernetes.io/last-applied-configuration");
        annotations.remove("deployment.kubernetes.io/revision");
    }
    Value::Object(metadata)
}

/// Removes the selector of a Job without `manualSelector`: the API server that stores a Job sets it.
fn forget_job_identity(job: &mut Value) {
    if job.pointer("/spec/manualSelector") == Some(&Value::Bool(true)) {
        return;
    }
    forget(job, "/spec", &["selector"], |_| false);
    forget(job, "/spec/template/metadata/labels", &JOB_LABELS, |_| false);
    forget(job, "/metadata/labels", &JOB_LABELS, |_| false);
}

fn forget(object: &mut Value, path: &str, keys: &[&str], unless: impl Fn(&Value) -> bool) {
    if let Some(fields) = object.pointer_mut(path).and_then(Value::as_object_mut) {
        fields.retain(|key, value| !keys.contains(&key.as_str()) || unless(value));
    }
}

/// Sets the replicas of the object for its cluster, if the kind has a field for them.
pub fn set_replicas(manifest: &mut Value, target: &TargetCluster) {
    let Some(replicas) = target.replicas else { return };
    let field = match manifest.get("kind").and_then(Value::as_str) {
        Some("Deployment" | "StatefulSet" | "ReplicaSet" | "ReplicationController") => "replicas",
        Some("Job") => "parallelism",
        _ => return,
    };
    if let Some(spec) = manifest.get_mut("spec").and_then(Value::as_object_mut) {
        spec.insert(field.to_owned(), replicas.into());
    }
}

/// Adds labels, replacing existing ones of the same key (REC-09).
pub fn add_labels<'a>(manifest: &mut Value, labels: impl IntoIterator<Item = (&'a str, &'a str)>) {
    add(manifest, "labels", labels);
}

/// Adds annotations, replacing existing ones of the same key.
pub fn add_annotations<'a>(manifest: &mut Value, annotations: impl IntoIterator<Item = (&'a str, &'a str)>) {
    add(manifest, "annotations", annotations);
}

fn add<'a>(manifest: &mut Value, field: &str, entries: impl IntoIterator<Item = (&'a str, &'a str)>) {
    let mut entries = entries.into_iter().peekable();
    let Some(metadata) = manifest.get_mut("metadata").and_then(Value::as_object_mut) else {
        return;
    };
    if entries.peek().is_none() {
        return;
    }
    let map = metadata.entry(field.to_owned()).or_insert_with(|| json!({}));
    if let Some(map) = map.as_object_mut() {
        map.extend(entries.map(|(key, value)| (key.to_owned(), Value::String(value.to_owned()))));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_user_wrote_goes_out() {
        let template = json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {
                "name": "deploy", "namespace": "ns", "uid": "u", "resourceVersion": "7", "generation": 2,
                "creationTimestamp": "2026-01-01T00:00:00Z", "managedFields": [], "finalizers": ["x"],
                "labels": {"app": "web"},
                "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}", "mine": "1"}
            },
            "spec": {"replicas": 2}, "status": {"replicas": 2}
        });
        assert_eq!(
            manifest(&template),
            json!({
                "apiVersion": "apps/v1", "kind": "Deployment",
                "metadata": {"name": "deploy", "namespace": "ns", "labels": {"app": "web"}, "annotations": {"mine": "1"}},
                "spec": {"replicas": 2}
            })
        );
    }

    #[test]
    fn a_job_loses_the_identity_that_the_control_plane_gave_it() {
        let job = |manual: bool| {
            json!({"kind": "Job", "metadata": {"name": "j"}, "spec": {
                "manualSelector": manual, "selector": {"matchLabels": {"controller-uid": "u"}},
                "template": {"metadata": {"labels": {"app": "j", "controller-uid": "u", "job-name": "j"}}}
            }})
        };
        let sent = manifest(&job(false));
        assert_eq!(sent.pointer("/spec/selector"), None);
        assert_eq!(
            sent.pointer("/spec/template/metadata/labels"),
            Some(&json!({"app": "j"}))
        );
        assert_eq!(manifest(&job(true)), job(true));
    }

    #[test]
    fn labels_go_over_those_of_the_template() {
        let mut object = json!({"metadata": {"name": "x", "labels": {"a": "1", "b": "2"}}});
        add_labels(&mut object, [("b", "3"), ("c", "4")]);
        assert_eq!(object["metadata"]["labels"], json!({"a": "1", "b": "3", "c": "4"}));
        add_annotations(&mut object, []);
        assert_eq!(object["metadata"].get("annotations"), None);
    }
}

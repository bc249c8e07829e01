//! Warnings: what is stored as it is but probably not meant.

mod labels;
mod network;
mod pods;
mod volumes;

use base64::Engine as _;
use baton_apimachinery::field::FieldPath;
use baton_apimachinery::meta;
use baton_apimachinery::metadata::names;
use serde_json::Value;

use crate::resources::Resource;
use crate::well_known::TEMPLATE_GENERATION;

/// The warning that every answer about a deprecated kind carries.
pub fn deprecation(resource: &Resource) -> Option<&'static str> {
    match (resource.group, resource.kind) {
        ("", "Endpoints") => Some("v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"),
        ("", "ComponentStatus") => Some("v1 ComponentStatus is deprecated in v1.19+"),
        _ => None,
    }
}

/// The warnings about an object that was written: most only when it is new.
pub fn warnings(resource: &Resource, object: &Value, created: bool) -> Vec<String> {
    let mut warnings = Vec::new();
    let is_told_again = matches!(
        resource.kind,
        "CSIStorageCapacity"
            | "PersistentVolume"
            | "PersistentVolumeClaim"
            | "RuntimeClass"
            | "Secret"
            | "StorageClass"
    );
    network::warnings(resource, object, created, &mut warnings);
    if !created && resource.kind == "StatefulSet" {
        stateful_set(object, created, &mut warnings);
    }
    if !created && !is_told_again {
        return warnings;
    }
    let spec = FieldPath::Named(&FieldPath::Root, "spec");
    match (resource.group, resource.kind) {
        ("", "Pod") => {
            hostname(object, "the Pod's hostname", &mut warnings);
            pod(object.get("spec"), &spec, &mut warnings);
        }
        ("apps", _) | ("batch", "Job") | ("", "ReplicationController") => {
            if !matches!(resource.kind, "DaemonSet" | "StatefulSet") {
                hostname(object, "Pod names and hostnames", &mut warnings);
            }
            template(resource, object, &mut warnings);
            if resource.kind == "StatefulSet" {
                stateful_set(object, created, &mut warnings);
            }
        }
        ("batch", "CronJob") | ("", "PodTemplate") => template(resource, object, &mut warnings),
        ("", "Secret") => certificate(object, &mut warnings),
        ("", "PersistentVolume") => volumes::persistent(object, &mut warnings),
        ("", "PersistentVolumeClaim") => volumes::claim(object, &mut warnings),
        ("", "ServiceAccount") => mountable_secrets(object, &mut warnings),
        ("storage.k8s.io", "StorageClass") => volumes::class(object, &mut warnings),
        ("storage.k8s.io", "CSIStorageCapacity") => {
            if let Some(topology) = object.get("nodeTopology") {
                labels::selector(topology, &FieldPath::Root.child("nodeTopology"), &mut warnings);
            }
        }
        ("node.k8s.io", "RuntimeClass") => {
            let selected = object.pointer("/scheduling/nodeSelector").and_then(Value::as_object);
            for detail in selected
                .into_iter()
                .flatten()
                .filter_map(|(key, _)| labels::deprecated(key))
            {
                warnings.push(format!("scheduling.nodeSelector: {detail}"));
            }
        }
        ("storage.k8s.io", "CSIDriver") => tokens_in_attributes(object, &mut warnings),
        _ => {}
    }
    warnings
}

/// The warnings about a change: those about the template of pods, if there is a new generation of it, and of what a
/// driver or a service account begins to say.
pub fn change_warnings(resource: &Resource, new: &Value, old: &Value) -> Vec<String> {
    let generation = |object: &Value| match resource.kind {
        "DaemonSet" => meta::annotation(object, TEMPLATE_GENERATION).map(Value::from),
        _ => object.pointer("/metadata/generation").cloned(),
    };
    let mut warnings = Vec::new();
    match (resource.group, resource.kind) {
        ("storage.k8s.io", "CSIDriver") if new.pointer("/spec/tokenRequests") != old.pointer("/spec/tokenRequests") => {
            tokens_in_attributes(new, &mut warnings);
        }
        ("", "ServiceAccount") if meta::annotation(old, ENFORCE_MOUNTABLE).is_none() => {
            mountable_secrets(new, &mut warnings);
        }
        // Of a replication controller, the old template is looked at.
        ("", "ReplicationController") if generation(new) != generation(old) => template(resource, old, &mut warnings),
        _ if generation(new) != generation(old) => template(resource, new, &mut warnings),
        _ => {}
    }
    warnings
}

/// The warnings about the template of pods of a kind that has one.
fn template(resource: &Resource, object: &Value, warnings: &mut Vec<String>) {
    let path = match (resource.group, resource.kind) {
        ("apps", _) | ("batch", "Job") | ("", "ReplicationController") => "spec.template.spec",
        ("batch", "CronJob") => "spec.jobTemplate.spec.template.spec",
        ("", "PodTemplate") => "template.spec",
        _ => return,
    };
    let spec = path.split('.').try_fold(object, |object, key| object.get(key));
    pod(spec, &FieldPath::Root.child(path), warnings);
}

/// Tokens are better not among what is logged.
fn tokens_in_attributes(driver: &Value, warnings: &mut Vec<String>) {
    let Some(spec) = driver.get("spec") else { return };
    let has_tokens = spec.get("tokenRequests").and_then(Value::as_array);
    if has_tokens.is_some_and(|tokens| !tokens.is_empty()) && spec.get("serviceAccountTokenInSecrets").is_none() {
        warnings.push(
            "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent \
             possible logging of tokens in volume attributes"
                .to_owned(),
        );
    }
}

/// What a stateful set says besides its template.
fn stateful_set(set: &Value, created: bool, warnings: &mut Vec<String>) {
    volumes::claim_templates(set, created, warnings);
    let limit = set.pointer("/spec/revisionHistoryLimit").and_then(Value::as_i64);
    if limit.is_some_and(|limit| limit < 0) {
        warnings.push(
            "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is \
             recommended"
                .to_owned(),
        );
    }
}

const ENFORCE_MOUNTABLE: &str = "kubernetes.io/enforce-mountable-secrets";

/// Where a service account's secrets may be mounted is not kept apart any more.
fn mountable_secrets(account: &Value, warnings: &mut Vec<String>) {
    if meta::annotation(account, ENFORCE_MOUNTABLE).is_some() {
        warnings.push(format!(
            "metadata.annotations[{ENFORCE_MOUNTABLE}]: deprecated in v1.32+; prefer separate namespaces to isolate access to \
             mounted secrets"
        ));
    }
}

/// A name that is no DNS label makes a bad hostname.
fn hostname(object: &Value, used_in: &str, warnings: &mut Vec<String>) {
    let name = object
        .get("metadata")
        .and_then(|metadata| metadata.get("name")?.as_str())
        .unwrap_or_default();
    let messages = names::dns_label(name);
    if !messages.is_empty() {
        warnings.push(format!(
            "metadata.name: this is used in {used_in}, which can result in surprising behavior; \
             a DNS label is recommended: [{}]",
            messages.join(" ")
        ));
    }
}

fn items<'a>(object: &'a Value, field: &str) -> &'a [Value] {
    object.get(field).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn pod(spec: Option<&Value>, at: &FieldPath<'_>, warnings: &mut Vec<String>) {
    let Some(spec) = spec else { return };
    pods::before_volumes(spec, at, warnings);
    volumes::of_pod(spec, at, warnings);
    pods::after_volumes(spec, at, warnings);
}

fn null_selector(term: &Value, at: &FieldPath<'_>, warnings: &mut Vec<String>) {
    if term.get("labelSelector").is_none() {
        warnings.push(format!(
            "{}: a null labelSelector results in matching no pod",
            at.child("labelSelector")
        ));
    }
}

/// Key and certificate that are no PEM.
fn certificate(secret: &Value, warnings: &mut Vec<String>) {
    if secret.get("type").and_then(Value::as_str) != Some("kubernetes.io/tls") {
        return;
    }
    let is_pem = |key: &str| {
        let encoded = secret
            .get("data")
            .and_then(|data| data.get(key)?.as_str())
            .unwrap_or_default();
        let bytes = base64::engine::general_purpose::STANDARD
            .decode(encoded)
            .unwrap_or_default();
        pem::parse(bytes).is_ok()
    };
    if !is_pem("tls.crt") {
        warnings.push("tls: failed to find any PEM data in certificate input".to_owned());
    } else if !is_pem("tls.key") {
        warnings.push("tls: failed to find any PEM data in key input".to_owned());
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::resources;
    use super::*;

    #[test]
    fn warnings_of_kinds() {
        for (group, plural, object, expected) in [
            (
                "",
                "pods",
                json!({"metadata": {"name": "p"}, "spec": {"affinity": {"podAntiAffinity":
                    {"preferredDuringSchedulingIgnoredDuringExecution": [{"podAffinityTerm": {"topologyKey": "zone"}}]}}}}),
                "spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].podAffinityTerm\
                 .labelSelector: a null labelSelector results in matching no pod",
            ),
            (
                "",
                "pods",
                json!({"metadata": {"name": "p".repeat(64)}}),
                "metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; \
                 a DNS label is recommended: [must be no more than 63 characters]",
            ),
            (
                "",
                "secrets",
                json!({"type": "kubernetes.io/tls", "data": {"tls.crt": "", "tls.key": ""}}),
                "tls: failed to find any PEM data in certificate input",
            ),
        ] {
            let resource = resources::by_plural(group, "v1", plural).expect("in the catalogue");
            assert_eq!(warnings(resource, &object, true), [expected]);
        }
    }
}

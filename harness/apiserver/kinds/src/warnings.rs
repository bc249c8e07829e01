//! Warnings about objects that are stored as they are, although they probably contain a mistake.

use base64::Engine as _;
use baton_apimachinery::field::FieldPath;
use baton_apimachinery::meta;
use baton_apimachinery::metadata::names;
use serde_json::Value;

use crate::resources::Resource;
use crate::ruled::RuledKind;

const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";

/// Returns the warning of a deprecated kind, which every answer about it carries.
pub fn deprecation(resource: &Resource) -> Option<&'static str> {
    match (resource.group, resource.kind) {
        ("", "Endpoints") => Some("v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"),
        ("", "ComponentStatus") => Some("v1 ComponentStatus is deprecated in v1.19+"),
        _ => None,
    }
}

/// Returns warnings about an object that was written; most only if it is new.
pub fn warnings(resource: &Resource, object: &Value, created: bool) -> Vec<String> {
    let mut warnings = Vec::new();
    match RuledKind::of(resource) {
        Some(RuledKind::Pod) if created => {
            hostname(object, "the Pod's hostname", &mut warnings);
            pod(object.get("spec"), &FieldPath::Root.child("spec"), &mut warnings);
        }
        Some(RuledKind::Deployment | RuledKind::Job | RuledKind::ReplicaSet) if created => {
            hostname(object, "Pod names and hostnames", &mut warnings);
            template(object, &mut warnings);
        }
        Some(RuledKind::StatefulSet) if created => template(object, &mut warnings),
        Some(RuledKind::Secret) => certificate(object, &mut warnings),
        _ => {}
    }
    warnings
}

/// Returns warnings about a change: those about a new template of pods.
pub fn change_warnings(resource: &Resource, new: &Value, old: &Value) -> Vec<String> {
    let mut warnings = Vec::new();
    let generation = |object: &Value| object.pointer("/metadata/generation").cloned();
    match RuledKind::of(resource) {
        Some(RuledKind::Deployment | RuledKind::Job | RuledKind::ReplicaSet | RuledKind::StatefulSet)
            if generation(new) != generation(old) =>
        {
            template(new, &mut warnings);
        }
        _ => {}
    }
    warnings
}

/// Warnings about the pod template of a workload.
fn template(object: &Value, warnings: &mut Vec<String>) {
    let at = FieldPath::Root.child("spec.template.spec");
    pod(object.pointer("/spec/template/spec"), &at, warnings);
}

/// Warns about a name that is not a DNS label, because it makes a bad hostname.
fn hostname(object: &Value, used_in: &str, warnings: &mut Vec<String>) {
    let messages = names::dns_label(meta::name(object).unwrap_or_default());
    if !messages.is_empty() {
        warnings.push(format!(
            "metadata.name: this is used in {used_in}, which can result in surprising behavior; \
             a DNS label is recommended: [{}]",
            messages.join(" ")
        ));
    }
}

fn pod(spec: Option<&Value>, at: &FieldPath<'_>, warnings: &mut Vec<String>) {
    let Some(spec) = spec else { return };
    let spreads = at.child("topologySpreadConstraints");
    for (index, constraint) in meta::list(spec, "topologySpreadConstraints").iter().enumerate() {
        null_selector(constraint, &spreads.item(index), warnings);
    }
    for kind in ["podAffinity", "podAntiAffinity"] {
        let Some(affinity) = spec.pointer(&format!("/affinity/{kind}")) else {
            continue;
        };
        let at = at.child("affinity");
        let at = at.child(kind);
        let preferred = at.child(PREFERRED);
        for (index, weighted) in meta::list(affinity, PREFERRED).iter().enumerate() {
            let term = weighted.get("podAffinityTerm").unwrap_or(&Value::Null);
            null_selector(term, &preferred.item(index).child("podAffinityTerm"), warnings);
        }
    }
}

fn null_selector(term: &Value, at: &FieldPath<'_>, warnings: &mut Vec<String>) {
    if term.get("labelSelector").is_none() {
        warnings.push(format!(
            "{}: a null labelSelector results in matching no pod",
            at.child("labelSelector")
        ));
    }
}

/// Warns about a key or certificate that is not PEM.
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

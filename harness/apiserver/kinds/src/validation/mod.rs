//! Whether an object of a built-in kind may be stored, in the words of the API server.
//!
//! `checks` is the language of the simple rules; the tables and what no rule can say are in a module per family of
//! kinds, which is a folder where there is much to say. The functions here put together what a create, an update and a write of the status have to pass.

mod checks;
mod claims;
mod config_maps;
mod events;
mod jobs;
mod leases;
mod namespaces;
mod network_policies;
mod pods;
mod rbac;
mod secrets;
mod selectors;
mod services;
mod webhooks;
mod workloads;

use baton_apimachinery::field::{ErrorList, FieldError, FieldPath};
use baton_apimachinery::metadata::names::{self, NameRule};
use baton_apimachinery::metadata::{self, Strictness};
use serde_json::Value;

use crate::resources::Resource;

/// A whole object.
const ROOT: FieldPath<'static> = FieldPath::Root;

/// What is wrong with a new object.
pub fn validate_create(resource: &Resource, object: &Value) -> Vec<FieldError> {
    let mut found = ErrorList::default();
    kind_metadata(resource, object, &mut found);
    body(resource, object, &mut found);
    match (resource.group, resource.kind) {
        ("", "Pod") => pods::created(object, &mut found),
        ("", "Namespace") => namespaces::created(object, &mut found),
        ("events.k8s.io", _) => events::created(object, &mut found),
        _ => {}
    }
    found.into_vec()
}

/// What is wrong with a change of an object or of one of its subresources.
pub fn validate_update(resource: &Resource, new: &Value, old: &Value, subresource: Option<&str>) -> Vec<FieldError> {
    let mut found = ErrorList::default();
    // The generic registry checks metadata before the kind does, which is why messages come more than once.
    metadata::validate_create(
        new,
        resource.namespaced,
        names::path_segment,
        Strictness::Custom,
        &mut found,
    );
    metadata::validate_update(new, old, Strictness::Custom, &mut found);
    if resource.kind != "Event" || events::is_new_style(resource) {
        metadata::validate_update(new, old, Strictness::Builtin, &mut found);
    }
    match subresource {
        None => {
            if checks_metadata_on_update(resource) {
                kind_metadata(resource, new, &mut found);
            }
            match resource.kind {
                "ConfigMap" | "Secret" | "Service" => {
                    change(resource, new, old, &mut found);
                    body(resource, new, &mut found);
                }
                "StatefulSet" => {
                    workloads::changed_stateful_set(new, &mut found);
                    change(resource, new, old, &mut found);
                }
                // What is changed is checked as a new one, and then as a change.
                "Job" => {
                    body(resource, new, &mut found);
                    jobs::specification(new, &mut found);
                    change(resource, new, old, &mut found);
                }
                _ => {
                    body(resource, new, &mut found);
                    change(resource, new, old, &mut found);
                }
            }
        }
        Some("status") => status(resource, new, &mut found),
        Some("finalize") => namespaces::held(new, &mut found),
        Some(_) => {}
    }
    found.into_vec()
}

/// Kinds that check the whole of `metadata` again when they are updated.
fn checks_metadata_on_update(resource: &Resource) -> bool {
    match resource.group {
        "rbac.authorization.k8s.io" => true,
        "" => matches!(
            resource.kind,
            "ConfigMap" | "PersistentVolumeClaim" | "Pod" | "Secret" | "Service" | "ServiceAccount"
        ),
        _ => false,
    }
}

fn kind_metadata(resource: &Resource, object: &Value, found: &mut ErrorList) {
    if resource.kind == "Event" && !events::is_new_style(resource) {
        return;
    }
    metadata::validate_create(
        object,
        resource.namespaced,
        name_rule(resource),
        Strictness::Builtin,
        found,
    );
}

/// The rule for names of a kind.
pub fn name_rule(resource: &Resource) -> NameRule {
    match (resource.group, resource.kind) {
        ("", "Namespace" | "Service") | ("apps", "StatefulSet") => names::is_dns_label,
        ("rbac.authorization.k8s.io", _) => names::path_segment,
        _ => names::is_dns_subdomain,
    }
}

/// Everything but metadata and status.
fn body(resource: &Resource, object: &Value, found: &mut ErrorList) {
    match (resource.group, resource.kind) {
        ("", "Pod") => pods::pod(object, found),
        ("", "Service") => services::body(object, found),
        ("", "Event") => events::core(object, found),
        ("events.k8s.io", _) => events::new_style(object, found),
        ("apps", _) => workloads::body(resource.kind, object, found),
        ("batch", "Job") => jobs::body(object, found),
        ("rbac.authorization.k8s.io", _) => rbac::body(resource.kind, object, found),
        ("admissionregistration.k8s.io", _) => webhooks::body(object, found),
        ("networking.k8s.io", "NetworkPolicy") => network_policies::body(object, found),
        ("coordination.k8s.io", "Lease") => leases::body(object, found),
        ("", "ConfigMap") => config_maps::config_map(object, found),
        ("", "PersistentVolumeClaim") => claims::body(object, found),
        ("", "Secret") => secrets::secret(object, found),
        _ => {}
    }
}

/// What may not change.
fn change(resource: &Resource, new: &Value, old: &Value, found: &mut ErrorList) {
    match (resource.group, resource.kind) {
        ("", "Pod") => pods::changes::change(new, old, found),
        ("", "Service") => services::change(new, old, found),
        ("events.k8s.io", _) => events::change(new, old, found),
        ("apps", _) => workloads::change(resource.kind, new, old, found),
        ("batch", "Job") => jobs::change(new, old, found),
        ("rbac.authorization.k8s.io", _) => rbac::change(new, old, found),
        ("", "ConfigMap") => config_maps::fixed_data(&["data", "binaryData"], new, old, found),
        ("", "Secret") => secrets::change(new, old, found),
        _ => {}
    }
}

fn status(resource: &Resource, new: &Value, found: &mut ErrorList) {
    match (resource.group, resource.kind) {
        ("", "Namespace") => namespaces::status(new, found),
        ("apps", _) => workloads::status(resource.kind, new, found),
        ("batch", "Job") => jobs::status(new, found),
        _ => {}
    }
}

#[cfg(test)]
mod tests;

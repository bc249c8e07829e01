//! Validation of the built-in kinds, in the words of the API server.
//!
//! `checks` is the language of the simple rules; there is a module for each family of kinds. The functions here run the
//! checks of a create, an update and a write of the status. For a kind without rules, only the metadata is validated.

mod checks;
mod claims;
mod config_maps;
mod events;
mod fields;
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
use crate::ruled::RuledKind;

/// The root of an object.
const ROOT: FieldPath<'static> = FieldPath::Root;

/// Validates a new object.
pub fn validate_create(resource: &Resource, object: &Value) -> Vec<FieldError> {
    let mut found = ErrorList::default();
    kind_metadata(resource, object, &mut found);
    body(resource, object, &mut found);
    match RuledKind::of(resource) {
        Some(RuledKind::Pod) => pods::created(object, &mut found),
        Some(RuledKind::Namespace) => namespaces::created(object, &mut found),
        Some(RuledKind::NewEvent) => events::created(object, &mut found),
        _ => {}
    }
    found.into_vec()
}

/// Validates a change of an object or of one of its subresources.
pub fn validate_update(resource: &Resource, new: &Value, old: &Value, subresource: Option<&str>) -> Vec<FieldError> {
    let mut found = ErrorList::default();
    // The generic registry checks metadata before the kind does, so messages occur more than once.
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
            match RuledKind::of(resource) {
                Some(RuledKind::ConfigMap | RuledKind::Secret | RuledKind::Service) => {
                    change(resource, new, old, &mut found);
                    body(resource, new, &mut found);
                }
                Some(RuledKind::StatefulSet) => {
                    workloads::changed_stateful_set(new, &mut found);
                    change(resource, new, old, &mut found);
                }
                // A changed Job is validated as a new one first, and then as a change.
                Some(RuledKind::Job) => {
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

/// Reports whether a kind validates the whole of `metadata` again when it is updated.
fn checks_metadata_on_update(resource: &Resource) -> bool {
    matches!(
        RuledKind::of(resource),
        Some(
            RuledKind::ClusterRole
                | RuledKind::ClusterRoleBinding
                | RuledKind::ConfigMap
                | RuledKind::PersistentVolumeClaim
                | RuledKind::Pod
                | RuledKind::Role
                | RuledKind::RoleBinding
                | RuledKind::Secret
                | RuledKind::Service
                | RuledKind::ServiceAccount
        )
    )
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
    match RuledKind::of(resource) {
        Some(RuledKind::Namespace | RuledKind::Service | RuledKind::StatefulSet) => names::is_dns_label,
        Some(RuledKind::ClusterRole | RuledKind::ClusterRoleBinding | RuledKind::Role | RuledKind::RoleBinding) => {
            names::path_segment
        }
        _ => names::is_dns_subdomain,
    }
}

/// Validates everything but metadata and status.
fn body(resource: &Resource, object: &Value, found: &mut ErrorList) {
    let Some(kind) = RuledKind::of(resource) else { return };
    match kind {
        RuledKind::ClusterRole | RuledKind::ClusterRoleBinding | RuledKind::Role | RuledKind::RoleBinding => {
            rbac::body(resource.kind, object, found);
        }
        RuledKind::ConfigMap => config_maps::config_map(object, found),
        RuledKind::Deployment | RuledKind::ReplicaSet | RuledKind::StatefulSet => {
            workloads::body(resource.kind, object, found);
        }
        RuledKind::Event => events::core(object, found),
        RuledKind::NewEvent => events::new_style(object, found),
        RuledKind::Job => jobs::body(object, found),
        RuledKind::Lease => leases::body(object, found),
        RuledKind::MutatingWebhookConfiguration | RuledKind::ValidatingWebhookConfiguration => {
            webhooks::body(object, found);
        }
        RuledKind::NetworkPolicy => network_policies::body(object, found),
        RuledKind::PersistentVolumeClaim => claims::body(object, found),
        RuledKind::Pod => pods::pod(object, found),
        RuledKind::Secret => secrets::secret(object, found),
        RuledKind::Service => services::body(object, found),
        // `crd` validates definitions.
        RuledKind::CustomResourceDefinition | RuledKind::Namespace | RuledKind::ServiceAccount => {}
    }
}

/// Validates a change.
fn change(resource: &Resource, new: &Value, old: &Value, found: &mut ErrorList) {
    let Some(kind) = RuledKind::of(resource) else { return };
    match kind {
        RuledKind::ClusterRole | RuledKind::ClusterRoleBinding | RuledKind::Role | RuledKind::RoleBinding => {
            rbac::change(new, old, found);
        }
        RuledKind::ConfigMap => config_maps::fixed_data(&["data", "binaryData"], new, old, found),
        RuledKind::Deployment | RuledKind::ReplicaSet | RuledKind::StatefulSet => {
            workloads::change(resource.kind, new, old, found);
        }
        RuledKind::NewEvent => events::change(new, old, found),
        RuledKind::Job => jobs::change(new, old, found),
        RuledKind::PersistentVolumeClaim => claims::change(new, old, found),
        RuledKind::Pod => pods::changes::change(new, old, found),
        RuledKind::Secret => secrets::change(new, old, found),
        RuledKind::Service => services::change(new, old, found),
        _ => {}
    }
}

fn status(resource: &Resource, new: &Value, found: &mut ErrorList) {
    match RuledKind::of(resource) {
        Some(RuledKind::Namespace) => namespaces::status(new, found),
        Some(RuledKind::Deployment | RuledKind::ReplicaSet | RuledKind::StatefulSet) => {
            workloads::status(resource.kind, new, found);
        }
        Some(RuledKind::Job) => jobs::status(new, found),
        _ => {}
    }
}

#[cfg(test)]
mod tests;

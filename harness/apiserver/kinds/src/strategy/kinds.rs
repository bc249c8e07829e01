//! Changes to objects of single kinds before validation.

use baton_apimachinery::meta;
use serde_json::{Map, Value, json};

use super::{copy, object_in, pods, put};
use crate::members::name_label;
use crate::resources::Resource;
use crate::ruled::RuledKind;
use crate::services;

/// Applies the create rules of a kind.
pub(super) fn create(resource: &Resource, members: &mut Map<String, Value>) {
    match RuledKind::of(resource) {
        Some(RuledKind::Pod) => pods::create(members),
        Some(RuledKind::Namespace) => {
            namespace_finalizer(members);
            name_label(members);
        }
        Some(RuledKind::ServiceAccount) => names_of_secrets(members),
        Some(RuledKind::Job) => job_selector(members),
        _ => {}
    }
}

/// Adds the `kubernetes` finalizer to a new namespace; the namespace controller removes it once the namespace is empty.
fn namespace_finalizer(members: &mut Map<String, Value>) {
    const HOLDER: &str = "kubernetes";
    let Some(spec) = object_in(members, "spec") else { return };
    let finalizers = spec.entry("finalizers").or_insert_with(|| json!([]));
    match finalizers.as_array_mut() {
        Some(held) if held.iter().any(|each| each == HOLDER) => {}
        Some(held) => held.push(HOLDER.into()),
        None => *finalizers = json!([HOLDER]),
    }
}

/// Applies an update of the object itself, or of a subresource that changes its specification.
pub(super) fn update(
    resource: &Resource,
    members: &mut Map<String, Value>,
    before: &Map<String, Value>,
    subresource: Option<&str>,
) {
    match RuledKind::of(resource) {
        Some(RuledKind::Namespace) => {
            if subresource != Some("finalize") {
                copy(members, before, "spec");
            }
            name_label(members);
        }
        Some(RuledKind::Pod) => match subresource {
            Some("ephemeralcontainers") => keep_all_but("ephemeralContainers", members, before),
            Some("resize") => keep_all_but("containers", members, before),
            Some(_) | None => {}
        },
        Some(RuledKind::Service) => services::keep_allocated(members, before),
        Some(RuledKind::ServiceAccount) => names_of_secrets(members),
        _ => {}
    }
}

/// Takes one field of the new specification, and all others from the old object.
fn keep_all_but(field: &str, members: &mut Map<String, Value>, before: &Map<String, Value>) {
    let value = members.get("spec").and_then(|spec| spec.get(field)).cloned();
    copy(members, before, "spec");
    if let (Some(value), Some(spec)) = (value, object_in(members, "spec")) {
        spec.insert(field.to_owned(), value);
    }
}

/// Applies an update of the status; everything but status and metadata is already the old one.
pub(super) fn update_status(resource: &Resource, members: &mut Map<String, Value>, before: &Map<String, Value>) {
    let kept: &[&str] = match RuledKind::of(resource) {
        Some(RuledKind::Deployment) => &["labels"],
        Some(RuledKind::Pod) => &["ownerReferences"],
        _ => return,
    };
    let none = Map::new();
    let before = before.get("metadata").and_then(Value::as_object).unwrap_or(&none);
    if let Some(metadata) = object_in(members, "metadata") {
        for key in kept {
            copy(metadata, before, key);
        }
    }
}

/// Drops everything but the names from the secrets of a service account.
fn names_of_secrets(account: &mut Map<String, Value>) {
    let secrets = account.get_mut("secrets").and_then(Value::as_array_mut);
    for secret in secrets.into_iter().flatten().filter_map(Value::as_object_mut) {
        secret.retain(|field, _| field == "name");
    }
}

/// Sets the selector of a job to the uid of the job, unless `manualSelector` is set.
fn job_selector(members: &mut Map<String, Value>) {
    let at = |path: [&str; 2]| members.get(path[0]).and_then(|value| value.get(path[1]));
    if at(["spec", "manualSelector"]).and_then(Value::as_bool) == Some(true) {
        return;
    }
    let text = |key: &str| members.get("metadata").map_or("", |of| meta::text(of, key)).to_owned();
    let (name, uid) = (text("name"), text("uid"));
    // The job shares these labels with its template; they must stay those of the template.
    let template_labels = members
        .get("spec")
        .and_then(|spec| spec.pointer("/template/metadata/labels"));
    let shared = template_labels.is_some() && at(["metadata", "labels"]) == template_labels;
    for (key, value) in [
        ("batch.kubernetes.io/controller-uid", &uid),
        ("controller-uid", &uid),
        ("batch.kubernetes.io/job-name", &name),
        ("job-name", &name),
    ] {
        add(members, &["spec", "template", "metadata", "labels", key], value);
        if shared {
            add(members, &["metadata", "labels", key], value);
        }
    }
    let key = "batch.kubernetes.io/controller-uid";
    add(members, &["spec", "selector", "matchLabels", key], &uid);
}

/// Sets a text at a path of keys, unless there is a value; validation reports a wrong value.
fn add(members: &mut Map<String, Value>, path: &[&str], value: &str) {
    let Some((first, rest)) = path.split_first() else {
        return;
    };
    if members.get(*first).and_then(|value| meta::at(value, rest)).is_none() {
        put(members, path, value.into());
    }
}

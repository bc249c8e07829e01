//! What each kind does to its objects on their way in. The one place where the modules that know kinds are asked.

use serde_json::{Value, json};

use crate::error::FieldError;
use crate::meta;
use crate::registry::Resource;

/// Fills in what an object leaves out.
pub(super) fn default(_resource: &Resource, _object: &mut Value) {}

/// Sets what a new object begins with, and drops what a client must not set.
pub(super) fn prepare_create(resource: &Resource, object: &mut Value) {
    if has_generation(resource) {
        meta::set(object, "generation", 1);
    }
    let drops_status = resource.subresource("status").is_some();
    if let Some(members) = object.as_object_mut()
        && drops_status
    {
        members.remove("status");
    }
    if resource.is("", "namespaces") {
        if let Some(name) = meta::name(object).map(str::to_owned)
            && let Some(metadata) = meta::metadata_mut(object)
        {
            let labels = metadata.entry("labels").or_insert_with(|| json!({}));
            if let Some(labels) = labels.as_object_mut() {
                labels.insert("kubernetes.io/metadata.name".to_owned(), name.into());
            }
        }
        if let Some(members) = object.as_object_mut() {
            members.insert("spec".to_owned(), json!({"finalizers": ["kubernetes"]}));
            members.insert("status".to_owned(), json!({"phase": "Active"}));
        }
    }
}

/// Keeps what this request cannot change, and counts the generation.
pub(super) fn prepare_update(resource: &Resource, new: &mut Value, old: &Value, subresource: Option<&str>) {
    match subresource {
        Some("status") => {
            let status = new.get("status").cloned();
            let managed = meta::at(new, &["metadata", "managedFields"]).cloned();
            let version = meta::resource_version(new).map(str::to_owned);
            *new = old.clone();
            put(new, "status", status);
            if let Some(version) = version {
                meta::set(new, "resourceVersion", version);
            }
            if let Some(managed) = managed {
                meta::set(new, "managedFields", managed);
            }
        }
        Some(_) | None => {
            if resource.subresource("status").is_some() {
                put(new, "status", old.get("status").cloned());
            }
            if resource.is("", "namespaces") {
                put(new, "spec", old.get("spec").cloned());
            }
        }
    }
    if let Some(generation) = meta::at(old, &["metadata", "generation"]).and_then(Value::as_i64) {
        let bump = i64::from(subresource.is_none() && changed_beyond_metadata(resource, new, old));
        meta::set(new, "generation", generation + bump);
    }
}

fn put(object: &mut Value, key: &str, value: Option<Value>) {
    let Some(members) = object.as_object_mut() else { return };
    match value {
        Some(value) => members.insert(key.to_owned(), value),
        None => members.remove(key),
    };
}

fn has_generation(resource: &Resource) -> bool {
    resource.custom().is_some() || matches!(resource.group.as_str(), "apps" | "batch" | "apiextensions.k8s.io")
}

fn changed_beyond_metadata(resource: &Resource, new: &Value, old: &Value) -> bool {
    let ignored = |key: &str| {
        key == "metadata"
            || (key == "status" && (resource.custom().is_none() || resource.subresource("status").is_some()))
    };
    let (Some(new), Some(old)) = (new.as_object(), old.as_object()) else {
        return false;
    };
    new.keys()
        .chain(old.keys())
        .any(|key| !ignored(key) && new.get(key) != old.get(key))
}

/// What is wrong with a new object.
pub(super) fn validate_create(_resource: &Resource, _object: &Value) -> Vec<FieldError> {
    Vec::new()
}

/// What is wrong with a change.
pub(super) fn validate_update(_resource: &Resource, _new: &Value, _old: &Value) -> Vec<FieldError> {
    Vec::new()
}

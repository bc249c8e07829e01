//! Mounts of volumes in containers.

use std::collections::BTreeSet;

use baton_apimachinery::field::{ErrorList, FieldPath};
use serde_json::Value;

use crate::validation::checks::{list, text};

/// Validates `volumeMounts` of a container; `volumes` are the valid volumes of its pod.
pub(super) fn validate(container: &Value, volumes: &[&Value], at: &FieldPath<'_>, found: &mut ErrorList) {
    let all = at.child("volumeMounts");
    let mut paths = BTreeSet::new();
    for (index, mount) in list(container, "volumeMounts").iter().enumerate() {
        let at = all.item(index);
        let (name, path) = (text(mount, "name"), text(mount, "mountPath"));
        if name.is_empty() {
            found.required(&at.child("name"), "");
        }
        if !volumes.iter().any(|volume| text(volume, "name") == name) {
            found.not_found(&at.child("name"), name);
        }
        if path.is_empty() {
            found.required(&at.child("mountPath"), "");
        }
        if !paths.insert(path) {
            found.invalid(&at.child("mountPath"), path, "must be unique");
        }
        // The message names the list, not the mount.
        inner_path(text(mount, "subPath"), &all.child("subPath"), found);
    }
}

fn inner_path(path: &str, at: &FieldPath<'_>, found: &mut ErrorList) {
    if path.starts_with('/') {
        found.invalid(at, path, "must be a relative path");
    }
    if path.split('/').any(|part| part == "..") {
        found.invalid(at, path, "must not contain '..'");
    }
}

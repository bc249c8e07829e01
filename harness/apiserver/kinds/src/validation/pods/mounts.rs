//! Where containers have the volumes of their pod: as folders and as devices.

use std::collections::{BTreeMap, BTreeSet};

use baton_apimachinery::field::{ErrorList, FieldPath};
use serde_json::Value;

use crate::validation::checks::{is_true, list, text};

const PROPAGATIONS: &[&str] = &["Bidirectional", "HostToContainer", "None"];
const RECURSIVE: &[&str] = &["Disabled", "Enabled", "IfPossible"];
/// Sources that can be had as devices.
const BLOCKS: [&str; 2] = ["persistentVolumeClaim", "ephemeral"];

/// Checks both; `volumes` are those of the pod that are right themselves.
pub(crate) fn validate(container: &Value, volumes: &[&Value], at: &FieldPath<'_>, found: &mut ErrorList) {
    mounts(container, volumes, at, found);
    devices(container, volumes, at, found);
}

fn of_name<'a>(volumes: &[&'a Value], name: &str) -> Option<&'a Value> {
    volumes.iter().copied().find(|volume| text(volume, "name") == name)
}

/// Where each volume is had; the last place of several.
fn by_name<'a>(container: &'a Value, field: &str, path: &str) -> BTreeMap<&'a str, &'a str> {
    let all = list(container, field).iter();
    all.map(|each| (text(each, "name"), text(each, path))).collect()
}

fn mounts(container: &Value, volumes: &[&Value], at: &FieldPath<'_>, found: &mut ErrorList) {
    let all = at.child("volumeMounts");
    let devices = by_name(container, "volumeDevices", "devicePath");
    let mut paths = BTreeSet::new();
    for (index, mount) in list(container, "volumeMounts").iter().enumerate() {
        let at = all.item(index);
        let (name, path) = (text(mount, "name"), text(mount, "mountPath"));
        if name.is_empty() {
            found.required(&at.child("name"), "");
        }
        if of_name(volumes, name).is_none() {
            found.not_found(&at.child("name"), name);
        }
        if path.is_empty() {
            found.required(&at.child("mountPath"), "");
        }
        if !paths.insert(path) {
            found.invalid(&at.child("mountPath"), path, "must be unique");
        }
        if devices.contains_key(name) {
            found.invalid(&at.child("name"), name, "must not already exist in volumeDevices");
        }
        if devices.values().any(|device| *device == path) {
            let detail = "must not already exist as a path in volumeDevices";
            found.invalid(&at.child("mountPath"), path, detail);
        }
        // From here on it is not told which of the mounts it is.
        inner_path("subPath", mount, &all, found);
        let expression = text(mount, "subPathExpr");
        if !expression.is_empty() && !text(mount, "subPath").is_empty() {
            let detail = "subPathExpr and subPath are mutually exclusive";
            found.invalid(&at.child("subPathExpr"), expression, detail);
        }
        inner_path("subPathExpr", mount, &all, found);
        propagation(mount, container, &all.child("mountPropagation"), found);
        recursive(mount, &all.child("recursiveReadOnly"), found);
    }
}

fn inner_path(field: &str, mount: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let path = text(mount, field);
    if path.starts_with('/') {
        found.invalid(&at.child(field), path, "must be a relative path");
    }
    if has_backsteps(path) {
        found.invalid(&at.child(field), path, "must not contain '..'");
    }
}

fn has_backsteps(path: &str) -> bool {
    path.split('/').any(|part| part == "..")
}

fn propagation(mount: &Value, container: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let Some(given) = mount.get("mountPropagation").and_then(Value::as_str) else {
        return;
    };
    if !PROPAGATIONS.contains(&given) {
        found.not_supported(at, given, PROPAGATIONS);
    }
    let is_privileged = container
        .get("securityContext")
        .is_some_and(|context| is_true(context, "privileged"));
    if given == "Bidirectional" && !is_privileged {
        let detail = "Bidirectional mount propagation is available only to privileged containers";
        found.forbidden(at, detail);
    }
}

fn recursive(mount: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    match mount.get("recursiveReadOnly").and_then(Value::as_str) {
        None | Some("Disabled") => {}
        Some("Enabled" | "IfPossible") => {
            if !is_true(mount, "readOnly") {
                found.forbidden(at, "may only be specified when readOnly is true");
            }
            let propagation = mount.get("mountPropagation").and_then(Value::as_str);
            if propagation.is_some_and(|propagation| propagation != "None") {
                let detail = "may only be specified when mountPropagation is None or not specified";
                found.forbidden(at, detail);
            }
        }
        Some(other) => found.not_supported(at, other, RECURSIVE),
    }
}

fn devices(container: &Value, volumes: &[&Value], at: &FieldPath<'_>, found: &mut ErrorList) {
    let at = at.child("volumeDevices");
    let mounts = by_name(container, "volumeMounts", "mountPath");
    let (mut names, mut paths) = (BTreeSet::new(), BTreeSet::new());
    for (index, device) in list(container, "volumeDevices").iter().enumerate() {
        let at = at.item(index);
        let (name_at, path_at) = (at.child("name"), at.child("devicePath"));
        let (name, path) = (text(device, "name"), text(device, "devicePath"));
        if name.is_empty() {
            found.required(&name_at, "");
        } else if !names.insert(name) {
            found.invalid(&name_at, name, "must be unique");
        }
        match of_name(volumes, name) {
            None => found.not_found(&name_at, name),
            Some(volume) if BLOCKS.iter().all(|source| volume.get(*source).is_none()) => {
                let detail = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode";
                found.invalid(&name_at, name, detail);
            }
            Some(_) => {}
        }
        if path.is_empty() {
            found.required(&path_at, "");
        }
        if paths.contains(path) {
            found.invalid(&path_at, path, "must be unique");
        }
        if has_backsteps(path) {
            found.invalid(&path_at, path, "can not contain backsteps ('..')");
        } else {
            paths.insert(path);
        }
        if mounts.contains_key(name) {
            found.invalid(&name_at, name, "must not already exist in volumeMounts");
        }
        if mounts.values().any(|mount| *mount == path) {
            found.invalid(&path_at, path, "must not already exist as a path in volumeMounts");
        }
    }
}

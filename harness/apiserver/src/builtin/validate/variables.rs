//! Variables of containers and what they are made from.

use serde_json::Value;

use super::checks::{list, members, text};
use crate::findings::{Field, Findings};
use crate::metadata::names;

pub(super) fn env(variable: &Value, at: &Field<'_>, found: &mut Findings) {
    let name = text(variable, "name");
    found.required_each(&at.child("name"), name, names::env_name(name));
    let Some(source) = members(variable, "valueFrom") else {
        return;
    };
    let at = at.child("valueFrom");
    if !text(variable, "value").is_empty() {
        found.invalid(&at, "", "may not be specified when `value` is not empty");
    }
    if source.len() > 1 {
        found.invalid(&at, "", "may not have more than one field specified at a time");
    }
    if source.is_empty() {
        let detail =
            "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`";
        found.invalid(&at, "", detail);
    }
    for (kind, reference) in source {
        let at = at.child(kind);
        match kind.as_str() {
            "configMapKeyRef" | "secretKeyRef" => key_of(reference, &at, found),
            "fieldRef" => field_path(reference, &at, found),
            "resourceFieldRef" => resource_of(reference, &at, found),
            _ => {}
        }
    }
}

/// What a variable can be made from.
const FIELD_PATHS: &[&str] = &[
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
];

fn field_path(reference: &Value, at: &Field<'_>, found: &mut Findings) {
    let path = text(reference, "fieldPath");
    let at = at.child("fieldPath");
    let subscripted = ["metadata.labels['", "metadata.annotations['"]
        .iter()
        .any(|start| path.starts_with(start) && path.ends_with("']"));
    match path {
        "" => found.required(&at, ""),
        "metadata.labels" | "metadata.annotations" => found.not_supported(&at, path, FIELD_PATHS),
        _ if subscripted || FIELD_PATHS.contains(&path) => {}
        _ => {
            let detail = format!("error converting fieldPath: field label not supported: {path}");
            found.invalid(&at, path, &detail);
        }
    }
}

/// What a file of a volume can be made from.
const FILE_PATHS: &[&str] = &[
    "metadata.annotations",
    "metadata.labels",
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
];

/// The field of a pod that a file is made from.
pub(super) fn field_in_file(reference: &Value, at: &Field<'_>, found: &mut Findings) {
    let path = text(reference, "fieldPath");
    if FIELD_PATHS.contains(&path) && !FILE_PATHS.contains(&path) {
        found.not_supported(&at.child("fieldPath"), path, FILE_PATHS);
    } else if !FILE_PATHS.contains(&path) {
        field_path(reference, at, found);
    }
}

fn key_of(reference: &Value, at: &Field<'_>, found: &mut Findings) {
    let (name, key) = (text(reference, "name"), text(reference, "key"));
    found.invalid_each(&at.child("name"), name, names::dns_subdomain(name));
    found.required_each(&at.child("key"), key, names::config_key(key));
}

/// The resources that a variable can be made from, besides huge pages.
const RESOURCES: &[&str] = &[
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
];

fn resource_of(reference: &Value, at: &Field<'_>, found: &mut Findings) {
    let resource = text(reference, "resource");
    let huge = ["limits.hugepages-", "requests.hugepages-"]
        .iter()
        .any(|start| resource.starts_with(start));
    if resource.is_empty() {
        found.required(&at.child("resource"), "");
    } else if !huge && !RESOURCES.contains(&resource) {
        found.not_supported(&at.child("resource"), resource, RESOURCES);
    }
    let whole = matches!(text(reference, "divisor"), "" | "0" | "1" | "1m");
    if resource.rsplit('.').next() == Some("cpu") && !whole {
        let detail = "only divisor's values 1m and 1 are supported with the cpu resource";
        found.invalid(&at.child("divisor"), resource, detail);
    }
}

/// What all variables of a container are made from.
pub(super) fn sources(container: &Value, at: &Field<'_>, found: &mut Findings) {
    let at = at.child("envFrom");
    for (index, source) in list(container, "envFrom").iter().enumerate() {
        let item = at.item(index);
        let prefix = text(source, "prefix");
        if !prefix.is_empty() {
            found.invalid_each(&item.child("prefix"), prefix, names::env_name(prefix));
        }
        let kinds = ["configMapRef", "secretRef"];
        let given: Vec<&str> = kinds.into_iter().filter(|kind| source.get(*kind).is_some()).collect();
        for kind in &given {
            let name = members(source, kind).and_then(|reference| reference.get("name")?.as_str());
            let place = item.child(kind);
            match name.unwrap_or_default() {
                "" => found.required(&place.child("name"), ""),
                name => found.invalid_each(&place.child("name"), name, names::dns_subdomain(name)),
            }
        }
        match given.len() {
            0 => found.invalid(&at, "", "must specify one of: `configMapRef` or `secretRef`"),
            1 => {}
            _ => found.invalid(&at, "", "may not have more than one field specified at a time"),
        }
    }
}

//! Variables of containers and what they are made from.

use baton_apimachinery::field::{ErrorList, FieldPath};
use baton_apimachinery::metadata::names;
use serde_json::Value;

use super::containers;
use crate::validation::checks::{list, members, text};

pub(crate) fn env(variable: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let name = text(variable, "name");
    found.required_each(&at.child("name"), name, names::env_name(name));
    let Some(source) = variable.get("valueFrom") else {
        return;
    };
    let at = at.child("valueFrom");
    let mut count = 0;
    for (kind, check) in SOURCES {
        if let Some(reference) = source.get(kind) {
            count += 1;
            check(reference, &at.child(kind), found);
        }
    }
    if count == 0 {
        let detail =
            "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`";
        found.invalid(&at, "", detail);
    } else if !text(variable, "value").is_empty() {
        found.invalid(&at, "", "may not be specified when `value` is not empty");
    } else if count > 1 {
        found.invalid(&at, "", "may not have more than one field specified at a time");
    }
}

type Checked = fn(&Value, &FieldPath<'_>, &mut ErrorList);

/// The sources of a variable in the order in which they are looked at.
const SOURCES: [(&str, Checked); 5] = [
    ("fieldRef", field_path),
    ("resourceFieldRef", resource_of),
    ("configMapKeyRef", key_of),
    ("secretKeyRef", key_of),
    ("fileKeyRef", key_of_file),
];

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

fn field_path(reference: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let (path, version) = (text(reference, "fieldPath"), text(reference, "apiVersion"));
    let field = at.child("fieldPath");
    let problem = match (path, subscripted(path)) {
        ("", _) => {
            found.required(&field, "");
            return;
        }
        _ if version != "v1" => format!("unsupported pod version: {version}"),
        (_, Some(("metadata.labels", key))) => {
            found.invalid_each(at, key, names::qualified_name(key));
            return;
        }
        (_, Some(("metadata.annotations", key))) => {
            let key = key.to_lowercase();
            found.invalid_each(at, &key, names::qualified_name(&key));
            return;
        }
        (_, Some(_)) => format!("field label does not support subscript: {path}"),
        ("metadata.labels" | "metadata.annotations", None) => {
            found.not_supported(&field, path, FIELD_PATHS);
            return;
        }
        _ if FIELD_PATHS.contains(&path) => return,
        _ => format!("field label not supported: {path}"),
    };
    found.invalid(&field, path, &format!("error converting fieldPath: {problem}"));
}

/// A map and the key in it: `metadata.labels['app']`.
fn subscripted(path: &str) -> Option<(&str, &str)> {
    let (map, key) = path.strip_suffix("']")?.split_once("['")?;
    (!map.is_empty()).then_some((map, key))
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
pub(crate) fn field_in_file(reference: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let path = text(reference, "fieldPath");
    let is_known = text(reference, "apiVersion") == "v1";
    if is_known && FILE_PATHS.contains(&path) {
        return;
    }
    if is_known && FIELD_PATHS.contains(&path) {
        found.not_supported(&at.child("fieldPath"), path, FILE_PATHS);
    } else {
        field_path(reference, at, found);
    }
}

fn key_of(reference: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let (name, key) = (text(reference, "name"), text(reference, "key"));
    found.invalid_each(&at.child("name"), name, names::dns_subdomain(name));
    found.required_each(&at.child("key"), key, names::config_key(key));
}

fn key_of_file(reference: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let (key, volume, path) = (
        text(reference, "key"),
        text(reference, "volumeName"),
        text(reference, "path"),
    );
    found.required_each(&at.child("key"), key, names::env_name(key));
    found.required_each(&at.child("volumeName"), volume, names::dns_label(volume));
    let at = at.child("path");
    if path.is_empty() {
        found.required(&at, "");
    } else if path.split('/').any(|part| part == "..") {
        found.invalid(&at, path, "must not contain '..'");
    }
}

/// Files that variables are made from are in volumes that begin empty.
pub(crate) fn files(spec: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let volumes = list(spec, "volumes");
    containers::visit(spec, at, &mut |container, at| {
        let at = at.child("env");
        for (index, variable) in list(container, "env").iter().enumerate() {
            let Some(reference) = variable.pointer("/valueFrom/fileKeyRef") else {
                continue;
            };
            let at = at.item(index);
            let at = at.child("valueFrom.fileKeyRef.volumeName");
            let name = text(reference, "volumeName");
            match volumes.iter().rfind(|volume| text(volume, "name") == name) {
                None => found.not_found(&at, name),
                Some(volume) if volume.get("emptyDir").is_none() => {
                    found.invalid(&at, name, "referenced volume must be of type emptyDir");
                }
                Some(_) => {}
            }
        }
    });
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

fn resource_of(reference: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let resource = text(reference, "resource");
    let huge = ["limits.hugepages-", "requests.hugepages-"]
        .iter()
        .any(|start| resource.starts_with(start));
    if resource.is_empty() {
        found.required(&at.child("resource"), "");
    } else if !huge && !RESOURCES.contains(&resource) {
        found.not_supported(&at.child("resource"), resource, RESOURCES);
    }
    divisor(resource, text(reference, "divisor"), &at.child("divisor"), found);
}

const DIVISORS: &[&str] = &[
    "1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei",
];

/// What the amount of a resource is told in.
fn divisor(resource: &str, divisor: &str, at: &FieldPath<'_>, found: &mut ErrorList) {
    if matches!(divisor, "" | "0") {
        return;
    }
    let (divisors, of): (&[&str], _) = match resource.split_once('.').map(|(_, resource)| resource) {
        Some("cpu") => (&["1m", "1"], "cpu"),
        Some("memory") => (DIVISORS, "memory"),
        Some("ephemeral-storage") => (DIVISORS, "local ephemeral storage"),
        Some(pages) if pages.starts_with("hugepages-") => (DIVISORS, "hugepages"),
        Some(_) | None => return,
    };
    if !divisors.contains(&divisor) {
        let told = divisors.join(if of == "cpu" { " and " } else { ", " });
        let detail = format!("only divisor's values {told} are supported with the {of} resource");
        found.invalid(at, resource, &detail);
    }
}

/// The resource of a container that a file is made from.
pub(crate) fn resource_in_file(reference: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    if text(reference, "containerName").is_empty() {
        let (resource, amount) = (text(reference, "resource"), text(reference, "divisor"));
        found.required(&at.child("containerName"), "");
        divisor(resource, amount, &at.child("divisor"), found);
    } else {
        resource_of(reference, at, found);
    }
}

/// What all variables of a container are made from.
pub(crate) fn sources(container: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
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

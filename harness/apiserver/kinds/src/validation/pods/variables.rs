//! Environment variables of containers and their sources.

use baton_apimachinery::field::{ErrorList, FieldPath};
use baton_apimachinery::metadata::names;
use serde_json::Value;

use crate::validation::checks::{list, members, text};

/// Validates a variable.
pub(super) fn env(variable: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
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

/// Sources of a variable in the order in which they are validated.
const SOURCES: [(&str, Checked); 5] = [
    ("fieldRef", any),
    ("resourceFieldRef", any),
    ("configMapKeyRef", key_of),
    ("secretKeyRef", key_of),
    ("fileKeyRef", any),
];

/// Accepts any source.
fn any(_: &Value, _: &FieldPath<'_>, _: &mut ErrorList) {}

fn key_of(reference: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let (name, key) = (text(reference, "name"), text(reference, "key"));
    found.invalid_each(&at.child("name"), name, names::dns_subdomain(name));
    found.required_each(&at.child("key"), key, names::config_key(key));
}

/// Validates `envFrom` of a container.
pub(super) fn sources(container: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
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

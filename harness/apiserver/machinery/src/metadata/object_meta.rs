//! Validation of `metadata`.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::names::{self, NameRule};
use crate::field::{ErrorList, FieldPath};
use crate::meta;

const METADATA: FieldPath<'static> = FieldPath::Named(&FieldPath::Root, "metadata");
const ANNOTATIONS_MAX_BYTES: usize = 256 * 1024;
/// Finalizers that need no domain.
pub const STANDARD_FINALIZERS: &[&str] = &["kubernetes", "orphan", "foregroundDeletion"];

/// Strictness of the checks of finalizers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strictness {
    /// Built-in kinds: a finalizer without a prefix must be one of the standard ones.
    Builtin,
    /// Custom resources: any qualified name is a finalizer.
    Custom,
}

/// Checks `metadata` as it must always be.
pub fn validate_create(
    object: &Value,
    namespaced: bool,
    rule: NameRule,
    strictness: Strictness,
    found: &mut ErrorList,
) {
    let metadata = object.get("metadata").unwrap_or(&Value::Null);
    let text = |key: &str| meta::text(metadata, key);
    let generate_name = text("generateName");
    if !generate_name.is_empty() {
        found.invalid_each(
            &METADATA.child("generateName"),
            generate_name,
            rule(generate_name, true),
        );
    }
    let name = text("name");
    if name.is_empty() {
        found.required(&METADATA.child("name"), "name or generateName is required");
    } else {
        found.invalid_each(&METADATA.child("name"), name, rule(name, false));
    }
    let namespace = text("namespace");
    let field = METADATA.child("namespace");
    match (namespaced, namespace.is_empty()) {
        (true, true) => found.required(&field, ""),
        (true, false) => found.invalid_each(&field, namespace, names::dns_label(namespace)),
        (false, false) => found.forbidden(&field, "not allowed on this type"),
        (false, true) => {}
    }
    if let Some(generation) = metadata
        .get("generation")
        .and_then(Value::as_i64)
        .filter(|generation| *generation < 0)
    {
        found.invalid(
            &METADATA.child("generation"),
            generation,
            "must be greater than or equal to 0",
        );
    }
    shared(metadata, found);
    finalizers(metadata, found);
    managers(metadata, found);
    if strictness == Strictness::Builtin {
        standard_finalizers(metadata, found);
    }
}

/// Checks the immutable parts of `metadata`; checks again the parts that [`validate_create`] checks, too, as the API
/// server does.
pub fn validate_update(new: &Value, old: &Value, strictness: Strictness, found: &mut ErrorList) {
    let none = Value::Null;
    let (new, old) = (
        new.get("metadata").unwrap_or(&none),
        old.get("metadata").unwrap_or(&none),
    );
    if old.get("deletionTimestamp").is_some_and(|at| !at.is_null()) {
        no_new_finalizers(new, old, found);
    }
    for key in [
        "name",
        "namespace",
        "uid",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
    ] {
        let value = new.get(key).unwrap_or(&none);
        if value != old.get(key).unwrap_or(&none) {
            found.invalid(&METADATA.child(key), value.clone(), "field is immutable");
        }
    }
    shared(new, found);
    if strictness == Strictness::Builtin {
        standard_finalizers(new, found);
    }
}

/// Checks labels, annotations, owners and managed fields.
fn shared(metadata: &Value, found: &mut ErrorList) {
    if let Some(labels) = metadata.get("labels").and_then(Value::as_object) {
        validate_labels(labels, &METADATA.child("labels"), found);
    }
    if let Some(annotations) = metadata.get("annotations").and_then(Value::as_object) {
        validate_annotations(annotations, &METADATA.child("annotations"), found);
    }
    if let Some(owners) = metadata.get("ownerReferences").and_then(Value::as_array) {
        owner_references(owners, found);
    }
}

/// Checks keys and values of labels in any field.
pub fn validate_labels(labels: &Map<String, Value>, field: &FieldPath<'_>, found: &mut ErrorList) {
    for (key, value) in labels {
        found.invalid_each(field, key, names::qualified_name(key));
        let value = value.as_str().unwrap_or_default();
        found.invalid_each(field, value, names::label_value(value));
    }
}

/// Checks keys and size of annotations in any field.
pub fn validate_annotations(annotations: &Map<String, Value>, field: &FieldPath<'_>, found: &mut ErrorList) {
    let mut bytes = 0;
    for (key, value) in annotations {
        found.invalid_each(field, key, names::qualified_name(&key.to_lowercase()));
        bytes += key.len() + value.as_str().map_or(0, str::len);
    }
    if bytes > ANNOTATIONS_MAX_BYTES {
        found.too_long(field, ANNOTATIONS_MAX_BYTES);
    }
}

fn owner_references(owners: &[Value], found: &mut ErrorList) {
    let field = METADATA.child("ownerReferences");
    let mut first_controller: Option<String> = None;
    for owner in owners {
        let text = |key: &str| meta::text(owner, key);
        let api_version = text("apiVersion");
        let (group, version) = split_api_version(api_version);
        if version.is_empty() {
            found.invalid(&field.child("apiVersion"), api_version, "version must not be empty");
        }
        for key in ["kind", "name", "uid"] {
            if text(key).is_empty() {
                found.invalid(&field.child(key), "", "must not be empty");
            }
        }
        if group.is_empty() && version == "v1" && text("kind") == "Event" {
            found.invalid_text(
                &field,
                &owner_json(owner),
                "/v1, Kind=Event is disallowed from being an owner",
            );
        }
        if owner.get("controller").and_then(Value::as_bool) == Some(true) {
            let this = format!("{}/{}", text("kind"), text("name"));
            if let Some(first) = &first_controller {
                let all: Vec<String> = owners.iter().map(owner_json).collect();
                let detail = format!(
                    "Only one reference can have Controller set to true. \
                     Found \"true\" in references for {first} and {this}"
                );
                found.invalid_text(&field, &format!("[{}]", all.join(",")), &detail);
            } else {
                first_controller = Some(this);
            }
        }
    }
}

/// Group and version; both empty if there is more than one slash.
fn split_api_version(api_version: &str) -> (&str, &str) {
    match api_version.split_once('/') {
        None => ("", api_version),
        Some((_, version)) if version.contains('/') => ("", ""),
        Some(parts) => parts,
    }
}

/// Formats an owner as the API server does: fields in the order of the type, not of the alphabet.
fn owner_json(owner: &Value) -> String {
    let member = |key: &str| owner.get(key).map(|value| format!("{}:{value}", Value::from(key)));
    let always =
        ["apiVersion", "kind", "name", "uid"].map(|key| member(key).unwrap_or_else(|| format!("\"{key}\":\"\"")));
    let optional = ["controller", "blockOwnerDeletion"].into_iter().filter_map(member);
    format!(
        "{{{}}}",
        always.into_iter().chain(optional).collect::<Vec<_>>().join(",")
    )
}

fn finalizer_names(metadata: &Value) -> impl Iterator<Item = &str> {
    let list = metadata.get("finalizers").and_then(Value::as_array);
    list.into_iter()
        .flatten()
        .map(|finalizer| finalizer.as_str().unwrap_or_default())
}

const MAX_MANAGER: usize = 128;

/// Validates `managedFields` as a client sent them.
fn managers(metadata: &Value, found: &mut ErrorList) {
    let entries = metadata.get("managedFields").and_then(Value::as_array);
    let at = METADATA.child("managedFields");
    for (index, entry) in entries.into_iter().flatten().enumerate() {
        let at = at.item(index);
        let manager = meta::text(entry, "manager");
        let at = at.child("manager");
        if manager.len() > MAX_MANAGER {
            found.too_long(&at, MAX_MANAGER);
        }
        let mut characters = manager.char_indices();
        if let Some((place, control)) = characters.find(|(_, character)| character.is_control()) {
            let detail = format!("invalid character U+{:04X} (at position {place})", u32::from(control));
            found.invalid_text(&at, &crate::go_fmt::quoted(manager), &detail);
        }
    }
}

fn finalizers(metadata: &Value, found: &mut ErrorList) {
    let field = METADATA.child("finalizers");
    let mut seen = BTreeSet::new();
    for finalizer in finalizer_names(metadata) {
        found.invalid_each(&field, finalizer, names::qualified_name(finalizer));
        seen.insert(finalizer);
    }
    if seen.contains("orphan") && seen.contains("foregroundDeletion") {
        let value = metadata.get("finalizers").cloned().unwrap_or_default();
        found.invalid(
            &field,
            value,
            "finalizer orphan and foregroundDeletion cannot be both set",
        );
    }
}

fn standard_finalizers(metadata: &Value, found: &mut ErrorList) {
    let field = METADATA.child("finalizers");
    for (index, finalizer) in finalizer_names(metadata).enumerate() {
        if !finalizer.contains('/') && !STANDARD_FINALIZERS.contains(&finalizer) {
            let detail = "name is neither a standard finalizer name nor is it fully qualified";
            found.invalid(&field.item(index), finalizer, detail);
        }
    }
}

fn no_new_finalizers(new: &Value, old: &Value, found: &mut ErrorList) {
    let before: BTreeSet<&str> = finalizer_names(old).collect();
    let added: BTreeSet<&str> = finalizer_names(new)
        .filter(|finalizer| !before.contains(finalizer))
        .collect();
    if !added.is_empty() {
        let added: Vec<String> = added.into_iter().map(|finalizer| format!("{finalizer:?}")).collect();
        let detail = format!(
            "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
            added.join(", ")
        );
        found.forbidden(&METADATA.child("finalizers"), &detail);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn created(metadata: &Value) -> Vec<String> {
        let mut found = ErrorList::default();
        let object = json!({ "metadata": metadata });
        validate_create(&object, true, names::is_dns_subdomain, Strictness::Builtin, &mut found);
        found.into_vec().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn metadata_is_refused_in_the_words_of_the_api() {
        for (metadata, expected) in [
            (json!({"name": "a", "namespace": "n"}), &[][..]),
            (
                json!({"namespace": "n"}),
                &["metadata.name: Required value: name or generateName is required"],
            ),
            (
                json!({"name": "a", "namespace": "n", "finalizers": ["nope"]}),
                &["metadata.finalizers[0]: Invalid value: \"nope\": \
                    name is neither a standard finalizer name nor is it fully qualified"],
            ),
            (
                json!({"name": "a", "namespace": "n", "ownerReferences": [{"apiVersion": "a/b/c", "kind": "K", "name": "n", "uid": "u"}]}),
                &["metadata.ownerReferences.apiVersion: Invalid value: \"a/b/c\": version must not be empty"],
            ),
            (
                json!({"name": "a", "namespace": "n", "annotations": {"k": "v".repeat(256 * 1024)}}),
                &["metadata.annotations: Too long: may not be more than 262144 bytes"],
            ),
        ] {
            assert_eq!(created(&metadata), expected);
        }
    }

    #[test]
    fn identity_is_immutable() {
        let old = json!({"metadata": {"name": "a", "uid": "1"}});
        let new = json!({"metadata": {"name": "a", "uid": "2"}});
        let mut found = ErrorList::default();
        validate_update(&new, &old, Strictness::Custom, &mut found);
        let found: Vec<String> = found.into_vec().iter().map(ToString::to_string).collect();
        assert_eq!(found, ["metadata.uid: Invalid value: \"2\": field is immutable"]);
    }
}

//! Volumes whose files are made from other objects.

use std::collections::BTreeSet;

use baton_apimachinery::field::{ErrorList, FieldPath};
use serde_json::Value;

use super::variables;
use crate::validation::checks::Check::{Do, Each, Required};
use crate::validation::checks::{Check, list, run, text};
use crate::validation::storage::sources::local_path;

/// Files made from the members of an object.
pub(crate) const ITEMS: Check = Each("items", ITEM);
/// Files made from the pod itself.
pub(crate) const DOWNWARD_ITEMS: Check = Do(downward_items);

const ITEM: &[Check] = &[Required("key"), Required("path"), Do(path_in_volume), Do(item_mode)];

/// Checks a projected volume.
pub(crate) fn validate(volume: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let mut paths = BTreeSet::new();
    let sources = at.child("sources");
    for (index, source) in list(volume, "sources").iter().enumerate() {
        let place = sources.item(index);
        let mut count = 0;
        for kind in ["secret", "configMap"] {
            if let Some(named) = source.get(kind) {
                count += 1;
                object(named, &mut paths, at, &place.child(kind), found);
            }
        }
        if let Some(downward) = source.get("downwardAPI") {
            count += 1;
            for item in list(downward, "items") {
                downward_item(item, &place.child("downwardAPI"), found);
                let path = text(item, "path");
                add(path, path, &mut paths, at, found);
            }
        }
        if let Some(token) = source.get("serviceAccountToken") {
            count += 1;
            expiration(token, &place.child("serviceAccountToken"), found);
            // The path is told as that of the volume.
            run(&[Required("path"), Do(path_in_volume)], token, at, found);
        }
        if count > 1 {
            found.forbidden(&place, "may not specify more than 1 volume type per source");
        }
    }
}

/// A source that is an object with a name.
fn object<'v>(
    source: &'v Value,
    paths: &mut BTreeSet<&'v str>,
    at: &FieldPath<'_>,
    place: &FieldPath<'_>,
    found: &mut ErrorList,
) {
    run(&[Required("name")], source, place, found);
    let items = place.child("items");
    for (index, item) in list(source, "items").iter().enumerate() {
        run(ITEM, item, &items.item(index), found);
        add(text(item, "path"), text(source, "name"), paths, at, found);
    }
}

/// Notes a path, which may be there only once; `told` is what is said to be wrong otherwise.
fn add<'v>(path: &'v str, told: &str, paths: &mut BTreeSet<&'v str>, at: &FieldPath<'_>, found: &mut ErrorList) {
    if !path.is_empty() && !paths.insert(path) {
        found.invalid(at, told, "conflicting duplicate paths");
    }
}

fn expiration(token: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    const MIN_SECS: i64 = 600;
    let seconds = token.get("expirationSeconds").and_then(Value::as_i64);
    if let Some(seconds) = seconds.filter(|seconds| *seconds < MIN_SECS) {
        let detail = "may not specify a duration less than 10 minutes";
        found.invalid(&at.child("expirationSeconds"), seconds, detail);
    }
    if let Some(seconds) = seconds.filter(|seconds| *seconds > 1 << 32) {
        let detail = "may not specify a duration larger than 2^32 seconds";
        found.invalid(&at.child("expirationSeconds"), seconds, detail);
    }
}

/// The permissions that files have unless they say otherwise.
pub(crate) fn mode(source: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    permissions("defaultMode", source, at, found);
}

fn item_mode(item: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    permissions("mode", item, at, found);
}

fn permissions(field: &str, of: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let mode = of.get(field).and_then(Value::as_i64);
    if let Some(mode) = mode.filter(|mode| !(0..=0o777).contains(mode)) {
        found.invalid(
            &at.child(field),
            mode,
            "must be a number between 0 and 0777 (octal), both inclusive",
        );
    }
}

fn path_in_volume(item: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    local_path("path", item, at, found);
}

/// Which of the items is wrong is not told.
fn downward_items(source: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    for item in list(source, "items") {
        downward_item(item, at, found);
    }
}

fn downward_item(item: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    run(&[Required("path"), Do(path_in_volume)], item, at, found);
    match (item.get("fieldRef"), item.get("resourceFieldRef")) {
        (Some(reference), other) => {
            variables::field_in_file(reference, &at.child("fieldRef"), found);
            if other.is_some() {
                let detail = "fieldRef and resourceFieldRef can not be specified simultaneously";
                found.invalid(at, "resource", detail);
            }
        }
        (None, Some(reference)) => variables::resource_in_file(reference, &at.child("resourceFieldRef"), found),
        (None, None) => found.required(at, "one of fieldRef and resourceFieldRef is required"),
    }
    item_mode(item, at, found);
}

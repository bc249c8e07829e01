//! `ConfigMaps`, and the rules that their data shares with that of Secrets.

use baton_apimachinery::field::{ErrorList, FieldPath};
use baton_apimachinery::metadata::names;
use serde_json::{Map, Value};

use super::ROOT;
use super::checks::{is_true, members};

pub(super) const DATA_MAX_BYTES: usize = 1024 * 1024;

/// Validates a config map.
pub(super) fn config_map(object: &Value, found: &mut ErrorList) {
    let (data, binary) = (members(object, "data"), members(object, "binaryData"));
    let at = ROOT.child("data");
    let mut bytes = keys(data, &at, found);
    for key in data.into_iter().flatten().map(|(key, _)| key) {
        if binary.is_some_and(|binary| binary.contains_key(key)) {
            found.invalid(&at.key(key), key.clone(), "duplicate of key present in binaryData");
        }
    }
    bytes += keys(binary, &ROOT.child("binaryData"), found) / 4 * 3;
    if bytes > DATA_MAX_BYTES {
        found.too_long(&ROOT, DATA_MAX_BYTES);
    }
}

/// Checks the keys of data; returns the bytes of its values.
pub(super) fn keys(data: Option<&Map<String, Value>>, at: &FieldPath<'_>, found: &mut ErrorList) -> usize {
    let mut bytes = 0;
    for (key, value) in data.into_iter().flatten() {
        found.invalid_each(&at.key(key), key, names::config_key(key));
        bytes += value.as_str().map_or(0, str::len);
    }
    bytes
}

/// Checks that immutable data does not change.
pub(super) fn fixed_data(fields: &[&str], new: &Value, old: &Value, found: &mut ErrorList) {
    if !is_true(old, "immutable") {
        return;
    }
    let detail = "field is immutable when `immutable` is set";
    if !is_true(new, "immutable") {
        found.forbidden(&ROOT.child("immutable"), detail);
    }
    for field in fields {
        if new.get(*field) != old.get(*field) {
            found.forbidden(&ROOT.child(field), detail);
        }
    }
}

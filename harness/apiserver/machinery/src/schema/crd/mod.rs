//! The kind `CustomResourceDefinition`.
//!
//! On a write: [`default`], then [`prepare_create`] or [`prepare_update`], then [`validate_create`] or
//! [`validate_update`]. After a write: [`names_conditions`] decides the status. For serving: [`set_version`] between
//! versions, [`deprecation_warning`], `columns`, `scale` and `selectable`.

mod approval;
pub mod columns;
mod conditions;
mod conversion;
pub mod jsonpath;
pub mod scale;
pub mod selectable;
mod spec;
mod validation;
mod versions;

use serde_json::{Map, Value, json};

use super::formats::Format;
use crate::meta::text;

pub use conditions::{condition, names_conditions, set_condition};
pub use validation::{validate_create, validate_status_update, validate_update};
pub use versions::{deprecation_warning, set_version};

/// The finalizer that keeps a definition until its objects are gone.
pub const CLEANUP_FINALIZER: &str = "customresourcecleanup.apiextensions.k8s.io";

/// Sets the defaults of a definition: names derived from the kind, no conversion, the port of a webhook.
pub fn default(crd: &mut Value) {
    let Some(spec) = crd.get_mut("spec").and_then(Value::as_object_mut) else {
        return;
    };
    if let Some(names) = spec.get_mut("names").and_then(Value::as_object_mut) {
        let kind = names.get("kind").and_then(Value::as_str).unwrap_or_default().to_owned();
        if !kind.is_empty() {
            set_if_empty(names, "singular", &kind.to_lowercase());
            set_if_empty(names, "listKind", &format!("{kind}List"));
        }
    }
    let conversion = spec.entry("conversion").or_insert(Value::Null);
    if conversion.is_null() {
        *conversion = json!({"strategy": "None"});
    }
    if let Some(service) = conversion
        .pointer_mut("/webhook/clientConfig/service")
        .and_then(Value::as_object_mut)
    {
        service.entry("port").or_insert(Value::from(443));
    }
}

fn set_if_empty(map: &mut Map<String, Value>, key: &str, value: &str) {
    if map.get(key).and_then(Value::as_str).unwrap_or_default().is_empty() {
        map.insert(key.to_owned(), Value::from(value));
    }
}

/// Sets the status of a new definition: nothing accepted, the storage version stored.
pub fn prepare_create(crd: &mut Value) {
    let stored = storage_version(crd).map_or(Value::Null, |name| json!([name]));
    let status = json!({"acceptedNames": {"kind": "", "plural": ""}, "conditions": null, "storedVersions": stored});
    if let Some(map) = crd.as_object_mut() {
        map.insert("status".to_owned(), status);
    }
}

/// Keeps the status on a write of the definition, and records a new storage version in it.
pub fn prepare_update(new: &mut Value, old: &Value) {
    let storage = storage_version(new).map(str::to_owned);
    let mut status = old.get("status").cloned().unwrap_or_else(|| json!({}));
    if let (Some(storage), Some(map)) = (storage, status.as_object_mut()) {
        let stored = map.entry("storedVersions").or_insert(Value::Null);
        if stored.is_null() {
            *stored = json!([]);
        }
        if let Some(stored) = stored.as_array_mut()
            && !stored.iter().any(|version| version == storage.as_str())
        {
            stored.push(Value::from(storage));
        }
    }
    if let Some(map) = new.as_object_mut() {
        map.insert("status".to_owned(), status);
    }
}

/// Returns a warning for each format in a new definition that the server does not know.
pub fn format_warnings(crd: &Value) -> Vec<String> {
    let mut unknown = std::collections::BTreeSet::new();
    for version in versions(crd) {
        if let Some(schema) = version.pointer("/schema/openAPIV3Schema") {
            unknown_formats(schema, &mut unknown);
        }
    }
    let warning = |format: &&str| format!("unrecognized format {format:?}");
    unknown.iter().map(warning).collect()
}

fn unknown_formats<'s>(schema: &'s Value, unknown: &mut std::collections::BTreeSet<&'s str>) {
    let (kind, format) = (text(schema, "type"), text(schema, "format"));
    let known = match kind {
        "" | "string" => Format::named(format).is_some(),
        "integer" => matches!(format, "int32" | "int64"),
        "number" => matches!(format, "float" | "double"),
        _ => false,
    };
    if !format.is_empty() && !known {
        unknown.insert(format);
    }
    for key in ["items", "additionalProperties"] {
        if let Some(child) = schema.get(key).filter(|child| child.is_object()) {
            unknown_formats(child, unknown);
        }
    }
    for child in schema
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
    {
        unknown_formats(child.1, unknown);
    }
}

/// The entries of `spec.versions`.
pub fn versions(crd: &Value) -> &[Value] {
    crd.pointer("/spec/versions")
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

/// The name of the first version that is marked as the storage version.
pub fn storage_version(crd: &Value) -> Option<&str> {
    let version = versions(crd).iter().find(|version| is_true(version, "storage"))?;
    version.get("name").and_then(Value::as_str)
}

pub(super) fn is_true(value: &Value, key: &str) -> bool {
    value.get(key).and_then(Value::as_bool).unwrap_or(false)
}

#[cfg(test)]
mod tests;

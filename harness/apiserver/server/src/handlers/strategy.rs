//! Processing of objects by kind before they are stored: the one place that calls the modules of the kinds.

use baton_apikinds::codec::DecodeError;
use baton_apikinds::{codec, resources, strategy, validation, versions, warnings};
use baton_apimachinery::field::{ErrorList, FieldError};
use baton_apimachinery::meta;
use baton_apimachinery::metadata::{self, Strictness, names};
use baton_apimachinery::schema::{OBJECT_META_FIELDS, crd};
use serde_json::{Map, Value};

use crate::admission;
use crate::registry::custom::CustomVersion;
use crate::registry::{Origin, Resource};

/// The three groups of kinds.
#[derive(Clone, Copy)]
enum Kind<'a> {
    /// A `CustomResourceDefinition`: a built-in kind with separate rules.
    Definition,
    Builtin(&'static resources::Resource),
    Custom(&'a CustomVersion),
}

fn kind_of(resource: &Resource) -> Kind<'_> {
    match &resource.origin {
        Origin::Builtin(_) if is_definition(resource) => Kind::Definition,
        Origin::Builtin(entry) => Kind::Builtin(entry),
        Origin::Custom(custom) => Kind::Custom(custom),
    }
}

pub(crate) fn is_definition(resource: &Resource) -> bool {
    resource.is("apiextensions.k8s.io", "customresourcedefinitions")
}

/// Converts a decoded object to the form of its kind: types checked, unknown fields dropped, defaults set.
/// Returns the paths of the dropped fields of custom resources.
pub(super) fn decode(resource: &Resource, object: &mut Value) -> Result<Vec<String>, DecodeError> {
    match kind_of(resource) {
        Kind::Definition => {
            codec::decode(&resource.group, &resource.version, &resource.kind, object)?;
            crd::default(object);
        }
        Kind::Builtin(entry) => {
            versions::decode(entry, object)?;
        }
        Kind::Custom(custom) => {
            let mut dropped = decode_metadata(object)?;
            if let Some(schema) = &custom.schema {
                dropped.append(&mut schema.prune(object));
                schema.apply_defaults(object);
            }
            return Ok(dropped);
        }
    }
    Ok(Vec::new())
}

/// Converts the metadata of a custom resource to its typed form. Returns the paths of unknown fields.
fn decode_metadata(object: &mut Value) -> Result<Vec<String>, DecodeError> {
    let Some(metadata) = object.get_mut("metadata").filter(|metadata| !metadata.is_null()) else {
        return Ok(Vec::new());
    };
    let unknown = |key: &&String| !OBJECT_META_FIELDS.contains(&key.as_str());
    let members = metadata.as_object().into_iter().flatten().map(|(key, _)| key);
    let dropped = members.filter(unknown).map(|key| format!("metadata.{key}")).collect();
    codec::decode_metadata(metadata)?;
    Ok(dropped)
}

/// Sets the initial values of a new object, and drops fields that a client must not set.
pub(super) fn prepare_create(resource: &Resource, object: &mut Value) {
    match kind_of(resource) {
        Kind::Builtin(entry) => strategy::prepare_create(entry, object),
        Kind::Definition => {
            crd::prepare_create(object);
            meta::set(object, "generation", 1);
        }
        Kind::Custom(custom) => {
            if custom.has_status {
                put(object, "status", None);
            }
            meta::set(object, "generation", 1);
        }
    }
}

/// Sets the values that reading a validated new object back would set.
pub(super) fn complete_create(resource: &Resource, object: &mut Value) {
    if let Kind::Builtin(entry) = kind_of(resource) {
        strategy::complete_create(entry, object);
    }
}

/// Returns a warning for each unknown format in a changed definition that the old one did not have.
pub(super) fn unusual_formats(resource: &Resource, new: &Value, old: &Value) -> Vec<String> {
    if !is_definition(resource) {
        return Vec::new();
    }
    let known = crd::format_warnings(old);
    let mut warnings = crd::format_warnings(new);
    warnings.retain(|warning| !known.contains(warning));
    warnings
}

/// Returns the warning of a deprecated built-in kind, which every answer about it carries.
pub(super) fn deprecation(resource: &Resource) -> Option<String> {
    match kind_of(resource) {
        Kind::Builtin(entry) => warnings::deprecation(entry).map(str::to_owned),
        Kind::Definition | Kind::Custom(_) => None,
    }
}

/// Returns a warning for each new finalizer of a custom resource without a domain, because other writers might use the
/// same name.
pub(super) fn unusual_finalizers(resource: &Resource, new: &Value, old: Option<&Value>) -> Vec<String> {
    if resource.custom().is_none() {
        return Vec::new();
    }
    let of = |object| meta::at(object, &["metadata", "finalizers"]).and_then(Value::as_array);
    let texts = |object| of(object).into_iter().flatten().filter_map(Value::as_str);
    let known: Vec<&str> = old.into_iter().flat_map(texts).collect();
    texts(new)
        .filter(|finalizer| !known.contains(finalizer) && !finalizer.contains('/'))
        .filter(|finalizer| !metadata::STANDARD_FINALIZERS.contains(finalizer))
        .map(|finalizer| {
            format!(
                "metadata.finalizers: {finalizer:?}: prefer a domain-qualified finalizer name to avoid accidental \
                 conflicts with other finalizer writers"
            )
        })
        .collect()
}

/// Returns warnings about values that are stored but are probably mistakes.
pub(super) fn warnings(resource: &Resource, object: &Value, subresource: Option<&str>, created: bool) -> Vec<String> {
    match kind_of(resource) {
        Kind::Builtin(_) if subresource.is_some() => Vec::new(),
        Kind::Builtin(entry) => warnings::warnings(entry, object, created),
        Kind::Definition if created => crd::format_warnings(object),
        Kind::Definition | Kind::Custom(_) => Vec::new(),
    }
}

/// Returns warnings about changes that are probably mistakes.
pub(super) fn change_warnings(resource: &Resource, new: &Value, old: &Value, subresource: Option<&str>) -> Vec<String> {
    match kind_of(resource) {
        Kind::Builtin(entry) if subresource.is_none() => warnings::change_warnings(entry, new, old),
        Kind::Builtin(_) | Kind::Definition | Kind::Custom(_) => Vec::new(),
    }
}

/// Restores the parts that this request cannot change, and counts the generation.
pub(super) fn prepare_update(resource: &Resource, new: &mut Value, old: &Value, subresource: Option<&str>) {
    match kind_of(resource) {
        Kind::Builtin(entry) => strategy::prepare_update(entry, new, old, subresource),
        Kind::Definition | Kind::Custom(_) if subresource == Some("status") => {
            keep_all_but_status(new, old);
        }
        Kind::Definition => {
            crd::prepare_update(new, old);
            count_generation(new, old, true);
        }
        Kind::Custom(custom) => {
            if custom.has_status {
                put(new, "status", old.get("status").cloned());
            }
            count_generation(new, old, custom.has_status);
        }
    }
}

/// Keeps everything but the status and its managed fields.
fn keep_all_but_status(new: &mut Value, old: &Value) {
    let (Some(members), Some(before)) = (new.as_object_mut(), old.as_object()) else {
        return;
    };
    let others = |members: &Map<String, Value>, but: &[&str]| -> Map<String, Value> {
        let kept = members.iter().filter(|(key, _)| !but.contains(&key.as_str()));
        kept.map(|(key, value)| (key.clone(), value.clone())).collect()
    };
    let mut kept = others(before, &["metadata", "status"]);
    kept.extend(members.remove_entry("status"));
    if let Some(Value::Object(metadata)) = before.get("metadata") {
        let own = members.get_mut("metadata").and_then(Value::as_object_mut);
        let managed = own.and_then(|own| own.remove_entry("managedFields"));
        let metadata = others(metadata, &["managedFields"]).into_iter().chain(managed);
        let metadata = metadata.collect();
        kept.insert("metadata".to_owned(), Value::Object(metadata));
    }
    *members = kept;
}

fn put(object: &mut Value, key: &str, value: Option<Value>) {
    let Some(members) = object.as_object_mut() else { return };
    match value {
        Some(value) => members.insert(key.to_owned(), value),
        None => members.remove(key),
    };
}

/// Increases the generation after a change outside metadata, and outside the status if the status is a subresource.
fn count_generation(new: &mut Value, old: &Value, status_apart: bool) {
    let ignored = |key: &str| key == "metadata" || (key == "status" && status_apart);
    let changed = match (new.as_object(), old.as_object()) {
        (Some(new), Some(old)) => new
            .keys()
            .chain(old.keys())
            .any(|key| !ignored(key) && new.get(key) != old.get(key)),
        _ => false,
    };
    let generation = meta::at(old, &["metadata", "generation"])
        .and_then(Value::as_i64)
        .unwrap_or(1);
    meta::set(new, "generation", generation + i64::from(changed));
}

/// Validates a new object.
pub(super) fn validate_create(resource: &Resource, object: &Value) -> Vec<FieldError> {
    let mut found = ErrorList::default();
    match kind_of(resource) {
        Kind::Builtin(entry) => {
            found.extend(validation::validate_create(entry, object));
            if entry.group == admission::GROUP {
                found.extend(admission::check::check_expressions(object));
                found.sort_with(admission::check::in_order_of_items);
            }
        }
        Kind::Definition => {
            metadata::validate_create(object, false, names::is_dns_subdomain, Strictness::Builtin, &mut found);
            found.extend(crd::validate_create(object));
        }
        Kind::Custom(custom) => {
            let rule = names::is_dns_subdomain;
            metadata::validate_create(object, resource.namespaced, rule, Strictness::Custom, &mut found);
            found.extend(validate_custom(custom, object, None, None));
        }
    }
    found.into_vec()
}

/// Validates a change.
pub(super) fn validate_update(
    resource: &Resource,
    new: &Value,
    old: &Value,
    subresource: Option<&str>,
) -> Vec<FieldError> {
    let mut found = ErrorList::default();
    match kind_of(resource) {
        Kind::Builtin(entry) => {
            found.extend(validation::validate_update(entry, new, old, subresource));
            if entry.group == admission::GROUP && subresource.is_none() {
                found.extend(admission::check::check_expressions(new));
                found.sort_with(admission::check::in_order_of_items);
            }
        }
        Kind::Definition => {
            // The generic validation, and then that of the kind.
            metadata::validate_update(new, old, Strictness::Builtin, &mut found);
            metadata::validate_update(new, old, Strictness::Builtin, &mut found);
            found.extend(match subresource {
                Some("status") => crd::validate_status_update(new, old),
                Some(_) | None => crd::validate_update(new, old),
            });
        }
        Kind::Custom(custom) => {
            metadata::validate_update(new, old, Strictness::Custom, &mut found);
            metadata::validate_update(new, old, Strictness::Custom, &mut found);
            found.extend(validate_custom(custom, new, Some(old), subresource));
        }
    }
    found.into_vec()
}

fn validate_custom(
    custom: &CustomVersion,
    new: &Value,
    old: Option<&Value>,
    subresource: Option<&str>,
) -> Vec<FieldError> {
    let mut errors = custom
        .scale
        .as_ref()
        .map(|scale| scale.validate(new))
        .unwrap_or_default();
    if let Some(schema) = &custom.schema {
        errors.extend(match subresource {
            Some("status") => schema.validate_status(new, old),
            Some(_) | None => schema.validate(new, old),
        });
    }
    errors
}

/// Returns `true` if an update of a missing object creates it.
pub(super) fn creates_on_update(resource: &Resource) -> bool {
    let by_group = match resource.group.as_str() {
        "" => matches!(
            resource.plural.as_str(),
            "endpoints" | "events" | "services" | "limitranges"
        ),
        group => matches!(
            group,
            "events.k8s.io" | "coordination.k8s.io" | "rbac.authorization.k8s.io"
        ),
    };
    by_group && resource.custom().is_none()
}

/// Returns `true` if an update may leave out the resource version that it is based on.
pub(super) fn updates_unconditionally(resource: &Resource) -> bool {
    const GROUPS: [&str; 4] = [
        "admissionregistration.k8s.io",
        "apiextensions.k8s.io",
        "coordination.k8s.io",
        "node.k8s.io",
    ];
    match resource.group.as_str() {
        "policy" => resource.plural != "poddisruptionbudgets",
        "storage.k8s.io" => matches!(resource.plural.as_str(), "storageclasses" | "volumeattributesclasses"),
        group => resource.custom().is_none() && !GROUPS.contains(&group),
    }
}

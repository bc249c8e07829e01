//! Claims to persistent volumes.

use baton_apimachinery::field::{ErrorList, FieldPath};
use baton_apimachinery::meta;
use baton_apimachinery::metadata::names;
use baton_apimachinery::quantity::Quantity;
use serde_json::Value;

use super::persistent::{VOLUME_MODES, access_modes, not_negative, positive, quantity, some_access_mode};
use crate::validation::checks::Check::{Do, In, Named, OneOfIfSet, Required};
use crate::validation::checks::{Check, immutable, members, run, text};
use crate::validation::{ROOT, diff};

/// Where the class of storage stood before it had a field.
const CLASS: &str = "volume.beta.kubernetes.io/storage-class";

const CLAIM: &[Check] = &[
    Do(|spec, at, found| some_access_mode(spec, at, "at least 1 access mode is required", found)),
    Check::Selector("selector"),
    Do(access_modes),
    Do(storage),
    Named("storageClassName", names::dns_subdomain),
    OneOfIfSet("volumeMode", VOLUME_MODES),
    In("dataSource", &[Do(data_source)]),
    In(
        "dataSourceRef",
        &[Do(data_source), Named("namespace", names::dns_label)],
    ),
    Do(same_data_source),
    Named("volumeAttributesClassName", names::dns_subdomain),
];

/// What a volume is filled from.
fn data_source(source: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    run(&[Required("name"), Required("kind")], source, at, found);
    let kind = text(source, "kind");
    if text(source, "apiGroup").is_empty() && kind != "PersistentVolumeClaim" {
        let detail = "must be 'PersistentVolumeClaim' when referencing the default apiGroup";
        found.invalid(at, kind, detail);
    }
    run(&[Named("apiGroup", names::dns_subdomain)], source, at, found);
}

/// The two fields for a source say the same, unless one of them cannot.
fn same_data_source(spec: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let (Some(source), Some(reference)) = (spec.get("dataSource"), spec.get("dataSourceRef")) else {
        return;
    };
    let detail = if !text(reference, "namespace").is_empty() {
        "may not be specified when dataSourceRef.namespace is specified"
    } else if ["apiGroup", "kind", "name"]
        .iter()
        .any(|field| source[field] != reference[field])
    {
        "must match dataSourceRef"
    } else {
        return;
    };
    found.invalid_text(at, "{}", detail);
}

/// The specification of a claim, or of a template of claims.
pub(crate) fn claim(object: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    run(&[In("spec", CLAIM)], object, at, found);
}

fn requested(spec: &Value) -> Option<&Value> {
    spec.get("resources")?.get("requests")?.get("storage")
}

fn storage(spec: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let at = at.child("resources");
    match requested(spec) {
        None => found.required(&at.key("storage"), ""),
        Some(size) => positive(size, &at.key("storage"), found),
    }
}

/// What may not change in a claim.
pub(crate) fn change(new: &Value, old: &Value, found: &mut ErrorList) {
    let none = Value::Null;
    let specs = (new.get("spec").unwrap_or(&none), old.get("spec").unwrap_or(&none));
    let status = old.get("status").unwrap_or(&none);
    let [after, before] = [new, old].map(|claim| meta::annotation(claim, CLASS));
    let class = specs.0.get("storageClassName").and_then(Value::as_str);
    let is_new_class = class.is_some() && specs.1.get("storageClassName").is_none();
    // What the annotation said may move to the field.
    let is_moved = is_new_class
        && before.is_some()
        && class == before
        && after.is_none_or(|after| after == before.unwrap_or(after));
    if !is_moved && after.unwrap_or_default() != before.unwrap_or_default() {
        let at = ROOT.child("metadata.annotations");
        found.invalid(&at.child(CLASS), after.unwrap_or_default(), "field is immutable");
    }
    let (given, kept) = compared(
        specs.0,
        specs.1,
        is_new_class && (before.is_none() || class == before),
        status,
    );
    if given != kept {
        let difference = diff::of("core.PersistentVolumeClaimSpec", &kept, &given);
        let detail = format!(
            "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound \
             claims\n{difference}"
        );
        found.forbidden(&ROOT.child("spec"), &detail);
    }
    let size = |value: Option<&Value>| quantity(value).map_or(0, Quantity::nanos);
    let (after, before) = (size(requested(specs.0)), size(requested(specs.1)));
    if after < before && after <= size(status.get("capacity").and_then(|capacity| capacity.get("storage"))) {
        let at = ROOT.child("spec.resources.requests.storage");
        found.forbidden(&at, "field can not be less than status.capacity");
    }
    immutable("volumeMode", specs.0, specs.1, &ROOT, found);
    if status.get("currentVolumeAttributesClassName").is_some() {
        let wanted = match specs.0.get("volumeAttributesClassName").and_then(Value::as_str) {
            None => "nil",
            Some("") => "empty string",
            Some(_) => return,
        };
        if specs.0.get("volumeAttributesClassName") != specs.1.get("volumeAttributesClassName") {
            let at = ROOT.child("spec.volumeAttributesClassName");
            let detail =
                format!("update to {wanted} is forbidden when status.currentVolumeAttributesClassName is not nil");
            found.forbidden(&at, &detail);
        }
    }
}

/// Both specifications without what may change; a class may be set where there was none if it is `classed`.
fn compared(new: &Value, old: &Value, classed: bool, status: &Value) -> (Value, Value) {
    let (mut given, mut kept) = (new.clone(), old.clone());
    let (Some(after), Some(before)) = (given.as_object_mut(), kept.as_object_mut()) else {
        return (given, kept);
    };
    // The binder sets the name once.
    if !before.contains_key("volumeName")
        && let Some(name) = after.get("volumeName")
    {
        before.insert("volumeName".to_owned(), name.clone());
    }
    if classed {
        after.remove("storageClassName");
    }
    if text(status, "phase") == "Bound" {
        match before.get("volumeAttributesClassName") {
            Some(class) => after.insert("volumeAttributesClassName".to_owned(), class.clone()),
            None => after.remove("volumeAttributesClassName"),
        };
        let requests = after
            .get_mut("resources")
            .and_then(|resources| resources.get_mut("requests"));
        if let (Some(requests), Some(size)) = (requests.and_then(Value::as_object_mut), requested(old)) {
            requests.insert("storage".to_owned(), size.clone());
        }
    }
    (given, kept)
}

/// Whether a claim asks for more than it did.
pub fn grows(new: &Value, old: &Value) -> bool {
    let size = |claim: &Value| quantity(claim.get("spec").and_then(requested)).map_or(0, Quantity::nanos);
    size(new) > size(old)
}

/// The class of storage that a claim names.
pub fn class(claim: &Value) -> Option<&str> {
    meta::annotation(claim, CLASS).or_else(|| claim.get("spec")?.get("storageClassName")?.as_str())
}

const RESIZE_STATES: &[&str] = &[
    "ControllerResizeInProgress",
    "ControllerResizeInfeasible",
    "NodeResizeInProgress",
    "NodeResizeInfeasible",
    "NodeResizePending",
];

/// A claim's status.
pub(crate) fn status(claim: &Value, found: &mut ErrorList) {
    let Some(status) = claim.get("status") else { return };
    let at = ROOT.child("status");
    for (resource, size) in members(status, "capacity").into_iter().flatten() {
        not_negative(size, &at.child("capacity").key(resource), found);
    }
    let field = at.child("allocatedResourceStatuses");
    for (resource, state) in members(status, "allocatedResourceStatuses").into_iter().flatten() {
        allocated(resource, &field, found);
        // The resource is what is quoted, though it is the state that is wrong.
        if !RESIZE_STATES.iter().any(|known| state == known) {
            found.not_supported(&field, resource.as_str(), RESIZE_STATES);
        }
    }
    let field = at.child("allocatedResources");
    for (resource, size) in members(status, "allocatedResources").into_iter().flatten() {
        if allocated(resource, &field, found) {
            not_negative(size, &field.key(resource), found);
        }
    }
}

/// Whether a resource can be allocated to a claim: storage, or what somebody else has named.
fn allocated(resource: &str, at: &FieldPath<'_>, found: &mut ErrorList) -> bool {
    let wrong = names::qualified_name(resource);
    let is_right = wrong.is_empty();
    found.invalid_each(at, resource, wrong);
    let is_native = !resource.contains('/') || resource.contains("kubernetes.io/");
    if is_right && is_native && resource != "storage" {
        found.not_supported(at, resource, &["storage"]);
        return false;
    }
    is_right
}

//! Classes of storage, drivers, and what is attached where.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::ROOT;
use super::checks::Check::{Do, Each, In, OneOf, OneOfIfSet, Required, Selector, Unique};
use super::checks::{Check, immutable, list, members, run, text, texts};
use crate::findings::{Field, Findings};
use crate::gofmt;
use crate::metadata::names;

const RECLAIM_POLICIES: &[&str] = &["Delete", "Retain"];
const POLICIES_OF_GROUPS: &[&str] = &["File", "None", "ReadWriteOnceWithFSType"];

const DRIVER: &[Check] = &[
    OneOfIfSet("fsGroupPolicy", POLICIES_OF_GROUPS),
    Unique("tokenRequests", "audience"),
    Do(modes),
    Do(tokens),
];

/// The body of a kind.
pub(super) fn body(kind: &str, object: &Value, found: &mut Findings) {
    let checks: &[Check] = match kind {
        "StorageClass" => &[
            Do(provisioner),
            Do(parameters),
            OneOf("reclaimPolicy", RECLAIM_POLICIES),
            OneOf("volumeBindingMode", &["Immediate", "WaitForFirstConsumer"]),
            Do(topologies),
        ],
        "CSIDriver" => &[In("spec", DRIVER)],
        "CSINode" => &[In("spec", &[Unique("drivers", "name"), Each("drivers", &[Do(driver)])])],
        "CSIStorageCapacity" => &[Do(class_of_capacity), Selector("nodeTopology"), Do(capacity)],
        "VolumeAttachment" => &[In("spec", &[Required("attacher"), Required("nodeName"), Do(source)])],
        _ => &[],
    };
    run(checks, object, &ROOT, found);
}

/// What may not change.
pub(super) fn change(kind: &str, new: &Value, old: &Value, found: &mut Findings) {
    let of = |object: &Value| object.get("spec").cloned().unwrap_or_default();
    let (new_spec, old_spec) = (of(new), of(old));
    let at = ROOT.child("spec");
    match kind {
        "StorageClass" => {
            for field in ["parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"] {
                immutable(field, new, old, &ROOT, found);
            }
        }
        "CSIStorageCapacity" => {
            for field in ["nodeTopology", "storageClassName"] {
                immutable(field, new, old, &ROOT, found);
            }
        }
        "CSIDriver" => {
            if new_spec.get("attachRequired") != old_spec.get("attachRequired") {
                let value = new_spec["attachRequired"].clone();
                // The place is another one than that of the field.
                found.invalid(&at.child("attachedRequired"), value, "field is immutable");
            }
            immutable("volumeLifecycleModes", &new_spec, &old_spec, &at, found);
        }
        // What is wrong in itself is all that is said.
        "CSINode" if found.is_empty() => {
            for driver in list(&new_spec, "drivers") {
                let mut before = list(&old_spec, "drivers").iter();
                let before = before.find(|before| before["name"] == driver["name"]);
                if before.is_some_and(|before| before != driver) {
                    found.invalid_text(&at.child("drivers"), &driver_text(driver), "field is immutable");
                }
            }
        }
        "VolumeAttachment" if new_spec != old_spec => {
            found.invalid_text(&at, &attachment_text(&new_spec), "field is immutable");
        }
        _ => {}
    }
}

fn provisioner(class: &Value, at: &Field<'_>, found: &mut Findings) {
    let name = text(class, "provisioner").to_lowercase();
    let at = at.child("provisioner");
    if name.is_empty() {
        found.required(&at, "");
    } else {
        found.invalid_each(&at, &name, names::qualified_name(&name));
    }
}

const MAX_PARAMETERS: usize = 512;
const MAX_PARAMETER_BYTES: usize = 256 * 1024;

fn parameters(class: &Value, at: &Field<'_>, found: &mut Findings) {
    let at = at.child("parameters");
    let Some(parameters) = members(class, "parameters") else {
        return;
    };
    if parameters.len() > MAX_PARAMETERS {
        // What is too long is their number.
        found.too_long(&at, MAX_PARAMETERS);
        return;
    }
    let mut bytes = 0;
    for (key, value) in parameters {
        if key.is_empty() {
            found.invalid(&at, key.as_str(), "field can not be empty.");
        }
        bytes += key.len() + value.as_str().map_or(0, str::len);
    }
    if bytes > MAX_PARAMETER_BYTES {
        found.too_long(&at, MAX_PARAMETER_BYTES);
    }
}

/// Where volumes may be: no term and no key twice.
fn topologies(class: &Value, at: &Field<'_>, found: &mut Findings) {
    let at = at.child("allowedTopologies");
    let mut terms: Vec<BTreeMap<&str, BTreeSet<&str>>> = Vec::new();
    for (index, term) in list(class, "allowedTopologies").iter().enumerate() {
        let at = at.item(index);
        let at = at.child("matchLabelExpressions");
        let term = topology(list(term, "matchLabelExpressions"), &at, found);
        if term.is_empty() || terms.contains(&term) {
            found.duplicate(&at, "");
        }
        terms.push(term);
    }
}

/// The values of each key of a term.
fn topology<'v>(
    expressions: &'v [Value],
    at: &Field<'_>,
    found: &mut Findings,
) -> BTreeMap<&'v str, BTreeSet<&'v str>> {
    let mut term = BTreeMap::new();
    for (index, expression) in expressions.iter().enumerate() {
        let at = at.item(index);
        let values = texts(expression, "values");
        let mut set = BTreeSet::new();
        if values.is_empty() {
            found.required(&at.child("values"), "");
        }
        for (index, value) in values.into_iter().enumerate() {
            if !set.insert(value) {
                found.duplicate(&at.child("values").item(index), value);
            }
        }
        let key = text(expression, "key");
        found.invalid_each(&at.child("key"), key, names::qualified_name(key));
        if term.insert(key, set).is_some() {
            found.duplicate(&at.child("key"), key);
        }
    }
    term
}

fn class_of_capacity(object: &Value, at: &Field<'_>, found: &mut Findings) {
    let name = text(object, "storageClassName");
    found.invalid_each(&at.child("storageClassName"), name, names::dns_subdomain(name));
}

fn capacity(object: &Value, at: &Field<'_>, found: &mut Findings) {
    let capacity = text(object, "capacity");
    if capacity.starts_with('-') {
        found.invalid(&at.child("capacity"), capacity, "must be greater than or equal to 0");
    }
}

/// Where tokens go only matters if there are some.
fn tokens(spec: &Value, at: &Field<'_>, found: &mut Findings) {
    if let Some(in_secrets) = spec.get("serviceAccountTokenInSecrets")
        && list(spec, "tokenRequests").is_empty()
    {
        found.invalid(
            &at.child("serviceAccountTokenInSecrets"),
            in_secrets.clone(),
            "serviceAccountTokenInSecrets is set but no tokenRequests are specified",
        );
    }
}

fn modes(spec: &Value, at: &Field<'_>, found: &mut Findings) {
    let at = at.child("volumeLifecycleModes");
    for mode in list(spec, "volumeLifecycleModes").iter().filter_map(Value::as_str) {
        if !matches!(mode, "Ephemeral" | "Persistent") {
            found.not_supported(&at, mode, &["Ephemeral", "Persistent"]);
        }
    }
}

fn driver(driver: &Value, at: &Field<'_>, found: &mut Findings) {
    let name = text(driver, "name");
    found.required_each(&at.child("name"), name, names::dns_subdomain(&name.to_lowercase()));
    if text(driver, "nodeID").is_empty() {
        found.required(&at.child("nodeID"), "");
    }
    let keys = at.child("topologyKeys");
    for (index, key) in list(driver, "topologyKeys").iter().enumerate() {
        let key = key.as_str().unwrap_or_default();
        if key.is_empty() {
            found.required(&keys, "");
        } else {
            found.invalid_each(&keys.item(index), key, names::qualified_name(key));
        }
    }
    let allocatable = at.child("allocatable");
    let count = driver
        .get("allocatable")
        .and_then(|allocatable| allocatable.get("count"));
    super::checks::not_negative(count, &allocatable.child("count"), found);
}

fn source(spec: &Value, at: &Field<'_>, found: &mut Findings) {
    let at = at.child("source");
    let source = spec.get("source").unwrap_or(&Value::Null);
    let volume = source.get("persistentVolumeName").and_then(Value::as_str);
    match (volume, source.get("inlineVolumeSpec")) {
        (None, None) => found.required(
            &at,
            "must specify exactly one of inlineVolumeSpec and persistentVolumeName",
        ),
        (Some(_), Some(_)) => found.forbidden(
            &at,
            "must specify exactly one of inlineVolumeSpec and persistentVolumeName",
        ),
        (Some(""), None) => found.required(
            &at.child("persistentVolumeName"),
            "must specify non empty persistentVolumeName",
        ),
        (Some(_), None) | (None, Some(_)) => {}
    }
}

/// A driver of a node as messages quote it.
fn driver_text(driver: &Value) -> String {
    let or_null = |field: &str| driver.get(field).cloned().unwrap_or_default();
    let allocatable = driver.get("allocatable").map_or_else(
        || "null".to_owned(),
        |allocatable| {
            format!(
                "{{\"Count\":{}}}",
                allocatable.get("count").cloned().unwrap_or_default()
            )
        },
    );
    gofmt::escaped(format!(
        "{{\"Name\":{},\"NodeID\":{},\"TopologyKeys\":{},\"Allocatable\":{allocatable}}}",
        or_null("name"),
        or_null("nodeID"),
        or_null("topologyKeys"),
    ))
}

/// What an attachment says, as messages quote it.
fn attachment_text(spec: &Value) -> String {
    let or_null = |value: Option<&Value>| value.cloned().unwrap_or_default();
    let text_of = |field: &str| Value::from(text(spec, field));
    let source = |field: &str| or_null(spec.get("source").and_then(|source| source.get(field)));
    gofmt::escaped(format!(
        "{{\"Attacher\":{},\"Source\":{{\"PersistentVolumeName\":{},\"InlineVolumeSpec\":{}}},\"NodeName\":{}}}",
        text_of("attacher"),
        source("persistentVolumeName"),
        source("inlineVolumeSpec"),
        text_of("nodeName"),
    ))
}

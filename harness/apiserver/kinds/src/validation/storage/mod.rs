//! Classes of storage, drivers, and what is attached where.

pub(super) mod persistent;
pub mod sources;
pub mod volume_claims;

use std::collections::{BTreeMap, BTreeSet};

use baton_apimachinery::field::{ErrorList, FieldPath};
use baton_apimachinery::go_values;
use baton_apimachinery::metadata::names;
use serde_json::{Map, Value};

use super::ROOT;
use super::checks::Check::{Do, In, OneOfIfSet, Selector};
use super::checks::{Check, immutable, list, members, run, text, texts};

const POLICIES_OF_GROUPS: &[&str] = &["File", "None", "ReadWriteOnceWithFSType"];

const DRIVER: &[Check] = &[
    OneOfIfSet("fsGroupPolicy", POLICIES_OF_GROUPS),
    Do(token_requests),
    Do(modes),
    Do(update_period),
    Do(tokens),
];

/// The body of a kind.
pub(super) fn body(kind: &str, object: &Value, found: &mut ErrorList) {
    let checks: &[Check] = match kind {
        "StorageClass" => &[
            Do(|class, at, found| provisioner("provisioner", class, at, found)),
            Do(parameters),
            Do(reclaim_policy),
            OneOfIfSet("volumeBindingMode", &["Immediate", "WaitForFirstConsumer"]),
            Do(topologies),
        ],
        "CSIDriver" => &[In("spec", DRIVER)],
        "CSINode" => &[In("spec", &[Do(drivers)])],
        "CSIStorageCapacity" => &[Selector("nodeTopology"), Do(class_of_capacity), Do(capacity)],
        "VolumeAttachment" => &[In("spec", &[Do(attacher), Do(source), Do(node)]), Do(volume_name)],
        "VolumeAttributesClass" => &[
            Do(|class, at, found| provisioner("driverName", class, at, found)),
            Do(parameters),
            Do(some_parameter),
        ],
        _ => &[],
    };
    run(checks, object, &ROOT, found);
}

/// What may not change.
pub(super) fn change(kind: &str, new: &Value, old: &Value, found: &mut ErrorList) {
    let of = |object: &Value| object.get("spec").cloned().unwrap_or_default();
    let (new_spec, old_spec) = (of(new), of(old));
    let at = ROOT.child("spec");
    match kind {
        "StorageClass" => {
            for field in ["parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"] {
                immutable(field, new, old, &ROOT, found);
            }
        }
        "VolumeAttributesClass" => {
            for field in ["driverName", "parameters"] {
                if new.get(field) != old.get(field) {
                    let detail = format!("updates to {field} are forbidden.");
                    found.forbidden(&ROOT.child(field), &detail);
                }
            }
        }
        "CSIStorageCapacity" => {
            let (topology, before) = (new.get("nodeTopology"), old.get("nodeTopology"));
            if topology != before {
                let topology = topology.map_or_else(
                    || "null".to_owned(),
                    |selector| go_values::text("v1.LabelSelector", selector),
                );
                found.invalid_text(&ROOT.child("nodeTopology"), &topology, "field is immutable");
            }
            immutable("storageClassName", new, old, &ROOT, found);
        }
        "CSIDriver" => {
            if new_spec.get("attachRequired") != old_spec.get("attachRequired") {
                let value = new_spec["attachRequired"].clone();
                // The place is another one than that of the field.
                found.invalid(&at.child("attachedRequired"), value, "field is immutable");
            }
            immutable("volumeLifecycleModes", &new_spec, &old_spec, &at, found);
        }
        "CSINode" => fixed_drivers(list(&new_spec, "drivers"), list(&old_spec, "drivers"), &at, found),
        "VolumeAttachment" if new_spec != old_spec => {
            found.invalid_text(
                &at,
                &go_values::text("storage.VolumeAttachmentSpec", &new_spec),
                "field is immutable",
            );
        }
        _ => {}
    }
}

/// The status of an attachment.
pub(super) fn attachment_status(attachment: &Value, found: &mut ErrorList) {
    const MAX_BYTES: usize = 256 * 1024;
    const MAX_MESSAGE: usize = 1024;
    let Some(status) = attachment.get("status") else { return };
    let at = ROOT.child("status");
    let metadata = members(status, "attachmentMetadata").into_iter().flatten();
    let bytes: usize = metadata
        .map(|(key, value)| key.len() + value.as_str().map_or(0, str::len))
        .sum();
    if bytes > MAX_BYTES {
        found.too_long(&at.child("attachmentMetadata"), MAX_BYTES);
    }
    for field in ["attachError", "detachError"] {
        let Some(error) = status.get(field) else { continue };
        let at = at.child(field);
        if text(error, "message").len() > MAX_MESSAGE {
            // It is told as if it was metadata.
            found.too_long(&at.child("message"), MAX_BYTES);
        }
        let code = error.get("errorCode").and_then(Value::as_i64);
        if let Some(code) = code.filter(|code| *code < 0) {
            let detail = "must be between 0 and 2147483647, inclusive";
            found.invalid(&at.child("errorCode"), code, detail);
        }
    }
}

/// Of a driver that stays, only how many volumes it can attach may change.
fn fixed_drivers(new: &[Value], old: &[Value], at: &FieldPath<'_>, found: &mut ErrorList) {
    let fixed = |driver: &Value| {
        let mut driver = driver.clone();
        if let Some(driver) = driver.as_object_mut() {
            driver.remove("allocatable");
        }
        driver
    };
    for before in old.iter().map(fixed) {
        let same = |driver: &Value| driver["name"] == before["name"] && *driver != before;
        for driver in new.iter().map(fixed).filter(same) {
            found.invalid_text(
                &at.child("drivers"),
                &go_values::text("storage.CSINodeDriver", &driver),
                "field is immutable",
            );
        }
    }
}

/// Who makes the volumes of a class.
fn provisioner(field: &str, class: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let name = text(class, field).to_lowercase();
    let at = at.child(field);
    if name.is_empty() {
        found.required(&at, "");
    } else {
        found.invalid_each(&at, &name, names::qualified_name(&name));
    }
}

const MAX_PARAMETERS: usize = 512;
const MAX_PARAMETER_BYTES: usize = 256 * 1024;

fn parameters(class: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
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

/// What happens to the volumes of a class; an empty policy is none.
fn reclaim_policy(class: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    if !text(class, "reclaimPolicy").is_empty() {
        run(&[OneOfIfSet("reclaimPolicy", &["Delete", "Retain"])], class, at, found);
    }
}

fn some_parameter(class: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    if members(class, "parameters").is_none_or(Map::is_empty) {
        let detail = "must contain at least one key/value pair";
        found.required(&at.child("parameters"), detail);
    }
}

/// Where volumes may be: no term and no key twice.
fn topologies(class: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let at = at.child("allowedTopologies");
    let all = list(class, "allowedTopologies");
    // It is as if there was one empty term for every term before the first one.
    let mut terms: Vec<BTreeMap<&str, BTreeSet<&str>>> = vec![BTreeMap::new(); all.len()];
    for (index, term) in all.iter().enumerate() {
        let at = at.item(index);
        let at = at.child("matchLabelExpressions");
        let term = topology(list(term, "matchLabelExpressions"), &at, found);
        for _ in terms.iter().filter(|each| **each == term) {
            found.duplicate(&at, "");
        }
        terms.push(term);
    }
}

/// The values of each key of a term.
fn topology<'v>(
    expressions: &'v [Value],
    at: &FieldPath<'_>,
    found: &mut ErrorList,
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

fn class_of_capacity(object: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let name = text(object, "storageClassName");
    found.invalid_each(&at.child("storageClassName"), name, names::dns_subdomain(name));
}

fn capacity(object: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let capacity = text(object, "capacity");
    if capacity.starts_with('-') {
        found.invalid(&at.child("capacity"), capacity, "must be greater than or equal to 0");
    }
}

/// Tokens for different audiences, each for some time.
fn token_requests(spec: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    const MIN_SECS: i64 = 600;
    let at = at.child("tokenRequests");
    let mut seen = BTreeSet::new();
    for (index, request) in list(spec, "tokenRequests").iter().enumerate() {
        let at = at.item(index);
        let audience = text(request, "audience");
        if !seen.insert(audience) {
            found.duplicate(&at.child("audience"), audience);
            continue;
        }
        let Some(seconds) = request.get("expirationSeconds").and_then(Value::as_i64) else {
            continue;
        };
        let field = at.child("expirationSeconds");
        if seconds < MIN_SECS {
            found.invalid(&field, seconds, "may not specify a duration less than 10 minutes");
        }
        if seconds > 1 << 32 {
            found.invalid(&field, seconds, "may not specify a duration larger than 2^32 seconds");
        }
    }
}

/// Where tokens go only matters if there are some.
fn tokens(spec: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
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

fn modes(spec: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let at = at.child("volumeLifecycleModes");
    for mode in texts(spec, "volumeLifecycleModes") {
        if !matches!(mode, "Ephemeral" | "Persistent") {
            found.not_supported(&at, mode, &["Persistent", "Ephemeral"]);
        }
    }
}

fn update_period(spec: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    const MIN_SECS: i64 = 10;
    let seconds = spec.get("nodeAllocatableUpdatePeriodSeconds").and_then(Value::as_i64);
    if let Some(seconds) = seconds.filter(|seconds| *seconds < MIN_SECS) {
        let at = at.child("nodeAllocatableUpdatePeriodSeconds");
        found.invalid(&at, seconds, "must be greater than or equal to 10 seconds");
    }
}

/// The drivers of a node, each there once.
fn drivers(spec: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let at = at.child("drivers");
    let mut seen = BTreeSet::new();
    for (index, driver) in list(spec, "drivers").iter().enumerate() {
        let at = at.item(index);
        let name = text(driver, "name");
        sources::driver_name(name, &at.child("name"), found);
        node_id(driver, &at, found);
        let allocatable = at.child("allocatable");
        let count = driver
            .get("allocatable")
            .and_then(|allocatable| allocatable.get("count"));
        super::checks::not_negative(count, &allocatable.child("count"), found);
        if !seen.insert(name) {
            found.duplicate(&at.child("name"), name);
        }
        topology_keys(driver, &at, found);
    }
}

fn node_id(driver: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    const MAX: usize = 256;
    let id = text(driver, "nodeID");
    let at = at.child("nodeID");
    if id.is_empty() {
        found.required(&at, "");
    }
    if id.len() > MAX {
        found.invalid(&at, id, "must be 256 characters or less");
    }
}

/// Keys of labels; what is wrong with one is told of the driver.
fn topology_keys(driver: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let mut seen = BTreeSet::new();
    for key in texts(driver, "topologyKeys") {
        if key.is_empty() {
            found.required(at, "");
        }
        if !seen.insert(key) {
            found.duplicate(at, key);
        }
        found.invalid_each(at, key, names::qualified_name(key));
    }
}

fn attacher(spec: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    sources::driver_name(text(spec, "attacher"), &at.child("attacher"), found);
}

fn node(spec: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let name = text(spec, "nodeName");
    found.invalid_each(&at.child("nodeName"), name, names::dns_subdomain(name));
}

/// The volume that is attached: one that there is, or one that is described.
fn source(spec: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
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
        (Some(_), None) => {}
        (None, Some(inline)) => persistent::inline_volume(inline, &at.child("inlineVolumeSpec"), found),
    }
}

fn volume_name(attachment: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let name = attachment.pointer("/spec/source/persistentVolumeName");
    if let Some(name) = name.and_then(Value::as_str) {
        let at = at.child("spec.source.persistentVolumeName");
        found.invalid_each(&at, name, names::dns_subdomain(name));
    }
}

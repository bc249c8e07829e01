//! Persistent volumes, and claims to them.

use serde_json::{Map, Value, json};

use super::ROOT;
use super::checks::Check::{Do, In, Named, OneOfIfSet, Required};
use super::checks::{Check, immutable, list, members, number, run, text, texts};
use super::pods::NODE_SELECTOR;
use super::volumes::{self, HOST_PATH};
use crate::builtin::quantity::Quantity;
use crate::findings::{Field, Findings};
use crate::meta;
use crate::metadata::names;

const ACCESS_MODES: &[&str] = &["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];
const VOLUME_MODES: &[&str] = &["Block", "Filesystem"];
/// Where the class of storage stood before it had a field.
const CLASS: &str = "volume.beta.kubernetes.io/storage-class";

fn quantity(value: Option<&Value>) -> Option<Quantity> {
    value.and_then(Value::as_str).and_then(Quantity::parse)
}

fn positive(value: &Value, at: &Field<'_>, found: &mut Findings) {
    if quantity(Some(value)).is_some_and(|quantity| quantity.nanos() <= 0) {
        found.invalid(at, value.clone(), "must be greater than zero");
    }
}

fn access_modes(spec: &Value, at: &Field<'_>, detail: &str, found: &mut Findings) {
    let modes = texts(spec, "accessModes");
    let at = at.child("accessModes");
    if modes.is_empty() {
        found.required(&at, detail);
    }
    for mode in modes.iter().filter(|mode| !ACCESS_MODES.contains(mode)) {
        found.not_supported(&at, *mode, ACCESS_MODES);
    }
    if modes.len() > 1 && modes.contains(&"ReadWriteOncePod") {
        found.forbidden(&at, "may not use ReadWriteOncePod with other access modes");
    }
}

const CLAIM: &[Check] = &[
    Do(|spec, at, found| access_modes(spec, at, "at least 1 access mode is required", found)),
    Do(storage),
    Check::Selector("selector"),
    Named("storageClassName", names::dns_subdomain),
    OneOfIfSet("volumeMode", VOLUME_MODES),
];

/// The specification of a claim, or of a template of claims.
pub(super) fn claim(object: &Value, at: &Field<'_>, found: &mut Findings) {
    run(&[In("spec", CLAIM)], object, at, found);
}

fn requested(spec: &Value) -> Option<&Value> {
    spec.get("resources")?.get("requests")?.get("storage")
}

fn storage(spec: &Value, at: &Field<'_>, found: &mut Findings) {
    let at = at.child("resources");
    match requested(spec) {
        None => found.required(&at.key("storage"), ""),
        Some(size) => positive(size, &at.key("storage"), found),
    }
}

/// What may not change in a claim.
pub(super) fn claim_change(new: &Value, old: &Value, found: &mut Findings) {
    let none = Value::Null;
    let specs = (new.get("spec").unwrap_or(&none), old.get("spec").unwrap_or(&none));
    let status = old.get("status").unwrap_or(&none);
    let is_bound = text(status, "phase") == "Bound";
    let fixed = |spec: &Value| {
        let mut spec = spec.clone();
        if let Some(spec) = spec.as_object_mut() {
            if is_bound {
                spec.remove("volumeAttributesClassName");
                let requests = spec
                    .get_mut("resources")
                    .and_then(|resources| resources.get_mut("requests"));
                if let Some(requests) = requests.and_then(Value::as_object_mut) {
                    requests.remove("storage");
                }
            }
            // The binder sets the name once, and so does whoever makes a class the default one.
            for field in ["volumeName", "storageClassName"] {
                if specs.1.get(field).is_none() {
                    spec.remove(field);
                }
            }
        }
        spec
    };
    if fixed(specs.0) != fixed(specs.1) {
        let detail =
            "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims";
        found.forbidden(&ROOT.child("spec"), detail);
    }
    let annotations = |claim: &Value| {
        let annotations = claim.get("metadata").and_then(|metadata| metadata.get("annotations"));
        annotations.cloned().unwrap_or_default()
    };
    immutable(
        CLASS,
        &annotations(new),
        &annotations(old),
        &ROOT.child("metadata.annotations"),
        found,
    );
    let size = |value: Option<&Value>| quantity(value).map_or(0, Quantity::nanos);
    let (after, before) = (size(requested(specs.0)), size(requested(specs.1)));
    if after < before && after <= size(status.get("capacity").and_then(|capacity| capacity.get("storage"))) {
        let at = ROOT.child("spec.resources.requests.storage");
        found.forbidden(&at, "field can not be less than status.capacity");
    }
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
pub(super) fn claim_status(claim: &Value, found: &mut Findings) {
    let Some(status) = claim.get("status") else { return };
    let at = ROOT.child("status");
    let capacity = at.child("capacity");
    for (resource, size) in members(status, "capacity").into_iter().flatten() {
        if let Some(size) = quantity(Some(size)).filter(|size| size.nanos() < 0) {
            let detail = "must be a valid resource quantity";
            found.invalid_text(&capacity.key(resource), &size.canonical(), detail);
        }
    }
    let at = at.child("allocatedResourceStatuses");
    for (resource, state) in members(status, "allocatedResourceStatuses").into_iter().flatten() {
        // Whichever of the two is wrong, the resource is what is quoted.
        if resource != "storage" {
            found.not_supported(&at, resource.as_str(), &["storage"]);
        } else if !RESIZE_STATES.iter().any(|known| state == known) {
            found.not_supported(&at, resource.as_str(), RESIZE_STATES);
        }
    }
}

/// Sources of volumes in the order in which they are looked at, and what must be right in each.
const SOURCES: &[(&str, &[Check])] = &[
    ("hostPath", HOST_PATH),
    ("gcePersistentDisk", &[]),
    ("awsElasticBlockStore", &[Required("volumeID")]),
    ("glusterfs", &[Required("endpoints"), Required("path")]),
    ("flocker", &[]),
    ("nfs", &[Required("server"), Required("path"), Do(absolute)]),
    ("rbd", &[Do(volumes::monitors), Required("image")]),
    ("quobyte", &[]),
    ("cephfs", &[Do(volumes::monitors)]),
    ("iscsi", &[Required("targetPortal"), Required("iqn")]),
    ("cinder", &[Required("volumeID")]),
    ("fc", &[Do(fibre_channel)]),
    ("flexVolume", &[Required("driver")]),
    (
        "azureFile",
        &[Required("secretName"), Required("shareName"), Do(secret_namespace)],
    ),
    ("vsphereVolume", &[Required("volumePath")]),
    ("photonPersistentDisk", &[Required("pdID")]),
    ("portworxVolume", &[Required("volumeID")]),
    ("azureDisk", &[Required("diskName"), Required("diskURI")]),
    (
        "scaleIO",
        &[Required("gateway"), Required("system"), Required("volumeName")],
    ),
    ("local", &[Required("path"), Do(volumes::no_backsteps)]),
    ("storageos", &[Required("volumeName")]),
    ("csi", &[Do(driver), Required("volumeHandle"), Do(secrets)]),
];

/// A volume's specification.
pub(super) fn volume(object: &Value, found: &mut Findings) {
    let none = json!({});
    let spec = object.get("spec").unwrap_or(&none);
    let at = ROOT.child("spec");
    access_modes(spec, &at, "", found);
    capacity(spec, &at, found);
    run(
        &[
            OneOfIfSet("persistentVolumeReclaimPolicy", &["Delete", "Recycle", "Retain"]),
            Do(node_affinity),
        ],
        spec,
        &at,
        found,
    );
    let mut sources = 0;
    for (source, checks) in SOURCES {
        let Some(given) = spec.get(*source) else { continue };
        sources += 1;
        if sources > 1 {
            found.forbidden(&at.child(source), "may not specify more than 1 volume type");
        } else {
            run(checks, given, &at.child(source), found);
        }
    }
    if sources == 0 {
        found.required(&at, "must specify a volume type");
    }
    let is_root = spec.pointer("/hostPath/path").is_some_and(|path| path == "/");
    if is_root && text(spec, "persistentVolumeReclaimPolicy") == "Recycle" {
        let detail = "may not be 'recycle' for a hostPath mount of '/'";
        found.forbidden(&at.child("persistentVolumeReclaimPolicy"), detail);
    }
    if spec.get("local").is_some() && spec.get("nodeAffinity").is_none() {
        found.required(&at.child("nodeAffinity"), "Local volume requires node affinity");
    }
    run(
        &[
            Named("storageClassName", names::dns_subdomain),
            OneOfIfSet("volumeMode", VOLUME_MODES),
        ],
        spec,
        &at,
        found,
    );
    if !text(spec, "volumeAttributesClassName").is_empty() && spec.get("csi").is_none() {
        let detail = "has to be specified when using volumeAttributesClassName";
        found.required(&at.child("csi"), detail);
    }
}

fn capacity(spec: &Value, at: &Field<'_>, found: &mut Findings) {
    let at = at.child("capacity");
    let given = members(spec, "capacity");
    if given.is_none_or(Map::is_empty) {
        found.required(&at, "");
    }
    if given.is_none_or(|given| given.len() != 1 || !given.contains_key("storage")) {
        let given = spec.get("capacity").cloned().unwrap_or_default();
        found.not_supported(&at, given, &["storage"]);
    }
    for (resource, size) in given.into_iter().flatten() {
        positive(size, &at.key(resource), found);
    }
}

fn node_affinity(spec: &Value, at: &Field<'_>, found: &mut Findings) {
    let Some(affinity) = spec.get("nodeAffinity") else {
        return;
    };
    let at = at.child("nodeAffinity");
    if affinity.get("required").is_none() {
        found.required(&at.child("required"), "must specify required node constraints");
    }
    run(&[In("required", NODE_SELECTOR)], affinity, &at, found);
}

fn absolute(source: &Value, at: &Field<'_>, found: &mut Findings) {
    let path = text(source, "path");
    if !path.is_empty() && !path.starts_with('/') {
        found.invalid(&at.child("path"), path, "must be an absolute path");
    }
}

fn secret_namespace(source: &Value, at: &Field<'_>, found: &mut Findings) {
    if source.get("secretNamespace").is_some_and(|namespace| namespace == "") {
        found.required(&at.child("secretNamespace"), "");
    }
}

fn fibre_channel(source: &Value, at: &Field<'_>, found: &mut Findings) {
    let (names, ids) = (list(source, "targetWWNs"), list(source, "wwids"));
    let field = at.child("targetWWNs");
    if names.is_empty() && ids.is_empty() {
        found.required(&field, "must specify either targetWWNs or wwids, but not both");
    }
    if !names.is_empty() && !ids.is_empty() {
        let detail = "targetWWNs and wwids can not be specified simultaneously";
        found.invalid(&field, names.to_vec(), detail);
    }
    if !names.is_empty() {
        let lun = at.child("lun");
        match source.get("lun") {
            None => found.required(&lun, "lun is required if targetWWNs is specified"),
            Some(_) if !(0..=255).contains(&number(source, "lun")) => {
                found.invalid(&lun, number(source, "lun"), "must be between 0 and 255, inclusive");
            }
            Some(_) => {}
        }
    }
}

fn driver(source: &Value, at: &Field<'_>, found: &mut Findings) {
    let driver = text(source, "driver");
    found.required_each(
        &at.child("driver"),
        driver,
        names::dns_subdomain(&driver.to_lowercase()),
    );
}

fn secrets(source: &Value, at: &Field<'_>, found: &mut Findings) {
    for field in [
        "controllerPublishSecretRef",
        "controllerExpandSecretRef",
        "nodePublishSecretRef",
        "nodeExpandSecretRef",
    ] {
        run(
            &[In(field, &[Required("name"), Required("namespace")])],
            source,
            at,
            found,
        );
    }
}

/// What may not change in a volume.
pub(super) fn volume_change(new: &Value, old: &Value, found: &mut Findings) {
    let none = Value::Null;
    let (new, old) = (new.get("spec").unwrap_or(&none), old.get("spec").unwrap_or(&none));
    let source = |spec: &Value| {
        let mut sources: Vec<_> = SOURCES
            .iter()
            .filter_map(|(name, _)| Some((*name, spec.get(*name)?.clone())))
            .collect();
        // Whoever grows a volume may be said later.
        for (_, source) in &mut sources {
            if let Some(source) = source.as_object_mut() {
                source.remove("controllerExpandSecretRef");
            }
        }
        sources
    };
    if source(new) != source(old) {
        let field = "spec.persistentvolumesource";
        found.forbidden(&ROOT.child(field), &format!("{field} is immutable after creation"));
    }
    immutable("volumeMode", new, old, &ROOT, found);
    let (after, before) = (new.get("nodeAffinity"), old.get("nodeAffinity"));
    if before.is_some() && after != before {
        let detail = "field is immutable, except for updating from beta label to GA";
        found.invalid_text(&ROOT.child("nodeAffinity"), &as_go(after), detail);
    }
}

/// A node affinity under the names that its fields have where it is compared.
fn as_go(affinity: Option<&Value>) -> String {
    let requirement = |requirement: &Value| {
        let values = requirement.get("values").unwrap_or(&Value::Null);
        let (key, operator) = (
            Value::from(text(requirement, "key")),
            Value::from(text(requirement, "operator")),
        );
        format!("{{\"Key\":{key},\"Operator\":{operator},\"Values\":{values}}}")
    };
    let requirements = |term: &Value, field: &str| match list(term, field) {
        [] => "null".to_owned(),
        all => format!("[{}]", all.iter().map(requirement).collect::<Vec<_>>().join(",")),
    };
    let term = |term: &Value| {
        let (expressions, fields) = (
            requirements(term, "matchExpressions"),
            requirements(term, "matchFields"),
        );
        format!("{{\"MatchExpressions\":{expressions},\"MatchFields\":{fields}}}")
    };
    let Some(affinity) = affinity else {
        return "null".to_owned();
    };
    match affinity.get("required") {
        None => "{\"Required\":null}".to_owned(),
        Some(required) => {
            let terms: Vec<String> = list(required, "nodeSelectorTerms").iter().map(term).collect();
            format!("{{\"Required\":{{\"NodeSelectorTerms\":[{}]}}}}", terms.join(","))
        }
    }
}

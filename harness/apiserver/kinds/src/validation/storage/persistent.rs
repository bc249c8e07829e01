//! Persistent volumes.

use baton_apimachinery::field::{ErrorList, FieldPath};
use baton_apimachinery::go_values;
use baton_apimachinery::meta;
use baton_apimachinery::metadata::names;
use baton_apimachinery::quantity::{NANOS_OF_ONE, Quantity};
use serde_json::{Map, Value, json};

use super::sources::{self, Source};
use crate::validation::checks::Check::{Do, In, Name, Named, OneOfIfSet, Required};
use crate::validation::checks::{immutable, list, members, run, text, texts};
use crate::validation::pods::NODE_SELECTOR;
use crate::validation::{ROOT, diff};

const ACCESS_MODES: &[&str] = &["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];
pub(crate) const VOLUME_MODES: &[&str] = &["Block", "Filesystem"];
pub(crate) fn quantity(value: Option<&Value>) -> Option<Quantity> {
    value.and_then(Value::as_str).and_then(Quantity::parse)
}

/// `must be greater than zero`.
pub(crate) fn positive(value: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    if quantity(Some(value)).is_some_and(|quantity| quantity.nanos() <= 0) {
        found.invalid(at, value.clone(), "must be greater than zero");
    }
}

/// `must be a valid resource quantity`, of a size that is told in whole units.
pub(crate) fn not_negative(value: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    if let Some(size) = quantity(Some(value)).filter(|size| size.nanos() < 0) {
        let whole = i64::try_from((size.nanos() - (NANOS_OF_ONE - 1)) / NANOS_OF_ONE).unwrap_or(i64::MIN);
        found.invalid(at, whole, "must be a valid resource quantity");
    }
}

/// The ways in which a volume is used.
pub(crate) fn access_modes(spec: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let modes = texts(spec, "accessModes");
    let at = at.child("accessModes");
    for mode in modes.iter().filter(|mode| !ACCESS_MODES.contains(mode)) {
        found.not_supported(&at, *mode, ACCESS_MODES);
    }
    let is_alone = |mode: &&str| *mode == "ReadWriteOncePod";
    let has_others = modes.iter().any(|mode| !is_alone(mode) && ACCESS_MODES.contains(mode));
    if has_others && modes.iter().any(is_alone) {
        found.forbidden(&at, "may not use ReadWriteOncePod with other access modes");
    }
}

/// That there are access modes; `detail` is what is said if not.
pub(crate) fn some_access_mode(spec: &Value, at: &FieldPath<'_>, detail: &str, found: &mut ErrorList) {
    if list(spec, "accessModes").is_empty() {
        found.required(&at.child("accessModes"), detail);
    }
}
/// Sources of volumes in the order in which they are looked at.
const SOURCES: &[Source] = &[
    sources::HOST_PATH,
    sources::GCE_PERSISTENT_DISK,
    sources::AWS_ELASTIC_BLOCK_STORE,
    sources::CLUSTER_GLUSTERFS,
    sources::FLOCKER,
    sources::NFS,
    sources::RBD,
    sources::QUOBYTE,
    sources::CEPH_FS,
    sources::CLUSTER_ISCSI,
    sources::CLUSTER_CINDER,
    sources::FC,
    sources::FLEX_VOLUME.tolerated(),
    sources::CLUSTER_AZURE_FILE,
    sources::VSPHERE_VOLUME,
    sources::PHOTON_PERSISTENT_DISK,
    sources::PORTWORX_VOLUME,
    sources::AZURE_DISK,
    sources::SCALE_IO,
    Source::new("local", &[Required("path"), Do(local_path)]),
    sources::CLUSTER_STORAGE_OS,
    Source::new("csi", &[Do(sources::driver), Required("volumeHandle"), Do(secrets)]),
];

fn local_path(source: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    sources::no_backsteps("path", source, at, found);
}

/// A volume.
pub(crate) fn volume(object: &Value, found: &mut ErrorList) {
    let none = json!({});
    let spec = object.get("spec").unwrap_or(&none);
    let at = ROOT.child("spec");
    some_access_mode(spec, &at, "", found);
    access_modes(spec, &at, found);
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
    let has_affinity = spec.get("nodeAffinity").is_some();
    source(spec, meta::name(object).unwrap_or_default(), has_affinity, &at, found);
    run(
        &[
            Named("storageClassName", names::dns_subdomain),
            OneOfIfSet("volumeMode", VOLUME_MODES),
            Do(attributes_class),
        ],
        spec,
        &at,
        found,
    );
}

/// The specification of a volume that stands in an attachment, which says nothing but its source.
pub(crate) fn inline_volume(spec: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let inline = |field: &str, found: &mut ErrorList| {
        let detail = "may not be specified in the context of inline volumes";
        found.forbidden(&at.child(field), detail);
    };
    if spec.get("claimRef").is_some() {
        inline("claimRef", found);
    }
    if members(spec, "capacity").is_some_and(|capacity| !capacity.is_empty()) {
        inline("capacity", found);
    }
    if spec.get("csi").is_none() {
        let detail = "has to be specified in the context of inline volumes";
        found.required(&at.child("csi"), detail);
    }
    some_access_mode(spec, at, "", found);
    access_modes(spec, at, found);
    if !matches!(text(spec, "persistentVolumeReclaimPolicy"), "" | "Retain") {
        let detail = "may only be Retain in the context of inline volumes";
        found.forbidden(&at.child("persistentVolumeReclaimPolicy"), detail);
    }
    if spec.get("nodeAffinity").is_some() {
        inline("nodeAffinity", found);
    }
    source(spec, "", false, at, found);
    if !text(spec, "storageClassName").is_empty() {
        inline("storageClassName", found);
    }
    if spec.get("volumeMode").is_some_and(|mode| mode != "Filesystem") {
        let detail = "may not specify volumeMode other than Filesystem in the context of inline volumes";
        found.forbidden(&at.child("volumeMode"), detail);
    }
}

/// The source of a volume of this name, and what else of the volume it needs: for one, an affinity that counts.
fn source(spec: &Value, name: &str, has_affinity: bool, at: &FieldPath<'_>, found: &mut ErrorList) {
    sources::validate(SOURCES, spec, at, found, |kind, source, found| match kind {
        "local" if !has_affinity => {
            found.required(&at.child("nodeAffinity"), "Local volume requires node affinity");
        }
        "iscsi" if sources::is_iscsi_too_long(name, source) => {
            let at = at.child("iscsi.targetportal");
            found.invalid(&at, text(source, "targetPortal"), sources::ISCSI_TOO_LONG);
        }
        _ => {}
    });
    let path = spec.get("hostPath").map(|source| text(source, "path"));
    let is_root = path.is_some_and(is_root);
    if is_root && text(spec, "persistentVolumeReclaimPolicy") == "Recycle" {
        let detail = "may not be 'recycle' for a hostPath mount of '/'";
        found.forbidden(&at.child("persistentVolumeReclaimPolicy"), detail);
    }
}

/// Whether a path leads to the root, however it is written.
fn is_root(path: &str) -> bool {
    let depth = path.split('/').fold(0_usize, |depth, part| match part {
        "" | "." => depth,
        ".." => depth.saturating_sub(1),
        _ => depth + 1,
    });
    path.starts_with('/') && depth == 0
}

fn attributes_class(spec: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let Some(class) = spec.get("volumeAttributesClassName").and_then(Value::as_str) else {
        return;
    };
    let field = at.child("volumeAttributesClassName");
    if class.is_empty() {
        found.required(&field, "an empty string is disallowed");
    } else {
        found.invalid_each(&field, class, names::dns_subdomain(class));
    }
    if spec.get("csi").is_none() {
        let detail = "has to be specified when using volumeAttributesClassName";
        found.required(&at.child("csi"), detail);
    }
}

/// Sources that are mounted with options of the volume's annotation.
const WITH_MOUNT_OPTIONS: &[&str] = &[
    "awsElasticBlockStore",
    "azureDisk",
    "azureFile",
    "cephfs",
    "cinder",
    "gcePersistentDisk",
    "glusterfs",
    "iscsi",
    "nfs",
    "photonPersistentDisk",
    "quobyte",
    "rbd",
    "vsphereVolume",
];

/// Options of mounting in the annotation that they once had.
pub(crate) fn mount_options(object: &Value, found: &mut ErrorList) {
    const OPTIONS: &str = "volume.beta.kubernetes.io/mount-options";
    let spec = object.get("spec").unwrap_or(&Value::Null);
    let is_mounted = WITH_MOUNT_OPTIONS.iter().any(|source| spec.get(*source).is_some());
    if !is_mounted && meta::annotation(object, OPTIONS).is_some() {
        let at = ROOT.child("metadata.annotations");
        found.forbidden(&at.child(OPTIONS), "may not specify mount options for this volume type");
    }
}

fn capacity(spec: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
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
        let at = at.key(resource);
        not_negative(size, &at, found);
        positive(size, &at, found);
    }
}

fn node_affinity(spec: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let Some(affinity) = spec.get("nodeAffinity") else {
        return;
    };
    let at = at.child("nodeAffinity");
    if affinity.get("required").is_none() {
        found.required(&at.child("required"), "must specify required node constraints");
    }
    run(&[In("required", NODE_SELECTOR)], affinity, &at, found);
}

fn secrets(source: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    for field in [
        "controllerPublishSecretRef",
        "controllerExpandSecretRef",
        "nodePublishSecretRef",
        "nodeExpandSecretRef",
    ] {
        run(
            &[In(
                field,
                &[Name("name", names::dns_subdomain), Name("namespace", names::dns_label)],
            )],
            source,
            at,
            found,
        );
    }
}

/// Labels of nodes that have other names by now.
const RENAMED: &[(&str, &str)] = &[
    ("beta.kubernetes.io/arch", "kubernetes.io/arch"),
    ("beta.kubernetes.io/instance-type", "node.kubernetes.io/instance-type"),
    ("beta.kubernetes.io/os", "kubernetes.io/os"),
    (
        "failure-domain.beta.kubernetes.io/region",
        "topology.kubernetes.io/region",
    ),
    ("failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"),
];

/// An affinity in which labels have their new names where they have them in `after`.
fn renamed(before: &Value, after: Option<&Value>) -> Value {
    let mut affinity = before.clone();
    let terms = affinity
        .pointer_mut("/required/nodeSelectorTerms")
        .and_then(Value::as_array_mut);
    for (term, value) in terms.into_iter().flatten().enumerate() {
        for field in ["matchExpressions", "matchFields"] {
            let requirements = value.get_mut(field).and_then(Value::as_array_mut);
            for (index, requirement) in requirements.into_iter().flatten().enumerate() {
                let place = format!("/required/nodeSelectorTerms/{term}/{field}/{index}/key");
                let wanted = after.and_then(|after| after.pointer(&place)?.as_str());
                let known = |wanted: &&str| RENAMED.contains(&(text(requirement, "key"), *wanted));
                if let Some(wanted) = wanted.filter(known) {
                    requirement["key"] = wanted.into();
                }
            }
        }
    }
    affinity
}

/// What may not change in a volume.
pub(crate) fn change(new: &Value, old: &Value, found: &mut ErrorList) {
    let none = Value::Null;
    mount_options(new, found);
    let (new, old) = (new.get("spec").unwrap_or(&none), old.get("spec").unwrap_or(&none));
    let mut given = new.clone();
    // Whoever grows a volume may be said later.
    let growing = |spec: &Value| spec.pointer("/csi/controllerExpandSecretRef").is_some();
    if old.get("csi").is_some()
        && !growing(old)
        && let Some(driver) = given.get_mut("csi").and_then(Value::as_object_mut)
    {
        driver.remove("controllerExpandSecretRef");
    }
    let differs = |source: &Source| given.get(source.field) != old.get(source.field);
    if SOURCES.iter().any(differs) {
        let field = "spec.persistentvolumesource";
        let difference = diff::of("core.PersistentVolumeSource", old, &given);
        let detail = format!("{field} is immutable after creation\n{difference}");
        found.forbidden(&ROOT.child(field), &detail);
    }
    immutable("volumeMode", new, old, &ROOT, found);
    let (after, before) = (new.get("nodeAffinity"), old.get("nodeAffinity"));
    if before.is_some() && after != before && after != before.map(|before| renamed(before, after)).as_ref() {
        let detail = "field is immutable, except for updating from beta label to GA";
        let affinity = after.map_or_else(
            || "null".to_owned(),
            |affinity| go_values::text("core.VolumeNodeAffinity", affinity),
        );
        found.invalid_text(&ROOT.child("nodeAffinity"), &affinity, detail);
    }
    let class = |spec: &Value| spec.get("volumeAttributesClassName").is_some();
    if class(old) && !class(new) {
        let at = ROOT.child("spec.volumeAttributesClassName");
        found.forbidden(&at, "update from non-nil value to nil is forbidden");
    }
}

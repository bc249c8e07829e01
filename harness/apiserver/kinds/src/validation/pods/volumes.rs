//! Volumes of a pod.

use std::collections::BTreeSet;

use baton_apimachinery::field::{ErrorList, FieldPath};
use baton_apimachinery::metadata::names;
use serde_json::Value;

use crate::validation::checks::Check::{Each, In, Required};
use crate::validation::checks::{Check, list, run, text};

/// Sources of a volume in the order in which they are validated.
const SOURCES: &[&str] = &[
    "emptyDir",
    "hostPath",
    "gitRepo",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "secret",
    "nfs",
    "iscsi",
    "glusterfs",
    "flocker",
    "persistentVolumeClaim",
    "rbd",
    "cinder",
    "cephfs",
    "quobyte",
    "downwardAPI",
    "fc",
    "flexVolume",
    "configMap",
    "azureFile",
    "vsphereVolume",
    "photonPersistentDisk",
    "portworxVolume",
    "azureDisk",
    "storageos",
    "projected",
    "scaleIO",
    "csi",
    "ephemeral",
    "image",
];

const ITEMS: Check = Each("items", &[Required("key"), Required("path")]);

/// Checks of the sources that workloads of the suite use.
const CHECKS: &[(&str, &[Check])] = &[
    ("configMap", &[In("configMap", &[Required("name"), ITEMS])]),
    (
        "persistentVolumeClaim",
        &[In("persistentVolumeClaim", &[Required("claimName")])],
    ),
    ("secret", &[In("secret", &[Required("secretName"), ITEMS])]),
];

/// Validates `volumes` of a pod or template.
pub(super) fn validate(spec: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let at = at.child("volumes");
    let mut seen = BTreeSet::new();
    for (index, volume) in list(spec, "volumes").iter().enumerate() {
        let at = at.item(index);
        let before = found.len();
        source(volume, &at, found);
        let name = text(volume, "name");
        found.required_each(&at.child("name"), name, names::dns_label(name));
        if seen.contains(name) {
            found.duplicate(&at.child("name"), name);
        } else if found.len() == before {
            seen.insert(name);
        }
    }
}

/// Checks that a volume has exactly one source.
fn source(volume: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let mut has_one = false;
    for source in SOURCES.iter().filter(|source| volume.get(**source).is_some()) {
        if has_one {
            found.forbidden(&at.child(source), "may not specify more than 1 volume type");
            continue;
        }
        has_one = true;
        if let Some((_, checks)) = CHECKS.iter().find(|(known, _)| known == source) {
            run(checks, volume, at, found);
        }
    }
    if !has_one {
        found.required(at, "must specify a volume type");
    }
}

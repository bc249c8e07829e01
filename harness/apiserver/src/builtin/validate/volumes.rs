//! Volumes of a pod.

use std::collections::BTreeSet;

use serde_json::Value;

use super::checks::Check::{Do, Each, In, OneOfIfSet, Required};
use super::checks::{Check, list, run, text};
use super::variables;
use crate::findings::{Field, Findings};
use crate::metadata::names;

/// The sources in the order in which they are looked at.
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
    "persistentVolumeClaim",
    "rbd",
    "cinder",
    "cephfs",
    "flocker",
    "downwardAPI",
    "fc",
    "azureFile",
    "configMap",
    "vsphereVolume",
    "quobyte",
    "azureDisk",
    "photonPersistentDisk",
    "portworxVolume",
    "scaleIO",
    "storageos",
    "projected",
    "csi",
    "ephemeral",
    "image",
];

const HOST_PATH_TYPES: &[&str] = &[
    "",
    "BlockDevice",
    "CharDevice",
    "Directory",
    "DirectoryOrCreate",
    "File",
    "FileOrCreate",
    "Socket",
];

/// A place on a node.
pub(super) const HOST_PATH: &[Check] = &[Required("path"), Do(no_backsteps), OneOfIfSet("type", HOST_PATH_TYPES)];

const ITEMS: Check = Each(
    "items",
    &[Required("key"), Required("path"), Do(local_path), Do(item_mode)],
);
const DOWNWARD_ITEMS: Check = Each("items", &[Required("path"), Do(local_path), Do(item_mode)]);

const DETAILS: &[Check] = &[
    In("emptyDir", &[Do(size_limit)]),
    In("hostPath", HOST_PATH),
    In("secret", &[Required("secretName"), Do(mode), ITEMS]),
    In("configMap", &[Required("name"), Do(mode), ITEMS]),
    In("persistentVolumeClaim", &[Required("claimName")]),
    In("downwardAPI", &[Do(mode), DOWNWARD_ITEMS, Do(downward_fields)]),
    In("nfs", &[Required("server"), Required("path"), Do(absolute_path)]),
    In("csi", &[Required("driver")]),
    In("iscsi", &[Required("targetPortal"), Required("iqn")]),
    In("image", &[Required("reference")]),
    In("ephemeral", &[Do(claim_template)]),
    In("rbd", &[Do(monitors), Required("image")]),
    In("cephfs", &[Do(monitors)]),
    In(
        "projected",
        &[
            Do(mode),
            Each(
                "sources",
                &[
                    In("secret", &[Required("name"), ITEMS]),
                    In("configMap", &[Required("name"), ITEMS]),
                    In("downwardAPI", &[DOWNWARD_ITEMS, Do(downward_fields)]),
                    In("serviceAccountToken", &[Required("path"), Do(expiration)]),
                ],
            ),
        ],
    ),
];

/// Checks `volumes` of a pod's specification.
pub(super) fn validate(spec: &Value, at: &Field<'_>, found: &mut Findings) {
    let at = at.child("volumes");
    let mut seen = BTreeSet::new();
    for (index, volume) in list(spec, "volumes").iter().enumerate() {
        let at = at.item(index);
        let mut sources = SOURCES.iter().filter(|source| volume.get(**source).is_some());
        if sources.next().is_none() {
            found.required(&at, "must specify a volume type");
        }
        for source in sources {
            found.forbidden(&at.child(source), "may not specify more than 1 volume type");
        }
        run(DETAILS, volume, &at, found);
        let name = text(volume, "name");
        let field = at.child("name");
        if name.is_empty() {
            found.required(&field, "");
            continue;
        }
        found.invalid_each(&field, name, names::dns_label(name));
        if !seen.insert(name) {
            found.duplicate(&field, name);
        }
    }
}

fn claim_template(source: &Value, at: &Field<'_>, found: &mut Findings) {
    if source.get("volumeClaimTemplate").is_none() {
        found.required(&at.child("volumeClaimTemplate"), "");
    }
}

pub(super) fn monitors(source: &Value, at: &Field<'_>, found: &mut Findings) {
    if list(source, "monitors").is_empty() {
        found.required(&at.child("monitors"), "");
    }
}

fn mode(source: &Value, at: &Field<'_>, found: &mut Findings) {
    permissions("defaultMode", source, at, found);
}

fn item_mode(item: &Value, at: &Field<'_>, found: &mut Findings) {
    permissions("mode", item, at, found);
}

fn permissions(field: &str, of: &Value, at: &Field<'_>, found: &mut Findings) {
    let mode = of.get(field).and_then(Value::as_i64);
    if let Some(mode) = mode.filter(|mode| !(0..=0o777).contains(mode)) {
        found.invalid(
            &at.child(field),
            mode,
            "must be a number between 0 and 0777 (octal), both inclusive",
        );
    }
}

/// The fields of the pod that files are made from; where they are among the items is not told.
fn downward_fields(source: &Value, at: &Field<'_>, found: &mut Findings) {
    for reference in list(source, "items").iter().filter_map(|item| item.get("fieldRef")) {
        variables::field_in_file(reference, &at.child("fieldRef"), found);
    }
}

fn absolute_path(source: &Value, at: &Field<'_>, found: &mut Findings) {
    let path = text(source, "path");
    if !path.starts_with('/') {
        found.invalid(&at.child("path"), path, "must be an absolute path");
    }
}

fn size_limit(source: &Value, at: &Field<'_>, found: &mut Findings) {
    if text(source, "sizeLimit").starts_with('-') {
        found.forbidden(
            &at.child("sizeLimit"),
            "SizeLimit field must be a valid resource quantity",
        );
    }
}

fn expiration(token: &Value, at: &Field<'_>, found: &mut Findings) {
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

pub(super) fn no_backsteps(source: &Value, at: &Field<'_>, found: &mut Findings) {
    let path = text(source, "path");
    if path.split('/').any(|part| part == "..") {
        found.invalid(&at.child("path"), path, "must not contain '..'");
    }
}

fn local_path(item: &Value, at: &Field<'_>, found: &mut Findings) {
    let path = text(item, "path");
    if path.starts_with('/') {
        found.invalid(&at.child("path"), path, "must be a relative path");
    }
    no_backsteps(item, at, found);
}

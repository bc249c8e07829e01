//! Volumes of a pod.

use std::collections::BTreeSet;

use baton_apimachinery::field::{ErrorList, FieldPath};
use baton_apimachinery::metadata::{self, names};
use serde_json::Value;

use super::projected::{self, DOWNWARD_ITEMS, ITEMS};
use crate::validation::ROOT;
use crate::validation::checks::Check::{Do, OneOf, Required};
use crate::validation::checks::{Check, list, members, run, text};
use crate::validation::storage::sources::{self, Source};
use crate::validation::storage::volume_claims;

/// The sources in the order in which they are looked at.
const SOURCES: &[Source] = &[
    Source::new("emptyDir", &[Do(size_limit)]),
    sources::HOST_PATH,
    Source::new("gitRepo", &[Required("repository"), Do(git_directory)]),
    sources::GCE_PERSISTENT_DISK,
    sources::AWS_ELASTIC_BLOCK_STORE,
    Source::new("secret", &[Required("secretName"), Do(projected::mode), ITEMS]),
    sources::NFS,
    sources::ISCSI,
    sources::GLUSTERFS,
    sources::FLOCKER,
    Source::new("persistentVolumeClaim", &[Required("claimName")]),
    sources::RBD,
    sources::CINDER,
    sources::CEPH_FS,
    sources::QUOBYTE,
    Source::new("downwardAPI", &[Do(projected::mode), DOWNWARD_ITEMS]).refused_as("downwarAPI"),
    sources::FC,
    sources::FLEX_VOLUME,
    Source::new("configMap", &[Required("name"), Do(projected::mode), ITEMS]),
    sources::AZURE_FILE,
    sources::VSPHERE_VOLUME,
    sources::PHOTON_PERSISTENT_DISK,
    sources::PORTWORX_VOLUME,
    sources::AZURE_DISK,
    sources::STORAGE_OS,
    Source::new("projected", &[Do(projected::mode), Do(projected::validate)]),
    sources::SCALE_IO,
    Source::new("csi", &[Do(sources::driver), Do(secret_of_driver)]),
    Source::new("ephemeral", &[Do(claim_template)]),
    Source::new("image", &[]),
];

/// What the volumes are of.
#[derive(Debug, Clone, Copy)]
enum Owner<'a> {
    /// A pod of this name.
    Pod(&'a str),
    /// A template of pods.
    Template,
}

impl Owner<'_> {
    /// The claim that is made for an ephemeral volume, if both names are known.
    fn claim(self, volume: &str) -> Option<String> {
        match self {
            Self::Pod(name) if !name.is_empty() => Some(format!("{name}-{volume}")),
            Self::Pod(_) | Self::Template => None,
        }
    }
}

/// Checks `volumes` of a pod.
pub(crate) fn of_pod(pod: &Value, found: &mut ErrorList) {
    let owner = Owner::Pod(baton_apimachinery::meta::name(pod).unwrap_or_default());
    if let Some(spec) = pod.get("spec") {
        validate(spec, owner, &ROOT.child("spec"), found);
    }
}

/// Checks `volumes` of the specification in a template of pods.
pub(crate) fn of_template(spec: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    validate(spec, Owner::Template, at, found);
}

fn validate(spec: &Value, owner: Owner<'_>, at: &FieldPath<'_>, found: &mut ErrorList) {
    let at = at.child("volumes");
    let volumes = list(spec, "volumes");
    let ephemeral = volumes.iter().filter(|volume| volume.get("ephemeral").is_some());
    let made: Vec<String> = ephemeral
        .filter_map(|volume| owner.claim(text(volume, "name")))
        .collect();
    let mut seen = BTreeSet::new();
    for (index, volume) in volumes.iter().enumerate() {
        let at = at.item(index);
        let before = found.len();
        self::volume(volume, owner, &at, found);
        let name = text(volume, "name");
        found.required_each(&at.child("name"), name, names::dns_label(name));
        if seen.contains(name) {
            found.duplicate(&at.child("name"), name);
        } else if found.len() == before {
            seen.insert(name);
        }
        if let Some(claim) = volume.get("persistentVolumeClaim") {
            let claim = text(claim, "claimName");
            if made.iter().any(|made| made == claim) {
                let detail = "must not reference a PVC that gets created for an ephemeral volume";
                found.invalid(&at.child("persistentVolumeClaim.claimName"), claim, detail);
            }
        }
    }
}

fn volume(volume: &Value, owner: Owner<'_>, at: &FieldPath<'_>, found: &mut ErrorList) {
    let name = text(volume, "name");
    let field = at.child("name");
    sources::validate(SOURCES, volume, at, found, |kind, source, found| match kind {
        "iscsi" if sources::is_iscsi_too_long(name, source) => {
            found.invalid(&field, name, sources::ISCSI_TOO_LONG);
        }
        "ephemeral" if !name.is_empty() => {
            let Some(claim) = owner.claim(name) else { return };
            for wrong in names::dns_subdomain(&claim) {
                found.invalid(&field, name, &format!("PVC name {claim:?}: {wrong}"));
            }
        }
        "image" => {
            // A template may leave the image to whoever fills it in.
            if let Owner::Pod(_) = owner {
                run(&[Required("reference")], source, &at.child("image"), found);
            }
            run(IMAGE, source, &at.child("image"), found);
        }
        _ => {}
    });
}

const IMAGE: &[Check] = &[OneOf("pullPolicy", &["Always", "IfNotPresent", "Never"])];

/// A token needs an account that it is of.
pub(crate) fn tokens(spec: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    if !text(spec, "serviceAccountName").is_empty() {
        return;
    }
    let at = at.child("volumes");
    for (index, volume) in list(spec, "volumes").iter().enumerate() {
        let at = at.item(index);
        let at = at.child("projected.sources");
        let sources = volume.get("projected").map(|projected| list(projected, "sources"));
        for (index, source) in sources.unwrap_or_default().iter().enumerate() {
            if source.get("serviceAccountToken").is_some() {
                let detail = "must not be specified when serviceAccountName is not set";
                found.forbidden(&at.item(index).child("serviceAccountToken"), detail);
            }
        }
    }
}

fn size_limit(source: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    if text(source, "sizeLimit").starts_with('-') {
        found.forbidden(
            &at.child("sizeLimit"),
            "SizeLimit field must be a valid resource quantity",
        );
    }
}

fn git_directory(source: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    sources::descending_path("directory", source, at, found);
}

/// The secret of a driver; a wrong name is told as one of the driver.
fn secret_of_driver(source: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let Some(secret) = source.get("nodePublishSecretRef") else {
        return;
    };
    match text(secret, "name") {
        "" => found.required(&at.child("nodePublishSecretRef.name"), ""),
        name => found.invalid_each(&at.child("name"), name, names::dns_subdomain(name)),
    }
}

/// What a claim cannot take from its template.
const OTHER_METADATA: &[&str] = &[
    "name",
    "generateName",
    "namespace",
    "selfLink",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "ownerReferences",
    "finalizers",
    "managedFields",
];

/// The template of a claim that lives as long as its pod.
fn claim_template(source: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let at = at.child("volumeClaimTemplate");
    let Some(template) = source.get("volumeClaimTemplate") else {
        found.required(&at, "");
        return;
    };
    let field = at.child("metadata");
    if let Some(metadata) = members(template, "metadata") {
        if let Some(annotations) = metadata.get("annotations").and_then(Value::as_object) {
            metadata::validate_annotations(annotations, &field.child("annotations"), found);
        }
        if let Some(labels) = metadata.get("labels").and_then(Value::as_object) {
            metadata::validate_labels(labels, &field.child("labels"), found);
        }
        for key in OTHER_METADATA.iter().filter(|key| metadata.contains_key(**key)) {
            let key = if *key == "uid" { "uID" } else { key };
            found.forbidden(&field.child(key), "cannot be set");
        }
    }
    volume_claims::claim(template, &at, found);
}

//! Warnings about volumes of pods, persistent volumes, and claims to them.

use baton_apimachinery::field::FieldPath;
use baton_apimachinery::meta;
use baton_apimachinery::quantity::{NANOS_OF_ONE, Quantity};
use serde_json::Value;

use super::{items, labels};

const CLASS: &str = "volume.beta.kubernetes.io/storage-class";
const MOUNT_OPTIONS: &str = "volume.beta.kubernetes.io/mount-options";
const OTHER_CLASS: &str = "deprecated since v1.8; use \"storageClassName\" attribute instead";
const OTHER_OPTIONS: &str = "deprecated since v1.31; use \"mountOptions\" attribute instead";

const SINCE_22: &str = "deprecated in v1.22, non-functional in v1.25+";
const SINCE_25: &str = "deprecated in v1.25, non-functional in v1.26+";
const SINCE_28: &str = "deprecated in v1.28, non-functional in v1.31+";
const SINCE_16: &str = "deprecated in v1.16, non-functional in v1.22+";
const SINCE_11: &str = "deprecated in v1.11, non-functional in v1.16+";

/// Sources, the names under which they are told, and what is told, in that order.
const OF_PODS: &[(&str, &str, &str)] = &[
    ("photonPersistentDisk", "photonPersistentDisk", SINCE_11),
    (
        "gitRepo",
        "gitRepo",
        "deprecated in v1.11, and disabled by default in v1.33+",
    ),
    ("scaleIO", "scaleIO", SINCE_16),
    ("flocker", "flocker", SINCE_22),
    ("storageos", "storageOS", SINCE_22),
    ("quobyte", "quobyte", SINCE_22),
    ("glusterfs", "glusterfs", SINCE_25),
    ("cephfs", "cephfs", SINCE_28),
    ("rbd", "rbd", SINCE_28),
];

/// The same of persistent volumes.
const PERSISTENT: &[(&str, &str, &str)] = &[
    ("cephfs", "cephfs", SINCE_28),
    ("photonPersistentDisk", "photonPersistentDisk", SINCE_11),
    ("scaleIO", "scaleIO", SINCE_16),
    ("storageos", "storageOS", SINCE_22),
    ("glusterfs", "glusterfs", SINCE_25),
    ("rbd", "rbd", SINCE_28),
];

fn deprecated(sources: &[(&str, &str, &str)], volume: &Value, at: &FieldPath<'_>, warnings: &mut Vec<String>) {
    for (source, told, detail) in sources {
        if volume.get(*source).is_some() {
            warnings.push(format!("{}: {detail}", at.child(told)));
        }
    }
}

/// Warns about the volumes of a pod's specification.
pub(super) fn of_pod(spec: &Value, at: &FieldPath<'_>, warnings: &mut Vec<String>) {
    let at = at.child("volumes");
    for (index, volume) in items(spec, "volumes").iter().enumerate() {
        let at = at.item(index);
        deprecated(OF_PODS, volume, &at, warnings);
        if let Some(spec) = volume.pointer("/ephemeral/volumeClaimTemplate/spec") {
            claimed(spec, &at.child("ephemeral.volumeClaimTemplate.spec"), warnings);
        }
    }
    for volume in items(spec, "volumes") {
        overlaps(volume, warnings);
    }
}

/// Warns about a persistent volume.
pub(super) fn persistent(volume: &Value, warnings: &mut Vec<String>) {
    annotations(
        volume,
        &[(CLASS, OTHER_CLASS), (MOUNT_OPTIONS, OTHER_OPTIONS)],
        warnings,
    );
    let Some(spec) = volume.get("spec") else { return };
    let at = FieldPath::Root.child("spec");
    if meta::text(spec, "persistentVolumeReclaimPolicy") == "Recycle" {
        let at = at.child("persistentVolumeReclaimPolicy");
        warnings.push(format!(
            "{at}: The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic \
             provisioning."
        ));
    }
    if let Some(required) = spec.pointer("/nodeAffinity/required") {
        let at = at.child("nodeAffinity.required.nodeSelectorTerms");
        for (index, term) in items(required, "nodeSelectorTerms").iter().enumerate() {
            labels::expressions(term, &at.item(index), warnings);
        }
    }
    deprecated(PERSISTENT, spec, &at, warnings);
}

/// Warns about a claim.
pub(super) fn claim(claim: &Value, warnings: &mut Vec<String>) {
    annotations(claim, &[(CLASS, OTHER_CLASS)], warnings);
    if let Some(spec) = claim.get("spec") {
        claimed(spec, &FieldPath::Root.child("spec"), warnings);
    }
}

/// Warns about the templates of claims of a stateful set.
pub(super) fn claim_templates(set: &Value, created: bool, warnings: &mut Vec<String>) {
    let Some(spec) = set.get("spec") else { return };
    let at = FieldPath::Root.child("spec.volumeClaimTemplates");
    for (index, template) in items(spec, "volumeClaimTemplates").iter().enumerate() {
        if let Some(spec) = template.get("spec") {
            // Where in the template it is is not told of a new set, and in other letters of any other one.
            let at = at.item(index);
            let inner = at.child("Spec");
            claimed(spec, if created { &at } else { &inner }, warnings);
        }
    }
}

/// Warns about where the volumes of a class may be.
pub(super) fn class(class: &Value, warnings: &mut Vec<String>) {
    let at = FieldPath::Root.child("allowedTopologies");
    for (index, term) in items(class, "allowedTopologies").iter().enumerate() {
        let at = at.item(index);
        let at = at.child("matchLabelExpressions");
        for (index, expression) in items(term, "matchLabelExpressions").iter().enumerate() {
            if let Some(detail) = labels::deprecated(meta::text(expression, "key")) {
                warnings.push(format!("{}: {detail}", at.item(index).child("key")));
            }
        }
    }
}

fn annotations(object: &Value, known: &[(&str, &str)], warnings: &mut Vec<String>) {
    for (key, detail) in known {
        if meta::annotation(object, key).is_some() {
            warnings.push(format!("metadata.annotations[{key}]: {detail}"));
        }
    }
}

/// Less than a byte is not to be had.
fn claimed(spec: &Value, at: &FieldPath<'_>, warnings: &mut Vec<String>) {
    let at = at.child("resources");
    for kind in ["requests", "limits"] {
        let size = spec
            .get("resources")
            .and_then(|resources| resources.get(kind)?.get("storage")?.as_str());
        let size = size.and_then(Quantity::parse);
        if let Some(size) = size.filter(|size| size.nanos() % NANOS_OF_ONE != 0) {
            let (at, size) = (at.child(kind), size.canonical());
            let at = at.key("storage");
            warnings.push(format!(
                "{at}: fractional byte value {size:?} is invalid, must be an integer"
            ));
        }
    }
}

/// A file of a volume, and what it is made from if that is told.
#[derive(Debug, Clone, PartialEq)]
struct Made {
    path: String,
    from: String,
}

impl Made {
    fn all(source: &Value, from: &str) -> Vec<Self> {
        items(source, "items")
            .iter()
            .map(|item| Self::new(meta::text(item, "path"), from))
            .collect()
    }

    fn new(path: &str, from: &str) -> Self {
        Self {
            path: path.trim_end_matches('/').to_owned(),
            from: from.to_owned(),
        }
    }

    /// Whether one is the other one, or in it.
    fn overlaps(&self, other: &Self) -> bool {
        let is_in = |inner: &str, outer: &str| format!("{inner}/").starts_with(&format!("{outer}/"));
        !self.path.is_empty()
            && !other.path.is_empty()
            && (is_in(&self.path, &other.path) || is_in(&other.path, &self.path))
    }

    fn told(&self) -> String {
        if self.from.is_empty() {
            format!("{:?}", self.path)
        } else {
            format!("{:?} ({})", self.path, self.from)
        }
    }
}

/// Files that stand where other files of the same volume stand.
fn overlaps(volume: &Value, warnings: &mut Vec<String>) {
    let name = meta::text(volume, "name");
    let mut tell = |of: &str, made: Vec<Made>| {
        for (index, one) in made.iter().enumerate() {
            for other in made.iter().take(index).filter(|other| one.overlaps(other)) {
                let (one, other) = (one.told(), other.told());
                warnings.push(format!("volume {name:?} ({of}): overlapping paths: {one} with {other}"));
            }
        }
    };
    if let Some(source) = volume.get("configMap") {
        let of = format!("ConfigMap {:?}", meta::text(source, "name"));
        tell(&of, Made::all(source, ""));
    }
    if let Some(source) = volume.get("secret") {
        let of = format!("Secret {:?}", meta::text(source, "secretName"));
        tell(&of, Made::all(source, ""));
    }
    if let Some(source) = volume.get("downwardAPI") {
        tell("DownwardAPI", Made::all(source, ""));
    }
    if let Some(source) = volume.get("projected") {
        let sources = items(source, "sources");
        tell("Projected", sources.iter().flat_map(projected).collect());
        let is_empty = |source: &&Value| source.as_object().is_some_and(serde_json::Map::is_empty);
        for _ in sources.iter().filter(is_empty) {
            warnings.push(format!("volume {name:?} (Projected) has no sources provided"));
        }
    }
}

/// The files of one source of a projected volume.
fn projected(source: &Value) -> Vec<Made> {
    for (kind, told) in [("configMap", "ConfigMap"), ("secret", "Secret")] {
        if let Some(named) = source.get(kind).filter(|named| named.get("items").is_some()) {
            return Made::all(named, &format!("{told} {:?}", meta::text(named, "name")));
        }
    }
    if let Some(downward) = source
        .get("downwardAPI")
        .filter(|downward| downward.get("items").is_some())
    {
        return Made::all(downward, "DownwardAPI");
    }
    match source.get("serviceAccountToken") {
        Some(token) => vec![Made::new(meta::text(token, "path"), "ServiceAccountToken")],
        None => Vec::new(),
    }
}

//! Sources of volumes: what those of pods and those of the cluster have in common, which is most of them.
//!
//! `volumes` and `persistent` list the sources of theirs in the order in which they are looked at.

use std::sync::LazyLock;

use baton_apimachinery::field::{ErrorList, FieldPath};
use baton_apimachinery::metadata::names;
use regex::Regex;
use serde_json::Value;

use crate::validation::checks::Check::{Do, In, Name, Named, OneOfIfSet, Required};
use crate::validation::checks::{Check, is_true, list, members, number, run, text};

/// One kind of source.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Source {
    /// Its field.
    pub(crate) field: &'static str,
    /// What its field is called where a volume has another source already.
    refused_as: &'static str,
    /// What its field is called where something in it is wrong.
    told_as: &'static str,
    /// Whether it may come after another one.
    is_tolerated: bool,
    checks: &'static [Check],
}

impl Source {
    /// A source with these checks of its fields.
    pub(in crate::validation) const fn new(field: &'static str, checks: &'static [Check]) -> Self {
        Self {
            field,
            refused_as: field,
            told_as: field,
            is_tolerated: false,
            checks,
        }
    }

    /// The same, with another name where it is one too many.
    pub(crate) const fn refused_as(self, name: &'static str) -> Self {
        Self {
            refused_as: name,
            ..self
        }
    }

    /// The same, with other checks.
    pub(in crate::validation) const fn with(self, checks: &'static [Check]) -> Self {
        Self { checks, ..self }
    }

    /// The same, never one too many.
    pub(crate) const fn tolerated(self) -> Self {
        Self {
            is_tolerated: true,
            ..self
        }
    }
}

/// Checks that a volume has one source, and the source. `more` sees the source that counts after its own checks.
pub(crate) fn validate(
    sources: &[Source],
    volume: &Value,
    at: &FieldPath<'_>,
    found: &mut ErrorList,
    more: impl Fn(&str, &Value, &mut ErrorList),
) {
    let mut has_one = false;
    for source in sources {
        let Some(given) = volume.get(source.field) else {
            continue;
        };
        if has_one && !source.is_tolerated {
            let field = at.child(source.refused_as);
            found.forbidden(&field, "may not specify more than 1 volume type");
            continue;
        }
        has_one = true;
        run(source.checks, given, &at.child(source.told_as), found);
        more(source.field, given, found);
    }
    if !has_one {
        found.required(at, "must specify a volume type");
    }
}

pub(crate) const HOST_PATH: Source = Source::new("hostPath", &[Do(host_path)]);
pub(crate) const GCE_PERSISTENT_DISK: Source = Source {
    told_as: "persistentDisk",
    ..Source::new("gcePersistentDisk", &[Required("pdName"), Do(partition)])
};
pub(crate) const AWS_ELASTIC_BLOCK_STORE: Source =
    Source::new("awsElasticBlockStore", &[Required("volumeID"), Do(partition)]);
pub(crate) const NFS: Source = Source::new("nfs", &[Required("server"), Required("path"), Do(absolute_path)]);
pub(crate) const FLOCKER: Source = Source::new("flocker", &[Do(flocker)]);
pub(crate) const RBD: Source = Source::new("rbd", &[Do(monitors), Required("image")]);
pub(crate) const CEPH_FS: Source = Source::new("cephfs", &[Do(monitors)]).refused_as("cephFS");
pub(crate) const QUOBYTE: Source = Source::new("quobyte", &[Do(quobyte)]);
pub(crate) const FC: Source = Source::new("fc", &[Do(fibre_channel)]);
pub(crate) const FLEX_VOLUME: Source = Source::new("flexVolume", &[Required("driver"), Do(flex_options)]);
pub(crate) const VSPHERE_VOLUME: Source = Source::new("vsphereVolume", &[Required("volumePath")]);
pub(crate) const PHOTON_PERSISTENT_DISK: Source = Source::new("photonPersistentDisk", &[Required("pdID")]);
pub(crate) const PORTWORX_VOLUME: Source = Source::new("portworxVolume", &[Required("volumeID")]);
pub(crate) const SCALE_IO: Source = Source::new(
    "scaleIO",
    &[Required("gateway"), Required("system"), Required("volumeName")],
);
pub(crate) const AZURE_DISK: Source = Source::new(
    "azureDisk",
    &[
        Required("diskName"),
        Required("diskURI"),
        OneOfIfSet("cachingMode", &["None", "ReadOnly", "ReadWrite"]),
        OneOfIfSet("kind", &["Dedicated", "Managed", "Shared"]),
        Do(disk_uri),
    ],
);

/// A secret in the namespace of what refers to it.
const SECRET: &[Check] = &[Required("name")];
/// A secret in any namespace.
const SECRET_ANYWHERE: &[Check] = &[Required("name"), Required("namespace")];

/// Sources whose secrets, endpoints and names are those of a pod's namespace.
pub(crate) const GLUSTERFS: Source = Source::new("glusterfs", &[Required("endpoints"), Required("path")]);
pub(crate) const CINDER: Source = Source::new("cinder", &[Required("volumeID"), In("secretRef", SECRET)]);
pub(crate) const AZURE_FILE: Source = Source::new("azureFile", &[Required("secretName"), Required("shareName")]);
pub(crate) const ISCSI: Source = Source::new("iscsi", &[Required("targetPortal"), Do(iscsi_of_pod)]);
pub(crate) const STORAGE_OS: Source = Source::new(
    "storageos",
    &[
        Name("volumeName", names::dns_label),
        Named("volumeNamespace", names::dns_label),
        In("secretRef", SECRET),
    ],
);

/// The same ones of a volume that belongs to no namespace.
pub(crate) const CLUSTER_GLUSTERFS: Source =
    GLUSTERFS.with(&[Required("endpoints"), Required("path"), Do(endpoints_namespace)]);
pub(crate) const CLUSTER_CINDER: Source = CINDER.with(&[Required("volumeID"), In("secretRef", SECRET_ANYWHERE)]);
pub(crate) const CLUSTER_AZURE_FILE: Source =
    AZURE_FILE.with(&[Required("secretName"), Required("shareName"), Do(secret_namespace)]);
pub(crate) const CLUSTER_ISCSI: Source = ISCSI.with(&[Required("targetPortal"), Do(iscsi_of_cluster)]);
pub(crate) const CLUSTER_STORAGE_OS: Source = STORAGE_OS.with(&[
    Name("volumeName", names::dns_label),
    Named("volumeNamespace", names::dns_label),
    In("secretRef", SECRET_ANYWHERE),
]);

/// What can be at the path of a host.
pub const HOST_PATH_TYPES: &[&str] = &[
    "",
    "BlockDevice",
    "CharDevice",
    "Directory",
    "DirectoryOrCreate",
    "File",
    "FileOrCreate",
    "Socket",
];

fn host_path(source: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    if text(source, "path").is_empty() {
        found.required(&at.child("path"), "");
        return;
    }
    no_backsteps("path", source, at, found);
    run(&[OneOfIfSet("type", HOST_PATH_TYPES)], source, at, found);
}

/// `must not contain '..'`.
pub(crate) fn no_backsteps(field: &str, source: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let path = text(source, field);
    if path.split('/').any(|part| part == "..") {
        found.invalid(&at.child(field), path, "must not contain '..'");
    }
}

/// A path that stays where it begins.
pub(crate) fn descending_path(field: &str, source: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let path = text(source, field);
    if path.starts_with('/') {
        found.invalid(&at.child(field), path, "must be a relative path");
    }
    no_backsteps(field, source, at, found);
}

/// A [`descending_path`] that cannot be taken for one of the node's own files.
pub(crate) fn local_path(field: &str, source: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    descending_path(field, source, at, found);
    let path = text(source, field);
    if path.starts_with("..") && !path.starts_with("../") {
        found.invalid(&at.child(field), path, "must not start with '..'");
    }
}

fn absolute_path(source: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let path = text(source, "path");
    if !path.starts_with('/') {
        found.invalid(&at.child("path"), path, "must be an absolute path");
    }
}

/// None is a partition as well, though it is not said so.
fn partition(source: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let partition = number(source, "partition");
    if !(0..=255).contains(&partition) {
        let detail = "must be between 1 and 255, inclusive";
        found.invalid(&at.child("partition"), partition, detail);
    }
}

fn unit(source: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let unit = number(source, "lun");
    if !(0..=255).contains(&unit) {
        found.invalid(&at.child("lun"), unit, "must be between 0 and 255, inclusive");
    }
}

fn flocker(source: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let (name, id) = (text(source, "datasetName"), text(source, "datasetUUID"));
    match (name.is_empty(), id.is_empty()) {
        (true, true) => found.required(at, "one of datasetName and datasetUUID is required"),
        (false, false) => {
            let detail = "datasetName and datasetUUID can not be specified simultaneously";
            found.invalid(at, "resource", detail);
        }
        (true, false) | (false, true) => {}
    }
    if name.contains('/') {
        found.invalid(&at.child("datasetName"), name, "must not contain '/'");
    }
}

fn monitors(source: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    if list(source, "monitors").is_empty() {
        found.required(&at.child("monitors"), "");
    }
}

fn quobyte(source: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    const MAX_TENANT: usize = 64;
    let detail = "must be a host:port pair or multiple pairs separated by commas";
    let registry = text(source, "registry");
    let field = at.child("registry");
    if registry.is_empty() {
        found.required(&field, detail);
    } else if text(source, "tenant").len() > MAX_TENANT {
        let detail = "must be a UUID and may not exceed a length of 64 characters";
        found.required(&at.child("tenant"), detail);
    } else {
        for _ in registry.split(',').filter(|pair| !is_host_and_port(pair)) {
            found.invalid(&field, registry, detail);
        }
    }
    run(&[Required("volume")], source, at, found);
}

/// Whether a text is `host:port` or `[host]:port`; neither has to be anything.
fn is_host_and_port(text: &str) -> bool {
    let Some((host, port)) = text.rsplit_once(':') else {
        return false;
    };
    let host = match host.strip_prefix('[') {
        Some(inner) => inner.strip_suffix(']'),
        None => Some(host).filter(|host| !host.contains(':')),
    };
    let has_brackets = |text: &str| text.contains(['[', ']']);
    host.is_some_and(|host| !has_brackets(host)) && !has_brackets(port)
}

fn fibre_channel(source: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
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
        if source.get("lun").is_none() {
            found.required(&at.child("lun"), "lun is required if targetWWNs is specified");
        }
        unit(source, at, found);
    }
}

fn flex_options(source: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let at = at.child("options");
    for key in members(source, "options").into_iter().flatten().map(|(key, _)| key) {
        let domain = key.split('/').next().unwrap_or_default();
        let domain = format!(".{}", domain.to_lowercase());
        if domain.ends_with(".kubernetes.io") || domain.ends_with(".k8s.io") {
            let detail = "kubernetes.io and k8s.io namespaces are reserved";
            found.invalid(&at.key(key), key.as_str(), detail);
        }
    }
}

fn disk_uri(source: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let Some(kind) = source.get("kind") else { return };
    let (start, wanted) = if kind == "Managed" {
        (
            "/subscriptions/",
            "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}",
        )
    } else {
        (
            "https://",
            "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd",
        )
    };
    let uri = text(source, "diskURI");
    if !uri.starts_with(start) {
        found.not_supported(&at.child("diskURI"), uri, &[wanted]);
    }
}

fn endpoints_namespace(source: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let at = at.child("endpointsNamespace");
    match source.get("endpointsNamespace").and_then(Value::as_str) {
        Some("") => {
            let detail = "if the endpointnamespace is set, it must be a valid namespace name";
            found.invalid(&at, "", detail);
        }
        Some(namespace) => found.invalid_each(&at, namespace, names::dns_label(namespace)),
        None => {}
    }
}

fn secret_namespace(source: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    if source.get("secretNamespace").is_some_and(|namespace| namespace == "") {
        found.required(&at.child("secretNamespace"), "");
    }
}

fn iscsi_of_pod(source: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let detail = "must be valid format starting with iqn, eui, or naa";
    target(source, at, detail, found);
    initiator(source, at, detail, found);
}

fn iscsi_of_cluster(source: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    target(source, at, INVALID_FORMAT, found);
    run(&[In("secretRef", SECRET)], source, at, found);
    initiator(source, at, INVALID_FORMAT, found);
}

const INVALID_FORMAT: &str = "must be valid format";

/// Name, unit and secret of what is reached.
fn target(source: &Value, at: &FieldPath<'_>, unknown: &str, found: &mut ErrorList) {
    let name = text(source, "iqn");
    if name.is_empty() {
        found.required(&at.child("iqn"), "");
    } else {
        iscsi_name(name, &at.child("iqn"), unknown, found);
    }
    unit(source, at, found);
    let is_secret = is_true(source, "chapAuthDiscovery") || is_true(source, "chapAuthSession");
    if is_secret && source.get("secretRef").is_none() {
        found.required(&at.child("secretRef"), "");
    }
}

/// The name of who reaches it.
fn initiator(source: &Value, at: &FieldPath<'_>, unknown: &str, found: &mut ErrorList) {
    if let Some(name) = source.get("initiatorName").and_then(Value::as_str) {
        iscsi_name(name, &at.child("initiatorname"), unknown, found);
    }
}

/// A name of one of three sorts; `unknown` is what is said of any other.
fn iscsi_name(name: &str, at: &FieldPath<'_>, unknown: &str, found: &mut ErrorList) {
    static NAME: LazyLock<Option<Regex>> = LazyLock::new(|| {
        let qualified = r"iqn\.[0-9]{4}-[0-9]{2}\.[A-Za-z0-9.-]+:[^,;*&$|\t\n\x0c\r ]+$";
        let numbered = r"^eui.[A-Za-z0-9]{16}$|^naa.[A-Za-z0-9]{32}$";
        Regex::new(&format!("{qualified}|{numbered}")).ok()
    });
    if !["iqn", "eui", "naa"].iter().any(|sort| name.starts_with(sort)) {
        found.invalid(at, name, unknown);
    } else if !NAME.as_ref().is_some_and(|rule| rule.is_match(name)) {
        found.invalid(at, name, INVALID_FORMAT);
    }
}

/// Whether a volume of this name cannot be reached by an initiator with a name.
pub(crate) fn is_iscsi_too_long(volume: &str, source: &Value) -> bool {
    const MAX: usize = 64;
    source.get("initiatorName").is_some() && volume.len() + 1 + text(source, "targetPortal").len() > MAX
}

/// What is said if [`is_iscsi_too_long`].
pub(crate) const ISCSI_TOO_LONG: &str = "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if \
    iscsi.initiatorName is specified.";

/// The name of a driver.
pub(crate) fn driver_name(name: &str, at: &FieldPath<'_>, found: &mut ErrorList) {
    const MAX: usize = 63;
    if name.len() > MAX {
        found.too_long(at, MAX);
    }
    found.required_each(at, name, names::dns_subdomain(&name.to_lowercase()));
}

/// [`driver_name`] of a source.
pub(crate) fn driver(source: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    driver_name(text(source, "driver"), &at.child("driver"), found);
}

//! Resources that custom resource definitions add.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use baton_apikinds::resources::storage_version_hash;
use baton_apimachinery::meta;
use baton_apimachinery::schema::Schema;
use baton_apimachinery::schema::crd::deprecation_warning;
use baton_apimachinery::schema::crd::scale::ScalePaths;
use serde_json::Value;

use super::{Group, Origin, Resource, Subresource, Version};
use crate::conversion::Converter;
use crate::store::Store;

const VERBS: [&str; 8] = [
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "create",
    "update",
    "watch",
];

/// One version of a definition: the rules for its objects.
#[derive(Debug)]
pub(crate) struct CustomVersion {
    /// Name of the definition.
    pub(crate) definition: String,
    /// The entry of `spec.versions`.
    pub(crate) spec: Value,
    pub(crate) schema: Option<Schema>,
    /// The schema of the storage version.
    pub(crate) storage_schema: Option<Schema>,
    /// The webhook that converts its objects; `None` if conversion only changes the `apiVersion`.
    pub(crate) converter: Option<Arc<Converter>>,
    /// The revision of the definition's last change after its creation, or 0.
    pub(crate) changed: u64,
    pub(crate) scale: Option<ScalePaths>,
    pub(crate) has_status: bool,
    /// Warning to send with every answer of this version.
    pub(crate) deprecation: Option<String>,
}

/// Returns `true` if a condition of a definition is true.
pub(crate) fn condition_is_true(definition: &Value, condition: &str) -> bool {
    meta::at(definition, &["status", "conditions"])
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .any(|each| {
            each.get("type").and_then(Value::as_str) == Some(condition)
                && each.get("status").and_then(Value::as_str) == Some("True")
        })
}

/// Compiled resources of definitions, by their keys (`key_of`).
pub(super) type Compiled = BTreeMap<String, Vec<Arc<Resource>>>;

/// Adds the resources of every established definition; reuses those in `before`. Returns the resources in use now.
pub(super) fn add<'a>(
    store: &Store,
    groups: &mut Vec<Group>,
    definitions: impl Iterator<Item = &'a Value>,
    before: &Compiled,
) -> Compiled {
    let mut compiled = Compiled::new();
    for definition in definitions.filter(|definition| condition_is_true(definition, "Established")) {
        let key = key_of(definition);
        let resources = before
            .get(&key)
            .cloned()
            .unwrap_or_else(|| resources(store, definition));
        for resource in &resources {
            insert(groups, resource.clone());
        }
        compiled.insert(key, resources);
    }
    for group in groups {
        if group
            .versions
            .iter()
            .flat_map(|version| &version.resources)
            .any(|resource| resource.custom().is_some())
        {
            group.versions.sort_by(|a, b| compare_versions(&a.name, &b.name));
        }
    }
    compiled
}

/// Returns the key of a definition's resources: they depend on its specification and its accepted names.
fn key_of(definition: &Value) -> String {
    let uid = meta::uid(definition).unwrap_or_default();
    let generation = meta::at(definition, &["metadata", "generation"])
        .and_then(Value::as_u64)
        .unwrap_or_default();
    let names = meta::at(definition, &["status", "acceptedNames"]).unwrap_or(&Value::Null);
    format!("{uid} {generation} {names}")
}

/// Returns the resources of the served versions.
fn resources(store: &Store, definition: &Value) -> Vec<Arc<Resource>> {
    let versions = meta::at(definition, &["spec", "versions"]).and_then(Value::as_array);
    let served = versions
        .into_iter()
        .flatten()
        .filter(|version| version.get("served").and_then(Value::as_bool) == Some(true));
    let converter = meta::at(definition, &["spec", "conversion"]).and_then(Converter::read);
    let converter = converter.map(Arc::new);
    served
        .filter_map(|version| resource(store, definition, version, converter.as_ref()).map(Arc::new))
        .collect()
}

fn insert(groups: &mut Vec<Group>, resource: Arc<Resource>) {
    let index = groups
        .iter()
        .position(|group| group.name == resource.group)
        .unwrap_or_else(|| {
            groups.push(Group {
                name: resource.group.clone(),
                versions: Vec::new(),
            });
            groups.len() - 1
        });
    let versions = &mut groups[index].versions;
    let index = versions
        .iter()
        .position(|version| version.name == resource.version)
        .unwrap_or_else(|| {
            versions.push(Version {
                name: resource.version.clone(),
                resources: Vec::new(),
            });
            versions.len() - 1
        });
    let resources = &mut versions[index].resources;
    let place = resources.partition_point(|each| each.plural < resource.plural);
    resources.insert(place, resource);
}

fn resource(
    store: &Store,
    definition: &Value,
    version: &Value,
    converter: Option<&Arc<Converter>>,
) -> Option<Resource> {
    let spec = definition.get("spec")?;
    let names = meta::at(definition, &["status", "acceptedNames"]).or_else(|| spec.get("names"))?;
    let group = meta::str_at(spec, &["group"])?.to_owned();
    let name = meta::str_at(version, &["name"])?.to_owned();
    let plural = meta::str_at(names, &["plural"])?.to_owned();
    let kind = meta::str_at(names, &["kind"])?.to_owned();
    let text = |key: &str| meta::str_at(names, &[key]).map(str::to_owned);
    let texts = |key: &str| -> Vec<String> {
        let list = names.get(key).and_then(Value::as_array);
        list.into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect()
    };
    let storage = spec
        .get("versions")?
        .as_array()?
        .iter()
        .find(|version| version.get("storage").and_then(Value::as_bool) == Some(true))?;
    let has_status = meta::at(version, &["subresources", "status"]).is_some();
    let open_api = meta::at(version, &["schema", "openAPIV3Schema"]);
    let schema = open_api.map(Schema::build);
    let storage_schema = if storage == version {
        schema.clone()
    } else {
        meta::at(storage, &["schema", "openAPIV3Schema"]).map(Schema::build)
    };
    let custom = CustomVersion {
        definition: meta::name(definition)?.to_owned(),
        spec: version.clone(),
        has_status,
        scale: ScalePaths::of_version(version),
        schema,
        storage_schema,
        converter: converter.cloned(),
        changed: changed(definition),
        deprecation: deprecation_warning(spec, version),
    };
    Some(Resource {
        api_version: format!("{group}/{name}"),
        list_kind: text("listKind").unwrap_or_else(|| format!("{kind}List")),
        singular: text("singular").unwrap_or_else(|| kind.to_lowercase()),
        short_names: texts("shortNames"),
        categories: texts("categories"),
        namespaced: meta::str_at(spec, &["scope"]) == Some("Namespaced"),
        verbs: VERBS.iter().map(|verb| (*verb).to_owned()).collect(),
        subresources: subresources(&group, &name, &kind, &custom),
        bucket: store.bucket(&group, &plural),
        storage_api_version: format!("{group}/{}", meta::str_at(storage, &["name"])?),
        storage_version_hash: Some(storage_version_hash(&group, meta::str_at(storage, &["name"])?, &kind)),
        origin: Origin::Custom(custom),
        types: OnceLock::new(),
        version: name,
        group,
        kind,
        plural,
    })
}

fn changed(definition: &Value) -> u64 {
    let generation = meta::at(definition, &["metadata", "generation"])
        .and_then(Value::as_u64)
        .unwrap_or(1);
    let revision = meta::resource_version(definition).and_then(|version| version.parse().ok());
    if generation > 1 {
        revision.unwrap_or_default()
    } else {
        0
    }
}

fn subresources(group: &str, version: &str, kind: &str, custom: &CustomVersion) -> Vec<Subresource> {
    let verbs: Vec<String> = ["get", "patch", "update"].map(str::to_owned).to_vec();
    let mut subresources = Vec::new();
    if custom.has_status {
        subresources.push(Subresource {
            name: "status".to_owned(),
            group: group.to_owned(),
            version: version.to_owned(),
            kind: kind.to_owned(),
            verbs: verbs.clone(),
        });
    }
    if custom.scale.is_some() {
        subresources.push(Subresource {
            name: "scale".to_owned(),
            group: "autoscaling".to_owned(),
            version: "v1".to_owned(),
            kind: "Scale".to_owned(),
            verbs,
        });
    }
    subresources
}

/// Compares versions by preference: stable before beta before alpha, higher numbers first, other names last by
/// alphabet.
pub(crate) fn compare_versions(a: &str, b: &str) -> Ordering {
    match (parse_version(a), parse_version(b)) {
        (Some(a), Some(b)) => b.cmp(&a),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => a.cmp(b),
    }
}

/// Returns (stability, major, minor) of `v1`, `v2beta3` and the like.
fn parse_version(version: &str) -> Option<(u8, u64, u64)> {
    let rest = version.strip_prefix('v')?;
    let split = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let (major, rest) = rest.split_at(split);
    let major = major.parse().ok()?;
    if rest.is_empty() {
        return Some((2, major, 0));
    }
    let (stability, minor) = match (rest.strip_prefix("beta"), rest.strip_prefix("alpha")) {
        (Some(minor), _) => (1, minor),
        (None, Some(minor)) => (0, minor),
        (None, None) => return None,
    };
    Some((stability, major, minor.parse().ok()?))
}

//! The kinds that are served in more than one group or version: in which they are stored, and how the objects of one
//! become those of another.

mod events;

use baton_apimachinery::meta;
use serde_json::Value;

use crate::resources::{self, Resource};
use crate::{codec, defaults};

/// A kind in several groups or versions.
struct Family {
    kind: &'static str,
    groups: &'static [&'static str],
    /// Group and version in which its objects are stored.
    storage: (&'static str, &'static str),
    /// Makes an object one of another `apiVersion`.
    convert: fn(&Value, &str) -> Value,
}

const FAMILIES: &[Family] = &[Family {
    kind: "Event",
    groups: &["", "events.k8s.io"],
    storage: ("", "v1"),
    convert: events::convert,
}];

fn family(group: &str, kind: &str) -> Option<&'static Family> {
    let mut families = FAMILIES.iter();
    families.find(|family| family.kind == kind && family.groups.contains(&group))
}

/// Group and version in which a kind is stored.
pub fn storage(resource: &Resource) -> (&'static str, &'static str) {
    family(resource.group, resource.kind).map_or((resource.group, resource.version), |family| family.storage)
}

/// The `storageVersionHash` of discovery; `None` for what is not stored.
pub fn storage_version_hash(resource: &Resource) -> Option<String> {
    resource.stored.then(|| {
        let (group, version) = storage(resource);
        resources::storage_version_hash(group, version, resource.kind)
    })
}

/// An object in another `apiVersion` of its kind.
pub fn convert(object: &Value, api_version: &str) -> Value {
    let text = |key: &str| meta::text(object, key);
    if text("apiVersion") == api_version {
        return object.clone();
    }
    let group = text("apiVersion").split_once('/').map_or("", |(group, _)| group);
    family(group, text("kind")).map_or_else(|| object.clone(), |family| (family.convert)(object, api_version))
}

/// Brings an object that was read into the form of its kind: types checked, unknown fields dropped, defaults filled in.
///
/// # Errors
/// The decoder's own words, as those of [`codec::decode`].
pub fn decode(resource: &Resource, object: &mut Value) -> Result<(), String> {
    codec::decode(resource.group, resource.version, resource.kind, object)?;
    defaults::default(resource.group, resource.kind, object);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_of_the_real_server() {
        let config_maps = resources::by_plural("", "v1", "configmaps").and_then(storage_version_hash);
        assert_eq!(config_maps.as_deref(), Some("qFsyl6wFWjQ="));
        let deployments = resources::by_kind("apps", "v1", "Deployment").and_then(storage_version_hash);
        assert_eq!(deployments.as_deref(), Some("8aSe+NMegvE="));
    }
}

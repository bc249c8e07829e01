//! Conversion of Events, the only kind that is served in two groups.

mod events;

use baton_apimachinery::meta;
use serde_json::Value;

use crate::codec::DecodeError;
use crate::resources::{self, Resource};
use crate::{codec, defaults};

/// Returns `true` for Events.
fn is_event(group: &str, kind: &str) -> bool {
    kind == "Event" && matches!(group, "" | "events.k8s.io")
}

/// Returns the group and version in which a kind is stored.
pub fn storage(resource: &Resource) -> (&'static str, &'static str) {
    if is_event(resource.group, resource.kind) {
        ("", "v1")
    } else {
        (resource.group, resource.version)
    }
}

/// Returns the `storageVersionHash` of discovery; `None` for a kind that is not stored.
pub fn storage_version_hash(resource: &Resource) -> Option<String> {
    resource.stored.then(|| {
        let (group, version) = storage(resource);
        resources::storage_version_hash(group, version, resource.kind)
    })
}

/// Returns an object in another `apiVersion` of its kind.
pub fn convert(object: &Value, api_version: &str) -> Value {
    let text = |key: &str| meta::text(object, key);
    if text("apiVersion") == api_version {
        return object.clone();
    }
    let group = text("apiVersion").split_once('/').map_or("", |(group, _)| group);
    if is_event(group, text("kind")) {
        events::convert(object, api_version)
    } else {
        object.clone()
    }
}

/// Converts an object to the form of its kind: types checked, unknown fields dropped, defaults set.
///
/// # Errors
/// Those of [`codec::decode`].
pub fn decode(resource: &Resource, object: &mut Value) -> Result<(), DecodeError> {
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

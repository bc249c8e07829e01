//! The built-in resources in the registry.

use std::sync::{Arc, OnceLock};

use baton_apikinds::{resources, versions};

use super::{Group, Origin, Resource, Subresource, Version};
use crate::store::Store;

/// Returns the groups in the order of discovery.
pub(super) fn groups(store: &Store) -> Vec<Group> {
    let version = |version: &'static resources::Version| Version {
        name: version.name.to_owned(),
        resources: version
            .resources
            .iter()
            .map(|entry| Arc::new(resource(store, entry)))
            .collect(),
    };
    resources::GROUPS
        .iter()
        .map(|group| Group {
            name: group.name.to_owned(),
            versions: group.versions.iter().map(version).collect(),
        })
        .collect()
}

fn owned(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

fn resource(store: &Store, entry: &'static resources::Resource) -> Resource {
    let (group, version) = versions::storage(entry);
    Resource {
        group: entry.group.to_owned(),
        version: entry.version.to_owned(),
        api_version: entry.api_version(),
        kind: entry.kind.to_owned(),
        list_kind: entry.list_kind(),
        plural: entry.plural.to_owned(),
        singular: entry.singular.to_owned(),
        short_names: owned(&entry.short_names),
        categories: owned(&entry.categories),
        namespaced: entry.namespaced,
        verbs: owned(&entry.verbs),
        subresources: entry.subresources.iter().map(|each| subresource(entry, each)).collect(),
        bucket: store.bucket(group, entry.plural),
        storage_api_version: resources::api_version(group, version),
        storage_version_hash: versions::storage_version_hash(entry),
        origin: Origin::Builtin(entry),
        types: OnceLock::new(),
    }
}

fn subresource(of: &resources::Resource, entry: &resources::Subresource) -> Subresource {
    let (group, version, kind) = entry.speaks(of);
    Subresource {
        name: entry.name.to_owned(),
        group: group.to_owned(),
        version: version.to_owned(),
        kind: kind.to_owned(),
        verbs: owned(&entry.verbs),
    }
}

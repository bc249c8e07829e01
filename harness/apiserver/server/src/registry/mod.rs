//! The served resources: the built-in ones and those of custom resource definitions.
//!
//! Requests read an immutable [`Catalogue`]; a changed definition replaces it as a whole.

mod builtins;
pub(crate) mod custom;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};

use baton_apikinds::resources;
use baton_apikinds::types;
use baton_apimachinery::merge::types::TypeModel;
use baton_apimachinery::meta;
use serde_json::Value;

use crate::conversion::Converter;
use crate::store::{BucketId, Store};

/// A resource in one served version.
#[derive(Debug)]
pub(crate) struct Resource {
    pub(crate) group: String,
    pub(crate) version: String,
    /// `apps/v1`, `v1`.
    pub(crate) api_version: String,
    pub(crate) kind: String,
    pub(crate) list_kind: String,
    pub(crate) plural: String,
    pub(crate) singular: String,
    pub(crate) short_names: Vec<String>,
    pub(crate) categories: Vec<String>,
    pub(crate) namespaced: bool,
    pub(crate) verbs: Vec<String>,
    pub(crate) subresources: Vec<Subresource>,
    pub(crate) bucket: BucketId,
    /// The `apiVersion` that objects are stored with.
    pub(crate) storage_api_version: String,
    /// The hash of that version in discovery; clients only compare it.
    pub(crate) storage_version_hash: Option<String>,
    pub(crate) origin: Origin,
    /// Its types, made on first use.
    pub(crate) types: OnceLock<Arc<TypeModel>>,
}

/// A subresource and the kind of its body.
#[derive(Debug)]
pub(crate) struct Subresource {
    pub(crate) name: String,
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) kind: String,
    pub(crate) verbs: Vec<String>,
}

/// The source of a resource.
#[derive(Debug)]
pub(crate) enum Origin {
    Builtin(&'static resources::Resource),
    Custom(custom::CustomVersion),
}

impl Resource {
    pub(crate) fn subresource(&self, name: &str) -> Option<&Subresource> {
        self.subresources.iter().find(|subresource| subresource.name == name)
    }

    pub(crate) fn allows(&self, verb: &str) -> bool {
        self.verbs.iter().any(|each| each == verb)
    }

    pub(crate) fn custom(&self) -> Option<&custom::CustomVersion> {
        match &self.origin {
            Origin::Builtin(_) => None,
            Origin::Custom(custom) => Some(custom),
        }
    }

    /// Returns the webhook that converts its objects between versions.
    pub(crate) fn converter(&self) -> Option<&Arc<Converter>> {
        self.custom()?.converter.as_ref()
    }

    /// Returns the types of its objects.
    pub(crate) fn model(&self) -> &Arc<TypeModel> {
        self.types.get_or_init(|| match &self.origin {
            Origin::Builtin(entry) => {
                types::builtin(entry.group, entry.version, entry.kind).unwrap_or_else(TypeModel::deduced)
            }
            Origin::Custom(custom) => match meta::at(&custom.spec, &["schema", "openAPIV3Schema"]) {
                Some(schema) => types::custom(schema, custom.has_status),
                None => TypeModel::deduced(),
            },
        })
    }

    /// Returns `true` if its objects are stored, not only answered.
    pub(crate) fn is_stored(&self) -> bool {
        match &self.origin {
            Origin::Builtin(entry) => entry.stored,
            Origin::Custom(_) => true,
        }
    }

    /// Returns `true` if it is this built-in resource.
    pub(crate) fn is(&self, group: &str, plural: &str) -> bool {
        self.group == group && self.plural == plural && matches!(self.origin, Origin::Builtin(_))
    }
}

/// A version of a group, its resources in order of plural.
#[derive(Debug, Clone)]
pub(crate) struct Version {
    pub(crate) name: String,
    pub(crate) resources: Vec<Arc<Resource>>,
}

/// A group, its versions in order of preference.
#[derive(Debug, Clone)]
pub(crate) struct Group {
    pub(crate) name: String,
    pub(crate) versions: Vec<Version>,
}

/// All served resources at one moment.
#[derive(Debug, Default)]
pub(crate) struct Catalogue {
    /// In the order of discovery; the first is the core group.
    pub(crate) groups: Vec<Group>,
    by_path: BTreeMap<String, Arc<Resource>>,
}

impl Catalogue {
    fn new(groups: Vec<Group>) -> Self {
        let mut by_path = BTreeMap::new();
        for resource in groups
            .iter()
            .flat_map(|group| &group.versions)
            .flat_map(|version| &version.resources)
        {
            by_path.insert(
                path_of(&resource.group, &resource.version, &resource.plural),
                resource.clone(),
            );
        }
        Self { groups, by_path }
    }

    /// Returns the resource of an `apiVersion` and a kind.
    pub(crate) fn of_kind(&self, api_version: &str, kind: &str) -> Option<&Arc<Resource>> {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let version = self.version(group, version)?;
        version.resources.iter().find(|resource| resource.kind == kind)
    }

    pub(crate) fn find(&self, group: &str, version: &str, plural: &str) -> Option<&Arc<Resource>> {
        self.by_path.get(&path_of(group, version, plural))
    }

    pub(crate) fn group(&self, name: &str) -> Option<&Group> {
        self.groups.iter().find(|group| group.name == name)
    }

    pub(crate) fn version(&self, group: &str, version: &str) -> Option<&Version> {
        self.group(group)?.versions.iter().find(|each| each.name == version)
    }

    /// Returns every resource once, in its preferred version.
    pub(crate) fn stored(&self) -> impl Iterator<Item = &Arc<Resource>> {
        let mut seen = std::collections::BTreeSet::new();
        self.groups
            .iter()
            .flat_map(|group| &group.versions)
            .flat_map(|version| &version.resources)
            .filter(|resource| resource.allows("list"))
            .filter(move |resource| seen.insert(resource.bucket))
    }

    /// Returns the resource of a definition, in its preferred version.
    pub(crate) fn of_definition(&self, name: &str) -> Option<&Arc<Resource>> {
        self.stored()
            .find(|resource| resource.custom().is_some_and(|custom| custom.definition == name))
    }

    /// Returns the resource of a bucket.
    pub(crate) fn of_bucket(&self, bucket: BucketId) -> Option<&Arc<Resource>> {
        self.stored().find(|resource| resource.bucket == bucket)
    }
}

/// Reports whether a group is built in.
pub(crate) fn is_built_in(group: &str) -> bool {
    resources::GROUPS.iter().any(|each| each.name == group)
}

fn path_of(group: &str, version: &str, plural: &str) -> String {
    format!("{group}/{version}/{plural}")
}

/// The current [`Catalogue`] and the compiled definitions.
pub(crate) struct Registry {
    builtin: Vec<Group>,
    current: RwLock<Arc<Catalogue>>,
    compiled: Mutex<custom::Compiled>,
}

impl Registry {
    pub(crate) fn new(store: &Store) -> Self {
        let builtin = builtins::groups(store);
        let catalogue = Catalogue::new(builtin.clone());
        Self {
            builtin,
            current: RwLock::new(Arc::new(catalogue)),
            compiled: Mutex::default(),
        }
    }

    pub(crate) fn current(&self) -> Arc<Catalogue> {
        self.current.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Replaces the custom resources by those of these definitions.
    pub(crate) fn rebuild<'a>(&self, store: &Store, definitions: impl Iterator<Item = &'a Value>) {
        let mut groups = self.builtin.clone();
        let mut compiled = self.compiled.lock().unwrap_or_else(PoisonError::into_inner);
        *compiled = custom::add(store, &mut groups, definitions, &compiled);
        let catalogue = Arc::new(Catalogue::new(groups));
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = catalogue;
    }
}

//! What is known of all clusters, and which keys a change concerns.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use baton_decide::api::{Binding, Cluster, ClusterTaintPolicy, Customization, Policy, Resource, Work};
use baton_decide::interpret;
use baton_decide::keys::{self, Gvk, ObjectKey, TemplateKey};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::compact::{CompactObject, RecentObjects};
use crate::queue::{Key, Urgency};
use crate::source::{Scope, Source};
use crate::table::{Sight, Table, Version};

mod affected;
mod dependencies;
mod unconfirmed;

pub use unconfirmed::Unconfirmed;

use dependencies::requirer;

use affected::{affected_by_binding, affected_by_object, affected_by_template, version_of};

/// Everything that is known.
#[derive(Debug, Default)]
pub struct Cache {
    policies: BTreeMap<Scope, Table<Policy>>,
    bindings: BTreeMap<Scope, Table<CompactObject<Binding>>>,
    /// Bindings that want what their resource depends on to follow it, with that resource.
    asking: BTreeMap<ObjectKey, TemplateKey>,
    /// Bindings that others require: their resource, and those others.
    required: BTreeMap<ObjectKey, (TemplateKey, BTreeSet<ObjectKey>)>,
    works: Table<CompactObject<Work>>,
    works_of: BTreeMap<ObjectKey, BTreeSet<ObjectKey>>,
    clusters: Table<Cluster>,
    /// The clusters by name, in a map that readers share.
    by_name: Arc<BTreeMap<String, Arc<Cluster>>>,
    taint_policies: Table<ClusterTaintPolicy>,
    customizations: Table<Customization>,
    templates: BTreeMap<Gvk, Table<CompactObject<Value>>>,
    /// Kinds that policies select or bindings refer to, and that are not watched yet.
    new_kinds: BTreeSet<Gvk>,
    objects: BTreeMap<String, BTreeMap<Gvk, Table<CompactObject<Value>>>>,
    recent: Arc<RecentObjects>,
    /// Objects seen only in a write response during a relist; confirmed with GET, since no DELETE event may follow.
    unconfirmed: Vec<Unconfirmed>,
}

/// The keys that a change concerns.
pub type Keys = Vec<Key>;

impl Cache {
    /// Whether our own API has been listed completely.
    pub fn is_synced(&self) -> bool {
        let scopes = [Scope::Namespaced, Scope::Cluster];
        let both = |synced: &dyn Fn(&Scope) -> Option<bool>| scopes.iter().all(|scope| synced(scope) == Some(true));
        both(&|scope| self.policies.get(scope).map(Table::is_synced))
            && both(&|scope| self.bindings.get(scope).map(Table::is_synced))
            && self.works.is_synced()
            && self.clusters.is_synced()
            && self.taint_policies.is_synced()
            && self.customizations.is_synced()
    }

    /// All policies.
    pub fn policies(&self) -> impl Iterator<Item = &Arc<Policy>> {
        self.policies
            .values()
            .flat_map(|table| table.iter().map(|(_, policy)| policy))
    }

    /// A policy.
    pub fn policy(&self, key: &ObjectKey) -> Option<&Arc<Policy>> {
        self.policies.get(&scope_of(key))?.get(key)
    }

    /// All bindings.
    fn bindings(&self) -> impl Iterator<Item = (&ObjectKey, &Arc<CompactObject<Binding>>)> {
        self.bindings.values().flat_map(Table::iter)
    }

    /// A binding.
    pub fn binding(&self, key: &ObjectKey) -> Option<Arc<Binding>> {
        self.bindings.get(&scope_of(key))?.get(key)?.get()
    }

    /// A Work.
    pub fn work(&self, key: &ObjectKey) -> Option<Arc<Work>> {
        self.works.get(key)?.get()
    }

    /// The Works of a binding, by cluster.
    pub fn works_of(&self, binding: &ObjectKey) -> BTreeMap<String, Arc<Work>> {
        let keys = self.works_of.get(binding).into_iter().flatten();
        keys.filter_map(|key| {
            let work = self.work(key)?;
            Some((keys::cluster_of(&work)?.to_owned(), work))
        })
        .collect()
    }

    /// All clusters by name.
    pub fn clusters(&self) -> Arc<BTreeMap<String, Arc<Cluster>>> {
        Arc::clone(&self.by_name)
    }

    /// A cluster.
    pub fn cluster(&self, name: &str) -> Option<&Arc<Cluster>> {
        self.by_name.get(name)
    }

    /// All taint policies.
    pub fn taint_policies(&self) -> Vec<Arc<ClusterTaintPolicy>> {
        self.taint_policies
            .iter()
            .map(|(_, policy)| Arc::clone(policy))
            .collect()
    }

    /// The script for the health of a kind, with the name of its customization.
    pub fn health_script(&self, gvk: &Gvk) -> Option<(String, String)> {
        let all = self
            .customizations
            .iter()
            .map(|(_, customization)| customization.as_ref());
        let (name, script) = interpret::script(all, gvk)?;
        Some((name.to_owned(), script.to_owned()))
    }

    /// The resources of a kind on the control plane, once they have been listed.
    pub fn templates(&self, gvk: &Gvk) -> Option<&Table<CompactObject<Value>>> {
        self.templates.get(gvk).filter(|table| table.is_synced())
    }

    /// Our objects of a kind on a member, once they have been listed.
    pub fn objects(&self, cluster: &str, gvk: &Gvk) -> Option<&Table<CompactObject<Value>>> {
        self.objects.get(cluster)?.get(gvk).filter(|table| table.is_synced())
    }

    /// A member is no longer there, or another one has its name: what was known of its objects is void.
    pub fn forget_member(&mut self, cluster: &str) {
        self.objects.remove(cluster);
    }

    /// Takes the kinds that have come into use since the last call, through policies or bindings.
    pub fn take_new_kinds(&mut self) -> BTreeSet<Gvk> {
        std::mem::take(&mut self.new_kinds)
    }

    /// Sees to it that the resources of a kind are watched.
    pub fn use_kind(&mut self, gvk: Gvk) {
        if !self.templates.contains_key(&gvk) {
            self.new_kinds.insert(gvk);
        }
    }

    /// A listing begins.
    pub fn begin(&mut self, source: &Source) {
        match source {
            Source::Policies(scope) => self.policies.entry(*scope).or_default().begin(),
            Source::Bindings(scope) => self.bindings.entry(*scope).or_default().begin(),
            Source::Works => self.works.begin(),
            Source::Clusters => self.clusters.begin(),
            Source::TaintPolicies => self.taint_policies.begin(),
            Source::Customizations => self.customizations.begin(),
            Source::Templates(gvk) => self.templates.entry(gvk.clone()).or_default().begin(),
            Source::Objects { cluster, gvk } => self.member_table(cluster, gvk).begin(),
            Source::Definitions(_) => {}
        }
    }

    fn complete_tables(&mut self, source: &Source) -> Keys {
        match source {
            Source::Policies(scope) => {
                let gone = self.policies.entry(*scope).or_default().complete();
                gone.iter()
                    .flat_map(|(key, policy)| self.affected_by_policy(key, &[policy]))
                    .collect()
            }
            Source::Bindings(scope) => {
                let gone = self.bindings.entry(*scope).or_default().complete();
                for (key, _) in &gone {
                    self.forget_dependencies(key);
                }
                gone.iter()
                    .flat_map(|(key, binding)| affected_by_binding(key, binding.get().as_deref()))
                    .collect()
            }
            Source::Works => {
                let gone = self.works.complete();
                gone.iter()
                    .filter_map(|(key, work)| self.lost_work(key, work))
                    .collect()
            }
            Source::Clusters => {
                let gone = self.clusters.complete();
                self.share_clusters();
                gone.iter()
                    .flat_map(|(key, _)| self.affected_by_cluster(&key.name))
                    .collect()
            }
            Source::Customizations => {
                let gone = self.customizations.complete();
                if gone.is_empty() { Keys::new() } else { self.all_works() }
            }
            Source::TaintPolicies => {
                self.taint_policies.complete();
                self.by_name.keys().cloned().map(Key::Cluster).collect()
            }
            Source::Templates(gvk) => {
                let table = self.templates.entry(gvk.clone()).or_default();
                let gone = table.complete();
                // Those that are here may have been looked at while the listing went on, and put off until now.
                let here = table.iter().map(|(key, _)| TemplateKey {
                    gvk: gvk.clone(),
                    key: key.clone(),
                });
                let here: Vec<_> = here.collect();
                let gone = gone.into_iter().map(|(key, _)| TemplateKey { gvk: gvk.clone(), key });
                let bound = self
                    .bindings()
                    .filter_map(|(_, binding)| Some(TemplateKey::of(&binding.get()?.spec.resource)));
                let bound = bound.filter(|template| template.gvk == *gvk);
                gone.chain(here).chain(bound).flat_map(affected_by_template).collect()
            }
            Source::Objects { cluster, gvk } => {
                let table = self.member_table(cluster, gvk);
                let gone = table.complete().into_iter().map(|(_, object)| object);
                // Whoever looks for what is not here asks the member.
                let unconfirmed = table.take_unconfirmed().into_iter();
                let left_out = unconfirmed.filter_map(|(key, revision)| table.leave_out(&key, revision));
                gone.chain(left_out)
                    .filter_map(|object| affected_by_object(object.get()?.as_ref()))
                    .collect()
            }
            Source::Definitions(_) => Keys::new(),
        }
    }

    /// An object was seen. Returns the keys that it concerns; none if nothing is new.
    pub fn see(&mut self, source: &Source, object: Value) -> (Urgency, Keys) {
        if is_gone(&object) {
            return (Urgency::Wanted, self.forget(source, &object));
        }
        let Some(key) = key_of(&object) else {
            return (Urgency::Wanted, Keys::new());
        };
        let version = version_of(&object);
        let urgency = self.urgency(source, &key, version);
        (urgency, self.take_in(source, key, version, object))
    }

    fn take_in(&mut self, source: &Source, key: ObjectKey, version: Version, mut object: Value) -> Keys {
        // Field ownership is never read, and is often longer than the rest.
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.remove("managedFields");
        }
        let recent = Arc::clone(&self.recent);
        match source {
            Source::Policies(scope) => self.see_policy(*scope, &key, version, object),
            Source::Bindings(scope) => self.see_binding(*scope, key, version, &object),
            Source::Works => self.see_work(&key, version, &object),
            Source::Clusters => self.see_cluster(&key, version, object),
            Source::Customizations => match self.customizations.see(&key, version, || typed(object)) {
                Sight::New(_) => self.all_works(),
                Sight::Old => Keys::new(),
            },
            Source::TaintPolicies => match self.taint_policies.see(&key, version, || typed(object)) {
                Sight::New(_) => self.by_name.keys().cloned().map(Key::Cluster).collect(),
                Sight::Old => Keys::new(),
            },
            Source::Templates(gvk) => {
                let table = self.templates.entry(gvk.clone()).or_default();
                match table.see(&key, version, || compact(&object, &recent, |_| {})) {
                    Sight::New(_) => affected_by_template(TemplateKey { gvk: gvk.clone(), key }),
                    Sight::Old => Keys::new(),
                }
            }
            Source::Objects { cluster, gvk } => {
                let table = self.member_table(cluster, gvk);
                match table.see(&key, version, || compact(&object, &recent, |_| {})) {
                    Sight::New(_) => affected_by_object(&object).into_iter().collect(),
                    Sight::Old => Keys::new(),
                }
            }
            Source::Definitions(_) => Keys::new(),
        }
    }

    /// The watch says that an object is gone.
    pub fn lose(&mut self, source: &Source, object: &Value) -> Keys {
        let Some(key) = key_of(object) else { return Keys::new() };
        self.remove(source, &key, Some(revision_of(object)))
    }

    /// An answer says that an object is gone.
    fn forget(&mut self, source: &Source, object: &Value) -> Keys {
        let Some(key) = key_of(object) else { return Keys::new() };
        self.remove(source, &key, None)
    }

    /// An object was looked for and not found.
    pub fn miss(&mut self, source: &Source, key: &ObjectKey) -> Keys {
        self.remove(source, key, None)
    }

    fn remove(&mut self, source: &Source, key: &ObjectKey, revision: Option<u64>) -> Keys {
        fn take<T>(table: &mut Table<T>, key: &ObjectKey, revision: Option<u64>) -> Option<Arc<T>> {
            match revision {
                Some(revision) => table.lose(key, revision),
                None => table.forget(key),
            }
        }
        match source {
            Source::Policies(scope) => match take(self.policies.entry(*scope).or_default(), key, revision) {
                Some(policy) => self.affected_by_policy(key, &[&policy]),
                None => Keys::new(),
            },
            Source::Bindings(scope) => match take(self.bindings.entry(*scope).or_default(), key, revision) {
                Some(binding) => {
                    self.forget_dependencies(key);
                    affected_by_binding(key, binding.get().as_deref())
                }
                None => Keys::new(),
            },
            Source::Works => match take(&mut self.works, key, revision) {
                Some(work) => self.lost_work(key, &work).into_iter().collect(),
                None => Keys::new(),
            },
            Source::Clusters => match take(&mut self.clusters, key, revision) {
                Some(_) => {
                    self.share_clusters();
                    self.affected_by_cluster(&key.name)
                }
                None => Keys::new(),
            },
            Source::Customizations => match take(&mut self.customizations, key, revision) {
                Some(_) => self.all_works(),
                None => Keys::new(),
            },
            Source::TaintPolicies => match take(&mut self.taint_policies, key, revision) {
                Some(_) => self.by_name.keys().cloned().map(Key::Cluster).collect(),
                None => Keys::new(),
            },
            Source::Templates(gvk) => match take(self.templates.entry(gvk.clone()).or_default(), key, revision) {
                Some(_) => affected_by_template(TemplateKey {
                    gvk: gvk.clone(),
                    key: key.clone(),
                }),
                None => Keys::new(),
            },
            Source::Objects { cluster, gvk } => match take(self.member_table(cluster, gvk), key, revision) {
                Some(object) => object
                    .get()
                    .and_then(|it| affected_by_object(&it))
                    .into_iter()
                    .collect(),
                None => Keys::new(),
            },
            Source::Definitions(_) => Keys::new(),
        }
    }

    fn member_table(&mut self, cluster: &str, gvk: &Gvk) -> &mut Table<CompactObject<Value>> {
        self.objects
            .entry(cluster.to_owned())
            .or_default()
            .entry(gvk.clone())
            .or_default()
    }

    fn see_policy(&mut self, scope: Scope, key: &ObjectKey, version: Version, object: Value) -> Keys {
        let table = self.policies.entry(scope).or_default();
        let Sight::New(before) = table.see(key, version, || typed(object)) else {
            return Keys::new();
        };
        let now = self.policy(key).cloned();
        for selector in now.iter().flat_map(|policy| &policy.spec.resource_selectors) {
            self.use_kind(Gvk::new(&selector.api_version, &selector.kind));
        }
        let versions: Vec<&Arc<Policy>> = before.iter().chain(now.iter()).collect();
        self.affected_by_policy(key, &versions)
    }

    fn see_binding(&mut self, scope: Scope, key: ObjectKey, version: Version, object: &Value) -> Keys {
        let recent = Arc::clone(&self.recent);
        let (mut resource, mut asks, mut required) = (None, false, BTreeSet::new());
        let table = self.bindings.entry(scope).or_default();
        let look = |binding: &Binding| {
            resource = Some(TemplateKey::of(&binding.spec.resource));
            asks = binding.spec.propagate_deps == Some(true);
            required = binding.spec.required_by.iter().map(requirer).collect();
        };
        if matches!(table.see(&key, version, || compact(object, &recent, look)), Sight::Old) {
            return Keys::new();
        }
        if let Some(resource) = resource {
            self.note_dependencies(&key, &resource, asks, required);
            self.use_kind(resource.gvk);
        }
        vec![Key::Binding(key)]
    }

    fn see_work(&mut self, key: &ObjectKey, version: Version, object: &Value) -> Keys {
        let recent = Arc::clone(&self.recent);
        let mut binding = None;
        let look = |work: &Work| binding = keys::binding_of(work);
        if matches!(
            self.works.see(key, version, || compact(object, &recent, look)),
            Sight::Old
        ) {
            return Keys::new();
        }
        let mut concerned = vec![Key::Work(key.clone())];
        if let Some(binding) = binding {
            self.works_of.entry(binding.clone()).or_default().insert(key.clone());
            concerned.push(Key::Binding(binding));
        }
        concerned
    }

    fn lost_work(&mut self, key: &ObjectKey, work: &CompactObject<Work>) -> Option<Key> {
        let binding = keys::binding_of(work.get()?.as_ref())?;
        if let Some(works) = self.works_of.get_mut(&binding) {
            works.remove(key);
            if works.is_empty() {
                self.works_of.remove(&binding);
            }
        }
        Some(Key::Binding(binding))
    }

    fn see_cluster(&mut self, key: &ObjectKey, version: Version, object: Value) -> Keys {
        let Sight::New(before) = self.clusters.see(key, version, || typed(object)) else {
            return Keys::new();
        };
        self.share_clusters();
        let now = self.clusters.get(key);
        let matters = |cluster: &Arc<Cluster>| {
            let ready = baton_decide::conditions::status(&cluster.status.conditions, baton_decide::conditions::READY);
            (
                cluster.spec.clone(),
                cluster.metadata.labels.clone(),
                ready.map(str::to_owned),
                cluster.is_being_deleted(),
            )
        };
        if before.as_ref().map(matters) == now.map(matters) {
            return vec![Key::Cluster(key.name.clone())];
        }
        self.affected_by_cluster(&key.name)
    }

    fn share_clusters(&mut self) {
        let by_name = self
            .clusters
            .iter()
            .map(|(key, cluster)| (key.name.clone(), Arc::clone(cluster)))
            .collect();
        self.by_name = Arc::new(by_name);
    }
}

fn scope_of(key: &ObjectKey) -> Scope {
    if key.namespace.is_some() {
        Scope::Namespaced
    } else {
        Scope::Cluster
    }
}

/// The key of an object; `None` for what has no name.
pub fn key_of(object: &Value) -> Option<ObjectKey> {
    let metadata = object.get("metadata")?;
    Some(ObjectKey::new(
        metadata.get("namespace").and_then(Value::as_str),
        metadata.get("name")?.as_str()?,
    ))
}

fn revision_of(object: &Value) -> u64 {
    let revision = object.pointer("/metadata/resourceVersion").and_then(Value::as_str);
    revision.and_then(|revision| revision.parse().ok()).unwrap_or(u64::MAX)
}

/// An object without finalizers that is marked for deletion is gone: an answer says so before the watch does. Objects
/// with a grace period, such as pods, stay a while.
fn is_gone(object: &Value) -> bool {
    let metadata = object.get("metadata");
    let field = |key: &str| {
        metadata
            .and_then(|metadata| metadata.get(key))
            .filter(|value| !value.is_null())
    };
    let held = field("finalizers")
        .and_then(Value::as_array)
        .is_some_and(|finalizers| !finalizers.is_empty());
    let lingers = field("deletionGracePeriodSeconds")
        .and_then(Value::as_i64)
        .is_some_and(|seconds| seconds > 0);
    field("deletionTimestamp").is_some() && !held && !lingers
}

fn typed<T: DeserializeOwned>(object: Value) -> Option<T> {
    let key = key_of(&object);
    serde_json::from_value(object)
        .inspect_err(|error| log_undecodable(key, error))
        .ok()
}

/// Packs an object, and has a look at it before.
fn compact<T>(object: &Value, recent: &Arc<RecentObjects>, look: impl FnOnce(&T)) -> Option<CompactObject<T>>
where
    T: DeserializeOwned + Send + Sync + 'static,
{
    let compact = CompactObject::new(object, recent).inspect_err(|error| log_undecodable(key_of(object), error));
    let (compact, read) = compact.ok()?;
    look(&read);
    Some(compact)
}

fn log_undecodable(key: Option<ObjectKey>, error: &serde_json::Error) {
    let name = key.map(|key| key.to_string()).unwrap_or_default();
    tracing::error!(name, %error, "cannot decode an object; it is skipped");
}

/// The object with its kind, as the API server wants it.
pub fn with_kind<S: serde::Serialize, T: serde::Serialize>(
    resource: &Resource<S, T>,
    kind: &kube::core::ApiResource,
) -> Result<Value, serde_json::Error> {
    let mut object = serde_json::to_value(resource)?;
    if let Some(fields) = object.as_object_mut() {
        fields.insert("apiVersion".to_owned(), Value::String(kind.api_version.clone()));
        fields.insert("kind".to_owned(), Value::String(kind.kind.clone()));
    }
    Ok(object)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_was_seen_while_a_listing_went_on_is_looked_at_when_it_is_complete() {
        let mut cache = Cache::default();
        let gvk = Gvk::new("apps/v1", "Deployment");
        let source = Source::Templates(gvk.clone());
        cache.begin(&source);
        let (_, seen) = cache.see(
            &source,
            json!({"apiVersion": "apps/v1", "kind": "Deployment",
                "metadata": {"name": "deploy", "namespace": "default", "resourceVersion": "7"}}),
        );
        assert!(cache.templates(&gvk).is_none(), "nobody knows yet what there is");
        let complete = cache.complete(&source);
        assert!(
            !seen.is_empty() && seen.iter().all(|key| complete.contains(key)),
            "{seen:?} {complete:?}"
        );
    }
}

//! Updates of the cache from watches and responses: listings, objects that exist, objects that are gone.

use std::collections::BTreeSet;
use std::sync::Arc;

use baton_decide::api::{Binding, Cluster, Policy, Work};
use baton_decide::keys::{self, Gvk, ObjectKey, TemplateKey};
use serde_json::Value;

use super::affected::{affected_by_binding, affected_by_object, affected_by_template, version_of};
use super::decode::{compact, is_gone, key_of, revision_of, typed};
use super::dependencies::requirer;
use super::{Cache, Keys};
use crate::compact::CompactObject;
use crate::queue::{Key, Urgency};
use crate::source::{Scope, Source};
use crate::table::{Sight, Table, Version};

impl Cache {
    /// Begins a listing.
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

    pub(super) fn complete_tables(&mut self, source: &Source) -> Keys {
        match source {
            Source::Policies(scope) => {
                let gone = self.policies.entry(*scope).or_default().complete();
                gone.iter()
                    .flat_map(|(key, policy)| self.lost_policy(key, policy))
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
                // Reconciles of these resources may have been postponed until the listing is complete.
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
                // Reconcilers that miss an object here ask the member.
                let unconfirmed = table.take_unconfirmed().into_iter();
                let left_out = unconfirmed.filter_map(|(key, revision)| table.leave_out(&key, revision));
                gone.chain(left_out)
                    .filter_map(|object| affected_by_object(object.get()?.as_ref()))
                    .collect()
            }
            Source::Definitions(_) => Keys::new(),
        }
    }

    /// Records an object. Returns the keys that it affects; none if it contains nothing new.
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

    pub(super) fn take_in(&mut self, source: &Source, key: ObjectKey, version: Version, mut object: Value) -> Keys {
        // Field ownership is never read, and is often larger than the rest.
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

    /// Removes an object that the watch reports as deleted.
    pub fn lose(&mut self, source: &Source, object: &Value) -> Keys {
        let Some(key) = key_of(object) else { return Keys::new() };
        self.remove(source, &key, Some(revision_of(object)))
    }

    /// Removes an object that a response reports as deleted.
    fn forget(&mut self, source: &Source, object: &Value) -> Keys {
        let Some(key) = key_of(object) else { return Keys::new() };
        self.remove(source, &key, None)
    }

    /// Removes an object that was requested and not found.
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
                Some(policy) => self.lost_policy(key, &policy),
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

    pub(super) fn member_table(&mut self, cluster: &str, gvk: &Gvk) -> &mut Table<CompactObject<Value>> {
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
        if let Some(before) = &before {
            self.naming.remove(key, before);
        }
        if let Some(now) = &now {
            self.naming.add(key, now);
        }
        for selector in now.iter().flat_map(|policy| &policy.spec.resource_selectors) {
            self.use_kind(Gvk::new(&selector.api_version, &selector.kind));
        }
        let versions: Vec<&Arc<Policy>> = before.iter().chain(now.iter()).collect();
        self.affected_by_policy(key, &versions)
    }

    fn lost_policy(&mut self, key: &ObjectKey, policy: &Arc<Policy>) -> Keys {
        self.naming.remove(key, policy);
        self.affected_by_policy(key, &[policy])
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
        assert!(cache.templates(&gvk).is_none(), "the kind has not been listed yet");
        let complete = cache.complete(&source);
        assert!(
            !seen.is_empty() && seen.iter().all(|key| complete.contains(key)),
            "{seen:?} {complete:?}"
        );
    }
}

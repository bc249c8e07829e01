//! What is known of all clusters, and which keys a change concerns.
//!
//! - here: what reconcilers ask for
//! - `updates`: what watches and answers bring, and which keys that concerns, with `affected` and `dependencies`
//! - `unconfirmed`: what only an answer has brought
//! - `decode`: objects as they come

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use baton_decide::api::{Binding, Cluster, ClusterTaintPolicy, Customization, Policy, Work};
use baton_decide::interpret;
use baton_decide::keys::{self, Gvk, ObjectKey, TemplateKey};
use serde_json::Value;

use crate::compact::{CompactObject, RecentObjects};
use crate::queue::Key;
use crate::source::Scope;
use crate::table::Table;

mod affected;
mod decode;
mod dependencies;
mod unconfirmed;
mod updates;

pub use decode::{key_of, with_kind};
pub use unconfirmed::Unconfirmed;

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
}

fn scope_of(key: &ObjectKey) -> Scope {
    if key.namespace.is_some() {
        Scope::Namespaced
    } else {
        Scope::Cluster
    }
}

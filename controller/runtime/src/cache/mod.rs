//! In-memory cache of all clusters, which also determines the keys that a change affects.
//!
//! - this file: reads for reconcilers
//! - `updates`: changes from watches and responses, and the keys they affect, with `affected` and `dependencies`
//! - `naming`: policies by the resources that they name
//! - `unconfirmed`: objects seen only in a response
//! - `decode`: decoding of objects

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
mod naming;
mod unconfirmed;
mod updates;

pub use decode::{key_of, with_kind};
pub use unconfirmed::Unconfirmed;

use naming::Naming;

/// Cache of the control plane and all members.
#[derive(Debug, Default)]
pub struct Cache {
    policies: BTreeMap<Scope, Table<Policy>>,
    naming: Naming,
    bindings: BTreeMap<Scope, Table<CompactObject<Binding>>>,
    /// Bindings that propagate dependencies, with their resource.
    asking: BTreeMap<ObjectKey, TemplateKey>,
    /// Bindings required by others: their resource, and the bindings that require it.
    required: BTreeMap<ObjectKey, (TemplateKey, BTreeSet<ObjectKey>)>,
    works: Table<CompactObject<Work>>,
    works_of: BTreeMap<ObjectKey, BTreeSet<ObjectKey>>,
    clusters: Table<Cluster>,
    /// Clusters by name, in a map that readers share.
    by_name: Arc<BTreeMap<String, Arc<Cluster>>>,
    taint_policies: Table<ClusterTaintPolicy>,
    customizations: Table<Customization>,
    templates: BTreeMap<Gvk, Table<CompactObject<Value>>>,
    /// Kinds that policies select or bindings refer to, but that are not watched yet.
    new_kinds: BTreeSet<Gvk>,
    objects: BTreeMap<String, BTreeMap<Gvk, Table<CompactObject<Value>>>>,
    recent: Arc<RecentObjects>,
    /// Objects seen only in a write response during a relist; confirmed with GET, since no DELETE event may follow.
    unconfirmed: Vec<Unconfirmed>,
}

/// Keys to reconcile after a change.
pub type Keys = Vec<Key>;

impl Cache {
    /// Returns true once our own API has been listed completely.
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

    /// Returns the policies that may select a resource.
    pub fn policies_of(&self, template: &TemplateKey) -> impl Iterator<Item = &Arc<Policy>> {
        self.naming.of(template).filter_map(|key| self.policy(key))
    }

    /// Returns a policy.
    pub fn policy(&self, key: &ObjectKey) -> Option<&Arc<Policy>> {
        self.policies.get(&scope_of(key))?.get(key)
    }

    /// Returns all bindings.
    fn bindings(&self) -> impl Iterator<Item = (&ObjectKey, &Arc<CompactObject<Binding>>)> {
        self.bindings.values().flat_map(Table::iter)
    }

    /// Returns a binding.
    pub fn binding(&self, key: &ObjectKey) -> Option<Arc<Binding>> {
        self.bindings.get(&scope_of(key))?.get(key)?.get()
    }

    /// Returns a Work.
    pub fn work(&self, key: &ObjectKey) -> Option<Arc<Work>> {
        self.works.get(key)?.get()
    }

    /// Returns the Works of a binding, by cluster.
    pub fn works_of(&self, binding: &ObjectKey) -> BTreeMap<String, Arc<Work>> {
        let keys = self.works_of.get(binding).into_iter().flatten();
        keys.filter_map(|key| {
            let work = self.work(key)?;
            Some((keys::cluster_of(&work)?.to_owned(), work))
        })
        .collect()
    }

    /// Returns all clusters by name.
    pub fn clusters(&self) -> Arc<BTreeMap<String, Arc<Cluster>>> {
        Arc::clone(&self.by_name)
    }

    /// Returns a cluster.
    pub fn cluster(&self, name: &str) -> Option<&Arc<Cluster>> {
        self.by_name.get(name)
    }

    /// Returns all taint policies.
    pub fn taint_policies(&self) -> Vec<Arc<ClusterTaintPolicy>> {
        self.taint_policies
            .iter()
            .map(|(_, policy)| Arc::clone(policy))
            .collect()
    }

    /// Returns the health script of a kind, with the name of its customization.
    pub fn health_script(&self, gvk: &Gvk) -> Option<(String, String)> {
        let all = self
            .customizations
            .iter()
            .map(|(_, customization)| customization.as_ref());
        let (name, script) = interpret::script(all, gvk)?;
        Some((name.to_owned(), script.to_owned()))
    }

    /// Returns the resources of a kind on the control plane, once they have been listed.
    pub fn templates(&self, gvk: &Gvk) -> Option<&Table<CompactObject<Value>>> {
        self.templates.get(gvk).filter(|table| table.is_synced())
    }

    /// Returns our objects of a kind on a member, once they have been listed.
    pub fn objects(&self, cluster: &str, gvk: &Gvk) -> Option<&Table<CompactObject<Value>>> {
        self.objects.get(cluster)?.get(gvk).filter(|table| table.is_synced())
    }

    /// Drops the objects of a member that was removed or replaced by another one of the same name.
    pub fn forget_member(&mut self, cluster: &str) {
        self.objects.remove(cluster);
    }

    /// Takes the kinds that policies or bindings have referred to since the last call.
    pub fn take_new_kinds(&mut self) -> BTreeSet<Gvk> {
        std::mem::take(&mut self.new_kinds)
    }

    /// Requests a watch on the resources of a kind.
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

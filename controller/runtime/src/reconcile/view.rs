//! A binding together with the objects that belong to it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use baton_decide::api::{Binding, Cluster, Work};
use baton_decide::keys::{ObjectKey, TemplateKey};
use serde_json::Value;

use crate::context::Context;

/// A binding and the objects that belong to it, from the cache.
pub struct View {
    /// The binding.
    pub binding: Arc<Binding>,
    /// Resource of the binding on the control plane, if known.
    pub template: Option<Arc<Value>>,
    /// Works of the binding by cluster.
    pub works: BTreeMap<String, Arc<Work>>,
    /// All clusters.
    pub clusters: Arc<BTreeMap<String, Arc<Cluster>>>,
}

impl View {
    /// Returns the clusters that have a Work of this binding.
    pub fn occupied(&self) -> BTreeSet<String> {
        self.works.keys().cloned().collect()
    }
}

/// Gathers a binding from the cache. Called again after each write, because each write changes it.
pub fn gather(context: &Context, key: &ObjectKey) -> Option<View> {
    let cache = context.cache();
    let binding = cache.binding(key)?;
    let resource = TemplateKey::of(&binding.spec.resource);
    let template = cache
        .templates(&resource.gvk)
        .and_then(|table| table.get(&resource.key)?.get());
    Some(View {
        binding,
        template,
        works: cache.works_of(key),
        clusters: cache.clusters(),
    })
}

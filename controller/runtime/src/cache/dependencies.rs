//! Index of dependencies between bindings.

use std::collections::BTreeSet;

use baton_decide::api::binding::BindingSnapshot;
use baton_decide::dependencies;
use baton_decide::keys::{ObjectKey, TemplateKey};

use super::Cache;

/// Returns the key of the binding in a `requiredBy` entry.
pub(super) fn requirer(snapshot: &BindingSnapshot) -> ObjectKey {
    ObjectKey::new(snapshot.namespace.as_deref(), &snapshot.name)
}

impl Cache {
    pub(super) fn note_dependencies(
        &mut self,
        key: &ObjectKey,
        resource: &TemplateKey,
        asks: bool,
        required: BTreeSet<ObjectKey>,
    ) {
        self.forget_dependencies(key);
        if asks {
            self.asking.insert(key.clone(), resource.clone());
        }
        if !required.is_empty() {
            self.required.insert(key.clone(), (resource.clone(), required));
        }
    }

    pub(super) fn forget_dependencies(&mut self, key: &ObjectKey) {
        self.asking.remove(key);
        self.required.remove(key);
    }

    /// Returns the bindings that need a resource; `None` while the dependencies of others are not known.
    pub fn required_by(&self, resource: &TemplateKey) -> Option<Vec<BindingSnapshot>> {
        let mut found = Vec::new();
        let near = self
            .asking
            .iter()
            .filter(|(key, _)| key.namespace == resource.key.namespace);
        for (key, workload) in near {
            let Some(template) = self.templates(&workload.gvk)?.get(&workload.key) else {
                continue;
            };
            let Some(binding) = self.binding(key) else { continue };
            let needs = template
                .get()
                .is_some_and(|template| dependencies::of(&template).contains(resource));
            let occupied = self.works_of(key).into_keys().collect();
            let snapshot = dependencies::required_by(&binding, &occupied);
            if needs && !snapshot.clusters.is_empty() {
                found.push(snapshot);
            }
        }
        Some(found)
    }

    /// Returns the resources whose bindings list this binding in `requiredBy`.
    pub fn required_of(&self, binding: &ObjectKey) -> BTreeSet<TemplateKey> {
        let of = self
            .required
            .values()
            .filter(|(_, requirers)| requirers.contains(binding));
        of.map(|(resource, _)| resource.clone()).collect()
    }

    /// Returns `preserveResourcesOnDeletion` of a resource that these bindings need.
    pub fn preserves(&self, required_by: &[BindingSnapshot]) -> Option<bool> {
        let requirers = required_by
            .iter()
            .filter_map(|it| self.binding(&ObjectKey::new(it.namespace.as_deref(), &it.name)));
        dependencies::preserves(requirers)
    }

    /// Returns true if the binding of the resource already contains this `requiredBy` entry, and what follows from it.
    pub fn is_required_as(&self, resource: &TemplateKey, snapshot: &BindingSnapshot) -> bool {
        let Some(binding) = self.binding(&resource.binding()) else {
            return false;
        };
        let spec = &binding.spec;
        let is_kept_as_wanted = || spec.preserve_resources_on_deletion == self.preserves(&spec.required_by);
        spec.required_by.contains(snapshot) && (!dependencies::follows(spec) || is_kept_as_wanted())
    }
}

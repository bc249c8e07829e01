//! Which keys a change concerns.

use std::collections::BTreeSet;
use std::sync::Arc;

use baton_decide::api::{Binding, Policy};
use baton_decide::execute;
use baton_decide::keys::{Gvk, ObjectKey, TemplateKey};
use baton_decide::{matching, names};
use serde_json::Value;

use super::{Keys, World};
use crate::queue::Key;
use crate::table::Table;

impl World {
    /// The Works on a cluster; they are looked at again when it answers again.
    pub fn works_on(&self, cluster: &str) -> Keys {
        let space = names::execution_space(cluster);
        let here = self
            .works
            .iter()
            .filter(|(key, _)| key.namespace.as_deref() == Some(space.as_str()));
        here.map(|(key, _)| Key::Work(key.clone())).collect()
    }

    /// A cluster changed in what the scheduler looks at: any binding may gain or lose by it.
    pub(super) fn concerned_by_cluster(&self, name: &str) -> Keys {
        let space = names::execution_space(name);
        let works = self
            .works
            .iter()
            .filter(|(key, _)| key.namespace.as_deref() == Some(space.as_str()));
        let mut concerned = vec![Key::Cluster(name.to_owned()), Key::Probe(name.to_owned())];
        concerned.extend(self.bindings().map(|(key, _)| Key::Binding(key.clone())));
        concerned.extend(works.map(|(key, _)| Key::Work(key.clone())));
        concerned
    }

    /// The resources that a policy selects, or selected before it changed.
    pub(super) fn concerned_by_policy(&self, key: &ObjectKey, versions: &[&Arc<Policy>]) -> Keys {
        let selectors = || versions.iter().flat_map(|policy| &policy.spec.resource_selectors);
        let kinds: BTreeSet<Gvk> = selectors()
            .map(|selector| Gvk::new(&selector.api_version, &selector.kind))
            .collect();
        let mut concerned = vec![Key::Policy(key.clone())];
        for gvk in kinds {
            let templates = self.templates.get(&gvk).into_iter().flat_map(Table::iter);
            let templates = templates.map(|(template, _)| TemplateKey {
                gvk: gvk.clone(),
                key: template.clone(),
            });
            let may_be_selected = |template: &TemplateKey| {
                selectors().any(|selector| matching::may_select(selector, key.namespace.as_deref(), template))
            };
            concerned.extend(templates.filter(may_be_selected).map(Key::Template));
        }
        concerned
    }
}

pub(super) fn concerned_by_binding(key: &ObjectKey, binding: Option<&Binding>) -> Keys {
    let template = binding.map(|binding| Key::Template(TemplateKey::of(&binding.spec.resource)));
    template.into_iter().chain([Key::Binding(key.clone())]).collect()
}

pub(super) fn concerned_by_template(template: TemplateKey) -> Keys {
    let binding = Key::Binding(template.binding());
    vec![Key::Template(template), binding]
}

pub(super) fn concerned_by_object(object: &Value) -> Option<Key> {
    let (namespace, name) = execute::work_of(object)?;
    Some(Key::Work(ObjectKey::new(Some(namespace), name)))
}

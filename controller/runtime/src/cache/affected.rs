//! Determines the keys that a change affects, and their urgency.

use std::collections::BTreeSet;
use std::sync::Arc;

use baton_decide::api::{Binding, Policy};
use baton_decide::execute;
use baton_decide::keys::{Gvk, ObjectKey, TemplateKey};
use baton_decide::{matching, names};
use serde_json::Value;

use super::decode::revision_of;
use super::{Cache, Keys};
use crate::queue::{Key, Urgency};
use crate::source::Source;
use crate::table::{Table, Version};

impl Cache {
    /// Returns all Works, because a script may now report a different health for their objects.
    pub(super) fn all_works(&self) -> Keys {
        self.works.iter().map(|(key, _)| Key::Work(key.clone())).collect()
    }

    /// Returns all keys.
    pub fn all_keys(&self) -> Keys {
        let clusters = self.by_name.keys();
        let clusters = clusters.flat_map(|name| [Key::Cluster(name.clone()), Key::Probe(name.clone())]);
        let policies = self.policies.values().flat_map(Table::iter);
        let templates = self.templates.iter().flat_map(|(gvk, table)| {
            let of = |key: &ObjectKey| TemplateKey {
                gvk: gvk.clone(),
                key: key.clone(),
            };
            table.iter().map(move |(key, _)| Key::Template(of(key)))
        });
        clusters
            .chain(policies.map(|(key, _)| Key::Policy(key.clone())))
            .chain(templates)
            .chain(self.bindings().map(|(key, _)| Key::Binding(key.clone())))
            .chain(self.all_works())
            .collect()
    }

    /// Returns the Works on a cluster, to reconcile when the cluster answers again.
    pub fn works_on(&self, cluster: &str) -> Keys {
        let space = names::execution_space(cluster);
        let here = self
            .works
            .iter()
            .filter(|(key, _)| key.namespace.as_deref() == Some(space.as_str()));
        here.map(|(key, _)| Key::Work(key.clone())).collect()
    }

    /// Returns the urgency of reconciling after an object changed to this version.
    pub(super) fn urgency(&self, source: &Source, key: &ObjectKey, version: Version) -> Urgency {
        let is_report = match source {
            Source::Bindings(scope) => {
                let table = self.bindings.get(scope);
                table.is_some_and(|table| table.is_report(key, version))
            }
            Source::Works => self.works.is_report(key, version),
            Source::Objects { cluster, gvk } => {
                let table = self.objects(cluster, gvk);
                table.is_some_and(|table| table.is_report(key, version))
            }
            // Other components wait for what these objects report.
            Source::Policies(_)
            | Source::Clusters
            | Source::TaintPolicies
            | Source::Customizations
            | Source::Templates(_)
            | Source::Definitions(_) => false,
        };
        if is_report { Urgency::Report } else { Urgency::Wanted }
    }

    /// Returns the keys affected by a cluster that the scheduler sees differently: any binding may gain or lose it.
    pub(super) fn affected_by_cluster(&self, name: &str) -> Keys {
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

    /// Returns the resources that a policy selects, or selected before the change.
    pub(super) fn affected_by_policy(&self, key: &ObjectKey, versions: &[&Arc<Policy>]) -> Keys {
        let selectors = versions.iter().flat_map(|policy| &policy.spec.resource_selectors);
        let namespace = key.namespace.as_deref();
        let mut selected = BTreeSet::new();
        for selector in selectors {
            let gvk = Gvk::new(&selector.api_version, &selector.kind);
            let Some(table) = self.templates.get(&gvk) else {
                continue;
            };
            // Most policies name their resource, and there may be thousands of others of its kind.
            if let Some(template) = matching::only_choice(selector, namespace) {
                selected.extend(table.get(&template.key).map(|_| template));
            } else {
                let templates = table.iter().map(|(template, _)| TemplateKey {
                    gvk: gvk.clone(),
                    key: template.clone(),
                });
                selected.extend(templates.filter(|template| matching::may_select(selector, namespace, template)));
            }
        }
        let mut concerned = vec![Key::Policy(key.clone())];
        concerned.extend(selected.into_iter().map(Key::Template));
        concerned
    }
}

pub(super) fn version_of(object: &Value) -> Version {
    Version {
        revision: revision_of(object),
        generation: object.pointer("/metadata/generation").and_then(Value::as_i64),
    }
}

pub(super) fn affected_by_binding(key: &ObjectKey, binding: Option<&Binding>) -> Keys {
    let template = binding.map(|binding| Key::Template(TemplateKey::of(&binding.spec.resource)));
    template.into_iter().chain([Key::Binding(key.clone())]).collect()
}

pub(super) fn affected_by_template(template: TemplateKey) -> Keys {
    let binding = Key::Binding(template.binding());
    vec![Key::Template(template), binding]
}

pub(super) fn affected_by_object(object: &Value) -> Option<Key> {
    let (namespace, name) = execute::work_of(object)?;
    Some(Key::Work(ObjectKey::new(Some(namespace), name)))
}

//! Index of policies by the resources that they name.

use std::collections::{BTreeMap, BTreeSet};

use baton_decide::api::Policy;
use baton_decide::keys::{ObjectKey, TemplateKey};
use baton_decide::matching;

/// Policies by the resources that they name, so that a resource is not compared with all policies.
#[derive(Debug, Default)]
pub(super) struct Naming {
    /// Policies whose selectors name one resource each.
    by_resource: BTreeMap<TemplateKey, BTreeSet<ObjectKey>>,
    /// Policies with a selector that may select several resources.
    others: BTreeSet<ObjectKey>,
}

impl Naming {
    /// Adds a policy.
    pub(super) fn add(&mut self, key: &ObjectKey, policy: &Policy) {
        match named(policy) {
            Some(resources) => {
                for resource in resources {
                    self.by_resource.entry(resource).or_default().insert(key.clone());
                }
            }
            None => {
                self.others.insert(key.clone());
            }
        }
    }

    /// Removes a policy in the version in which it was added.
    pub(super) fn remove(&mut self, key: &ObjectKey, policy: &Policy) {
        self.others.remove(key);
        for resource in named(policy).into_iter().flatten() {
            if let Some(policies) = self.by_resource.get_mut(&resource) {
                policies.remove(key);
                if policies.is_empty() {
                    self.by_resource.remove(&resource);
                }
            }
        }
    }

    /// Returns the policies that may select a resource.
    pub(super) fn of(&self, resource: &TemplateKey) -> impl Iterator<Item = &ObjectKey> {
        let named = self.by_resource.get(resource).into_iter().flatten();
        named.chain(&self.others)
    }
}

/// Returns the resources that a policy names; `None` if it may select others.
fn named(policy: &Policy) -> Option<BTreeSet<TemplateKey>> {
    let selectors = policy.spec.resource_selectors.iter();
    selectors
        .map(|selector| matching::only_choice(selector, policy.namespace()))
        .collect()
}

#[cfg(test)]
mod tests {
    use baton_decide::keys::Gvk;
    use serde_json::{Value, json};

    use super::*;

    fn policy(selectors: &Value) -> Policy {
        let policy = json!({"metadata": {"namespace": "ns", "name": "p"}, "spec": {"resourceSelectors": selectors}});
        serde_json::from_value(policy).unwrap()
    }

    #[test]
    fn a_policy_is_found_for_what_it_names_and_no_longer_once_it_is_removed() {
        let key = ObjectKey::new(Some("ns"), "p");
        let resource = |name: &str| TemplateKey {
            gvk: Gvk::new("apps/v1", "Deployment"),
            key: ObjectKey::new(Some("ns"), name),
        };
        let selector = |name: &str| json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": name});
        let found = |naming: &Naming, name: &str| naming.of(&resource(name)).count();
        let mut naming = Naming::default();
        let both = policy(&json!([selector("a"), selector("b")]));
        naming.add(&key, &both);
        assert_eq!(["a", "b", "c"].map(|name| found(&naming, name)), [1, 1, 0]);
        naming.remove(&key, &both);
        let any = policy(&json!([selector("a"), {"apiVersion": "apps/v1", "kind": "Deployment"}]));
        naming.add(&key, &any);
        assert_eq!(["a", "b", "c"].map(|name| found(&naming, name)), [1, 1, 1]);
        naming.remove(&key, &any);
        assert_eq!(["a", "b", "c"].map(|name| found(&naming, name)), [0, 0, 0]);
    }
}

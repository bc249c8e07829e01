//! Objects seen only in a write response during a relist. Such an object may have been deleted before the list was
//! taken; then no DELETE event follows, so it is confirmed with a GET.

use baton_decide::keys::ObjectKey;
use serde_json::Value;

use super::{Cache, Keys, key_of};
use crate::queue::Urgency;
use crate::source::Source;

/// An object of our own API to confirm with a GET, with its revision. Objects on members are not confirmed: a reconciler
/// that misses one in the cache asks the member.
pub type Unconfirmed = (Source, ObjectKey, u64);

impl Cache {
    /// Completes a listing and returns the keys that it affects.
    pub fn complete(&mut self, source: &Source) -> Keys {
        let concerned = self.complete_tables(source);
        let unconfirmed = match source {
            Source::Policies(scope) => self.policies.entry(*scope).or_default().take_unconfirmed(),
            Source::Bindings(scope) => self.bindings.entry(*scope).or_default().take_unconfirmed(),
            Source::Works => self.works.take_unconfirmed(),
            Source::Clusters => self.clusters.take_unconfirmed(),
            Source::TaintPolicies => self.taint_policies.take_unconfirmed(),
            Source::Customizations => self.customizations.take_unconfirmed(),
            Source::Templates(_) | Source::Objects { .. } | Source::Definitions(_) => Vec::new(),
        };
        let objects = unconfirmed
            .into_iter()
            .map(|(key, revision)| (source.clone(), key, revision));
        self.unconfirmed.extend(objects);
        concerned
    }

    /// Takes the objects to confirm.
    pub fn take_unconfirmed(&mut self) -> Vec<Unconfirmed> {
        std::mem::take(&mut self.unconfirmed)
    }

    /// Records an object from a response. Returns the keys that it affects.
    pub fn note(&mut self, source: &Source, object: Value) -> (Urgency, Keys) {
        let key = key_of(&object);
        let concerned = self.see(source, object);
        if let Some(key) = key {
            match source {
                Source::Policies(scope) => self.policies.entry(*scope).or_default().mark_unconfirmed(&key),
                Source::Bindings(scope) => self.bindings.entry(*scope).or_default().mark_unconfirmed(&key),
                Source::Works => self.works.mark_unconfirmed(&key),
                Source::Clusters => self.clusters.mark_unconfirmed(&key),
                Source::TaintPolicies => self.taint_policies.mark_unconfirmed(&key),
                Source::Templates(gvk) => self.templates.entry(gvk.clone()).or_default().mark_unconfirmed(&key),
                Source::Objects { cluster, gvk } => self.member_table(cluster, gvk).mark_unconfirmed(&key),
                Source::Customizations => self.customizations.mark_unconfirmed(&key),
                Source::Definitions(_) => {}
            }
        }
        concerned
    }

    /// Removes an unconfirmed object that does not exist. Returns the keys that this affects.
    pub fn miss_unconfirmed(&mut self, (source, key, revision): &Unconfirmed) -> Keys {
        let is_that = match source {
            Source::Policies(scope) => self.policies.get(scope).map(|table| table.is_at(key, *revision)),
            Source::Bindings(scope) => self.bindings.get(scope).map(|table| table.is_at(key, *revision)),
            Source::Works => Some(self.works.is_at(key, *revision)),
            Source::Clusters => Some(self.clusters.is_at(key, *revision)),
            Source::TaintPolicies => Some(self.taint_policies.is_at(key, *revision)),
            Source::Customizations => Some(self.customizations.is_at(key, *revision)),
            Source::Templates(_) | Source::Objects { .. } | Source::Definitions(_) => None,
        };
        if is_that == Some(true) {
            self.miss(source, key)
        } else {
            Keys::new()
        }
    }
}

#[cfg(test)]
mod tests {
    use baton_decide::keys::Gvk;
    use serde_json::json;

    use super::*;
    use crate::queue::Key;
    use crate::source::Scope;

    #[test]
    fn an_object_on_a_member_that_went_while_its_kind_was_listed_is_not_known_for_ever() {
        let mut cache = Cache::default();
        let gvk = Gvk::new("apps/v1", "Deployment");
        let source = Source::Objects {
            cluster: "member1".to_owned(),
            gvk: gvk.clone(),
        };
        cache.begin(&source);
        let object = json!({"metadata": {"name": "a", "namespace": "default", "resourceVersion": "5",
            "finalizers": ["foregroundDeletion"], "deletionTimestamp": "2026-01-01T00:00:00Z",
            "annotations": {"work.karmada.io/namespace": "karmada-es-member1", "work.karmada.io/name": "w"}}});
        assert_eq!(cache.note(&source, object).1.len(), 1);
        let concerned = cache.complete(&source);
        assert_eq!(concerned, [Key::Work(ObjectKey::new(Some("karmada-es-member1"), "w"))]);
        let known = cache.objects("member1", &gvk).map(|table| table.iter().count());
        assert_eq!(known, Some(0), "the listing does not have it");
        assert_eq!(cache.take_unconfirmed(), []);
    }

    #[test]
    fn a_binding_that_only_an_answer_has_told_of_is_asked_for() {
        let mut cache = Cache::default();
        let source = Source::Bindings(Scope::Namespaced);
        let binding = |revision: &str| {
            json!({"metadata": {"name": "b", "namespace": "default", "resourceVersion": revision},
                "spec": {"resource": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "a"}}})
        };
        let key = ObjectKey::new(Some("default"), "b");
        cache.begin(&source);
        cache.note(&source, binding("5"));
        cache.complete(&source);
        let unconfirmed = cache.take_unconfirmed();
        assert_eq!(unconfirmed, [(source.clone(), key.clone(), 5)]);
        assert!(
            cache.binding(&key).is_some(),
            "until the answer is there it counts as known"
        );
        let mut newer = unconfirmed[0].clone();
        newer.2 = 4;
        assert!(cache.miss_unconfirmed(&newer).is_empty(), "it has been seen anew since");
        assert!(
            cache
                .miss_unconfirmed(&unconfirmed[0])
                .contains(&Key::Binding(key.clone()))
        );
        assert!(cache.binding(&key).is_none());
    }
}

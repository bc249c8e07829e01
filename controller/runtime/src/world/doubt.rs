//! What only answers have told of while a listing went on. It may have gone before the listing looked; then the listing
//! does not have it, and the watch that begins there will never say that it is gone.

use baton_decide::keys::ObjectKey;
use serde_json::Value;

use super::{Keys, World, key_of};
use crate::queue::Urgency;
use crate::source::Source;

/// An object of our own API that is in doubt, and the revision of it. Of objects on members there is none: whoever looks
/// for one that is not here asks the member.
pub type Doubt = (Source, ObjectKey, u64);

impl World {
    /// A listing is complete.
    pub fn complete(&mut self, source: &Source) -> Keys {
        let concerned = self.complete_tables(source);
        let doubtful = match source {
            Source::Policies(scope) => self.policies.entry(*scope).or_default().take_doubtful(),
            Source::Bindings(scope) => self.bindings.entry(*scope).or_default().take_doubtful(),
            Source::Works => self.works.take_doubtful(),
            Source::Clusters => self.clusters.take_doubtful(),
            Source::TaintPolicies => self.taint_policies.take_doubtful(),
            Source::Templates(_) | Source::Objects { .. } | Source::Definitions(_) => Vec::new(),
        };
        let doubts = doubtful
            .into_iter()
            .map(|(key, revision)| (source.clone(), key, revision));
        self.doubtful.extend(doubts);
        concerned
    }

    /// What is to be asked for since this was asked last.
    pub fn take_doubtful(&mut self) -> Vec<Doubt> {
        std::mem::take(&mut self.doubtful)
    }

    /// An answer brought an object. Returns the keys that it concerns.
    pub fn note(&mut self, source: &Source, object: Value) -> (Urgency, Keys) {
        let key = key_of(&object);
        let concerned = self.see(source, object);
        if let Some(key) = key {
            match source {
                Source::Policies(scope) => self.policies.entry(*scope).or_default().doubt(&key),
                Source::Bindings(scope) => self.bindings.entry(*scope).or_default().doubt(&key),
                Source::Works => self.works.doubt(&key),
                Source::Clusters => self.clusters.doubt(&key),
                Source::TaintPolicies => self.taint_policies.doubt(&key),
                Source::Templates(gvk) => self.templates.entry(gvk.clone()).or_default().doubt(&key),
                Source::Objects { cluster, gvk } => self.member_table(cluster, gvk).doubt(&key),
                Source::Definitions(_) => {}
            }
        }
        concerned
    }

    /// A doubtful object was asked for and is not there.
    pub fn miss_doubtful(&mut self, (source, key, revision): &Doubt) -> Keys {
        let is_that = match source {
            Source::Policies(scope) => self.policies.get(scope).map(|table| table.is_at(key, *revision)),
            Source::Bindings(scope) => self.bindings.get(scope).map(|table| table.is_at(key, *revision)),
            Source::Works => Some(self.works.is_at(key, *revision)),
            Source::Clusters => Some(self.clusters.is_at(key, *revision)),
            Source::TaintPolicies => Some(self.taint_policies.is_at(key, *revision)),
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
        let mut world = World::default();
        let gvk = Gvk::new("apps/v1", "Deployment");
        let source = Source::Objects {
            cluster: "member1".to_owned(),
            gvk: gvk.clone(),
        };
        world.begin(&source);
        let object = json!({"metadata": {"name": "a", "namespace": "default", "resourceVersion": "5",
            "finalizers": ["foregroundDeletion"], "deletionTimestamp": "2026-01-01T00:00:00Z",
            "annotations": {"work.karmada.io/namespace": "karmada-es-member1", "work.karmada.io/name": "w"}}});
        assert_eq!(world.note(&source, object).1.len(), 1);
        let concerned = world.complete(&source);
        assert_eq!(concerned, [Key::Work(ObjectKey::new(Some("karmada-es-member1"), "w"))]);
        let known = world.objects("member1", &gvk).map(|table| table.iter().count());
        assert_eq!(known, Some(0), "the listing does not have it");
        assert_eq!(world.take_doubtful(), []);
    }

    #[test]
    fn a_binding_that_only_an_answer_has_told_of_is_asked_for() {
        let mut world = World::default();
        let source = Source::Bindings(Scope::Namespaced);
        let binding = |revision: &str| {
            json!({"metadata": {"name": "b", "namespace": "default", "resourceVersion": revision},
                "spec": {"resource": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "a"}}})
        };
        let key = ObjectKey::new(Some("default"), "b");
        world.begin(&source);
        world.note(&source, binding("5"));
        world.complete(&source);
        let doubtful = world.take_doubtful();
        assert_eq!(doubtful, [(source.clone(), key.clone(), 5)]);
        assert!(
            world.binding(&key).is_some(),
            "until the answer is there it counts as known"
        );
        let mut newer = doubtful[0].clone();
        newer.2 = 4;
        assert!(world.miss_doubtful(&newer).is_empty(), "it has been seen anew since");
        assert!(world.miss_doubtful(&doubtful[0]).contains(&Key::Binding(key.clone())));
        assert!(world.binding(&key).is_none());
    }
}

//! Garbage collection: deletes an object when none of its owners exists any more.

use std::sync::Arc;

use baton_apimachinery::meta;
use serde_json::{Value, json};

use crate::handlers::Core;
use crate::handlers::verbs::delete::{DeleteOptions, FOREGROUND, ORPHAN, Propagation};
use crate::store::{BucketId, Expect, Stored, Write, key_of};

/// The state of an owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Owner {
    There,
    /// The server does not serve its kind, so it cannot tell whether the owner exists.
    Unknown,
    Gone,
    /// It waits for its dependents to be deleted first.
    Waiting,
}

impl Core {
    /// Processes one object: as an owner that is being deleted, and as a dependent.
    pub(super) fn look_at(self: &Arc<Self>, bucket: BucketId, key: &str) {
        let Some(stored) = self.store.get(bucket, key) else {
            return;
        };
        let object = stored.value();
        if meta::deletion_timestamp(&object).is_some() {
            if meta::has_finalizer(&object, ORPHAN) {
                self.orphan_dependents(&stored);
                self.release(bucket, key, ORPHAN);
            } else if meta::has_finalizer(&object, FOREGROUND) {
                self.delete_dependents(bucket, &stored);
            }
            return;
        }
        self.look_at_dependent(bucket, &stored);
    }

    fn look_at_dependent(self: &Arc<Self>, bucket: BucketId, stored: &Arc<Stored>) {
        let object = stored.value();
        let owners: Vec<(String, Owner)> = meta::owners(&object)
            .map(|owner| (owner.uid.to_owned(), self.state_of(&owner, &object)))
            .collect();
        let any = |state: Owner| owners.iter().any(|(_, each)| *each == state);
        if owners.is_empty() || any(Owner::Unknown) {
            return;
        }
        if any(Owner::There) {
            if any(Owner::Gone) || any(Owner::Waiting) {
                let gone = |uid: &str| owners.iter().any(|(each, state)| each == uid && *state != Owner::There);
                self.drop_owners(bucket, stored, gone);
            }
            return;
        }
        let uid = meta::uid(&object).unwrap_or_default();
        let propagation = if any(Owner::Waiting) && !self.store.dependents(uid).is_empty() {
            Propagation::Foreground
        } else if meta::has_finalizer(&object, ORPHAN) {
            Propagation::Orphan
        } else if meta::has_finalizer(&object, FOREGROUND) {
            Propagation::Foreground
        } else {
            Propagation::Background
        };
        let options = DeleteOptions {
            propagation: Some(propagation),
            uid: Some(uid.to_owned()),
            ..DeleteOptions::default()
        };
        let catalogue = self.registry.current();
        if let Some(resource) = catalogue.of_bucket(bucket) {
            let caller = Self::own("generic-garbage-collector");
            // If the object was deleted or created again in between, that commit has queued it again.
            let _ = self.delete_object(resource, &key_of(&object), &options, &caller);
        }
    }

    fn state_of(&self, owner: &meta::Owner<'_>, dependent: &Value) -> Owner {
        let Some((_, found)) = self.store.by_uid(owner.uid) else {
            let known = || self.registry.current().of_kind(owner.api_version, owner.kind).is_some();
            let gone = self.store.has_gone(owner.uid) || known();
            return if gone { Owner::Gone } else { Owner::Unknown };
        };
        let found = found.value();
        let text = |key: &str| meta::text(&found, key);
        let same = meta::name(&found) == Some(owner.name)
            && text("kind") == owner.kind
            && group_of(text("apiVersion")) == group_of(owner.api_version);
        // An owner in another namespace counts as missing; a cluster-scoped one can own any object.
        let near = meta::namespace(&found).is_none_or(|namespace| Some(namespace) == meta::namespace(dependent));
        if !same || !near {
            return Owner::Gone;
        }
        let waits = meta::deletion_timestamp(&found).is_some() && meta::has_finalizer(&found, FOREGROUND);
        if waits { Owner::Waiting } else { Owner::There }
    }

    /// Foreground deletion: deletes the dependents first, and the owner when no dependent blocks it.
    fn delete_dependents(self: &Arc<Self>, bucket: BucketId, owner: &Stored) {
        let object = owner.value();
        let uid = meta::uid(&object).unwrap_or_default();
        for (dependent, key) in self.store.dependents(uid) {
            if let Some(stored) = self.store.get(dependent, &key)
                && meta::deletion_timestamp(&stored.value()).is_none()
            {
                self.look_at_dependent(dependent, &stored);
            }
        }
        let blocked = self.store.dependents(uid).iter().any(|(dependent, key)| {
            let stored = self.store.get(*dependent, key);
            stored.is_some_and(|stored| {
                meta::owners(&stored.value()).any(|each| each.uid == uid && each.block_owner_deletion)
            })
        });
        if !blocked {
            self.release(bucket, &key_of(&object), FOREGROUND);
        }
    }

    fn orphan_dependents(self: &Arc<Self>, owner: &Stored) {
        let object = owner.value();
        let uid = meta::uid(&object).unwrap_or_default();
        for (bucket, key) in self.store.dependents(uid) {
            if let Some(stored) = self.store.get(bucket, &key) {
                self.drop_owners(bucket, &stored, |each| each == uid);
            }
        }
    }

    /// Removes owners from an object.
    fn drop_owners(self: &Arc<Self>, bucket: BucketId, stored: &Stored, drop: impl Fn(&str) -> bool) {
        self.rewrite(bucket, &key_of(&stored.value()), |object| {
            let owners = meta::at(object, &["metadata", "ownerReferences"]).and_then(Value::as_array);
            let uid = |owner: &Value| meta::text(owner, "uid").to_owned();
            let kept: Vec<Value> = owners
                .into_iter()
                .flatten()
                .filter(|owner| !drop(&uid(owner)))
                .cloned()
                .collect();
            if kept.is_empty() {
                meta::unset(object, "ownerReferences");
            } else {
                meta::set(object, "ownerReferences", json!(kept));
            }
        });
    }

    /// Removes a finalizer from an object.
    fn release(self: &Arc<Self>, bucket: BucketId, key: &str, finalizer: &str) {
        self.rewrite(bucket, key, |object| {
            let rest = meta::finalizers(object)
                .filter(|each| *each != finalizer)
                .map(str::to_owned)
                .collect();
            meta::set_finalizers(object, rest);
        });
    }

    /// Changes an object, and retries after a conflict. Removes the object if nothing holds it any more.
    fn rewrite(self: &Arc<Self>, bucket: BucketId, key: &str, change: impl Fn(&mut Value)) {
        let caller = Self::own("generic-garbage-collector");
        let catalogue = self.registry.current();
        let Some(resource) = catalogue.of_bucket(bucket) else {
            return;
        };
        while let Some(stored) = self.store.get(bucket, key) {
            let mut object = Value::clone(&stored.value());
            change(&mut object);
            if object == *stored.value() {
                return;
            }
            let released = crate::handlers::verbs::write::is_released(resource, &object);
            let write = if released {
                Write::Delete(Value::clone(&stored.value()))
            } else {
                Write::Put(object)
            };
            if self
                .commit(bucket, key, Expect::Revision(stored.revision), write, &caller)
                .is_ok()
            {
                return;
            }
        }
    }
}

fn group_of(api_version: &str) -> &str {
    api_version.split_once('/').map_or("", |(group, _)| group)
}

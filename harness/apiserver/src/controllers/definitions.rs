//! Custom resource definitions: names are accepted at once, the objects of a deleted one go before it.

use std::sync::Arc;

use serde_json::Value;

use crate::handlers::Core;
use crate::handlers::delete::DeleteOptions;
use crate::meta;
use crate::schema::crd::{CLEANUP_FINALIZER, names_conditions, set_condition};
use crate::store::{BucketId, Expect, Stored, Write, key_of};

impl Core {
    pub(crate) fn definitions(&self) -> BucketId {
        self.buckets.definitions
    }

    /// Decides about the names of every definition that is not settled, and serves what is established.
    pub(super) fn settle_definitions(self: &Arc<Self>) {
        let bucket = self.definitions();
        let (all, _) = self.store.list(bucket, "");
        let objects: Vec<Arc<Value>> = all.iter().map(|stored| stored.value()).collect();
        for (index, (definition, object)) in all.iter().zip(&objects).enumerate() {
            let others = objects.iter().enumerate().filter(|(other, _)| *other != index);
            let others = others.map(|(_, other)| &**other);
            let Some(status) = names_conditions(object, others, &self.now()) else {
                continue;
            };
            let mut settled = Value::clone(object);
            if let Some(members) = settled.as_object_mut() {
                members.insert("status".to_owned(), status);
            }
            // The commit comes back here, until nothing is left to settle; so does the one that was faster.
            let _ = self.write_definition(definition, settled);
            return;
        }
        self.registry
            .rebuild(&self.store, objects.iter().map(|object| &**object));
    }

    fn write_definition(self: &Arc<Self>, old: &Stored, new: Value) -> Option<Arc<Stored>> {
        let key = key_of(&new);
        let released = meta::deletion_timestamp(&new).is_some() && meta::finalizers(&new).next().is_none();
        let write = if released {
            Write::Delete(Value::clone(&old.value()))
        } else {
            Write::Put(new)
        };
        let caller = Self::own("kube-apiserver");
        self.commit(self.definitions(), &key, Expect::Revision(old.revision), write, &caller)
            .ok()
    }

    /// Deletes the objects of a deleted definition; when none is left, lets the definition go.
    pub(super) fn empty_definition(self: &Arc<Self>, name: &str) {
        let Some(definition) = self.store.get(self.definitions(), name) else {
            return;
        };
        let held = meta::deletion_timestamp(&definition.value()).is_some()
            && meta::has_finalizer(&definition.value(), CLEANUP_FINALIZER);
        if !held {
            return;
        }
        let resource = self.registry.current().of_definition(name).cloned();
        if let Some(resource) = &resource {
            let caller = Self::own("kube-apiserver");
            for stored in self.store.list(resource.bucket, "").0 {
                // Somebody else may delete it meanwhile; then it is gone just as well.
                let _ = self.delete_object(resource, &key_of(&stored.value()), &DeleteOptions::default(), &caller);
            }
            if !self.store.list(resource.bucket, "").0.is_empty() {
                self.backlog.wait_for(resource.bucket, name);
                return;
            }
        }
        let mut released = Value::clone(&definition.value());
        if let Some(status) = released.get_mut("status") {
            let now = self.now();
            set_condition(
                status,
                "Terminating",
                false,
                "InstanceDeletionCompleted",
                "removed all instances",
                &now,
            );
        }
        let rest = meta::finalizers(&released)
            .filter(|each| *each != CLEANUP_FINALIZER)
            .map(str::to_owned)
            .collect();
        meta::set_finalizers(&mut released, rest);
        if self.write_definition(&definition, released).is_some()
            && let Some(resource) = resource
        {
            self.store.retire(resource.bucket);
        }
    }
}

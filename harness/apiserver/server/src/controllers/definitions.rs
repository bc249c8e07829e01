//! Custom resource definitions: the objects of a deleted definition are deleted before it.

use std::sync::Arc;

use baton_apimachinery::meta;
use baton_apimachinery::schema::crd::{CLEANUP_FINALIZER, set_condition};
use serde_json::Value;

use crate::handlers::Core;
use crate::handlers::verbs::delete::DeleteOptions;
use crate::store::key_of;

impl Core {
    /// Deletes the objects of a deleted definition; releases the definition when none is left.
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
                // Another client may delete it at the same time; then it is gone just as well.
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

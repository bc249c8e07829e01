//! Namespaces: empties a deleted one, and deletes it when it is empty.

use std::collections::BTreeMap;
use std::sync::Arc;

use baton_apimachinery::meta;
use baton_apimachinery::schema::crd::set_condition;
use serde_json::{Value, json};

use crate::handlers::Core;
use crate::handlers::verbs::delete::DeleteOptions;
use crate::store::{Expect, Stored, Write, key_of};

/// The remaining objects of a namespace: their number by resource, and by the finalizers that hold them.
#[derive(Debug, Default)]
struct Rest {
    resources: BTreeMap<String, usize>,
    finalizers: BTreeMap<String, usize>,
}

impl Core {
    pub(super) fn empty_namespace(self: &Arc<Self>, name: &str) {
        let Some(namespace) = self.namespace(name) else { return };
        if meta::deletion_timestamp(&namespace.value()).is_none() {
            return;
        }
        let rest = self.delete_content(name);
        let Some(namespace) = self.namespace(name) else { return };
        let mut new = Value::clone(&namespace.value());
        self.describe(&mut new, &rest);
        if new != *namespace.value() && !rest.resources.is_empty() {
            self.write_namespace(&namespace, new);
            return;
        }
        if rest.resources.is_empty() {
            self.finalize(name);
        }
    }

    /// Deletes the objects in a namespace, pods without grace; returns the remaining ones.
    fn delete_content(self: &Arc<Self>, namespace: &str) -> Rest {
        let catalogue = self.registry.current();
        let caller = Self::own("namespace-controller");
        let options = DeleteOptions {
            grace_period_secs: Some(0),
            ..DeleteOptions::default()
        };
        let prefix = format!("{namespace}/");
        let mut rest = Rest::default();
        for resource in catalogue.stored().filter(|resource| resource.namespaced) {
            for stored in self.store.list(resource.bucket, &prefix).0 {
                if meta::deletion_timestamp(&stored.value()).is_none() {
                    // If it was deleted in between, it is gone as well.
                    let _ = self.delete_object(resource, &key_of(&stored.value()), &options, &caller);
                }
            }
            for stored in self.store.list(resource.bucket, &prefix).0 {
                let plural = format!("{}.{}", resource.plural, resource.group);
                *rest.resources.entry(plural).or_default() += 1;
                for finalizer in meta::finalizers(&stored.value()) {
                    *rest.finalizers.entry(finalizer.to_owned()).or_default() += 1;
                }
            }
        }
        rest
    }

    /// Sets the conditions of a namespace that is being deleted.
    fn describe(&self, namespace: &mut Value, rest: &Rest) {
        let now = self.now();
        let list = |counts: &BTreeMap<String, usize>, word: &str| {
            let parts: Vec<String> = counts
                .iter()
                .map(|(name, count)| format!("{name} {word} {count} resource instances"))
                .collect();
            parts.join(", ")
        };
        let Some(status) = namespace.get_mut("status") else {
            return;
        };
        let mut set = |kind: &str, holds: bool, reason: &str, message: &str| {
            set_condition(status, kind, holds, reason, message, &now);
        };
        set(
            "NamespaceDeletionDiscoveryFailure",
            false,
            "ResourcesDiscovered",
            "All resources successfully discovered",
        );
        set(
            "NamespaceDeletionGroupVersionParsingFailure",
            false,
            "ParsedGroupVersions",
            "All legacy kube types successfully parsed",
        );
        let message = "All content successfully deleted, may be waiting on finalization";
        set("NamespaceDeletionContentFailure", false, "ContentDeleted", message);
        if rest.resources.is_empty() {
            set(
                "NamespaceContentRemaining",
                false,
                "ContentRemoved",
                "All content successfully removed",
            );
        } else {
            let message = format!("Some resources are remaining: {}", list(&rest.resources, "has"));
            set("NamespaceContentRemaining", true, "SomeResourcesRemain", &message);
        }
        if rest.finalizers.is_empty() {
            set(
                "NamespaceFinalizersRemaining",
                false,
                "ContentHasNoFinalizers",
                "All content-preserving finalizers finished",
            );
        } else {
            let message = format!(
                "Some content in the namespace has finalizers remaining: {}",
                list(&rest.finalizers, "in")
            );
            set("NamespaceFinalizersRemaining", true, "SomeFinalizersRemain", &message);
        }
    }

    /// Removes the finalizer of the namespace controller from a namespace.
    fn finalize(self: &Arc<Self>, name: &str) {
        while let Some(namespace) = self.namespace(name) {
            let mut new = Value::clone(&namespace.value());
            let finalizers = meta::at(&new, &["spec", "finalizers"]).and_then(Value::as_array);
            let kept: Vec<Value> = finalizers
                .into_iter()
                .flatten()
                .filter(|each| *each != "kubernetes")
                .cloned()
                .collect();
            if let Some(members) = new.as_object_mut() {
                let spec = if kept.is_empty() {
                    json!({})
                } else {
                    json!({"finalizers": kept})
                };
                members.insert("spec".to_owned(), spec);
            }
            if self.write_namespace(&namespace, new) {
                return;
            }
        }
    }

    fn write_namespace(self: &Arc<Self>, old: &Stored, new: Value) -> bool {
        let held = meta::finalizers(&new).next().is_some()
            || meta::at(&new, &["spec", "finalizers"])
                .and_then(Value::as_array)
                .is_some_and(|list| !list.is_empty());
        let write = if held {
            Write::Put(new)
        } else {
            Write::Delete(Value::clone(&old.value()))
        };
        let caller = Self::own("namespace-controller");
        let bucket = self.buckets.namespaces;
        self.commit(
            bucket,
            &key_of(&old.value()),
            Expect::Revision(old.revision),
            write,
            &caller,
        )
        .is_ok()
    }
}

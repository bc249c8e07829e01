//! Consequences of a commit: urgent ones happen at once, the rest goes to the backlog.

use std::sync::Arc;

use baton_apimachinery::meta;
use baton_apimachinery::schema::crd::names_conditions;
use serde_json::Value;

use super::authentication::accounts;
use super::{Caller, Core};
use crate::admission;
use crate::backlog::Task;
use crate::handlers::authentication::User;
use crate::requests::Side;
use crate::store::Change;
use crate::store::{BucketId, Committed, Expect, Stored, Write, key_of};

impl Core {
    /// Returns a caller that stands for the server itself.
    pub(crate) fn own(name: &str) -> Caller {
        Caller {
            user: Arc::new(User::new(&format!("system:{name}"), &["system:masters"])),
            user_agent: Arc::from(name),
            side: Side::Inside,
        }
    }

    /// Carries out the urgent consequences of a commit, and queues the rest.
    pub(crate) fn after_commit(self: &Arc<Self>, committed: &Committed) {
        let Committed {
            bucket,
            change,
            stored,
            previous,
        } = committed;
        let object = &*stored.value();
        let deleted = *change == Change::Deleted;
        let leaving = !deleted && meta::deletion_timestamp(object).is_some();
        let api_version = object.get("apiVersion").and_then(Value::as_str);
        if api_version.is_some_and(|version| version.starts_with(admission::GROUP)) {
            self.refresh_admission();
        }
        if *bucket == self.definitions() {
            self.settle_definitions();
            if leaving {
                self.backlog
                    .push(Task::Definition(meta::name(object).unwrap_or_default().to_owned()));
            }
        }
        if deleted && let Some(definition) = self.backlog.definition_waiting_for(*bucket) {
            self.backlog.push(Task::Definition(definition));
        }
        if !self.options.collect_garbage {
            return;
        }
        if leaving || (!deleted && meta::owners(object).next().is_some()) {
            self.backlog.push(Task::Object(*bucket, key_of(object)));
        }
        if deleted
            && let Some(uid) = meta::uid(object)
            && self.store.has_dependents(uid)
        {
            self.backlog.push(Task::DependentsOf(uid.to_owned()));
        }
        let before = previous.as_ref().map(|previous| previous.value());
        for owner in before.iter().flat_map(|before| meta::owners(before)) {
            if deleted || meta::owners(object).all(|each| each.uid != owner.uid) {
                self.backlog.push(Task::Owner(owner.uid.to_owned()));
            }
        }
        if !deleted && *bucket == self.buckets.secrets && accounts::is_token_secret(object) {
            self.backlog.push(Task::TokenSecret(key_of(object)));
        }
        if deleted && *bucket == self.buckets.accounts {
            let namespace = meta::namespace(object).unwrap_or_default();
            self.backlog.push(Task::TokenSecrets(namespace.to_owned()));
        }
        if leaving && *bucket == self.buckets.namespaces {
            self.backlog
                .push(Task::Namespace(meta::name(object).unwrap_or_default().to_owned()));
        }
        if deleted && let Some(namespace) = meta::namespace(object) {
            let found = self.namespace(namespace);
            if found.is_some_and(|found| meta::deletion_timestamp(&found.value()).is_some()) {
                self.backlog.push(Task::Namespace(namespace.to_owned()));
            }
        }
    }

    pub(crate) fn definitions(&self) -> BucketId {
        self.buckets.definitions
    }

    /// Settles the names of every definition, and serves the established ones.
    fn settle_definitions(self: &Arc<Self>) {
        let (all, _) = self.store.list(self.definitions(), "");
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
            // The commit calls this function again, until nothing is left to settle; so does a concurrent write that
            // came first.
            let _ = self.write_definition(definition, settled);
            return;
        }
        let definitions = objects.iter().map(|object| &**object);
        self.registry.rebuild(&self.store, definitions);
    }

    /// Writes a definition, or removes it if nothing holds it any more.
    pub(crate) fn write_definition(self: &Arc<Self>, old: &Stored, new: Value) -> Option<Arc<Stored>> {
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
}

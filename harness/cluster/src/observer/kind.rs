//! Follows the objects of one kind on one cluster.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use baton_core::{
    names::ClusterName,
    timeline::{Change, Revision},
};
use futures::StreamExt;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry;
use kube::{
    Api, Client,
    api::{ApiResource, DynamicObject, TypeMeta},
    runtime::{
        WatchStreamExt,
        watcher::{self, watcher},
    },
};
use serde_json::Value;
use tokio::sync::oneshot;

use super::{
    news::{News, Reporter},
    recorder::Seen,
    scrub,
};

/// Last known state of an object.
struct Known {
    uid: Option<String>,
    version: Option<String>,
    object: Arc<Value>,
    managers: Vec<ManagedFieldsEntry>,
}

type Key = (Option<String>, Option<String>);

/// Follows one kind on one cluster.
pub(super) struct Kind {
    cluster: ClusterName,
    reporter: Reporter,
    resource: ApiResource,
    /// Change reported for objects in the initial list.
    first: Change,
    known: BTreeMap<Key, Known>,
}

impl Kind {
    /// Reports objects in the initial list as `first`.
    pub(super) fn new(cluster: ClusterName, reporter: Reporter, resource: ApiResource, first: Change) -> Self {
        Self {
            cluster,
            reporter,
            resource,
            first,
            known: BTreeMap::new(),
        }
    }

    /// Reports changes of objects without end; sends to `listed` once the initial list is complete.
    pub(super) async fn follow(mut self, client: Client, listed: oneshot::Sender<()>) {
        let api: Api<DynamicObject> = Api::all_with(client, &self.resource);
        let mut events = std::pin::pin!(watcher(api, watcher::Config::default()).default_backoff());
        let mut listed = Some(listed);
        let mut present = BTreeSet::new();
        while let Some(event) = events.next().await {
            match event {
                Ok(watcher::Event::Init) => present.clear(),
                Ok(watcher::Event::InitApply(object)) => {
                    present.insert(key(&object));
                    let as_ = if listed.is_some() { self.first } else { Change::Added };
                    self.apply(object, as_);
                }
                Ok(watcher::Event::InitDone) => {
                    self.forget_all_but(&present);
                    if let Some(listed) = listed.take() {
                        self.reporter.has_listed(&self.cluster, &self.resource.kind);
                        // The caller may not wait for the list.
                        let _ = listed.send(());
                    }
                }
                Ok(watcher::Event::Apply(object)) => self.apply(object, Change::Added),
                Ok(watcher::Event::Delete(object)) => self.delete(&object),
                // A kind that was defined just now may not be served yet: try again.
                Err(error) if listed.is_some() && self.first == Change::List && never_listed(&error) => {
                    tracing::warn!(cluster = %self.cluster, kind = self.resource.kind, %error, "a kind is not observed");
                    return;
                }
                Err(error) => {
                    tracing::debug!(cluster = %self.cluster, kind = self.resource.kind, %error, "a watch broke");
                }
            }
        }
    }

    /// Handles a revision; an object that was not present before is reported as `new`.
    fn apply(&mut self, object: DynamicObject, new: Change) {
        let key = key(&object);
        let (uid, version) = (object.metadata.uid.clone(), object.metadata.resource_version.clone());
        let mut change = Change::Modified;
        match self.known.get(&key) {
            Some(known) if known.version == version => return,
            Some(known) if known.uid == uid => {}
            // It was deleted and recreated while the watch was broken.
            Some(_) => {
                self.forget(&key);
                change = Change::Added;
            }
            None => change = new,
        }
        let managers = object.metadata.managed_fields.clone().unwrap_or_default();
        let before = self.known.get(&key).map(|known| known.managers.as_slice());
        let by = writer(before.unwrap_or_default(), &managers).filter(|_| change != Change::List);
        let Some(object) = self.plain(object) else { return };
        self.tell(change, Arc::clone(&object), by);
        self.known.insert(
            key,
            Known {
                uid,
                version,
                object,
                managers,
            },
        );
    }

    fn delete(&mut self, object: &DynamicObject) {
        if let Some(known) = self.known.remove(&key(object))
            && known.uid == object.metadata.uid
        {
            let last = self.plain(object.clone()).unwrap_or(known.object);
            self.tell(Change::Deleted, last, None);
        }
    }

    fn forget_all_but(&mut self, present: &BTreeSet<Key>) {
        let gone: Vec<Key> = self
            .known
            .keys()
            .filter(|key| !present.contains(*key))
            .cloned()
            .collect();
        for key in gone {
            self.forget(&key);
        }
    }

    /// Reports the deletion of an object whose event was missed.
    fn forget(&mut self, key: &Key) {
        if let Some(known) = self.known.remove(key) {
            self.tell(Change::Deleted, known.object, None);
        }
    }

    fn plain(&self, mut object: DynamicObject) -> Option<Arc<Value>> {
        object.types = Some(TypeMeta {
            api_version: self.resource.api_version.clone(),
            kind: self.resource.kind.clone(),
        });
        object.metadata.managed_fields = None;
        let value = serde_json::to_value(object).ok()?;
        scrub(&self.resource.kind, &value).map(Arc::new)
    }

    fn tell(&self, change: Change, object: Arc<Value>, by: Option<String>) {
        let revision = Revision {
            cluster: self.cluster.clone(),
            kind: self.resource.kind.clone(),
            change,
            object,
            by,
        };
        self.reporter
            .tell(News::Seen(Seen::revision(self.reporter.now(), revision)));
    }
}

fn key(object: &DynamicObject) -> Key {
    (object.metadata.namespace.clone(), object.metadata.name.clone())
}

/// Detects a kind that can never be listed: it is forbidden, or not served.
fn never_listed(error: &watcher::Error) -> bool {
    match error {
        watcher::Error::InitialListFailed(kube::Error::Api(status)) => matches!(status.code, 401 | 403 | 404 | 405),
        _ => false,
    }
}

/// Derives the writer of a revision: the only manager whose entry differs from the previous revision; `None` if that is
/// ambiguous.
fn writer(before: &[ManagedFieldsEntry], after: &[ManagedFieldsEntry]) -> Option<String> {
    let mut changed = after.iter().filter(|entry| !before.contains(entry));
    let only = changed.next()?;
    if changed.next().is_some() {
        return None;
    }
    only.manager.clone()
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;

    fn entry(manager: &str, time: i64) -> ManagedFieldsEntry {
        ManagedFieldsEntry {
            manager: Some(manager.to_owned()),
            time: Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(
                Timestamp::from_second(time).unwrap(),
            )),
            ..ManagedFieldsEntry::default()
        }
    }

    #[test]
    fn the_writer_is_who_has_changed_its_entry() {
        let before = [entry("baton", 1), entry("controller", 1)];
        let after = [entry("baton", 1), entry("controller", 2)];
        assert_eq!(writer(&before, &after).as_deref(), Some("controller"));
        assert_eq!(
            writer(&[], &after),
            None,
            "two managers have written, in an unknown order"
        );
        assert_eq!(writer(&after, &after), None);
    }
}

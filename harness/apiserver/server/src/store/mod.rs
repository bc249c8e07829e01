//! The objects: a sorted map per resource, one sequence of revisions, a bounded history per resource.
//!
//! Everything here is synchronous and short; the one lock is never held across an await. All writes go through
//! [`Store::commit`]; it assigns the revision, updates the indexes, appends to the history that watches read
//! ([`watch`]) and sends to the taps ([`commits`]), all before it returns.

mod bucket;
mod change;
pub(crate) mod commits;
mod owners;
mod stored;
pub(crate) mod watch;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use baton_apimachinery::meta;
use serde_json::Value;
use tokio::sync::mpsc;

use crate::options::{Clock, Revisions};
use bucket::Bucket;
pub(crate) use bucket::{Event, Part, Wanted};
pub use change::Change;
use commits::{Commit, Commits};
use owners::OwnerIndex;
pub(crate) use stored::{Stored, Text, write_head};

/// The bucket of a resource in the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct BucketId(usize);

/// The condition on a key under which a commit happens.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Expect {
    Absent,
    Revision(u64),
}

/// The key was not as expected.
#[derive(Debug)]
pub(crate) struct Moved;

/// The revision is older than the history.
#[derive(Debug)]
pub(crate) struct Compacted {
    pub(crate) oldest: u64,
}

/// The result of a commit.
#[derive(Debug)]
pub(crate) struct Committed {
    pub(crate) bucket: BucketId,
    pub(crate) change: Change,
    pub(crate) stored: Arc<Stored>,
    pub(crate) previous: Option<Arc<Stored>>,
}

/// The change that a commit makes.
#[derive(Debug)]
pub(crate) enum Write {
    Put(Value),
    /// As [`Write::Put`], of an object to which a webhook has added fields that its schema does not know.
    PutWithUnknownFields(Value),
    /// The last state of the object, which the DELETED event carries.
    Delete(Value),
}

struct Inner {
    buckets: Vec<Bucket>,
    by_name: BTreeMap<(String, String), BucketId>,
    owners: OwnerIndex,
    /// The last revision committed here.
    revision: u64,
    taps: Vec<mpsc::UnboundedSender<Commit>>,
}

/// The buckets that the server itself reads with every write.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WellKnown {
    pub(crate) namespaces: BucketId,
    pub(crate) definitions: BucketId,
    pub(crate) secrets: BucketId,
    pub(crate) accounts: BucketId,
    pub(crate) services: BucketId,
}

/// The store of one server.
pub(crate) struct Store {
    inner: Mutex<Inner>,
    revisions: Revisions,
    clock: Clock,
    history: usize,
}

impl Store {
    pub(crate) fn new(revisions: Revisions, clock: Clock, history: usize) -> Self {
        let inner = Inner {
            buckets: Vec::new(),
            by_name: BTreeMap::new(),
            owners: OwnerIndex::default(),
            revision: 0,
            taps: Vec::new(),
        };
        Self {
            inner: Mutex::new(inner),
            revisions,
            clock,
            history,
        }
    }

    /// Returns the buckets that the server itself reads.
    pub(crate) fn well_known(&self) -> WellKnown {
        WellKnown {
            namespaces: self.bucket("", "namespaces"),
            definitions: self.bucket("apiextensions.k8s.io", "customresourcedefinitions"),
            secrets: self.bucket("", "secrets"),
            accounts: self.bucket("", "serviceaccounts"),
            services: self.bucket("", "services"),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the bucket of a resource; creates it on first use.
    pub(crate) fn bucket(&self, group: &str, plural: &str) -> BucketId {
        let mut inner = self.lock();
        let key = (group.to_owned(), plural.to_owned());
        if let Some(id) = inner.by_name.get(&key) {
            return *id;
        }
        let id = BucketId(inner.buckets.len());
        let revision = inner.revision;
        inner.buckets.push(Bucket::new(revision, self.history));
        inner.by_name.insert(key, id);
        id
    }

    /// Returns the last revision committed here.
    pub(crate) fn revision(&self) -> u64 {
        self.lock().revision
    }

    pub(crate) fn get(&self, bucket: BucketId, key: &str) -> Option<Arc<Stored>> {
        self.lock().buckets[bucket.0].get(key)
    }

    /// Returns the objects whose keys begin with `prefix`, in order of keys, and the revision of that state.
    pub(crate) fn list(&self, bucket: BucketId, prefix: &str) -> (Vec<Arc<Stored>>, u64) {
        let inner = self.lock();
        (inner.buckets[bucket.0].list(prefix), inner.revision)
    }

    /// Returns a part of a collection, and its revision.
    pub(crate) fn part(&self, bucket: BucketId, wanted: &Wanted<'_>) -> Result<(Part, u64), Compacted> {
        let inner = self.lock();
        let part = inner.buckets[bucket.0].part(wanted)?;
        Ok((part, wanted.revision.unwrap_or(inner.revision)))
    }

    /// Returns the objects that name this uid as an owner.
    pub(crate) fn dependents(&self, uid: &str) -> Vec<(BucketId, String)> {
        self.lock().owners.dependents(uid)
    }

    pub(crate) fn has_dependents(&self, uid: &str) -> bool {
        self.lock().owners.has_dependents(uid)
    }

    /// Returns `true` if an object with this uid was deleted, and its dependents have not been processed since.
    pub(crate) fn has_gone(&self, uid: &str) -> bool {
        self.lock().owners.has_gone(uid)
    }

    /// Ends the watches of a resource that is no longer served.
    pub(crate) fn retire(&self, bucket: BucketId) {
        self.lock().buckets[bucket.0].retire();
    }

    /// Returns the live object with this uid.
    pub(crate) fn by_uid(&self, uid: &str) -> Option<(BucketId, Arc<Stored>)> {
        let inner = self.lock();
        let (bucket, key) = inner.owners.object(uid)?;
        let stored = inner.buckets[bucket.0].get(&key)?;
        Some((bucket, stored))
    }

    /// Writes one revision, if the key is in the expected state.
    pub(crate) fn commit(
        &self,
        bucket: BucketId,
        key: &str,
        expect: Expect,
        write: Write,
        by: &Arc<str>,
    ) -> Result<Committed, Moved> {
        let at = (self.clock)();
        let mut inner = self.lock();
        let previous = inner.buckets[bucket.0].get(key);
        match (expect, &previous) {
            (Expect::Absent, None) => {}
            (Expect::Revision(expected), Some(previous)) if previous.revision == expected => {}
            (Expect::Absent | Expect::Revision(_), _) => return Err(Moved),
        }
        let revision = self.revisions.next();
        inner.revision = revision;
        let had_unknown_fields = matches!(write, Write::PutWithUnknownFields(_));
        let (change, mut value) = match write {
            Write::Put(value) | Write::PutWithUnknownFields(value) if previous.is_none() => (Change::Added, value),
            Write::Put(value) | Write::PutWithUnknownFields(value) => (Change::Modified, value),
            Write::Delete(value) => (Change::Deleted, value),
        };
        meta::set(&mut value, "resourceVersion", revision.to_string());
        let stored = Arc::new(Stored::new(revision, change, value, had_unknown_fields));
        let value = stored.value();
        let live = match change {
            Change::Existing | Change::Added | Change::Modified => Some(&*value),
            Change::Deleted => None,
        };
        let before = previous.as_ref().map(|previous| previous.value());
        inner.owners.replace(bucket, key, before.as_deref(), live);
        inner.tell(|| Commit::new(change, &stored, at, by.clone()));
        inner.buckets[bucket.0].apply(Event::new(key, stored.clone(), previous.clone()));
        let signal = inner.buckets[bucket.0].signal();
        drop(inner);
        signal.notify();
        Ok(Committed {
            bucket,
            change,
            stored,
            previous,
        })
    }

    /// Returns a stream of every revision from now on, preceded by the existing objects.
    pub(crate) fn commits(&self) -> Commits {
        let (sender, receiver) = mpsc::unbounded_channel();
        let at = (self.clock)();
        let by: Arc<str> = Arc::from("");
        let mut inner = self.lock();
        let mut existing: Vec<Arc<Stored>> = inner.buckets.iter().flat_map(|bucket| bucket.list("")).collect();
        existing.sort_by_key(|stored| stored.revision);
        for stored in existing {
            // The receiver still exists, so nothing can be lost here.
            let _ = sender.send(Commit::new(Change::Existing, &stored, at, by.clone()));
        }
        inner.taps.push(sender);
        Commits::new(receiver)
    }

    /// Drops the history: watches and lists at older revisions get 410.
    pub(crate) fn compact(&self) {
        let mut inner = self.lock();
        let revision = inner.revision;
        for bucket in &mut inner.buckets {
            bucket.compact(revision);
        }
    }
}

impl Inner {
    fn tell(&mut self, commit: impl FnOnce() -> Commit) {
        if self.taps.is_empty() {
            return;
        }
        let commit = commit();
        self.taps.retain(|tap| tap.send(commit.clone()).is_ok());
    }
}

/// Returns the key of an object: `namespace/name`, or `name` without a namespace.
pub(crate) fn key_of(object: &Value) -> String {
    key(meta::namespace(object), meta::name(object).unwrap_or_default())
}

/// Returns the key of a namespace and a name.
pub(crate) fn key(namespace: Option<&str>, name: &str) -> String {
    match namespace {
        Some(namespace) => format!("{namespace}/{name}"),
        None => name.to_owned(),
    }
}

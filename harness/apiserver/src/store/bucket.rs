//! The objects of one resource and the last things that happened to them.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use tokio::sync::watch;

use super::commits::Change;
use super::{Compacted, Stored};

/// One thing that happened to an object.
#[derive(Debug)]
pub(crate) struct Event {
    pub(crate) change: Change,
    /// The new state; of a deletion the last one.
    pub(crate) object: Arc<Stored>,
    /// The state before, if there was one.
    pub(crate) previous: Option<Arc<Stored>>,
    line: OnceLock<Bytes>,
}

impl Event {
    pub(crate) fn new(change: Change, object: Arc<Stored>, previous: Option<Arc<Stored>>) -> Self {
        Self {
            change,
            object,
            previous,
            line: OnceLock::new(),
        }
    }

    /// The event as a line of a watch, written once by `write` for all watchers that want the same.
    pub(crate) fn line(&self, write: impl FnOnce() -> Bytes) -> Bytes {
        self.line.get_or_init(write).clone()
    }
}

/// A resource's objects, sorted by key (`namespace/name` or `name`), and its history.
#[derive(Debug)]
pub(super) struct Bucket {
    objects: BTreeMap<String, Arc<Stored>>,
    events: VecDeque<Arc<Event>>,
    /// How many events have been dropped from the front of `events` since the beginning.
    dropped: u64,
    /// The history is complete for revisions after this one.
    oldest: u64,
    limit: usize,
    /// How often the resource has ceased to be served.
    pub(super) retired: u64,
    /// How many events there have been; watches wait for it to move.
    appended: watch::Sender<u64>,
}

impl Bucket {
    pub(super) fn new(revision: u64, limit: usize) -> Self {
        Self {
            objects: BTreeMap::new(),
            events: VecDeque::new(),
            dropped: 0,
            oldest: revision,
            limit,
            retired: 0,
            appended: watch::Sender::new(0),
        }
    }

    pub(super) fn get(&self, key: &str) -> Option<Arc<Stored>> {
        self.objects.get(key).cloned()
    }

    pub(super) fn list(&self, prefix: &str) -> Vec<Arc<Stored>> {
        self.range(prefix).map(|(_, stored)| stored.clone()).collect()
    }

    fn range<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = (&'a String, &'a Arc<Stored>)> {
        self.objects
            .range::<str, _>((Bound::Included(prefix), Bound::Unbounded))
            .take_while(move |(key, _)| key.starts_with(prefix))
    }

    /// The state at a revision: the present one with everything later undone.
    pub(super) fn list_at(&self, prefix: &str, revision: u64) -> Result<Vec<Arc<Stored>>, Compacted> {
        if revision < self.oldest {
            return Err(Compacted { oldest: self.oldest });
        }
        let mut objects: BTreeMap<String, Arc<Stored>> = self
            .range(prefix)
            .map(|(key, stored)| (key.clone(), stored.clone()))
            .collect();
        for event in self
            .events
            .iter()
            .rev()
            .take_while(|event| event.object.revision > revision)
        {
            let key = super::key_of(&event.object.value);
            if !key.starts_with(prefix) {
                continue;
            }
            match &event.previous {
                Some(previous) => objects.insert(key, previous.clone()),
                None => objects.remove(&key),
            };
        }
        Ok(objects.into_values().collect())
    }

    pub(super) fn apply(&mut self, key: &str, event: Event) {
        match event.change {
            Change::Existing | Change::Added | Change::Modified => {
                if let Some(slot) = self.objects.get_mut(key) {
                    *slot = event.object.clone();
                } else {
                    self.objects.insert(key.to_owned(), event.object.clone());
                }
            }
            Change::Deleted => {
                self.objects.remove(key);
            }
        }
        self.events.push_back(Arc::new(event));
        while self.events.len() > self.limit {
            self.drop_oldest();
        }
        self.appended.send_modify(|count| *count += 1);
    }

    fn drop_oldest(&mut self) {
        if let Some(event) = self.events.pop_front() {
            self.oldest = event.object.revision;
            self.dropped += 1;
        }
    }

    pub(super) fn compact(&mut self, revision: u64) {
        while !self.events.is_empty() {
            self.drop_oldest();
        }
        self.oldest = revision;
    }

    pub(super) fn retire(&mut self) {
        self.retired += 1;
        self.appended.send_modify(|count| *count += 1);
    }

    pub(super) fn subscribe(&self) -> watch::Receiver<u64> {
        self.appended.subscribe()
    }

    /// The position of the first event after a revision.
    pub(super) fn position_after(&self, revision: u64) -> Result<u64, Compacted> {
        if revision < self.oldest {
            return Err(Compacted { oldest: self.oldest });
        }
        let before = self.events.partition_point(|event| event.object.revision <= revision);
        Ok(self.dropped + u64::try_from(before).unwrap_or(u64::MAX))
    }

    /// Events from a position on, at most `max`; `None` when some of them have been dropped.
    pub(super) fn events_from(&self, position: u64, max: usize) -> Option<Vec<Arc<Event>>> {
        let index = usize::try_from(position.checked_sub(self.dropped)?).ok()?;
        Some(self.events.iter().skip(index).take(max).cloned().collect())
    }
}

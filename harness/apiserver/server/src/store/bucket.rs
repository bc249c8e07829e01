//! The objects of one resource and their recent events.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::ops::Bound;
use std::sync::Arc;

use super::Change;
use super::{Compacted, Stored};
use crate::ordered_notify::OrderedNotify;

/// Maximum size of a collection whose objects are never packed.
const MAX_TREES: usize = 1_000;

/// One change of an object.
#[derive(Debug)]
pub(crate) struct Event {
    /// The key of the object.
    pub(crate) key: Box<str>,
    /// The new state; for a deletion, the last one.
    pub(crate) object: Arc<Stored>,
    /// The previous state, if there was one.
    pub(crate) previous: Option<Arc<Stored>>,
}

impl Event {
    pub(crate) fn new(key: &str, object: Arc<Stored>, previous: Option<Arc<Stored>>) -> Self {
        Self {
            key: key.into(),
            object,
            previous,
        }
    }

    /// The change of the event.
    pub(crate) fn change(&self) -> Change {
        self.object.change
    }
}

/// The requested part of a collection.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Wanted<'a> {
    /// Prefix of the keys.
    pub(crate) prefix: &'a str,
    /// The key before the first item.
    pub(crate) after: Option<&'a str>,
    /// Maximum number of items.
    pub(crate) limit: Option<usize>,
    /// The revision of the requested state; `None` for the present.
    pub(crate) revision: Option<u64>,
}

/// A part of a collection, in order of keys.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) items: Vec<Arc<Stored>>,
    /// Number of objects under the prefix, requested or not.
    pub(crate) total: usize,
}

/// A resource's objects, sorted by key (`namespace/name` or `name`), and its history.
#[derive(Debug)]
pub(super) struct Bucket {
    objects: BTreeMap<String, Arc<Stored>>,
    /// Number of objects in each namespace.
    sizes: HashMap<Box<str>, usize>,
    events: VecDeque<Arc<Event>>,
    /// Number of events dropped from the front of `events` so far.
    dropped: u64,
    /// The history is complete for revisions after this one.
    oldest: u64,
    limit: usize,
    /// Number of times that the resource has ceased to be served.
    pub(super) retired: u64,
    signal: Signal,
}

/// Wakes watches when there are new events; they wait for the number of changes to grow.
#[derive(Debug, Clone)]
pub(super) struct Signal(Arc<OrderedNotify<u64>>);

impl Signal {
    pub(super) fn notify(&self) {
        self.0.change(|changes| *changes += 1);
    }
}

impl Bucket {
    pub(super) fn new(revision: u64, limit: usize) -> Self {
        Self {
            objects: BTreeMap::new(),
            sizes: HashMap::new(),
            events: VecDeque::new(),
            dropped: 0,
            oldest: revision,
            limit,
            retired: 0,
            signal: Signal(Arc::new(OrderedNotify::new(0))),
        }
    }

    pub(super) fn get(&self, key: &str) -> Option<Arc<Stored>> {
        self.objects.get(key).cloned()
    }

    pub(super) fn list(&self, prefix: &str) -> Vec<Arc<Stored>> {
        let from = (Bound::Included(prefix), Bound::Unbounded);
        let objects = self.objects.range::<str, _>(from);
        objects
            .take_while(|(key, _)| key.starts_with(prefix))
            .map(|(_, stored)| stored.clone())
            .collect()
    }

    /// Returns a part of the collection. The state at a revision is the present one with all later changes undone.
    pub(super) fn part(&self, wanted: &Wanted<'_>) -> Result<Part, Compacted> {
        let prefix = wanted.prefix;
        let undone = wanted.revision.map(|revision| self.undone(prefix, revision));
        let undone = undone.transpose()?.unwrap_or_default();
        let start = wanted.after.map_or(Bound::Included(prefix), Bound::Excluded);
        let mut now = self
            .objects
            .range::<str, _>((start, Bound::Unbounded))
            .take_while(|(key, _)| key.starts_with(prefix))
            .peekable();
        let mut then = undone.range::<str, _>((start, Bound::Unbounded)).peekable();
        let limit = wanted.limit.unwrap_or(usize::MAX);
        let mut items = Vec::new();
        while items.len() < limit {
            let unchanged = match (now.peek(), then.peek()) {
                (None, None) => break,
                (Some((key, _)), Some((other, _))) => key.as_str() < **other,
                (Some(_), None) => true,
                (None, Some(_)) => false,
            };
            if unchanged {
                items.extend(now.next().map(|(_, stored)| stored.clone()));
            } else if let Some((key, past)) = then.next() {
                now.next_if(|(other, _)| other == key);
                items.extend(past.cloned());
            }
        }
        let mut total = self.size(prefix);
        for (key, past) in &undone {
            total = total + usize::from(past.is_some()) - usize::from(self.objects.contains_key(*key));
        }
        Ok(Part { items, total })
    }

    /// Returns the states at a revision of the objects that have changed since; `None` for objects that did not exist.
    fn undone(&self, prefix: &str, revision: u64) -> Result<BTreeMap<&str, Option<&Arc<Stored>>>, Compacted> {
        if revision < self.oldest {
            return Err(Compacted { oldest: self.oldest });
        }
        let later = self
            .events
            .iter()
            .rev()
            .take_while(|event| event.object.revision > revision);
        Ok(later
            .filter(|event| event.key.starts_with(prefix))
            .map(|event| (&*event.key, event.previous.as_ref()))
            .collect())
    }

    /// Returns the number of objects under a prefix: that of a namespace, or the empty one.
    fn size(&self, prefix: &str) -> usize {
        match prefix.strip_suffix('/') {
            Some(namespace) => self.sizes.get(namespace).copied().unwrap_or_default(),
            None => self.objects.len(),
        }
    }

    /// Adds an event. The caller notifies watches with [`Bucket::signal`] once the store is unlocked; before, they
    /// would only wait for each other.
    pub(super) fn apply(&mut self, event: Event) {
        let key = &*event.key;
        match event.change() {
            Change::Existing | Change::Added | Change::Modified => {
                if let Some(slot) = self.objects.get_mut(key) {
                    *slot = event.object.clone();
                } else {
                    self.objects.insert(key.to_owned(), event.object.clone());
                    if let Some((namespace, _)) = key.split_once('/') {
                        *self.sizes.entry(namespace.into()).or_default() += 1;
                    }
                }
            }
            Change::Deleted => {
                let found = self.objects.remove(key);
                if let (Some(_), Some((namespace, _))) = (found, key.split_once('/')) {
                    self.shrink(namespace);
                }
            }
        }
        self.events.push_back(Arc::new(event));
        while self.events.len() > self.limit {
            self.drop_oldest();
        }
    }

    fn shrink(&mut self, namespace: &str) {
        if let Some(size) = self.sizes.get_mut(namespace) {
            *size -= 1;
            if *size == 0 {
                self.sizes.remove(namespace);
            }
        }
    }

    /// Drops the oldest event. In a large collection, an object that has not changed since is packed; an older state
    /// goes with its event.
    fn drop_oldest(&mut self) {
        if let Some(event) = self.events.pop_front() {
            if self.objects.len() > MAX_TREES && Arc::strong_count(&event.object) > 1 {
                event.object.pack();
            }
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
        self.signal.notify();
    }

    pub(super) fn signal(&self) -> Signal {
        self.signal.clone()
    }

    pub(super) fn subscribe(&self) -> Arc<OrderedNotify<u64>> {
        Arc::clone(&self.signal.0)
    }

    /// Returns the position of the first event after a revision.
    pub(super) fn position_after(&self, revision: u64) -> Result<u64, Compacted> {
        if revision < self.oldest {
            return Err(Compacted { oldest: self.oldest });
        }
        let before = self.events.partition_point(|event| event.object.revision <= revision);
        Ok(self.dropped + u64::try_from(before).unwrap_or(u64::MAX))
    }

    /// Returns at most `max` events from a position on; `None` if some of them have been dropped.
    pub(super) fn events_from(&self, position: u64, max: usize) -> Option<Vec<Arc<Event>>> {
        let index = usize::try_from(position.checked_sub(self.dropped)?).ok()?;
        let end = self.events.len().min(index.saturating_add(max));
        Some(self.events.range(index.min(end)..end).cloned().collect())
    }
}

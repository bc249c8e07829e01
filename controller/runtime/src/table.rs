//! Cached objects of one kind on one cluster.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use baton_decide::keys::ObjectKey;

/// Result of recording a revision.
#[derive(Debug, Eq, PartialEq)]
pub enum Sight<T> {
    /// The revision is known, or a newer one was recorded before.
    Old,
    /// The revision is new; contains the previous object.
    New(Option<Arc<T>>),
}

/// Objects of one kind, fed by a watch and by the responses to our writes.
///
/// An older revision never replaces a newer one, so that the watch does not undo a response that overtook it. A
/// response that the watch overtook does not restore a deleted object.
#[derive(Debug)]
pub struct Table<T> {
    objects: BTreeMap<ObjectKey, Row<T>>,
    /// Revisions at which objects were deleted, until the watch reports the deletion.
    deleted: BTreeMap<ObjectKey, u64>,
    /// Last revision at which the watch reported a deletion.
    lost_at: u64,
    listing: u64,
    is_listing: bool,
    /// Seen only in a write response since the list began: if it was deleted before the list was taken, no DELETE event
    /// follows.
    unconfirmed: BTreeSet<ObjectKey>,
    is_synced: bool,
}

/// Version of an object.
#[derive(Clone, Copy, Debug)]
pub struct Version {
    /// Revision of the object.
    pub revision: u64,
    /// Generation of the desired state, if the kind has one.
    pub generation: Option<i64>,
}

#[derive(Debug)]
struct Row<T> {
    revision: u64,
    generation: Option<i64>,
    /// Number of the listing that was in progress when the object was last seen.
    listing: u64,
    object: Arc<T>,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self {
            objects: BTreeMap::new(),
            deleted: BTreeMap::new(),
            lost_at: 0,
            listing: 0,
            is_listing: false,
            unconfirmed: BTreeSet::new(),
            is_synced: false,
        }
    }
}

impl<T> Table<T> {
    /// Returns an object.
    pub fn get(&self, key: &ObjectKey) -> Option<&Arc<T>> {
        self.objects.get(key).map(|row| &row.object)
    }

    /// Returns all objects in the order of their keys.
    pub fn iter(&self) -> impl Iterator<Item = (&ObjectKey, &Arc<T>)> {
        self.objects.iter().map(|(key, row)| (key, &row.object))
    }

    /// Returns true if this version only reports status: the desired state has not changed.
    pub fn is_report(&self, key: &ObjectKey, version: Version) -> bool {
        let known = self.objects.get(key).and_then(|row| row.generation);
        known.is_some() && known == version.generation
    }

    /// Returns true once everything has been listed.
    pub fn is_synced(&self) -> bool {
        self.is_synced
    }

    /// Begins a listing.
    pub fn begin(&mut self) {
        self.listing += 1;
        self.is_listing = true;
        self.unconfirmed.clear();
    }

    /// Marks an object that was seen in a response but not by the watch.
    pub fn mark_unconfirmed(&mut self, key: &ObjectKey) {
        if self.is_listing && self.objects.contains_key(key) {
            self.unconfirmed.insert(key.clone());
        }
    }

    /// Takes the objects seen only in responses during the listing, each with its revision.
    pub fn take_unconfirmed(&mut self) -> Vec<(ObjectKey, u64)> {
        let keys = std::mem::take(&mut self.unconfirmed).into_iter();
        keys.filter_map(|key| Some((key.clone(), self.objects.get(&key)?.revision)))
            .collect()
    }

    /// Returns true if an object is cached at exactly this revision.
    pub fn is_at(&self, key: &ObjectKey, revision: u64) -> bool {
        self.objects.get(key).is_some_and(|row| row.revision == revision)
    }

    /// Removes an object as if it had never been seen at this revision.
    pub fn leave_out(&mut self, key: &ObjectKey, revision: u64) -> Option<Arc<T>> {
        if !self.is_at(key, revision) {
            return None;
        }
        self.objects.remove(key).map(|row| row.object)
    }

    /// Completes a listing: removes and returns the objects not seen since it began.
    pub fn complete(&mut self) -> Vec<(ObjectKey, Arc<T>)> {
        self.is_synced = true;
        self.is_listing = false;
        let listing = self.listing;
        let gone: Vec<ObjectKey> = self
            .objects
            .iter()
            .filter(|(_, row)| row.listing < listing)
            .map(|(key, _)| key.clone())
            .collect();
        gone.into_iter()
            .filter_map(|key| Some((key.clone(), self.objects.remove(&key)?.object)))
            .collect()
    }

    /// Records an object. It is decoded only if it is new; objects that cannot be decoded are skipped.
    pub fn see(&mut self, key: &ObjectKey, version: Version, make: impl FnOnce() -> Option<T>) -> Sight<T> {
        let Version { revision, generation } = version;
        self.unconfirmed.remove(key);
        if self.deleted.get(key).is_some_and(|deleted| *deleted >= revision) {
            return Sight::Old;
        }
        // A watch reports in order of revisions: it has reported this one, and then the deletion.
        if revision < self.lost_at && !self.objects.contains_key(key) {
            return Sight::Old;
        }
        let listing = self.listing;
        if let Some(row) = self.objects.get_mut(key)
            && row.revision >= revision
        {
            row.listing = listing;
            return Sight::Old;
        }
        let Some(object) = make() else { return Sight::Old };
        let row = Row {
            revision,
            generation,
            listing,
            object: Arc::new(object),
        };
        Sight::New(self.objects.insert(key.clone(), row).map(|row| row.object))
    }

    /// Removes an object that the watch reports as deleted. Returns the cached object.
    pub fn lose(&mut self, key: &ObjectKey, revision: u64) -> Option<Arc<T>> {
        self.deleted.remove(key);
        self.lost_at = self.lost_at.max(revision);
        if self.objects.get(key).is_some_and(|row| row.revision > revision) {
            return None;
        }
        self.objects.remove(key).map(|row| row.object)
    }

    /// Removes an object that a response reports as deleted, before the watch does. Returns the cached object.
    pub fn forget(&mut self, key: &ObjectKey) -> Option<Arc<T>> {
        let row = self.objects.remove(key)?;
        self.deleted.insert(key.clone(), row.revision);
        Some(row.object)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> ObjectKey {
        ObjectKey::new(Some("ns"), name)
    }

    fn at(revision: u64) -> Version {
        Version {
            revision,
            generation: None,
        }
    }

    #[test]
    fn what_is_wanted_changes_with_the_generation_if_there_is_one() {
        let of = |generation: Option<i64>| Version { generation, ..at(1) };
        let mut table = Table::default();
        assert!(!table.is_report(&key("a"), of(Some(1))), "it is new");
        table.see(&key("a"), of(Some(1)), || Some(()));
        assert!(table.is_report(&key("a"), of(Some(1))));
        assert!(!table.is_report(&key("a"), of(Some(2))));
        table.see(&key("b"), of(None), || Some(()));
        assert!(!table.is_report(&key("b"), of(None)));
    }

    #[test]
    fn an_older_revision_does_not_replace_a_newer_one() {
        let mut table = Table::default();
        assert_eq!(table.see(&key("a"), at(5), || Some("new")), Sight::New(None));
        assert_eq!(table.see(&key("a"), at(4), || Some("old")), Sight::Old);
        assert_eq!(table.get(&key("a")).map(|object| **object), Some("new"));
        assert_eq!(table.lose(&key("a"), 4), None);
        assert!(table.lose(&key("a"), 6).is_some());
    }

    #[test]
    fn what_a_listing_does_not_have_is_gone_unless_seen_meanwhile() {
        let mut table = Table::default();
        table.see(&key("a"), at(1), || Some(()));
        table.begin();
        table.see(&key("b"), at(2), || Some(()));
        let gone: Vec<_> = table
            .complete()
            .into_iter()
            .map(|(key, _)| key.name)
            .collect::<Vec<_>>();
        assert_eq!(gone, ["a"]);
        assert!(table.is_synced());
    }

    #[test]
    fn what_only_an_answer_has_told_of_during_a_listing_is_doubtful() {
        let mut table = Table::default();
        table.see(&key("before"), at(1), || Some(()));
        table.mark_unconfirmed(&key("before"));
        table.begin();
        for name in ["answered", "both"] {
            table.see(&key(name), at(2), || Some(()));
            table.mark_unconfirmed(&key(name));
        }
        for name in ["before", "both"] {
            table.see(&key(name), at(2), || Some(()));
        }
        assert!(table.complete().is_empty());
        assert_eq!(table.take_unconfirmed(), [(key("answered"), 2)]);
        assert_eq!(table.take_unconfirmed(), []);
        assert_eq!(table.leave_out(&key("answered"), 1), None, "it has been seen anew");
        assert!(table.leave_out(&key("answered"), 2).is_some());
        assert_eq!(table.see(&key("answered"), at(2), || Some(())), Sight::New(None));
    }

    #[test]
    fn an_answer_that_comes_late_does_not_bring_back_what_is_gone() {
        let mut table = Table::default();
        table.see(&key("a"), at(5), || Some("there"));
        table.see(&key("b"), at(3), || Some("there"));
        table.lose(&key("a"), 7);
        assert_eq!(table.see(&key("a"), at(6), || Some("marked")), Sight::Old);
        assert_eq!(table.get(&key("a")), None);
        assert!(matches!(
            table.see(&key("b"), at(4), || Some("changed")),
            Sight::New(Some(_))
        ));
        assert_eq!(table.see(&key("a"), at(8), || Some("made again")), Sight::New(None));
    }

    #[test]
    fn a_deleted_object_does_not_come_back_with_an_old_event() {
        let mut table = Table::default();
        table.see(&key("a"), at(5), || Some(()));
        table.forget(&key("a"));
        assert_eq!(table.see(&key("a"), at(4), || Some(())), Sight::Old);
        assert_eq!(table.see(&key("a"), at(5), || Some(())), Sight::Old);
        table.lose(&key("a"), 6);
        assert_eq!(table.see(&key("a"), at(7), || Some(())), Sight::New(None));
    }
}

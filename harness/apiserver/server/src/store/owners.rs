//! An index of owners, updated with every commit, so that garbage collection never searches.

use std::collections::{BTreeSet, HashMap, HashSet};

use baton_apimachinery::meta;
use serde_json::Value;

use super::BucketId;

type Place = (BucketId, String);

/// The live objects by uid, and the objects that name a uid as an owner.
#[derive(Debug, Default)]
pub(super) struct OwnerIndex {
    objects: HashMap<String, Place>,
    dependents: HashMap<String, BTreeSet<Place>>,
    /// Deleted owners that objects still name.
    gone: HashSet<String>,
}

impl OwnerIndex {
    /// Returns the objects that name the uid as an owner, in order of bucket and key.
    pub(super) fn dependents(&self, uid: &str) -> Vec<Place> {
        self.dependents.get(uid).into_iter().flatten().cloned().collect()
    }

    pub(super) fn has_dependents(&self, uid: &str) -> bool {
        self.dependents.contains_key(uid)
    }

    pub(super) fn has_gone(&self, uid: &str) -> bool {
        self.gone.contains(uid)
    }

    pub(super) fn object(&self, uid: &str) -> Option<Place> {
        self.objects.get(uid).cloned()
    }

    /// Updates the index with a commit.
    pub(super) fn replace(&mut self, bucket: BucketId, key: &str, old: Option<&Value>, new: Option<&Value>) {
        if let Some(old) = old {
            for owner in meta::owners(old) {
                self.remove_dependent(owner.uid, bucket, key);
            }
            if new.is_none()
                && let Some(uid) = meta::uid(old)
            {
                self.objects.remove(uid);
                if self.dependents.contains_key(uid) {
                    self.gone.insert(uid.to_owned());
                }
            }
        }
        let Some(new) = new else { return };
        for owner in meta::owners(new) {
            let dependents = self.dependents.entry(owner.uid.to_owned()).or_default();
            dependents.insert((bucket, key.to_owned()));
        }
        if old.is_none()
            && let Some(uid) = meta::uid(new)
        {
            self.objects.insert(uid.to_owned(), (bucket, key.to_owned()));
        }
    }

    fn remove_dependent(&mut self, uid: &str, bucket: BucketId, key: &str) {
        if let Some(dependents) = self.dependents.get_mut(uid) {
            dependents.remove(&(bucket, key.to_owned()));
            if dependents.is_empty() {
                self.dependents.remove(uid);
                self.gone.remove(uid);
            }
        }
    }
}

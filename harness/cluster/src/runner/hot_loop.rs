//! Detects hot loops: a client that keeps writing without ever waiting.
//!
//! Virtual time advances only at quiescence, when everything waits. A client that rewrites an object again and again
//! without waiting stops the clock, so that no timeout ever fires and the case would never end.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use baton_core::timeline::{Change, Entry, Event, HotLoop, ObjectId};

use crate::observer::{Follower, Recorder};

/// This many writes of one object without news are a hot loop: at one moment, and with no first write of another object
/// in between. Hundreds of workloads that fail over at once write thousands of revisions at one moment, but each object a
/// few times, and an object that counts them once for each.
const TOO_MANY: usize = 1_000;
/// This many revisions at one moment are a hot loop, whatever was written. Each is kept: more would make the evidence
/// unreadable.
const TOO_MANY_AT_ALL: usize = 50_000;

/// Counts the writes of each object since the clock last moved.
#[derive(Debug)]
pub(super) struct QuiescenceDetector {
    recorder: Recorder,
    follower: Follower,
    at: Duration,
    revisions: usize,
    /// The objects that have been written at this moment.
    known: BTreeSet<ObjectId>,
    /// The writes of each object since the last news.
    written: BTreeMap<ObjectId, usize>,
}

impl QuiescenceDetector {
    pub(super) fn of(recorder: &Recorder) -> Self {
        Self {
            recorder: recorder.clone(),
            follower: recorder.follow(),
            at: Duration::ZERO,
            revisions: 0,
            known: BTreeSet::new(),
            written: BTreeMap::new(),
        }
    }

    /// Completes when an object was written too often at one moment; never otherwise. Asked again, it counts from there.
    /// May be dropped while it waits.
    pub(super) async fn hot(&mut self) -> HotLoop {
        while let Some(entries) = self.follower.next().await {
            let mut is_hot = false;
            for entry in &entries {
                is_hot |= self.count(entry) >= TOO_MANY || self.revisions >= TOO_MANY_AT_ALL;
            }
            if is_hot {
                self.forget();
                return self.most_rewritten();
            }
        }
        std::future::pending().await
    }

    /// Counts an entry, and returns the number of writes of its object without news.
    fn count(&mut self, entry: &Entry) -> usize {
        // What was there when the observer began to look was not written now.
        let Event::Revision(revision) = &entry.event else {
            return 0;
        };
        if revision.change == Change::List {
            return 0;
        }
        if entry.at != self.at {
            self.at = entry.at;
            self.forget();
        }
        self.revisions += 1;
        let object = ObjectId::of(revision);
        // An event that is new says only that its writer goes on.
        if self.known.insert(object.clone()) && object.kind != "Event" {
            self.written.clear();
        }
        let times = self.written.entry(object).or_default();
        *times += 1;
        *times
    }

    fn forget(&mut self) {
        self.revisions = 0;
        self.known.clear();
        self.written.clear();
    }

    fn most_rewritten(&self) -> HotLoop {
        let timeline = self.recorder.timeline();
        let mut written: BTreeMap<(ObjectId, Option<&str>), usize> = BTreeMap::new();
        let now = timeline.revisions().rev().take_while(|(entry, _)| entry.at == self.at);
        let now = now.filter(|(_, revision)| revision.change != Change::List);
        let mut revisions = 0;
        for (_, revision) in now {
            let writer = (ObjectId::of(revision), revision.by.as_deref());
            *written.entry(writer).or_default() += 1;
            revisions += 1;
        }
        let most = written.into_iter().max_by_key(|(_, times)| *times);
        let (object, by, times) = most.map_or_else(
            || (String::new(), None, 0),
            |((object, by), times)| (object.to_string(), by.map(str::to_owned), times),
        );
        HotLoop {
            object,
            by,
            times,
            revisions,
        }
    }
}

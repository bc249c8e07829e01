//! Detects hot loops: a client that keeps writing without ever waiting.
//!
//! Virtual time advances only at quiescence, when everything waits. A client that rewrites an object again and again
//! without waiting stops the clock, so that no timeout ever fires and the case would never end.

use std::{collections::BTreeMap, time::Duration};

use baton_core::timeline::{Change, Entry, Event, HotLoop, ObjectId};

use crate::observer::{Follower, Recorder};

/// This many revisions at one moment are a hot loop. A case with a few members has some tens of them at its busiest
/// moment; that leaves room for the 50 members that a case may have. Each is kept, so that many more would only make
/// the evidence unreadable.
const TOO_MANY: usize = 5_000;

/// Counts the revisions since the clock last moved.
#[derive(Debug)]
pub(super) struct QuiescenceDetector {
    recorder: Recorder,
    follower: Follower,
    at: Duration,
    revisions: usize,
}

impl QuiescenceDetector {
    pub(super) fn of(recorder: &Recorder) -> Self {
        Self {
            recorder: recorder.clone(),
            follower: recorder.follow(),
            at: Duration::ZERO,
            revisions: 0,
        }
    }

    /// Completes when there have been too many revisions at one moment; never otherwise. Asked again, it counts from
    /// there. May be dropped while it waits.
    pub(super) async fn hot(&mut self) -> HotLoop {
        while let Some(entries) = self.follower.next().await {
            for entry in &entries {
                self.count(entry);
            }
            if self.revisions >= TOO_MANY {
                self.revisions = 0;
                return self.most_rewritten();
            }
        }
        std::future::pending().await
    }

    fn count(&mut self, entry: &Entry) {
        // What was there when the observer began to look was not written now.
        let Event::Revision(revision) = &entry.event else {
            return;
        };
        if revision.change == Change::List {
            return;
        }
        if entry.at != self.at {
            (self.at, self.revisions) = (entry.at, 0);
        }
        self.revisions += 1;
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

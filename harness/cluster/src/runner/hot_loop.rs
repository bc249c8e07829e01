//! Detects hot loops: a client that keeps writing without ever waiting.
//!
//! Virtual time advances only at quiescence, when everything waits. A client that rewrites an object again and again
//! without waiting stops the clock, so that no timeout ever fires and the case would never end.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use baton_core::timeline::{Change, Entry, Event, HANDS, HotLoop, ObjectId};

use crate::observer::{Follower, Recorder};

/// This many writes of one object without news are a hot loop: at one moment, and with no first write of another object
/// in between. Thousands of workloads that fail over at once write many revisions at one moment, but each object a few
/// times, and an object that counts workloads once for each: where there are more causes than this, their number counts.
const TOO_MANY: usize = 1_000;
/// This many revisions at one moment are a hot loop even if each round of it creates an object, which is news. A case with
/// many workloads may write more: see [`MOST_PER_CAUSE`].
const TOO_MANY_AT_ALL: usize = 50_000;
/// So many revisions at one moment are allowed for each cause. A workload that is placed or that fails over has several
/// causes and writes about 30 revisions.
const MOST_PER_CAUSE: usize = 25;

/// Finds hot loops on a timeline.
#[derive(Debug)]
pub(super) struct QuiescenceDetector {
    recorder: Recorder,
    follower: Follower,
    counts: Counts,
}

impl QuiescenceDetector {
    pub(super) fn of(recorder: &Recorder) -> Self {
        Self {
            recorder: recorder.clone(),
            follower: recorder.follow(),
            counts: Counts::default(),
        }
    }

    /// Completes when an object was written too often at one moment; never otherwise. Asked again, it counts from there.
    /// May be dropped while it waits.
    pub(super) async fn hot(&mut self) -> HotLoop {
        while let Some(entries) = self.follower.next().await {
            let mut is_hot = false;
            for entry in &entries {
                is_hot |= self.counts.count(entry);
            }
            if is_hot {
                self.counts.forget();
                return self.most_rewritten();
            }
        }
        std::future::pending().await
    }

    fn most_rewritten(&self) -> HotLoop {
        let at = self.counts.at;
        let timeline = self.recorder.timeline();
        let mut written: BTreeMap<(ObjectId, Option<&str>), usize> = BTreeMap::new();
        let now = timeline.revisions().rev().take_while(|(entry, _)| entry.at == at);
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

/// The writes of each object since the clock last moved.
#[derive(Debug, Default)]
struct Counts {
    at: Duration,
    revisions: usize,
    /// The objects that have been written at this moment.
    known: BTreeSet<ObjectId>,
    /// Number of those that existed before this moment or were written by the harness. A loop cannot raise this number by
    /// creating objects.
    causes: usize,
    /// The writes of each object since the last news.
    written: BTreeMap<ObjectId, usize>,
}

impl Counts {
    /// Counts an entry, and returns whether it belongs to a hot loop.
    fn count(&mut self, entry: &Entry) -> bool {
        // What was there when the observer began to look was not written now.
        let Event::Revision(revision) = &entry.event else {
            return false;
        };
        if revision.change == Change::List {
            return false;
        }
        if entry.at != self.at {
            self.at = entry.at;
            self.forget();
        }
        self.revisions += 1;
        let object = ObjectId::of(revision);
        if self.known.insert(object.clone()) {
            let is_asked = revision.by.as_deref() == Some(HANDS);
            self.causes += usize::from(is_asked || revision.change != Change::Added);
            // An event that is new says only that its writer goes on.
            if object.kind != "Event" {
                self.written.clear();
            }
        }
        let times = self.written.entry(object).or_default();
        *times += 1;
        let most = TOO_MANY_AT_ALL.max(self.causes.saturating_mul(MOST_PER_CAUSE));
        *times >= TOO_MANY.max(self.causes) || self.revisions >= most
    }

    fn forget(&mut self) {
        self.revisions = 0;
        self.known.clear();
        self.causes = 0;
        self.written.clear();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use baton_core::{names::ClusterName, timeline::Revision};
    use serde_json::json;

    use super::*;

    fn written(change: Change, name: &str) -> Entry {
        Entry {
            at: Duration::ZERO,
            seq: 1,
            event: Event::Revision(Revision {
                cluster: ClusterName::control(),
                kind: "ResourceBinding".to_owned(),
                change,
                object: Arc::new(json!({"metadata": {"namespace": "default", "name": name}})),
                by: Some("target".to_owned()),
            }),
        }
    }

    #[test]
    fn thousands_of_workloads_that_move_at_one_moment_are_none() {
        let mut counts = Counts::default();
        for _ in 0..12 {
            for number in 0..10_000 {
                assert!(!counts.count(&written(Change::Modified, &format!("web-{number}"))));
            }
        }
        assert_eq!(counts.revisions, 120_000);
    }

    #[test]
    fn a_loop_that_creates_an_object_in_each_round_is_one() {
        let mut counts = Counts::default();
        let mut rounds = (0..TOO_MANY_AT_ALL).map(|number| {
            let created = counts.count(&written(Change::Added, &format!("event-{number}")));
            created || counts.count(&written(Change::Modified, "web"))
        });
        assert_eq!(rounds.position(|is_hot| is_hot), Some(TOO_MANY_AT_ALL / 2 - 1));
    }

    #[test]
    fn one_object_without_news_is_one_whatever_was_written_before() {
        let mut counts = Counts::default();
        for number in 0..2_000 {
            assert!(!counts.count(&written(Change::Modified, &format!("web-{number}"))));
        }
        let rounds = (0..10_000).position(|_| counts.count(&written(Change::Modified, "web-0")));
        assert_eq!(rounds, Some(1_999));
    }
}

//! The eviction queue: first in, first out, limited by the eviction rate (EVQ, RAT).
//!
//! The queue is kept in memory and rebuilt from the taints after a restart (EVQ-04). A binding whose eviction is
//! blocked steps aside so that it delays no other, and rejoins at the end (EVQ-08). A binding that tolerates the taint
//! for ever is never queued (TNT-08).

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use crate::keys::{Gvk, ObjectKey};
use crate::settings::Settings;

/// Rate in evictions per second from which evictions are unlimited, because timers have a resolution of one
/// millisecond.
const UNLIMITED: f64 = 1e3;
/// Period over which the rate of processed evictions is measured.
const MEASURED_OVER: SignedDuration = SignedDuration::from_secs(60);

/// A binding and the cluster that it leaves.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Entry {
    /// The binding.
    pub binding: ObjectKey,
    /// The cluster.
    pub cluster: String,
}

/// Permission to evict a binding.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Turn {
    /// The binding may be evicted now. Call [`EvictionQueue::finish`] when its task is written.
    Now,
    /// Not before this time.
    At(Timestamp),
    /// Other bindings precede this one; it is woken when it becomes the first.
    Later,
    /// Evictions are stopped: the rate is 0 (RAT-03).
    Stopped,
}

/// Outcome of processing an entry.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Outcome {
    /// The eviction task is written.
    Evicted,
    /// The cluster recovered.
    Dropped,
    /// No other cluster could run the workload (PRE-01).
    Infeasible,
    /// The state cannot be preserved at present.
    Blocked,
}

/// An entry that was processed.
#[derive(Clone, Debug, PartialEq)]
pub struct Finished {
    /// The cluster.
    pub cluster: String,
    /// Outcome of the entry.
    pub outcome: Outcome,
    /// Time that the entry spent in the queue.
    pub waited: SignedDuration,
}

/// Metrics of one cluster (OBS-03, OBS-04).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClusterFigures {
    /// Number of bindings in the queue, by kind.
    pub waiting: BTreeMap<Gvk, u64>,
    /// Processed entries per second over the last minute.
    pub rate: f64,
    /// Share of processed entries that were evicted; `None` if none were processed.
    pub success: Option<f64>,
}

#[derive(Clone, Debug)]
struct Waiting {
    enqueued: Timestamp,
    entry: Entry,
    kind: Gvk,
}

#[derive(Clone, Debug, Default)]
struct Log {
    /// Times at which entries were processed within the last minute.
    recent: Vec<Timestamp>,
    processed: u64,
    evicted: u64,
}

/// Bindings that wait for their eviction.
#[derive(Clone, Debug, Default)]
pub struct EvictionQueue {
    /// Waiting entries in order of arrival.
    waiting: Vec<Waiting>,
    /// Entries that cannot leave at present. They stay queued (EVQ-05) but do not get a turn.
    aside: BTreeSet<Entry>,
    /// Time at which the last eviction was due, or was carried out if that was later.
    last: Option<Timestamp>,
    logs: BTreeMap<String, Log>,
}

impl EvictionQueue {
    /// Adds a binding to the queue unless it is queued already (EVQ-01). A binding that had stepped aside rejoins at
    /// the end (EVQ-08).
    pub fn join(&mut self, entry: &Entry, kind: &Gvk, now: Timestamp) {
        self.aside.remove(entry);
        if self.waiting.iter().any(|waiting| waiting.entry == *entry) {
            return;
        }
        // Entries that arrive at the same time are ordered by key, so that the order does not depend on chance.
        let place = self
            .waiting
            .partition_point(|waiting| (waiting.enqueued, &waiting.entry) <= (now, entry));
        let entry = entry.clone();
        let waiting = Waiting {
            enqueued: now,
            entry,
            kind: kind.clone(),
        };
        self.waiting.insert(place, waiting);
    }

    /// Returns true if the binding is in the queue.
    pub fn has(&self, entry: &Entry) -> bool {
        self.aside.contains(entry) || self.waiting.iter().any(|waiting| waiting.entry == *entry)
    }

    /// Removes all entries of a binding except those for these clusters.
    pub fn keep_only(&mut self, binding: &ObjectKey, clusters: &[&str]) {
        let stays = |entry: &Entry| entry.binding != *binding || clusters.contains(&entry.cluster.as_str());
        self.waiting.retain(|waiting| stays(&waiting.entry));
        self.aside.retain(stays);
    }

    /// Returns the entry at the head of the queue.
    pub fn head(&self) -> Option<&Entry> {
        self.waiting.first().map(|waiting| &waiting.entry)
    }

    /// Decides whether this binding may be evicted, at this rate of evictions per second. A new rate counts from the
    /// last eviction (RAT-05).
    pub fn turn(&self, entry: &Entry, rate: f64, now: Timestamp) -> Turn {
        let Some(interval) = interval(rate) else {
            return Turn::Stopped;
        };
        if rate >= UNLIMITED {
            return Turn::Now;
        }
        if self.head().is_some_and(|first| first != entry) {
            return Turn::Later;
        }
        match self.due(interval) {
            Some(due) if due > now => Turn::At(due),
            Some(_) | None => Turn::Now,
        }
    }

    fn due(&self, interval: SignedDuration) -> Option<Timestamp> {
        self.last.and_then(|last| last.checked_add(interval).ok())
    }

    /// Records that an entry was processed. Evicted and dropped entries leave the queue; the others step aside. After
    /// an eviction the next one waits as the rate requires (RAT-01). Returns `None` if the entry was not queued, as in
    /// a drain, or was counted before.
    pub fn finish(&mut self, entry: &Entry, outcome: Outcome, rate: f64, now: Timestamp) -> Option<Finished> {
        if outcome == Outcome::Evicted {
            let due = interval(rate).and_then(|interval| self.due(interval));
            self.last = Some(due.map_or(now, |due| due.max(now)));
        }
        let was_aside = self.aside.remove(entry);
        let place = self.waiting.iter().position(|waiting| waiting.entry == *entry);
        let waiting = place.map(|place| self.waiting.remove(place));
        if matches!(outcome, Outcome::Infeasible | Outcome::Blocked) {
            self.aside.insert(entry.clone());
            if was_aside {
                return None;
            }
        } else if waiting.is_none() && !was_aside {
            return None;
        }
        let log = self.logs.entry(entry.cluster.clone()).or_default();
        log.recent.retain(|at| is_recent(*at, now));
        log.recent.push(now);
        log.processed += 1;
        log.evicted += u64::from(outcome == Outcome::Evicted);
        Some(Finished {
            cluster: entry.cluster.clone(),
            outcome,
            waited: waiting.map_or(SignedDuration::ZERO, |waiting| now.duration_since(waiting.enqueued)),
        })
    }

    /// Resets the figures of a cluster that has recovered or is gone.
    pub fn forget_cluster(&mut self, cluster: &str) {
        self.logs.remove(cluster);
    }

    /// Returns the metrics by cluster.
    pub fn figures(&self, now: Timestamp) -> BTreeMap<String, ClusterFigures> {
        let mut figures: BTreeMap<String, ClusterFigures> = BTreeMap::new();
        for waiting in &self.waiting {
            let cluster = figures.entry(waiting.entry.cluster.clone()).or_default();
            *cluster.waiting.entry(waiting.kind.clone()).or_default() += 1;
        }
        for (cluster, log) in &self.logs {
            let recent = log.recent.iter().filter(|at| is_recent(**at, now));
            let figures = figures.entry(cluster.clone()).or_default();
            figures.rate = number(recent.count()) / MEASURED_OVER.as_secs_f64();
            figures.success = (log.processed > 0).then(|| share(log.evicted, log.processed));
        }
        figures
    }
}

/// Returns true if the time lies within the period over which the rate is measured.
fn is_recent(at: Timestamp, now: Timestamp) -> bool {
    now.duration_since(at) < MEASURED_OVER
}

#[expect(clippy::cast_precision_loss, reason = "there are no 2^52 of anything here")]
fn number(count: usize) -> f64 {
    count as f64
}

#[expect(clippy::cast_precision_loss, reason = "there are no 2^52 evictions")]
fn share(part: u64, all: u64) -> f64 {
    part as f64 / all as f64
}

/// Returns the time between two evictions; `None` if evictions are stopped.
fn interval(rate: f64) -> Option<SignedDuration> {
    (rate > 0.0).then(|| SignedDuration::try_from_secs_f64(1.0 / rate).unwrap_or(SignedDuration::MAX))
}

/// Returns the rate that applies while `faulty` of `all` clusters are faulty (RAT-01 to RAT-04).
pub fn rate(faulty: usize, all: usize, settings: &Settings) -> f64 {
    match Load::of(faulty, all, settings) {
        Load::Normal => settings.eviction_rate,
        Load::Large => settings.secondary_eviction_rate,
        Load::Small => 0.0,
    }
}

/// Explains to users why the rate is 0.
pub fn stopped_because(faulty: usize, all: usize, settings: &Settings) -> String {
    match Load::of(faulty, all, settings) {
        Load::Normal => "evictions are switched off: resource-eviction-rate is 0".to_owned(),
        Load::Large => "evictions are switched off: secondary-resource-eviction-rate is 0".to_owned(),
        Load::Small => format!("too many clusters are faulty: {faulty} of {all}"),
    }
}

/// Share of faulty clusters, by its effect on the rate.
enum Load {
    /// Few enough clusters are faulty.
    Normal,
    /// Too many clusters of a large federation are faulty.
    Large,
    /// Too many clusters of a small federation are faulty.
    Small,
}

impl Load {
    fn of(faulty: usize, all: usize, settings: &Settings) -> Self {
        let share = if all == 0 { 0.0 } else { number(faulty) / number(all) };
        if share <= settings.unhealthy_cluster_threshold {
            Self::Normal
        } else if all > settings.large_cluster_num_threshold {
            Self::Large
        } else {
            Self::Small
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::at;

    fn entry(name: &str, cluster: &str) -> Entry {
        Entry {
            binding: ObjectKey::new(Some("ns"), name),
            cluster: cluster.to_owned(),
        }
    }

    fn kind() -> Gvk {
        Gvk::new("apps/v1", "Deployment")
    }

    #[test]
    fn the_first_at_once_then_one_every_other_second() {
        let mut queue = EvictionQueue::default();
        let (a, b) = (entry("a", "member1"), entry("b", "member1"));
        queue.join(&a, &kind(), at(0));
        queue.join(&b, &kind(), at(0));
        queue.join(&a, &kind(), at(0));
        assert_eq!(queue.turn(&b, 0.5, at(0)), Turn::Later);
        assert_eq!(queue.turn(&a, 0.5, at(0)), Turn::Now);
        queue.finish(&a, Outcome::Evicted, 0.5, at(0));
        assert_eq!(queue.head(), Some(&b));
        assert_eq!(queue.turn(&b, 0.5, at(1)), Turn::At(at(2)));
        assert_eq!(queue.turn(&b, 0.5, at(2)), Turn::Now);
    }

    #[test]
    fn no_budget_is_saved_up_while_idle() {
        let mut queue = EvictionQueue::default();
        let (a, b, c) = (entry("a", "m"), entry("b", "m"), entry("c", "m"));
        queue.finish(&a, Outcome::Evicted, 0.5, at(0));
        queue.join(&b, &kind(), at(0));
        queue.join(&c, &kind(), at(0));
        queue.finish(&b, Outcome::Evicted, 0.5, at(100));
        assert_eq!(queue.turn(&c, 0.5, at(100)), Turn::At(at(102)));
    }

    #[test]
    fn without_a_limit_no_binding_waits() {
        let mut queue = EvictionQueue::default();
        let (a, b) = (entry("a", "m"), entry("b", "m"));
        queue.join(&a, &kind(), at(0));
        queue.join(&b, &kind(), at(0));
        assert_eq!(queue.turn(&b, UNLIMITED, at(0)), Turn::Now);
        assert_eq!(queue.turn(&b, UNLIMITED / 2.0, at(0)), Turn::Later);
        queue.finish(&a, Outcome::Evicted, UNLIMITED, at(0));
        assert_eq!(queue.turn(&b, UNLIMITED, at(0)), Turn::Now);
    }

    #[test]
    fn those_of_a_recovered_cluster_leave() {
        let mut queue = EvictionQueue::default();
        queue.join(&entry("a", "member1"), &kind(), at(0));
        queue.join(&entry("a", "member2"), &kind(), at(0));
        queue.keep_only(&ObjectKey::new(Some("ns"), "a"), &["member2"]);
        assert_eq!(queue.head(), Some(&entry("a", "member2")));
    }

    #[test]
    fn the_rate_falls_when_too_many_clusters_are_faulty() {
        let settings = Settings::default();
        for (faulty, all, expected) in [
            (0, 0, 0.5),
            (1, 2, 0.5),
            (2, 3, 0.0),
            (6, 10, 0.0),
            (7, 12, 0.1),
            (6, 12, 0.5),
        ] {
            assert!(
                (rate(faulty, all, &settings) - expected).abs() < f64::EPSILON,
                "{faulty} of {all}"
            );
        }
        let queue = EvictionQueue::default();
        assert_eq!(queue.turn(&entry("a", "m"), 0.0, at(0)), Turn::Stopped);
    }

    #[test]
    fn a_new_rate_counts_from_the_last_eviction_on() {
        let mut queue = EvictionQueue::default();
        let (a, b) = (entry("a", "m"), entry("b", "m"));
        queue.join(&a, &kind(), at(0));
        queue.join(&b, &kind(), at(0));
        queue.finish(&a, Outcome::Evicted, 0.1, at(0));
        assert_eq!(queue.turn(&b, 0.1, at(1)), Turn::At(at(10)));
        assert_eq!(queue.turn(&b, 0.5, at(1)), Turn::At(at(2)));
        assert_eq!(queue.turn(&b, 0.5, at(3)), Turn::Now);
    }

    #[test]
    fn who_cannot_leave_steps_aside_stays_queued_and_comes_back_last() {
        let mut queue = EvictionQueue::default();
        let (a, b, c) = (entry("a", "m"), entry("b", "m"), entry("c", "m"));
        queue.join(&c, &kind(), at(0));
        queue.join(&a, &kind(), at(1));
        queue.join(&b, &kind(), at(1));
        assert_eq!(queue.head(), Some(&c), "first in, first out");
        assert!(queue.finish(&c, Outcome::Blocked, 0.5, at(2)).is_some());
        assert!(queue.finish(&c, Outcome::Blocked, 0.5, at(3)).is_none(), "counted once");
        assert_eq!(queue.head(), Some(&a));
        assert!(queue.has(&c));
        queue.join(&c, &kind(), at(4));
        queue.finish(&a, Outcome::Evicted, 0.5, at(4));
        queue.finish(&b, Outcome::Dropped, 0.5, at(4));
        assert_eq!(queue.head(), Some(&c));
    }

    #[test]
    fn figures_say_what_waits_and_how_it_went() {
        let mut queue = EvictionQueue::default();
        for name in ["a", "b", "c"] {
            queue.join(&entry(name, "m"), &kind(), at(0));
        }
        let finished = queue.finish(&entry("a", "m"), Outcome::Evicted, 0.5, at(5)).unwrap();
        assert_eq!(finished.waited, SignedDuration::from_secs(5));
        queue.finish(&entry("b", "m"), Outcome::Infeasible, 0.5, at(6));
        let figures = queue.figures(at(7)).remove("m").unwrap();
        assert_eq!(figures.waiting, BTreeMap::from([(kind(), 1)]));
        assert_eq!((figures.rate, figures.success), (2.0 / 60.0, Some(0.5)));
        assert!(queue.figures(at(70))["m"].rate.abs() < f64::EPSILON);
        queue.forget_cluster("m");
        assert_eq!(queue.figures(at(70))["m"].success, None);
    }

    #[test]
    fn why_evictions_stop_is_said() {
        let none = Settings {
            eviction_rate: 0.0,
            ..Settings::default()
        };
        assert!(stopped_because(1, 3, &none).contains("resource-eviction-rate"));
        assert!(stopped_because(2, 3, &none).contains("too many clusters"));
    }
}

//! Work queue of the reconcilers: each key at most once, first in, first out, some keys delayed.
//!
//! Changes to the desired state precede mere reports: when a cluster with a thousand workloads fails, all of them are
//! moved before the status of the first is updated.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use baton_decide::keys::{ObjectKey, TemplateKey};
use baton_decide::names::cluster_of_space;
use tokio::time::Instant;

/// Maximum number of concurrent reconcilers in one lane.
const LANE_WIDTH: usize = 32;
/// One in this many keys is the oldest regardless of urgency, so that reports are not starved.
const OLDEST_IN: u64 = 8;
/// Delay of a key after its first failure; doubled with each further one.
const FIRST_BACKOFF: Duration = Duration::from_millis(100);
/// Maximum delay of a key after a failure.
const LONGEST_BACKOFF: Duration = Duration::from_secs(5);

/// An object to reconcile.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Key {
    /// A member's health.
    Probe(String),
    /// A cluster object.
    Cluster(String),
    /// A policy.
    Policy(ObjectKey),
    /// A resource on the control plane.
    Template(TemplateKey),
    /// A binding.
    Binding(ObjectKey),
    /// A Work.
    Work(ObjectKey),
}

/// Urgency of a key.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Urgency {
    /// The desired state changed, or an object is gone.
    Wanted,
    /// An object reports its status; its desired state has not changed.
    Report,
}

/// Keys that share a limit, so that one hanging member does not block the others.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum Lane {
    Probes,
    Clusters,
    Policies,
    Templates,
    Bindings,
    Works(String),
}

impl Key {
    fn lane(&self) -> Lane {
        match self {
            Self::Probe(_) => Lane::Probes,
            Self::Cluster(_) => Lane::Clusters,
            Self::Policy(_) => Lane::Policies,
            Self::Template(_) => Lane::Templates,
            Self::Binding(_) => Lane::Bindings,
            Self::Work(key) => {
                let cluster = key.namespace.as_deref().and_then(cluster_of_space);
                Lane::Works(cluster.unwrap_or_default().to_owned())
            }
        }
    }
}

/// Keys with the time at which they are due, each once.
#[derive(Debug, Default)]
struct Due {
    by_key: BTreeMap<Key, Instant>,
    by_time: BTreeSet<(Instant, Key)>,
}

impl Due {
    /// Adds a key; the earliest of several times counts.
    fn add(&mut self, key: Key, at: Instant) {
        if self.by_key.get(&key).is_some_and(|due| *due <= at) {
            return;
        }
        self.remove(&key);
        self.by_key.insert(key.clone(), at);
        self.by_time.insert((at, key));
    }

    fn remove(&mut self, key: &Key) {
        if let Some(at) = self.by_key.remove(key) {
            self.by_time.remove(&(at, key.clone()));
        }
    }

    fn first(&self) -> Option<Instant> {
        self.by_time.first().map(|(at, _)| *at)
    }

    fn take_first(&mut self) -> Option<Key> {
        let (_, key) = self.by_time.pop_first()?;
        self.by_key.remove(&key);
        Some(key)
    }
}

/// Position of a key that is ready: urgency, and number in order of arrival.
type Place = (Urgency, u64);

/// The queue. A key that is added while it runs is run again afterwards.
#[derive(Debug, Default)]
pub struct Queue {
    /// Keys that are ready, by lane and position.
    ready: BTreeMap<Lane, BTreeMap<Place, Key>>,
    added: u64,
    taken: u64,
    waiting: BTreeMap<Key, Place>,
    running: BTreeMap<Lane, BTreeSet<Key>>,
    again: BTreeMap<Key, Urgency>,
    due: Due,
    failures: BTreeMap<Key, u32>,
}

impl Queue {
    /// Adds a key, to run after more urgent and earlier keys of its lane.
    pub fn add(&mut self, key: Key, urgency: Urgency) {
        let lane = key.lane();
        if self.running.get(&lane).is_some_and(|running| running.contains(&key)) {
            let again = self.again.entry(key).or_insert(urgency);
            *again = urgency.min(*again);
            return;
        }
        let number = match self.waiting.get(&key) {
            Some((before, _)) if *before <= urgency => return,
            Some(place) => {
                let number = place.1;
                if let Some(keys) = self.ready.get_mut(&lane) {
                    keys.remove(place);
                }
                number
            }
            None => {
                self.added += 1;
                self.added
            }
        };
        self.waiting.insert(key.clone(), (urgency, number));
        self.ready.entry(lane).or_default().insert((urgency, number), key);
    }

    /// Returns the next key to run.
    pub fn next(&mut self) -> Option<Key> {
        let (lane, place) = self.first(self.taken % OLDEST_IN == OLDEST_IN - 1)?;
        let keys = self.ready.get_mut(&lane)?;
        let key = keys.remove(&place)?;
        if keys.is_empty() {
            self.ready.remove(&lane);
        }
        self.taken += 1;
        self.waiting.remove(&key);
        self.due.remove(&key);
        self.running.entry(lane).or_default().insert(key.clone());
        Some(key)
    }

    /// Returns the first key among lanes with free capacity: the oldest, or the most urgent.
    fn first(&self, oldest: bool) -> Option<(Lane, Place)> {
        let has_room = |lane: &Lane| self.running.get(lane).is_none_or(|running| running.len() < LANE_WIDTH);
        let with_room = self.ready.iter().filter(|(lane, _)| has_room(lane));
        let firsts = with_room.flat_map(|(lane, keys)| {
            let of = |urgency| keys.range((urgency, 0)..=(urgency, u64::MAX)).next();
            let firsts = [of(Urgency::Wanted), of(Urgency::Report)];
            firsts.into_iter().flatten().map(move |(place, _)| (lane, *place))
        });
        let first = if oldest {
            firsts.min_by_key(|(_, (_, number))| *number)
        } else {
            firsts.min_by_key(|(_, place)| *place)
        };
        first.map(|(lane, place)| (lane.clone(), place))
    }

    /// Completes a key that succeeded, and schedules its next run, if any.
    pub fn done(&mut self, key: Key, next: Option<Instant>) {
        self.failures.remove(&key);
        if let Some(at) = next {
            self.due.add(key.clone(), at);
        }
        self.leave(key);
    }

    /// Completes a key that failed, and schedules a retry after a pause, or earlier if something changes.
    pub fn failed(&mut self, key: Key, now: Instant) {
        let failures = self.failures.entry(key.clone()).or_default();
        *failures = failures.saturating_add(1);
        let pause = FIRST_BACKOFF
            .saturating_mul(1 << failures.saturating_sub(1).min(16))
            .min(LONGEST_BACKOFF);
        self.due.add(key.clone(), now + pause);
        self.leave(key);
    }

    fn leave(&mut self, key: Key) {
        if let Some(running) = self.running.get_mut(&key.lane()) {
            running.remove(&key);
        }
        if let Some(urgency) = self.again.remove(&key) {
            self.add(key, urgency);
        }
    }

    /// Returns when the next key becomes due.
    pub fn next_due(&self) -> Option<Instant> {
        self.due.first()
    }

    /// Adds the keys that are due.
    pub fn wake(&mut self, now: Instant) {
        while self.due.first().is_some_and(|at| at <= now)
            && let Some(key) = self.due.take_first()
        {
            self.add(key, Urgency::Wanted);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> Key {
        Key::Binding(ObjectKey::new(Some("ns"), name))
    }

    #[test]
    fn each_key_once_in_order_and_once_more_if_it_changed_meanwhile() {
        let mut queue = Queue::default();
        for name in ["b", "a", "b"] {
            queue.add(key(name), Urgency::Wanted);
        }
        assert_eq!(queue.next(), Some(key("b")));
        queue.add(key("b"), Urgency::Wanted);
        queue.add(key("b"), Urgency::Wanted);
        assert_eq!(queue.next(), Some(key("a")));
        assert_eq!(queue.next(), None);
        queue.done(key("b"), None);
        assert_eq!(queue.next(), Some(key("b")));
        queue.done(key("b"), None);
        assert_eq!(queue.next(), None);
    }

    #[test]
    fn what_is_wanted_goes_before_reports_which_come_through_all_the_same() {
        let mut queue = Queue::default();
        for name in ["told", "asked"] {
            queue.add(key(name), Urgency::Report);
        }
        for number in 0..10 {
            queue.add(key(&number.to_string()), Urgency::Wanted);
        }
        queue.add(key("asked"), Urgency::Wanted);
        queue.add(key("asked"), Urgency::Report);
        let started: Vec<String> = std::iter::from_fn(|| queue.next())
            .map(|key| match key {
                Key::Binding(key) => key.name,
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(
            started,
            ["asked", "0", "1", "2", "3", "4", "5", "told", "6", "7", "8", "9"]
        );
    }

    #[test]
    fn what_became_wanted_while_it_ran_is_wanted_afterwards() {
        let mut queue = Queue::default();
        queue.add(key("a"), Urgency::Wanted);
        queue.next();
        for urgency in [Urgency::Report, Urgency::Wanted, Urgency::Report] {
            queue.add(key("a"), urgency);
        }
        queue.add(key("b"), Urgency::Wanted);
        queue.done(key("a"), None);
        queue.add(key("c"), Urgency::Report);
        let started: Vec<Key> = std::iter::from_fn(|| queue.next()).collect();
        assert_eq!(started, [key("b"), key("a"), key("c")]);
    }

    #[tokio::test(start_paused = true)]
    async fn failures_wait_longer_each_time() {
        let mut queue = Queue::default();
        let now = Instant::now();
        for expected in [100, 200, 400] {
            queue.add(key("a"), Urgency::Wanted);
            queue.next();
            queue.failed(key("a"), now);
            assert_eq!(queue.next_due(), Some(now + Duration::from_millis(expected)));
        }
        queue.wake(now + Duration::from_secs(1));
        assert_eq!(queue.next(), Some(key("a")));
        queue.done(key("a"), None);
        assert_eq!(queue.next_due(), None);
    }

    #[test]
    fn a_full_lane_holds_up_no_other() {
        let mut queue = Queue::default();
        let work = |cluster: &str, number: usize| {
            Key::Work(ObjectKey::new(
                Some(&format!("karmada-es-{cluster}")),
                &number.to_string(),
            ))
        };
        for number in 0..=LANE_WIDTH {
            queue.add(work("hangs", number), Urgency::Wanted);
        }
        queue.add(work("well", 0), Urgency::Wanted);
        let started: Vec<Key> = std::iter::from_fn(|| queue.next()).collect();
        assert_eq!(started.len(), LANE_WIDTH + 1);
        assert_eq!(started.last(), Some(&work("well", 0)));
    }
}

//! The eviction queue: first in, first out, and not faster than the rate allows (EVQ, RAT).
//!
//! It lives in memory and is rebuilt from the taints after a restart (EVQ-04). A binding whose eviction is blocked steps
//! aside so that it holds up no other; one that tolerates for ever never gets in (TNT-08).

use jiff::{SignedDuration, Timestamp};

use crate::keys::ObjectKey;
use crate::settings::Settings;

/// From this rate on, in evictions per second, there is no limit.
const UNLIMITED: f64 = 1e6;

/// A binding and the cluster that it is to leave.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Entry {
    /// The binding.
    pub binding: ObjectKey,
    /// The cluster.
    pub cluster: String,
}

/// May this binding be evicted now?
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Turn {
    /// Yes. Say [`EvictionQueue::done`] when its task is written.
    Now,
    /// Not before this time.
    At(Timestamp),
    /// Others are before it; it is woken when its turn comes.
    Later,
    /// Evictions are stopped: too many clusters are faulty (RAT-03).
    Stopped,
}

/// The bindings that wait for their eviction.
#[derive(Clone, Debug, Default)]
pub struct EvictionQueue {
    waiting: Vec<Entry>,
    /// From when on the next eviction is allowed.
    free_from: Option<Timestamp>,
}

impl EvictionQueue {
    /// Puts a binding into the queue, unless it is there already (EVQ-01).
    pub fn join(&mut self, entry: &Entry) {
        if !self.waiting.contains(entry) {
            self.waiting.push(entry.clone());
        }
    }

    /// Whether a binding is in the queue.
    pub fn has(&self, entry: &Entry) -> bool {
        self.waiting.contains(entry)
    }

    /// Takes a binding out: its cluster recovered (EVQ-02), it is blocked, or it is gone.
    pub fn remove(&mut self, entry: &Entry) {
        self.waiting.retain(|waiting| waiting != entry);
    }

    /// Takes all entries of a binding out, except that for one of these clusters.
    pub fn keep_only(&mut self, binding: &ObjectKey, clusters: &[&str]) {
        self.waiting
            .retain(|waiting| waiting.binding != *binding || clusters.contains(&waiting.cluster.as_str()));
    }

    /// Whose turn it is.
    pub fn head(&self) -> Option<&Entry> {
        self.waiting.first()
    }

    /// Whether it is this binding's turn, at this rate of evictions per second.
    pub fn turn(&self, entry: &Entry, rate: f64, now: Timestamp) -> Turn {
        let Some(interval) = interval(rate) else {
            return Turn::Stopped;
        };
        if rate >= UNLIMITED {
            return Turn::Now;
        }
        if self.waiting.first().is_some_and(|first| first != entry) {
            return Turn::Later;
        }
        match self.free_from {
            Some(free_from) if free_from > now + slack(interval) => Turn::At(free_from),
            Some(_) | None => Turn::Now,
        }
    }

    /// The task of this binding is written: it leaves the queue, and the next one waits as long as the rate says
    /// (RAT-01).
    pub fn done(&mut self, entry: &Entry, rate: f64, now: Timestamp) {
        self.remove(entry);
        let Some(interval) = interval(rate) else { return };
        let since = self.free_from.map_or(now, |free_from| free_from.max(now));
        self.free_from = since.checked_add(interval).ok();
    }
}

/// The time between two evictions; `None` if there are to be none.
fn interval(rate: f64) -> Option<SignedDuration> {
    (rate > 0.0).then(|| SignedDuration::try_from_secs_f64(1.0 / rate).unwrap_or(SignedDuration::MAX))
}

/// How much earlier an eviction may be: timers are no finer than a millisecond, and shorter intervals must not wait for
/// one each.
fn slack(interval: SignedDuration) -> SignedDuration {
    let tick = SignedDuration::from_millis(1);
    if interval < tick { tick } else { SignedDuration::ZERO }
}

/// The rate that applies while `faulty` of `all` clusters are faulty (RAT-01 to RAT-03).
pub fn rate(faulty: usize, all: usize, settings: &Settings) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "no federation has 2^52 clusters")]
    let share = if all == 0 { 0.0 } else { faulty as f64 / all as f64 };
    if share <= settings.unhealthy_cluster_threshold {
        settings.eviction_rate
    } else if all > settings.large_cluster_num_threshold {
        settings.secondary_eviction_rate
    } else {
        0.0
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

    #[test]
    fn the_first_at_once_then_one_every_other_second() {
        let mut queue = EvictionQueue::default();
        let (a, b) = (entry("a", "member1"), entry("b", "member1"));
        queue.join(&a);
        queue.join(&b);
        queue.join(&a);
        assert_eq!(queue.turn(&b, 0.5, at(0)), Turn::Later);
        assert_eq!(queue.turn(&a, 0.5, at(0)), Turn::Now);
        queue.done(&a, 0.5, at(0));
        assert_eq!(queue.head(), Some(&b));
        assert_eq!(queue.turn(&b, 0.5, at(1)), Turn::At(at(2)));
        assert_eq!(queue.turn(&b, 0.5, at(2)), Turn::Now);
    }

    #[test]
    fn no_budget_is_saved_up_while_idle() {
        let mut queue = EvictionQueue::default();
        let (a, b, c) = (entry("a", "m"), entry("b", "m"), entry("c", "m"));
        queue.done(&a, 0.5, at(0));
        queue.join(&b);
        queue.join(&c);
        queue.done(&b, 0.5, at(100));
        assert_eq!(queue.turn(&c, 0.5, at(100)), Turn::At(at(102)));
    }

    #[test]
    fn a_very_high_rate_is_no_rate() {
        let mut queue = EvictionQueue::default();
        for number in 0..100 {
            let entry = entry(&number.to_string(), "m");
            queue.join(&entry);
            assert_eq!(queue.turn(&entry, 1e5, at(0)), Turn::Now, "{number}");
            queue.done(&entry, 1e5, at(0));
        }
    }

    #[test]
    fn without_a_limit_no_binding_waits() {
        let mut queue = EvictionQueue::default();
        let (a, b) = (entry("a", "m"), entry("b", "m"));
        queue.join(&a);
        queue.join(&b);
        assert_eq!(queue.turn(&b, UNLIMITED, at(0)), Turn::Now);
        assert_eq!(queue.turn(&b, 1e5, at(0)), Turn::Later);
    }

    #[test]
    fn those_of_a_recovered_cluster_leave() {
        let mut queue = EvictionQueue::default();
        queue.join(&entry("a", "member1"));
        queue.join(&entry("a", "member2"));
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
}

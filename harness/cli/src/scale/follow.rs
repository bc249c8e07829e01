//! Follows the timeline of a run as it grows.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use baton_cluster::observer::recorder::Drain;
use baton_core::{
    scale::judge::Judge,
    timeline::{Change, Entry, Event, Revision},
};
use tokio::time::{Instant, timeout_at};

use super::ScaleError;

/// This many revisions of each workload at one moment are a hot loop: time does not pass while a program writes without
/// waiting. A failover writes about 30.
const MOST_PER_WORKLOAD: u64 = 1_000;
/// Fewer revisions than this at one moment are never a hot loop, however few the workloads.
const FEW: u64 = 100_000;

/// Follows the timeline of a run.
pub(super) struct Follow {
    drain: Drain,
    pub(super) judge: Judge,
    ready: BTreeSet<String>,
    /// When each cluster was first seen, and when it was first ready.
    registered: BTreeMap<String, (Duration, Option<Duration>)>,
    at: Duration,
    revisions_at: u64,
    most_at: u64,
}

/// Reason why a goal was not reached.
pub(super) enum Stopped {
    /// The time is up.
    TimeLimit,
    /// Number of revisions that were written without time passing.
    HotLoop(u64),
    /// An action that leads to the goal failed.
    Broken(Box<ScaleError>),
}

impl Stopped {
    pub(super) fn broken(error: ScaleError) -> Self {
        Self::Broken(Box::new(error))
    }
}

impl Follow {
    pub(super) fn new(drain: Drain, judge: Judge, workloads: usize) -> Self {
        Self {
            drain,
            judge,
            ready: BTreeSet::new(),
            registered: BTreeMap::new(),
            at: Duration::ZERO,
            revisions_at: 0,
            most_at: FEW.max(MOST_PER_WORKLOAD.saturating_mul(workloads as u64)),
        }
    }

    /// Number of members that the target reports as ready.
    pub(super) fn ready(&self) -> usize {
        self.ready.len()
    }

    /// Seconds in which clusters became ready, each from its creation, or from the start of the target if that is later.
    pub(super) fn registrations(&self, started: Duration) -> Vec<f64> {
        let ready = self.registered.values().filter_map(|(created, ready)| {
            let seconds = (*ready)?.saturating_sub((*created).max(started));
            Some(seconds.as_secs_f64())
        });
        ready.collect()
    }

    /// Marks the moment of the run at which the members fail.
    pub(super) fn fail(&mut self, at: Duration) {
        let new = self.drain.available();
        // Too many revisions at one moment are reported by the next goal.
        for entry in new.entries() {
            self.take(entry);
        }
        self.judge.fail(at);
    }

    /// Follows until `reached`, for no longer than `time`.
    pub(super) async fn until(&mut self, time: Duration, reached: impl Fn(&Self) -> bool) -> Result<(), Stopped> {
        let deadline = Instant::now() + time;
        while !reached(self) {
            match timeout_at(deadline, self.drain.next()).await {
                Ok(Some(new)) => {
                    for entry in new.entries() {
                        self.take(entry);
                    }
                    if self.revisions_at > self.most_at {
                        return Err(Stopped::HotLoop(self.revisions_at));
                    }
                }
                Ok(None) | Err(_) => return Err(Stopped::TimeLimit),
            }
        }
        Ok(())
    }

    /// Follows for this time, whatever happens.
    pub(super) async fn linger(&mut self, time: Duration) -> Result<(), Stopped> {
        match self.until(time, |_| false).await {
            Err(Stopped::TimeLimit) | Ok(()) => Ok(()),
            Err(stopped) => Err(stopped),
        }
    }

    fn take(&mut self, entry: &Entry) {
        if entry.at != self.at {
            self.at = entry.at;
            self.revisions_at = 0;
        }
        self.revisions_at += 1;
        if let Event::Revision(revision) = &entry.event
            && revision.kind == "Cluster"
        {
            self.cluster(entry.at, revision);
        }
        self.judge.take(entry);
    }

    fn cluster(&mut self, at: Duration, revision: &Revision) {
        let name = revision.object["metadata"]["name"].as_str().unwrap_or_default();
        let conditions = revision
            .object
            .pointer("/status/conditions")
            .and_then(|it| it.as_array());
        let mut conditions = conditions.into_iter().flatten();
        let is_ready = conditions.any(|it| it["type"] == "Ready" && it["status"] == "True");
        let registered = self.registered.entry(name.to_owned()).or_insert((at, None));
        if is_ready {
            registered.1.get_or_insert(at);
        }
        if is_ready && revision.change != Change::Deleted {
            self.ready.insert(name.to_owned());
        } else {
            self.ready.remove(name);
        }
    }
}

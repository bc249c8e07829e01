//! Observes embedded clusters: every commit, in the order in which the fleet committed them.
//!
//! The servers of a fleet share one counter, so that every number belongs to exactly one commit. Commits are taken in
//! the order of their numbers, although threads may deliver them in another order.

use std::{
    collections::BTreeMap,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use baton_apiserver::{self as apiserver, Commit, Commits};
use baton_core::{
    names::ClusterName,
    timeline::{Change, Revision},
};
use futures::Stream;
use jiff::Timestamp;

use super::{Source, recorder::Seen, scrub, what_is_there};

/// Streams of commits of all clusters of a fleet, opened before the first commit that matters.
pub(crate) struct Taps {
    open: Vec<(ClusterName, Commits)>,
    /// Number of the next commit to take.
    next: u64,
    /// Commits that arrived before one with a smaller number.
    early: BTreeMap<u64, (usize, Commit)>,
}

impl Taps {
    /// Opens a source on the commits of servers that are idle until this returns; `current` is the value of the
    /// counter.
    pub(crate) fn new(open: Vec<(ClusterName, Commits)>, current: u64) -> Self {
        Self {
            open,
            next: current.saturating_add(1),
            early: BTreeMap::new(),
        }
    }

    fn receive(&mut self, mut context: Option<&mut Context<'_>>) -> Vec<Seen> {
        let mut seen = Vec::new();
        for (number, (cluster, tap)) in self.open.iter_mut().enumerate() {
            while let Some(commit) = receive_one(tap, context.as_deref_mut()) {
                if commit.change == apiserver::Change::Existing {
                    seen.extend(see(cluster, commit));
                } else {
                    self.early.insert(commit.revision, (number, commit));
                }
            }
        }
        while let Some((number, commit)) = self.early.remove(&self.next) {
            self.next += 1;
            seen.extend(self.open.get(number).and_then(|(cluster, _)| see(cluster, commit)));
        }
        seen
    }

    /// Replaces the commits so far by a list of the present objects.
    pub(crate) fn begin(mut self, at: Timestamp) -> Listed {
        Listed {
            list: what_is_there(self.receive(None), at),
            taps: self,
        }
    }
}

fn receive_one(tap: &mut Commits, context: Option<&mut Context<'_>>) -> Option<Commit> {
    match context {
        None => tap.try_recv(),
        Some(context) => match Pin::new(tap).poll_next(context) {
            Poll::Ready(commit) => commit,
            Poll::Pending => None,
        },
    }
}

fn see(cluster: &ClusterName, commit: Commit) -> Option<Seen> {
    let object = scrub(&commit.kind, &commit.object)?;
    let change = match commit.change {
        apiserver::Change::Existing => Change::List,
        apiserver::Change::Added => Change::Added,
        apiserver::Change::Modified => Change::Modified,
        apiserver::Change::Deleted => Change::Deleted,
    };
    let revision = Revision {
        cluster: cluster.clone(),
        kind: commit.kind,
        change,
        object: Arc::new(object),
        by: Some(commit.by.to_string()).filter(|by| !by.is_empty()),
    };
    Some(Seen::revision(commit.at, revision))
}

/// Commits that begin with a list.
pub(crate) struct Listed {
    list: Vec<Seen>,
    taps: Taps,
}

impl Source for Listed {
    fn take(&mut self, context: Option<&mut Context<'_>>) -> Vec<Seen> {
        let mut seen = std::mem::take(&mut self.list);
        seen.extend(self.taps.receive(context));
        seen
    }

    fn rest(&mut self) -> Vec<Seen> {
        let early = std::mem::take(&mut self.taps.early);
        let rest = early.into_values().filter_map(|(number, commit)| {
            let (cluster, _) = self.taps.open.get(number)?;
            see(cluster, commit)
        });
        rest.collect()
    }
}

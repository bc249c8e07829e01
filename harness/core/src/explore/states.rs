//! States of workloads that fail over, and the transitions between them: an abstraction of timelines without names and
//! times, so that an exploration can tell which of its runs were new.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    names::ClusterName,
    select::BINDING_KINDS,
    timeline::{Change, Event, Mark, ObjectId, Revision, Timeline},
    workload::Workload,
};

/// Phase of a failover.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// No eviction task was written yet.
    Before,
    /// A task exists, and an old copy runs.
    Evicting,
    /// A task exists, and all old copies are being deleted.
    Purging,
    /// A task exists, and all old copies are gone.
    Moved,
    /// All tasks are cleared.
    Settled,
}

impl Phase {
    /// All phases, in order.
    pub const ALL: [Self; 5] = [Self::Before, Self::Evicting, Self::Purging, Self::Moved, Self::Settled];

    /// Name of the phase. The text of a state begins with it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Before => "before",
            Self::Evicting => "evicting",
            Self::Purging => "purging",
            Self::Moved => "moved",
            Self::Settled => "settled",
        }
    }

    /// Phase of a state in a [`Transition`].
    pub fn of(state: &str) -> Option<Self> {
        let name = state.split(':').next()?;
        Self::ALL.into_iter().find(|phase| phase.name() == name)
    }
}

/// A transition from one state to another, each as text.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Transition {
    /// State before.
    pub from: String,
    /// State afterwards.
    pub to: String,
}

/// State of a workload.
#[derive(Debug, Clone, PartialEq, Eq)]
struct State {
    phase: Phase,
    /// Number of clusters in the scheduling result.
    result: usize,
    tasks: usize,
    /// Number of copies on clusters in the result.
    new: usize,
    /// Set if all clusters in the result report a healthy copy.
    is_healthy: bool,
    /// Set if a cluster that is neither in the result nor in a task has a copy.
    is_elsewhere: bool,
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let some = |number: usize| match number {
            0 => "no",
            1 => "one",
            _ => "several",
        };
        write!(
            f,
            "{}: {} in result, {} task, {} new",
            self.phase.name(),
            some(self.result),
            some(self.tasks),
            some(self.new)
        )?;
        if self.is_healthy {
            f.write_str(", healthy")?;
        }
        if self.is_elsewhere {
            f.write_str(", copy elsewhere")?;
        }
        Ok(())
    }
}

/// A binding, and the last state of its workload.
struct Bound {
    workload: Workload,
    object: Arc<Value>,
    had_task: bool,
    last: Option<String>,
}

/// All transitions of the workloads in a timeline, before its clean-up.
pub fn transitions(timeline: &Timeline) -> BTreeSet<Transition> {
    let mut bindings: BTreeMap<ObjectId, Bound> = BTreeMap::new();
    // For each cluster with a copy, true if the copy is being deleted.
    let mut copies: BTreeMap<Workload, BTreeMap<ClusterName, bool>> = BTreeMap::new();
    let mut found = BTreeSet::new();
    for entry in timeline.entries() {
        let revision = match &entry.event {
            Event::Mark(Mark::CleanUp) => break,
            Event::Mark(_) => continue,
            Event::Revision(revision) => revision,
        };
        let changed = if !revision.cluster.is_control() {
            note_copy(&mut copies, revision)
        } else if BINDING_KINDS.contains(&revision.kind.as_str()) {
            note_binding(&mut bindings, revision)
        } else {
            continue;
        };
        for bound in bindings.values_mut().filter(|it| it.workload == changed) {
            let state = state(bound, copies.get(&bound.workload)).to_string();
            let last = bound.last.replace(state.clone());
            if let Some(from) = last.filter(|last| *last != state) {
                found.insert(Transition { from, to: state });
            }
        }
    }
    found
}

fn note_copy(copies: &mut BTreeMap<Workload, BTreeMap<ClusterName, bool>>, revision: &Revision) -> Workload {
    let id = ObjectId::of(revision);
    let workload = Workload::from(&id);
    let there = copies.entry(workload.clone()).or_default();
    if revision.change == Change::Deleted {
        there.remove(&revision.cluster);
    } else {
        let goes = revision.object.pointer("/metadata/deletionTimestamp").is_some();
        there.insert(revision.cluster.clone(), goes);
    }
    workload
}

fn note_binding(bindings: &mut BTreeMap<ObjectId, Bound>, revision: &Revision) -> Workload {
    let workload = Workload::of_binding(&revision.object);
    let id = ObjectId::of(revision);
    if revision.change == Change::Deleted {
        bindings.remove(&id);
    } else {
        let bound = bindings.entry(id).or_insert_with(|| Bound {
            workload: workload.clone(),
            object: Arc::clone(&revision.object),
            had_task: false,
            last: None,
        });
        bound.object = Arc::clone(&revision.object);
    }
    workload
}

fn state(bound: &mut Bound, copies: Option<&BTreeMap<ClusterName, bool>>) -> State {
    let names = |pointer: &str, member: &str| -> BTreeSet<ClusterName> {
        let items = bound.object.pointer(pointer).and_then(Value::as_array);
        let named = items.into_iter().flatten().filter_map(|item| item[member].as_str());
        named.map(ClusterName::new).collect()
    };
    let result = names("/spec/clusters", "name");
    let left = names("/spec/gracefulEvictionTasks", "fromCluster");
    let statuses = bound
        .object
        .pointer("/status/aggregatedStatus")
        .and_then(Value::as_array);
    let healthy: BTreeSet<ClusterName> = statuses
        .into_iter()
        .flatten()
        .filter(|item| item["health"] == "Healthy")
        .filter_map(|item| item["clusterName"].as_str())
        .map(ClusterName::new)
        .collect();
    let none = BTreeMap::new();
    let copies = copies.unwrap_or(&none);
    bound.had_task |= !left.is_empty();
    let mut old = copies.iter().filter(|(cluster, _)| left.contains(*cluster)).peekable();
    let phase = if left.is_empty() {
        if bound.had_task { Phase::Settled } else { Phase::Before }
    } else if old.peek().is_none() {
        Phase::Moved
    } else if old.all(|(_, goes)| *goes) {
        Phase::Purging
    } else {
        Phase::Evicting
    };
    State {
        phase,
        result: result.len(),
        tasks: left.len(),
        new: copies.keys().filter(|cluster| result.contains(*cluster)).count(),
        is_healthy: !result.is_empty() && result.is_subset(&healthy),
        is_elsewhere: copies.keys().any(|it| !result.contains(it) && !left.contains(it)),
    }
}

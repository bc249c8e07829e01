//! The eviction tasks of a timeline: who left where, with which state, from when to when.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use serde_json::Value;

use crate::{
    case::model::ObjectRef,
    names::ClusterName,
    select::BINDING_KINDS,
    timeline::{Change, Entry, Event, ObjectId},
};

/// A moment of a timeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment {
    /// The entry.
    pub seq: u64,
    /// Its time.
    pub at: Duration,
}

impl From<&Entry> for Moment {
    fn from(entry: &Entry) -> Self {
        Self {
            seq: entry.seq,
            at: entry.at,
        }
    }
}

/// One eviction task, from its first revision to its last.
#[derive(Debug, Clone, PartialEq)]
pub struct Task {
    /// The binding that it stands in.
    pub binding: ObjectId,
    /// The workload that moves.
    pub workload: ObjectRef,
    /// The cluster that it leaves.
    pub from: ClusterName,
    /// `purgeMode`; empty if the task does not say.
    pub purge_mode: String,
    /// `preservedLabelState`, as it was first written.
    pub first_state: BTreeMap<String, String>,
    /// `preservedLabelState`, as it was last written from the status that was collected of the old copy.
    pub state: BTreeMap<String, String>,
    /// `clustersBeforeFailover`.
    pub before: BTreeSet<ClusterName>,
    /// The scheduling result just before the task was written.
    pub result_before: BTreeSet<ClusterName>,
    /// Set if the workload was already leaving another cluster on which it had run together with this one.
    pub beside_others: bool,
    /// When it was first seen.
    pub written: Moment,
    /// When the binding was first seen without it; none if it was there to the end.
    pub cleared: Option<Moment>,
    /// The moment at which the migration was called off: the scheduling result named the cluster again, or the binding was
    /// deleted.
    pub called_off: Option<Moment>,
    /// The first moment at which its state had changed to values that were not collected of the old copy, with the new state.
    pub state_changed: Option<(Moment, BTreeMap<String, String>)>,
}

impl Task {
    /// Returns `true` if the old copy must be gone before the new one exists.
    pub fn is_directly(&self) -> bool {
        // `Immediately` is the older spelling (POL-06).
        matches!(self.purge_mode.as_str(), "Directly" | "Immediately")
    }

    /// Returns `true` if the scheduling result named a single cluster; state is injected only then (REC-06).
    pub fn is_single(&self) -> bool {
        self.result_before.len() <= 1
    }

    /// Returns `true` if the workload ran on a single cluster. The result may name one because the others failed before.
    pub fn ran_alone(&self) -> bool {
        self.is_single() && !self.beside_others
    }

    /// Returns `true` if the binding had the task at an entry.
    pub fn is_pending_at(&self, seq: u64) -> bool {
        self.written.seq <= seq && self.cleared.is_none_or(|cleared| seq < cleared.seq)
    }

    /// Returns `true` if the old copy, where it still exists at an entry, must be removed by this task.
    pub fn is_to_remove_at(&self, seq: u64) -> bool {
        self.written.seq < seq && self.called_off.is_none_or(|over| seq < over.seq)
    }

    /// Returns `true` if an object is the workload or a copy of it.
    pub fn is_copy(&self, id: &ObjectId) -> bool {
        id.kind == self.workload.kind
            && id.name == self.workload.name
            && id.namespace == self.workload.namespace.as_deref().unwrap_or_default()
    }
}

/// The tasks of a workload that ran on one cluster.
#[derive(Debug, Default)]
pub struct Migrations<'t> {
    /// Those under Directly.
    pub directly: Vec<&'t Task>,
    /// Those under other modes.
    pub others: Vec<&'t Task>,
}

impl Migrations<'_> {
    /// Returns `true` if copies on these clusters at an entry belong to a migration: the binding has a task, or a task evicts
    /// the workload from one of the clusters. A policy that moves a workload later may do it in any order.
    pub fn concern<'c>(&self, seq: u64, clusters: impl IntoIterator<Item = &'c ClusterName>) -> bool {
        let clusters: BTreeSet<&ClusterName> = clusters.into_iter().collect();
        self.directly.iter().any(|task| {
            let is_pending = task.written.seq < seq && task.is_pending_at(seq);
            is_pending || (task.is_to_remove_at(seq) && clusters.contains(&task.from))
        })
    }

    /// Returns `true` if a copy on this cluster may exist together with others at an entry: a task of another mode evicts it.
    /// A task that was called off, and is still there when the workload leaves the cluster again, counts as well.
    pub fn may_stay(&self, seq: u64, cluster: &ClusterName) -> bool {
        self.others
            .iter()
            .any(|task| task.from == *cluster && (task.is_to_remove_at(seq) || task.is_pending_at(seq)))
    }
}

/// All eviction tasks of a timeline, in the order in which they were first written.
pub fn tasks(entries: &[Entry]) -> Vec<Task> {
    let mut tasks: Vec<Task> = Vec::new();
    let mut open: BTreeMap<ObjectId, BTreeMap<ClusterName, usize>> = BTreeMap::new();
    let mut results: BTreeMap<ObjectId, BTreeSet<ClusterName>> = BTreeMap::new();
    // Tasks whose cluster has left the result.
    let mut left: BTreeMap<ObjectId, BTreeSet<usize>> = BTreeMap::new();
    for entry in entries {
        let Event::Revision(revision) = &entry.event else {
            continue;
        };
        if !BINDING_KINDS.contains(&revision.kind.as_str()) {
            continue;
        }
        let id = ObjectId::of(revision);
        let gone = revision.change == Change::Deleted;
        let listed = if gone {
            &[]
        } else {
            list(&revision.object, "/spec/gracefulEvictionTasks")
        };
        let result = result_of(&revision.object);
        let of_binding = open.entry(id.clone()).or_default();
        let mut still = BTreeSet::new();
        for task in listed {
            let from = ClusterName::new(text(task, "fromCluster"));
            still.insert(from.clone());
            if let Some(index) = of_binding.get(&from) {
                note_change(&mut tasks[*index], task, entry, &revision.object);
            } else {
                let together = |index: &usize| {
                    let earlier: &Task = &tasks[*index];
                    earlier.result_before.contains(&from) && !earlier.ran_alone()
                };
                let beside_others = of_binding.values().any(together);
                let result = results.get(&id).cloned().unwrap_or_default();
                of_binding.insert(from, tasks.len());
                tasks.push(Task {
                    beside_others,
                    ..new_task(&id, &revision.object, task, result, entry)
                });
            }
        }
        of_binding.retain(|from, index| {
            let kept = still.contains(from);
            if !kept {
                tasks[*index].cleared = Some(entry.into());
            }
            kept
        });
        let left = left.entry(id.clone()).or_default();
        left.retain(|index| {
            let task = &mut tasks[*index];
            let is_over = gone || result.contains(&task.from);
            if is_over {
                task.called_off = Some(entry.into());
            }
            !is_over
        });
        left.extend(of_binding.values().filter(|index| {
            let task = &tasks[**index];
            task.called_off.is_none() && !result.contains(&task.from)
        }));
        results.insert(id, result);
    }
    tasks
}

fn new_task(id: &ObjectId, binding: &Value, task: &Value, result_before: BTreeSet<ClusterName>, entry: &Entry) -> Task {
    let resource = binding.pointer("/spec/resource").unwrap_or(&Value::Null);
    let namespace = text(resource, "namespace");
    Task {
        binding: id.clone(),
        workload: ObjectRef {
            api_version: text(resource, "apiVersion"),
            kind: text(resource, "kind"),
            namespace: (!namespace.is_empty()).then_some(namespace),
            name: text(resource, "name"),
        },
        from: ClusterName::new(text(task, "fromCluster")),
        purge_mode: text(task, "purgeMode"),
        first_state: state(task),
        state: state(task),
        before: names(list(task, "/clustersBeforeFailover").iter()),
        result_before,
        beside_others: false,
        written: entry.into(),
        cleared: None,
        called_off: None,
        state_changed: None,
    }
}

/// An implementation may keep the state up to date while the old copy still reports its status: no document says that the
/// collection ends when the task is written.
fn note_change(known: &mut Task, task: &Value, entry: &Entry, binding: &Value) {
    let now = state(task);
    let is_collected = |(alias, value): (&String, &String)| {
        known.state.get(alias) == Some(value) || is_reported(binding, &known.from, value)
    };
    let is_whole = known.state.keys().all(|alias| now.contains_key(alias));
    if is_whole && now.iter().all(is_collected) {
        known.state = now;
    } else if known.state_changed.is_none() {
        known.state_changed = Some((entry.into(), now));
    }
}

/// Returns `true` if a value, as text, is anywhere in the status that a binding has collected of a cluster.
fn is_reported(binding: &Value, cluster: &ClusterName, value: &str) -> bool {
    fn holds(status: &Value, value: &str) -> bool {
        match status {
            Value::String(text) => text == value,
            Value::Array(items) => items.iter().any(|item| holds(item, value)),
            Value::Object(fields) => fields.values().any(|field| holds(field, value)),
            Value::Null => false,
            Value::Bool(truth) => value.parse() == Ok(*truth),
            Value::Number(number) => number.to_string().as_str() == value,
        }
    }
    let of_cluster = |item: &&Value| text(item, "clusterName") == cluster.as_str();
    let mut items = list(binding, "/status/aggregatedStatus").iter().filter(of_cluster);
    items.any(|item| item.get("status").is_some_and(|status| holds(status, value)))
}

fn state(task: &Value) -> BTreeMap<String, String> {
    let map = task.get("preservedLabelState").and_then(Value::as_object);
    let pair = |(key, value): (&String, &Value)| (key.clone(), value.as_str().unwrap_or_default().to_owned());
    map.into_iter().flatten().map(pair).collect()
}

/// The clusters of a binding's scheduling result.
pub fn result_of(binding: &Value) -> BTreeSet<ClusterName> {
    names(list(binding, "/spec/clusters").iter().filter_map(|it| it.get("name")))
}

fn list<'a>(value: &'a Value, pointer: &str) -> &'a [Value] {
    value
        .pointer(pointer)
        .and_then(Value::as_array)
        .map(Vec::as_slice)
        .unwrap_or_default()
}

fn text(value: &Value, member: &str) -> String {
    value.get(member).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn names<'a>(values: impl Iterator<Item = &'a Value>) -> BTreeSet<ClusterName> {
    values.filter_map(Value::as_str).map(ClusterName::new).collect()
}

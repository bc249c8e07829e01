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
    timeline::{Change, Entry, Event, ObjectId, Revision},
    workload::Workload,
};

/// Reason of a task because of a taint (PRG-07).
pub const BY_TAINT: &str = "TaintUntolerated";

/// Reason of a task because of an unhealthy workload (PRG-07).
pub const BY_APPLICATION: &str = "ApplicationFailure";

/// Purge mode of a policy that sets a failover without a mode (POL-05).
pub const DEFAULT_MODE: &str = "Gracefully";

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
    /// `purgeMode` or, if the task does not say it, that of the policy in the binding; empty if neither does.
    pub purge_mode: String,
    /// `preservedLabelState`, as it was first written. An implementation may write a task in several writes: this one holds
    /// what is in it before the old copy begins to go, or the new one exists.
    pub first_state: BTreeMap<String, String>,
    /// `preservedLabelState`, as it was last written with values that the old copy reports.
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
    /// Set if it says its purge mode.
    names_mode: bool,
    /// Moves of copies of the workload before it was written.
    moves_before: usize,
    /// The first moment at which its state had changed to values that the old copy does not report, with the new state.
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
    let mut copies = Copies::default();
    for entry in entries {
        let Event::Revision(revision) = &entry.event else {
            continue;
        };
        copies.take(revision);
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
                note_change(&mut tasks[*index], task, entry, &revision.object, &copies);
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
                    ..new_task((&id, &revision.object), task, result, entry, &copies)
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

fn new_task(
    (id, binding): (&ObjectId, &Value),
    task: &Value,
    result_before: BTreeSet<ClusterName>,
    entry: &Entry,
    copies: &Copies<'_>,
) -> Task {
    let resource = binding.pointer("/spec/resource").unwrap_or(&Value::Null);
    let namespace = text(resource, "namespace");
    let workload = ObjectRef {
        api_version: text(resource, "apiVersion"),
        kind: text(resource, "kind"),
        namespace: (!namespace.is_empty()).then_some(namespace),
        name: text(resource, "name"),
    };
    Task {
        binding: id.clone(),
        moves_before: copies.moves_of(&workload),
        workload,
        from: ClusterName::new(text(task, "fromCluster")),
        purge_mode: purge_mode(task, binding),
        names_mode: !text(task, "purgeMode").is_empty(),
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

/// The copies of workloads on members.
#[derive(Default)]
struct Copies<'a> {
    /// The last revision of each.
    last: BTreeMap<(Workload, &'a ClusterName), &'a Revision>,
    /// Moves of each workload: old copies that began to go, and new ones.
    moves: BTreeMap<Workload, usize>,
}

impl<'a> Copies<'a> {
    fn take(&mut self, revision: &'a Revision) {
        if revision.cluster.is_control() {
            return;
        }
        let workload = Workload::from(&ObjectId::of(revision));
        let is_going =
            |it: &Revision| it.change == Change::Deleted || it.object.pointer("/metadata/deletionTimestamp").is_some();
        let before = self.last.insert((workload.clone(), &revision.cluster), revision);
        if is_going(revision) || before.is_none_or(|before| before.change == Change::Deleted) {
            *self.moves.entry(workload).or_default() += 1;
        }
    }

    fn moves_of(&self, workload: &ObjectRef) -> usize {
        let moves = self.moves.get(&Workload::from(workload));
        moves.copied().unwrap_or_default()
    }

    /// The status that the old copy of a task reports.
    fn status(&self, task: &Task) -> Option<&'a Value> {
        let key = (Workload::from(&task.workload), &task.from);
        self.last.get(&key)?.object.get("status")
    }
}

/// Takes in another revision of a task.
///
/// Fields that the task lacks may come with a later write, as long as nothing has moved. After that, its state may follow the
/// status of the old copy: no document says that the collection ends when the task is written.
fn note_change(known: &mut Task, task: &Value, entry: &Entry, binding: &Value, copies: &Copies<'_>) {
    let now = state(task);
    if copies.moves_of(&known.workload) == known.moves_before {
        let named = text(task, "purgeMode");
        if !known.names_mode && !named.is_empty() {
            (known.purge_mode, known.names_mode) = (named, true);
        }
        if known.before.is_empty() {
            known.before = names(list(task, "/clustersBeforeFailover").iter());
        }
        for (alias, value) in &now {
            if !known.first_state.contains_key(alias) {
                known.first_state.insert(alias.clone(), value.clone());
                known.state.insert(alias.clone(), value.clone());
            }
        }
    }
    let of_cluster = |item: &&Value| text(item, "clusterName") == known.from.as_str();
    let mut items = list(binding, "/status/aggregatedStatus").iter().filter(of_cluster);
    let collected = items.find_map(|item| item.get("status"));
    let reported: Vec<&Value> = collected.into_iter().chain(copies.status(known)).collect();
    let follows = |(alias, value): (&String, &String)| {
        known.state.get(alias) == Some(value) || reported.iter().any(|status| holds(status, value))
    };
    let is_whole = known.state.keys().all(|alias| now.contains_key(alias));
    if is_whole && now.iter().all(follows) {
        known.state = now;
    } else if known.state_changed.is_none() {
        known.state_changed = Some((entry.into(), now));
    }
}

/// Returns `true` if a status has a value, as text, anywhere.
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

/// The part of the policy that a task follows, by its reason or, if the reason says nothing, by the only part that the policy
/// has: `application` or `cluster`.
fn part_of_policy(task: &Value, binding: &Value) -> Option<&'static str> {
    match task["reason"].as_str() {
        Some(BY_APPLICATION) => Some("application"),
        Some(BY_TAINT) => Some("cluster"),
        _ => {
            let failover = binding.pointer("/spec/failover")?;
            let mut parts = ["application", "cluster"]
                .into_iter()
                .filter(|kind| failover[*kind].is_object());
            parts.next().filter(|_| parts.next().is_none())
        }
    }
}

/// The purge mode of a task: its own, otherwise that of the policy.
fn purge_mode(task: &Value, binding: &Value) -> String {
    let own = text(task, "purgeMode");
    if !own.is_empty() {
        return own;
    }
    let part = part_of_policy(task, binding);
    let policy = part.and_then(|part| binding.pointer(&format!("/spec/failover/{part}")));
    policy.filter(|it| it.is_object()).map_or_else(String::new, |policy| {
        policy["purgeMode"].as_str().unwrap_or(DEFAULT_MODE).to_owned()
    })
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

//! A timeline, sorted for the questions that invariants ask. A recording may hold thousands of failovers: what is asked
//! for each of them must not lead through the whole of it.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use serde_json::Value;

use super::{cluster::OfCluster, families::Families, shadows::Shadows};
use crate::{
    judge::{
        failovers::{self, Task},
        order::{Placed, Precedence},
    },
    select::{BINDING_KINDS, EXECUTION_NAMESPACE},
    timeline::{Change, Entry, Event, ObjectId, Revision},
    workload::Workload,
};

/// A timeline, sorted.
pub(super) struct History<'a> {
    /// The entries that were recorded before clean-up.
    pub(super) entries: &'a [Entry],
    /// All tasks, in the order in which they were written.
    pub(super) tasks: Vec<Task>,
    /// Revisions of every binding.
    pub(super) bindings: BTreeMap<ObjectId, Vec<Placed<'a>>>,
    pub(super) precedence: Precedence,
    /// Places of the tasks of a binding.
    places: BTreeMap<ObjectId, Vec<usize>>,
    /// Revisions of every workload that there is a binding of, on all clusters, in order.
    copies: BTreeMap<Workload, Vec<Placed<'a>>>,
    /// Revisions of the pods of these workloads on members, in order.
    pods: BTreeMap<Workload, Vec<Placed<'a>>>,
    /// Revisions of the shadow copies of these workloads, in order.
    shadows: BTreeMap<Workload, Vec<Placed<'a>>>,
    /// Revisions of Works that call these workloads healthy, each with the member.
    healthy: BTreeMap<Workload, Vec<(&'a str, Placed<'a>)>>,
    /// The history of the Cluster objects, by name.
    clusters: BTreeMap<String, OfCluster>,
    /// Events by the kind and the name that they are about, by their entries.
    events: BTreeMap<(&'a str, &'a str), Vec<u64>>,
    /// By place of an entry, the latest time up to there: times need not ascend.
    latest: Vec<Duration>,
}

impl<'a> History<'a> {
    pub(super) fn of(entries: &'a [Entry], precedence: Precedence) -> Self {
        let tasks = failovers::tasks(entries);
        let mut places: BTreeMap<ObjectId, Vec<usize>> = BTreeMap::new();
        for (place, task) in tasks.iter().enumerate() {
            places.entry(task.binding.clone()).or_default().push(place);
        }
        let mut history = Self {
            entries,
            bindings: BTreeMap::new(),
            copies: bound(entries),
            tasks,
            precedence,
            places,
            pods: BTreeMap::new(),
            shadows: BTreeMap::new(),
            healthy: BTreeMap::new(),
            clusters: BTreeMap::new(),
            events: BTreeMap::new(),
            latest: Vec::with_capacity(entries.len()),
        };
        let mut families = Families::default();
        let mut shadows = Shadows::default();
        let mut latest = Duration::ZERO;
        for (place, entry) in entries.iter().enumerate() {
            latest = latest.max(entry.at);
            history.latest.push(latest);
            if let Event::Revision(revision) = &entry.event {
                history.sort_in(place, (entry, revision), &mut families, &mut shadows);
            }
        }
        history
    }

    fn sort_in(&mut self, place: usize, (entry, revision): Placed<'a>, families: &mut Families, shadows: &mut Shadows) {
        let id = ObjectId::of(revision);
        let workload = Workload::from(&id);
        let copies = self.copies.get_mut(&workload);
        let is_copy = copies.is_some();
        if let Some(copies) = copies {
            copies.push((entry, revision));
        }
        if !id.cluster.is_control() {
            if !is_copy && let Some(workload) = shadows.take(revision, &self.copies) {
                self.shadows.entry(workload).or_default().push((entry, revision));
            }
            let copy_of = is_copy.then_some(workload);
            for workload in families.take(revision, copy_of) {
                self.pods.entry(workload).or_default().push((entry, revision));
            }
        }
        if BINDING_KINDS.contains(&revision.kind.as_str()) {
            self.bindings.entry(id.clone()).or_default().push((entry, revision));
        }
        match revision.kind.as_str() {
            "Cluster" => self.clusters.entry(id.name).or_default().take(place, entry, revision),
            "Event" => {
                let about = |member| {
                    let of = revision.object.pointer("/involvedObject");
                    of.and_then(|of| of.get(member)?.as_str()).unwrap_or_default()
                };
                self.events
                    .entry((about("kind"), about("name")))
                    .or_default()
                    .push(entry.seq);
            }
            "Work" if id.cluster.is_control() && revision.change != Change::Deleted => {
                let namespace = revision.object.pointer("/metadata/namespace").and_then(Value::as_str);
                if let Some(cluster) = namespace.and_then(|it| it.strip_prefix(EXECUTION_NAMESPACE)) {
                    for workload in called_healthy(revision) {
                        let said = (cluster, (entry, revision));
                        self.healthy.entry(workload).or_default().push(said);
                    }
                }
            }
            _ => {}
        }
    }

    /// Revisions of the workload of a task, on all clusters, in order.
    pub(super) fn copies_of(&self, task: &Task) -> &[Placed<'a>] {
        self.copies(&Workload::from(&task.workload))
    }

    /// Revisions of a workload, on all clusters, in order.
    pub(super) fn copies(&self, workload: &Workload) -> &[Placed<'a>] {
        all(self.copies.get(workload))
    }

    /// Entries after one and before another.
    pub(super) fn between(&self, after: u64, before: u64) -> &'a [Entry] {
        let from = self.entries.partition_point(|entry| entry.seq <= after);
        let until = self.entries.partition_point(|entry| entry.seq < before);
        &self.entries[from..until.max(from)]
    }

    /// Revisions of the pods of that workload on members, in order.
    pub(super) fn pods_of(&self, task: &Task) -> &[Placed<'a>] {
        all(self.pods.get(&Workload::from(&task.workload)))
    }

    /// Revisions of the shadow copies of that workload, in order.
    pub(super) fn shadows_of(&self, task: &Task) -> &[Placed<'a>] {
        all(self.shadows.get(&Workload::from(&task.workload)))
    }

    /// Revisions of Works that call that workload healthy, each with the member.
    pub(super) fn works_healthy(&self, task: &Task) -> &[(&'a str, Placed<'a>)] {
        all(self.healthy.get(&Workload::from(&task.workload)))
    }

    /// Revisions of the binding of a task, in order.
    pub(super) fn binding_of(&self, task: &Task) -> &[Placed<'a>] {
        all(self.bindings.get(&task.binding))
    }

    /// The revision of a binding that an entry is.
    pub(super) fn binding_at(&self, task: &Task, seq: u64) -> Option<Placed<'a>> {
        let revisions = self.binding_of(task);
        let place = revisions.binary_search_by_key(&seq, |(entry, _)| entry.seq).ok()?;
        revisions.get(place).copied()
    }

    /// The revision of a binding with which a task was written.
    pub(super) fn written(&self, task: &Task) -> Option<Placed<'a>> {
        self.binding_at(task, task.written.seq)
    }

    /// All tasks of the binding of a task, in the order in which they were written.
    pub(super) fn tasks_beside(&self, task: &Task) -> impl Iterator<Item = &Task> {
        self.tasks_of(&task.binding)
    }

    /// All tasks of a binding, in the order in which they were written.
    pub(super) fn tasks_of(&self, binding: &ObjectId) -> impl Iterator<Item = &Task> {
        let places = self.places.get(binding).into_iter().flatten();
        places.filter_map(|place| self.tasks.get(*place))
    }

    /// Returns the history of the Cluster object with a name.
    pub(super) fn cluster(&self, name: &str) -> Option<&OfCluster> {
        self.clusters.get(name)
    }

    /// Returns `true` if some of these entries are Events about an object of this kind and name.
    pub(super) fn has_event(&self, kind: &str, name: &str, entries: std::ops::Range<u64>) -> bool {
        let events = all(self.events.get(&(kind, name)));
        let first = events.partition_point(|seq| *seq < entries.start);
        events.get(first).is_some_and(|seq| *seq < entries.end)
    }

    /// Returns the number of entries before the first one that is later than a time.
    pub(super) fn until(&self, time: Duration) -> usize {
        self.latest.partition_point(|at| *at <= time)
    }

    /// Returns the number of entries before the first one whose time, plus `added`, is not before a time.
    pub(super) fn before(&self, time: Duration, added: Duration) -> usize {
        self.latest.partition_point(|at| *at + added < time)
    }
}

fn all<T>(found: Option<&Vec<T>>) -> &[T] {
    found.map(Vec::as_slice).unwrap_or_default()
}

/// The workloads that there is a binding of, each without revisions.
fn bound<'a>(entries: &[Entry]) -> BTreeMap<Workload, Vec<Placed<'a>>> {
    let bindings = entries.iter().filter_map(|entry| match &entry.event {
        Event::Revision(it) if BINDING_KINDS.contains(&it.kind.as_str()) => Some(&it.object),
        Event::Revision(_) | Event::Mark(_) => None,
    });
    bindings
        .map(|binding| (Workload::of_binding(binding), Vec::new()))
        .collect()
}

/// The workloads that a Work says are healthy where it brings them.
fn called_healthy(work: &Revision) -> BTreeSet<Workload> {
    let statuses = work
        .object
        .pointer("/status/manifestStatuses")
        .and_then(Value::as_array);
    let healthy = statuses.into_iter().flatten().filter(|it| it["health"] == "Healthy");
    healthy.map(|it| Workload::of_reference(&it["identifier"])).collect()
}

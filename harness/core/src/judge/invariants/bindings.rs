//! The number of bindings and tasks, and the moments at which a task may be written and carried out.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use serde_json::Value;

use super::{Found, History, finding};
use crate::{
    case::model::Invariant,
    judge::failovers::Task,
    select::BINDING_KINDS,
    timeline::{Change, Entry, Event, ObjectId, Revision},
    workload::Workload,
};

/// Taints say when they came in whole seconds.
pub(super) const TICK: Duration = Duration::from_millis(1500);

/// Time in which a binding or a Work repeats the health of a copy.
pub(super) const REPEATED: Duration = Duration::from_secs(5);

pub(super) fn revisions<'a>(history: &History<'a>) -> impl Iterator<Item = (&'a Entry, &'a Revision)> {
    history.entries.iter().filter_map(|entry| match &entry.event {
        Event::Revision(revision) => Some((entry, revision)),
        Event::Mark(_) => None,
    })
}

/// PRG-10: no revision of a binding has two tasks for one cluster.
pub(super) fn one_task_per_cluster(history: &History<'_>) -> Found {
    let mut found = Found::default();
    for (id, of_binding) in &history.bindings {
        if history.tasks_of(id).next().is_none() {
            continue;
        }
        found.judged += 1;
        let doubled = of_binding.iter().find_map(|(entry, revision)| {
            let mut from = clusters_left(&revision.object);
            from.sort_unstable();
            let twice = from.windows(2).find(|pair| pair[0] == pair[1])?;
            Some((*entry, twice[0].to_owned()))
        });
        if let Some((entry, cluster)) = doubled {
            found.findings.push(finding(
                Invariant::OneTaskPerCluster,
                entry,
                Some(id.clone()),
                format!("one task from {cluster}"),
                "two of them".to_owned(),
            ));
        }
    }
    found
}

/// The tasks of a binding.
pub(super) fn tasks(binding: &Value) -> impl Iterator<Item = &Value> {
    let tasks = binding.pointer("/spec/gracefulEvictionTasks").and_then(Value::as_array);
    tasks.into_iter().flatten()
}

fn clusters_left(binding: &Value) -> Vec<&str> {
    tasks(binding).filter_map(|task| task["fromCluster"].as_str()).collect()
}

/// POL-01: no two bindings refer to one workload at the same moment.
pub(super) fn one_binding_per_workload(history: &History<'_>) -> Found {
    let mut found = Found::default();
    let mut there: BTreeMap<ObjectId, String> = BTreeMap::new();
    let mut bindings_of: BTreeMap<String, BTreeSet<ObjectId>> = BTreeMap::new();
    for (entry, revision) in revisions(history) {
        if !BINDING_KINDS.contains(&revision.kind.as_str()) {
            continue;
        }
        let id = ObjectId::of(revision);
        let mut leaves = |of: Option<&String>| {
            if let Some(bindings) = of.and_then(|of| bindings_of.get_mut(of)) {
                bindings.remove(&id);
            }
        };
        if revision.change == Change::Deleted {
            leaves(there.remove(&id).as_ref());
            continue;
        }
        let workload = workload(&revision.object);
        found.judged += 1;
        let before = there.insert(id.clone(), workload.clone());
        if before.as_ref() == Some(&workload) {
            continue;
        }
        leaves(before.as_ref());
        let bindings = bindings_of.entry(workload.clone()).or_default();
        bindings.insert(id.clone());
        if let Some(other) = bindings.iter().find(|other| **other != id) {
            found.findings.push(finding(
                Invariant::OneBindingPerWorkload,
                entry,
                Some(id.clone()),
                format!("one binding of {workload}"),
                format!("{other} beside it"),
            ));
        }
    }
    found
}

fn workload(binding: &Value) -> String {
    let Workload { kind, namespace, name } = Workload::of_binding(binding);
    let version = binding.pointer("/spec/resource/apiVersion").and_then(Value::as_str);
    // A kind has several versions, and is the same for it.
    let group = version
        .and_then(|it| it.rsplit_once('/'))
        .map_or("", |(group, _)| group);
    format!("{group} {kind} {namespace}/{name}")
}

/// The health that a binding says its workload has on a cluster.
pub(super) fn health<'a>(binding: &'a Value, cluster: &str) -> Option<&'a str> {
    let items = binding.pointer("/status/aggregatedStatus").and_then(Value::as_array)?;
    items.iter().find(|item| item["clusterName"] == cluster)?["health"].as_str()
}

/// Returns the clusters on which the workload of a task is reported as healthy, and the reporting revision: of its binding, or
/// of the Work that collects its health. An implementation with Works may act on them before the binding reports the same.
pub(super) fn said_healthy<'a>(
    history: &'a History<'_>,
    task: &'a Task,
) -> impl Iterator<Item = (&'a str, (&'a Entry, &'a Revision))> {
    let by_bindings = history.binding_of(task).iter().flat_map(|&(entry, revision)| {
        let items = items(revision, "/status/aggregatedStatus").filter(|item| item["health"] == "Healthy");
        items.filter_map(move |item| Some((item["clusterName"].as_str()?, (entry, revision))))
    });
    by_bindings.chain(history.works_healthy(task).iter().copied())
}

fn items<'a>(revision: &'a Revision, pointer: &str) -> impl Iterator<Item = &'a Value> {
    let items = revision.object.pointer(pointer).and_then(Value::as_array);
    items.into_iter().flatten()
}

//! Reasons for a change that is not a failover: edits by users.

use std::collections::BTreeSet;

use serde_json::Value;

use super::History;
use crate::{
    judge::order::Placed,
    plan::Plan,
    select::BINDING_KINDS,
    timeline::{Change, Entry, Event, HARNESS, ObjectId, Revision},
    workload::Workload,
};

/// Kinds that users write and that decide where a workload goes.
pub(super) const ASKED_BY: [&str; 2] = ["PropagationPolicy", "ClusterPropagationPolicy"];

/// True if placement and replicas of a binding are the same in two revisions.
pub(super) fn asks_the_same(one: &Value, other: &Value) -> bool {
    ["/spec/placement", "/spec/replicas"]
        .iter()
        .all(|it| one.pointer(it) == other.pointer(it))
}

/// True for a binding that is being deleted, is suspended, keeps the copies it made, or has no placement.
pub(super) fn is_set_aside((_, revision): Placed<'_>) -> bool {
    let object = &revision.object;
    let is = |pointer: &str| object.pointer(pointer) == Some(&Value::Bool(true));
    let goes = object.pointer("/metadata/deletionTimestamp").is_some() || revision.change == Change::Deleted;
    let suspended = object.pointer("/spec/suspension").is_some_and(|it| !it.is_null());
    goes || suspended
        || is("/spec/preserveResourcesOnDeletion")
        || object.pointer("/spec/placement").is_none_or(Value::is_null)
}

/// True if a user has edited a policy, the template, the binding or the labels of a cluster between two entries: each of
/// them decides where a workload goes.
pub(super) fn is_edited(history: &History<'_>, binding: Placed<'_>, since: u64, before: u64) -> bool {
    let workload = Workload::of_binding(&binding.1.object);
    let id = ObjectId::of(binding.1);
    let edits = |entry: &Entry| {
        let Event::Revision(revision) = &entry.event else {
            return false;
        };
        if !revision.cluster.is_control() || !is_harness(revision) {
            return false;
        }
        let it = ObjectId::of(revision);
        ASKED_BY.contains(&it.kind.as_str())
            || workload.includes(&it)
            || it == id && BINDING_KINDS.contains(&it.kind.as_str())
    };
    let entries = history.between(since, before);
    entries.iter().any(edits) || has_new_labels(history, since, before)
}

/// True if a cluster has other labels, was added or was removed.
fn has_new_labels(history: &History<'_>, since: u64, before: u64) -> bool {
    let seen = history
        .between(since, before)
        .iter()
        .filter_map(|entry| match &entry.event {
            Event::Revision(it) if it.kind == "Cluster" => Some(it),
            Event::Revision(_) | Event::Mark(_) => None,
        });
    let mut all: BTreeSet<(String, String)> = BTreeSet::new();
    let mut names: BTreeSet<String> = BTreeSet::new();
    for revision in seen {
        let labels = revision.object.pointer("/metadata/labels").cloned().unwrap_or_default();
        let name = ObjectId::of(revision).name;
        names.insert(name.clone());
        all.insert((name, labels.to_string()));
        if matches!(revision.change, Change::Added | Change::Deleted) {
            return true;
        }
    }
    all.len() > names.len()
}

/// True if the harness made a revision.
pub(super) fn is_harness(revision: &Revision) -> bool {
    revision.by.as_deref().is_some_and(|by| HARNESS.contains(&by))
}

/// State of a feature gate; unknown for a recording.
pub(super) fn is_on(plan: Option<&Plan>, gate: &str) -> Option<bool> {
    let plan = plan?;
    Some(plan.controller.feature_gates.get(gate) == Some(&true))
}

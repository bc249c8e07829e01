//! Points: the writes of a run without moves, as moments that a move can name.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{TargetWrite, variant::Base};
use crate::{
    case::model::{Place, WritePoint},
    names::{ClusterName, RoleName},
    timeline::{Change, Event, Mark, Timeline},
};

/// A write of a run without moves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Point {
    /// Step of the variant's file before which the move stands, from 0.
    pub step: usize,
    /// The write as a move names it.
    pub at: WritePoint,
    /// Set if a step before, or this one, taints a cluster with the effect `NoExecute`.
    pub is_tainted: bool,
    /// Set if a policy of the case has `spec.failover`.
    pub has_failover_policy: bool,
    /// Writes of one class count as the same for an exploration that has no time for all.
    pub class: String,
}

/// The points of a run without moves, in order.
pub fn points(base: &Base, writes: &[TargetWrite], timeline: &Timeline) -> Vec<Point> {
    let bound = roles(timeline);
    let changes = changes(writes, timeline);
    let has_failover_policy = has_failover_policy(timeline);
    let mut points = Vec::new();
    for (index, write) in writes.iter().enumerate() {
        let on = place(write, &bound);
        let same = |other: &&TargetWrite| {
            other.step == write.step
                && other.kind == write.kind
                && other.verb == write.verb
                && other.subresource == write.subresource
                && is_on(&other.cluster, &on, &bound)
        };
        let nth = writes[..=index].iter().filter(same).count() as u64;
        // deletecollection has no name in case files: no implementation has been seen to use it.
        if write.verb == "deletecollection" {
            continue;
        }
        let changes = changes.get(&index).cloned().unwrap_or_default();
        let subresource = write
            .subresource
            .as_deref()
            .map(|it| format!("/{it}"))
            .unwrap_or_default();
        let listed = changes.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
        let listed = if listed.is_empty() {
            listed
        } else {
            format!(": {listed}")
        };
        let step = base.step_of(write.step);
        points.push(Point {
            step,
            is_tainted: base.taints_until(step),
            has_failover_policy,
            class: format!("{} {}{subresource} on {on}{listed}", write.verb, write.kind),
            at: WritePoint {
                on,
                kind: write.kind.clone(),
                verb: write.verb.clone(),
                subresource: write.subresource.clone(),
                nth,
            },
        });
    }
    points
}

fn has_failover_policy(timeline: &Timeline) -> bool {
    timeline.revisions().any(|(_, revision)| {
        revision.kind == "PropagationPolicy" && revision.object.pointer("/spec/failover").is_some_and(Value::is_object)
    })
}

/// Roles with their members and the step that bound them.
fn roles(timeline: &Timeline) -> BTreeMap<RoleName, (ClusterName, usize)> {
    let mut bound = BTreeMap::new();
    let mut current = 0;
    for (_, mark) in timeline.marks() {
        match mark {
            Mark::StepStarted { step, .. } => current = *step,
            Mark::RoleBound { role, cluster } => {
                bound.insert(role.clone(), (cluster.clone(), current));
            }
            _ => {}
        }
    }
    bound
}

/// The place of a write: the role of its member if a step before bound it, else any member.
fn place(write: &TargetWrite, bound: &BTreeMap<RoleName, (ClusterName, usize)>) -> Place {
    if write.cluster.is_control() {
        return Place::Control;
    }
    let role = bound
        .iter()
        .find(|(_, (cluster, step))| *cluster == write.cluster && *step < write.step);
    role.map_or(Place::Members, |(role, _)| Place::Role(role.clone()))
}

fn is_on(cluster: &ClusterName, place: &Place, bound: &BTreeMap<RoleName, (ClusterName, usize)>) -> bool {
    match place {
        Place::Control => cluster.is_control(),
        Place::Members => !cluster.is_control(),
        Place::Role(role) => bound.get(role).is_some_and(|(it, _)| it == cluster),
    }
}

/// Fields that each write changed, by the number of the write: the revisions of its client in order, where there are as many as writes.
fn changes(writes: &[TargetWrite], timeline: &Timeline) -> BTreeMap<usize, BTreeSet<String>> {
    type Key = (ClusterName, String, String);
    let mut of_writes: BTreeMap<Key, Vec<usize>> = BTreeMap::new();
    for (index, write) in writes.iter().enumerate() {
        let key = (write.cluster.clone(), write.kind.clone(), write.client.clone());
        of_writes.entry(key).or_default().push(index);
    }
    let mut of_revisions: BTreeMap<Key, Vec<BTreeSet<String>>> = BTreeMap::new();
    let mut before: BTreeMap<(ClusterName, String, String), &Value> = BTreeMap::new();
    let mut steps_begun = false;
    for entry in timeline.entries() {
        let revision = match &entry.event {
            Event::Mark(Mark::StepStarted { .. }) => {
                steps_begun = true;
                continue;
            }
            Event::Mark(Mark::CleanUp) => break,
            Event::Mark(_) => continue,
            Event::Revision(revision) => revision,
        };
        let text = |pointer: &str| {
            revision
                .object
                .pointer(pointer)
                .and_then(Value::as_str)
                .unwrap_or_default()
        };
        let id = (
            revision.cluster.clone(),
            revision.kind.clone(),
            format!("{}/{}", text("/metadata/namespace"), text("/metadata/name")),
        );
        let previous = before.insert(id, &revision.object);
        let Some(by) = revision.by.clone().filter(|_| steps_begun) else {
            continue;
        };
        let changed = match (revision.change, previous) {
            (Change::Modified, Some(previous)) => differing(previous, &revision.object),
            _ => BTreeSet::new(),
        };
        let key = (revision.cluster.clone(), revision.kind.clone(), by);
        of_revisions.entry(key).or_default().push(changed);
    }
    let mut changes = BTreeMap::new();
    for (key, indices) in of_writes {
        let Some(revisions) = of_revisions.remove(&key).filter(|it| it.len() == indices.len()) else {
            continue;
        };
        changes.extend(indices.into_iter().zip(revisions));
    }
    changes
}

/// Fields that say that something changed, and not what.
const ASIDE: [&str; 3] = [
    "metadata.resourceVersion",
    "metadata.generation",
    "metadata.managedFields",
];

/// Paths of the fields that differ, two keys deep.
fn differing(before: &Value, after: &Value) -> BTreeSet<String> {
    let mut paths = BTreeSet::new();
    let empty = serde_json::Map::new();
    let (before, after) = (
        before.as_object().unwrap_or(&empty),
        after.as_object().unwrap_or(&empty),
    );
    for key in before.keys().chain(after.keys()).collect::<BTreeSet<_>>() {
        let (one, other) = (before.get(key), after.get(key));
        if one == other {
            continue;
        }
        match (one.and_then(Value::as_object), other.and_then(Value::as_object)) {
            (None, None) => {
                paths.insert(key.clone());
            }
            (one, other) => {
                let (one, other) = (one.unwrap_or(&empty), other.unwrap_or(&empty));
                let below = one
                    .keys()
                    .chain(other.keys())
                    .filter(|it| one.get(*it) != other.get(*it));
                paths.extend(below.map(|it| format!("{key}.{it}")));
            }
        }
    }
    paths.retain(|path| !ASIDE.contains(&path.as_str()));
    paths
}

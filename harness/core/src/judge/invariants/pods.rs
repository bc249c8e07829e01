//! At most one live copy, at the level of pods: pods may outlive the object that made them.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{Finding, History, finding};
use crate::{
    case::model::Invariant,
    judge::failovers::Task,
    names::ClusterName,
    timeline::{Change, Event, ObjectId, Revision},
};

/// The moments from which pods of a workload live on two members, from the task on (PRG-03).
pub(super) fn overlap(history: &History<'_>, task: &Task) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut family: BTreeMap<ClusterName, BTreeSet<String>> = BTreeMap::new();
    let mut live: BTreeSet<(ClusterName, String)> = BTreeSet::new();
    let mut overlapping = false;
    for entry in history.entries {
        let Event::Revision(revision) = &entry.event else {
            continue;
        };
        if revision.cluster.is_control() || !belongs(revision, task, &mut family) || revision.kind != "Pod" {
            continue;
        }
        let pod = (revision.cluster.clone(), uid(&revision.object).to_owned());
        if revision.change == Change::Deleted || is_over(&revision.object) {
            live.remove(&pod);
        } else {
            live.insert(pod);
        }
        let clusters: BTreeSet<&ClusterName> = live.iter().map(|(cluster, _)| cluster).collect();
        let overlaps = clusters.len() > 1 && entry.seq > task.written.seq;
        if overlaps && !overlapping {
            let all: Vec<&str> = clusters.into_iter().map(ClusterName::as_str).collect();
            findings.push(finding(
                Invariant::AtMostOneLiveCopy,
                entry,
                Some(ObjectId::of(revision)),
                format!("pods of {} on one cluster at most, at every moment", task.workload),
                format!("pods on {} at the same time", all.join(" and ")),
            ));
        }
        overlapping = overlaps;
    }
    findings
}

/// Whether a revision is of a copy of the workload, or of something that it owns, directly or not.
fn belongs(revision: &Revision, task: &Task, family: &mut BTreeMap<ClusterName, BTreeSet<String>>) -> bool {
    let family = family.entry(revision.cluster.clone()).or_default();
    let owners = revision
        .object
        .pointer("/metadata/ownerReferences")
        .and_then(Value::as_array);
    let owned = owners
        .into_iter()
        .flatten()
        .filter_map(|owner| owner.get("uid").and_then(Value::as_str))
        .any(|owner| family.contains(owner));
    let belongs = owned || task.is_copy(&ObjectId::of(revision));
    if belongs {
        family.insert(uid(&revision.object).to_owned());
    }
    belongs
}

fn uid(object: &Value) -> &str {
    object
        .pointer("/metadata/uid")
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// Whether a pod runs no more: it has ended, well or not.
fn is_over(pod: &Value) -> bool {
    let phase = pod.pointer("/status/phase").and_then(Value::as_str);
    matches!(phase, Some("Succeeded" | "Failed"))
}

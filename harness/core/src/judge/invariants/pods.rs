//! At most one live copy, at the level of pods: pods may outlive the object that made them.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{Finding, History, finding, history::Workload};
use crate::{
    case::model::Invariant,
    judge::failovers::{Migrations, Task},
    names::ClusterName,
    timeline::{Change, ObjectId, Revision},
};

/// The moments of migrations from which pods of a workload, that of a task, live on two members (PRG-03).
pub(super) fn overlap(history: &History<'_>, task: &Task, migrations: &Migrations<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut live: BTreeSet<(ClusterName, String)> = BTreeSet::new();
    let mut overlapping = false;
    for (entry, revision) in history.pods_of(task) {
        let pod = (revision.cluster.clone(), uid(&revision.object).to_owned());
        if revision.change == Change::Deleted || is_over(&revision.object) {
            live.remove(&pod);
        } else {
            live.insert(pod);
        }
        let clusters: BTreeSet<&ClusterName> = live.iter().map(|(cluster, _)| cluster).collect();
        let overlaps = clusters.len() > 1 && migrations.concern(entry.seq, clusters.iter().copied());
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

/// The objects on members that workloads own, directly or not, by cluster and uid.
#[derive(Default)]
pub(super) struct Families(BTreeMap<ClusterName, BTreeMap<String, BTreeSet<Workload>>>);

impl Families {
    /// Takes in the next revision on a member, and of which workload it is a copy. Whose pod it is, if it is a pod.
    pub(super) fn take(&mut self, revision: &Revision, copy_of: Option<Workload>) -> BTreeSet<Workload> {
        let on_cluster = self.0.entry(revision.cluster.clone()).or_default();
        let owners = revision
            .object
            .pointer("/metadata/ownerReferences")
            .and_then(Value::as_array);
        let owners = owners.into_iter().flatten();
        let uids = owners.filter_map(|owner| owner.get("uid").and_then(Value::as_str));
        let mut belongs: BTreeSet<Workload> = uids.filter_map(|uid| on_cluster.get(uid)).flatten().cloned().collect();
        belongs.extend(copy_of);
        if !belongs.is_empty() {
            let known = on_cluster.entry(uid(&revision.object).to_owned()).or_default();
            known.extend(belongs.iter().cloned());
        }
        if revision.kind == "Pod" {
            belongs
        } else {
            BTreeSet::new()
        }
    }
}

fn uid(object: &Value) -> &str {
    object
        .pointer("/metadata/uid")
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// Returns `true` if a pod has ended, successfully or not.
fn is_over(pod: &Value) -> bool {
    let phase = pod.pointer("/status/phase").and_then(Value::as_str);
    matches!(phase, Some("Succeeded" | "Failed"))
}

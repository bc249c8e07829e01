//! At most one live copy, at the level of pods: pods may outlive the object that made them.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Finding, History, families::uid, finding};
use crate::{
    case::model::Invariant,
    judge::failovers::{Migrations, Task},
    names::ClusterName,
    timeline::{Change, ObjectId},
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
        let clusters = live.iter().map(|(cluster, _)| cluster);
        let clusters: BTreeSet<&ClusterName> = clusters.filter(|it| !migrations.may_stay(entry.seq, it)).collect();
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

/// Returns `true` if a pod has ended, successfully or not.
fn is_over(pod: &Value) -> bool {
    let phase = pod.pointer("/status/phase").and_then(Value::as_str);
    matches!(phase, Some("Succeeded" | "Failed"))
}

//! When a scheduling result may name a new cluster.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{
    Found, History,
    copies::{There, stayed, was_there},
    finding,
};
use crate::{
    case::model::Invariant,
    judge::{
        failovers::{self, Task},
        order::{Placed, Precedence},
    },
    names::ClusterName,
    plan::Plan,
    timeline::{Change, HANDS, HARNESS, Timeline},
};

/// PRG-13: under Directly the scheduling result names a new cluster only when the old copy is gone.
///
/// Clean-up ends nothing here: until the binding itself is marked for deletion, naming a cluster too early is the same
/// fault. A case that does not name this invariant stays conclusive if the order is unknown.
pub(super) fn only_after_gone(timeline: &Timeline, plan: Option<&Plan>) -> Found {
    let mut found = Found::default();
    let history = History::of(timeline.entries(), Precedence::of(timeline));
    for (id, revisions) in &history.bindings {
        let tasks: Vec<&Task> = history.tasks_of(id).filter(|task| task.is_directly()).collect();
        if tasks.is_empty() {
            continue;
        }
        let mut decided: BTreeSet<(u64, &ClusterName)> = BTreeSet::new();
        let mut before: BTreeSet<ClusterName> = BTreeSet::new();
        for named in revisions.iter().copied() {
            let result = failovers::result_of(&named.1.object);
            let names_new = result.iter().any(|cluster| !before.contains(cluster));
            before.clone_from(&result);
            if names_new && is_judged(named) {
                judge(&history, &tasks, (named, &result), &mut decided, &mut found);
            }
        }
    }
    let counts_on_it = |plan: &Plan| plan.invariants.contains(&Invariant::ScheduledOnlyAfterGone);
    if !plan.is_none_or(counts_on_it) {
        (found.inconclusive, found.too_close) = (Vec::new(), false);
    }
    found
}

/// True for a result that the implementation wrote for a workload that has not been deleted.
fn is_judged((_, revision): Placed<'_>) -> bool {
    let object = &revision.object;
    let keeps_copies = object.pointer("/spec/preserveResourcesOnDeletion") == Some(&Value::Bool(true));
    let goes = object.pointer("/metadata/deletionTimestamp").is_some() || revision.change == Change::Deleted;
    !(keeps_copies || goes || revision.by.as_deref() == Some(HANDS))
}

/// Judges a result that names a cluster which the one before did not name.
fn judge<'t>(
    history: &History<'_>,
    tasks: &[&'t Task],
    (named, result): (Placed<'_>, &BTreeSet<ClusterName>),
    decided: &mut BTreeSet<(u64, &'t ClusterName)>,
    found: &mut Found,
) {
    let in_force = |task: &&&'t Task| {
        // A task and the new result may be written together.
        let is_written = task.written.seq <= named.0.seq;
        is_written && task.called_off.is_none_or(|over| named.0.seq < over.seq) && !result.contains(&task.from)
    };
    let mut open: Vec<&'t Task> = tasks.iter().filter(in_force).copied().collect();
    let Some(first) = open.first() else { return };
    let copies = history.copies_of(first);
    let (mut there, mut unknown) = (Vec::new(), Vec::new());
    open.retain(|task| match was_there(copies, named, &task.from, &history.precedence) {
        There::Yes(_) => {
            there.push(*task);
            true
        }
        There::Unknown(_) => {
            unknown.push(*task);
            true
        }
        There::No => task.is_pending_at(named.0.seq),
    });
    let is_excused = |task: &&Task| has_changed(history, task, named) || is_out_of_hand(history, task, named);
    if open.iter().any(is_excused) {
        return;
    }
    // Of several clusters that are left, each that is empty makes room for one; how many clusters divided replicas go to
    // is the scheduler's choice.
    let gone = open.len() - there.len() - unknown.len();
    let room = open
        .iter()
        .map(|task| task.result_before.len())
        .max()
        .unwrap_or(0)
        .max(1);
    if gone > 0 && is_divided(named) {
        return;
    }
    let too_many = |copies: usize| copies > 0 && result.len() + copies > room;
    let of = |task: &Task, seen: String| {
        finding(
            Invariant::ScheduledOnlyAfterGone,
            named.0,
            Some(task.binding.clone()),
            format!(
                "no new cluster in the scheduling result of {} before its copy on {} is gone",
                task.workload, task.from
            ),
            seen,
        )
    };
    let clusters = result.iter().map(ClusterName::as_str).collect::<Vec<_>>().join(", ");
    for task in &open {
        let is_new = decided.insert((task.written.seq, &task.from));
        found.judged += usize::from(is_new);
        let has = |list: &[&Task]| list.iter().any(|it| std::ptr::eq(*it, *task));
        if is_new && has(&there) && too_many(there.len()) {
            let seen = format!(
                "spec.clusters names {clusters} while the copy on {} exists{}",
                task.from,
                stayed(copies, named, &task.from)
            );
            found.findings.push(of(task, seen));
        } else if is_new && has(&unknown) && too_many(there.len() + unknown.len()) {
            let seen = format!(
                "spec.clusters names {clusters}, and the copy on {} went at about the same time: too close to tell which came first",
                task.from
            );
            found.cannot_tell(of(task, seen));
        }
    }
}

/// True if placement or replicas have changed since the task was written, which may ask for another result as well.
fn has_changed(history: &History<'_>, task: &Task, named: Placed<'_>) -> bool {
    let asks = |pointer: &str| {
        let then = history.written(task).and_then(|(_, it)| it.object.pointer(pointer));
        then != named.1.object.pointer(pointer)
    };
    asks("/spec/placement") || asks("/spec/replicas")
}

/// True if the implementation cannot remove the old copy: its cluster has left, or the harness created it after the task.
fn is_out_of_hand(history: &History<'_>, task: &Task, named: Placed<'_>) -> bool {
    let until = named.0.seq;
    let has_left = history
        .cluster(task.from.as_str())
        .is_some_and(|it| it.has_left_before(until));
    let mut copies = history.copies_of(task).iter();
    let created = copies.rfind(|(entry, it)| {
        entry.seq < until && it.cluster == task.from && matches!(it.change, Change::Added | Change::List)
    });
    let by_harness = created.is_some_and(|(entry, it)| {
        entry.seq > task.written.seq && it.by.as_deref().is_some_and(|by| HARNESS.contains(&by))
    });
    has_left || by_harness
}

fn is_divided((_, revision): Placed<'_>) -> bool {
    let kind = revision
        .object
        .pointer("/spec/placement/replicaScheduling/replicaSchedulingType");
    kind.and_then(Value::as_str) == Some("Divided")
}

//! Eviction tasks: a workload moves with one, and it stays until the migration is over.

use std::time::Duration;

use serde_json::Value;

use super::{
    Found, History,
    bindings::{self, said_healthy},
    blaming,
    blocked::failing_since,
    copies::{There, was_there},
    excuses::{asks_the_same, is_edited, is_on, is_set_aside},
    finding,
    instances::Target,
    old_copies,
};
use crate::{
    case::model::Invariant,
    judge::{
        failovers::{self, Task},
        order::Placed,
    },
    names::ClusterName,
    plan::Plan,
    timeline::{Change, HANDS, ObjectId},
};

/// Time in which a workload whose cluster has recovered is back in the result, before or after its task is cleared.
const BACK: Duration = Duration::from_secs(120);

/// A failing cluster that left the scheduling result without a task.
pub(super) struct WithoutTask<'a> {
    pub(super) cluster: ClusterName,
    /// The last revision of the binding that names it.
    pub(super) before: Placed<'a>,
    /// The first one that does not.
    pub(super) now: Placed<'a>,
}

/// TNT-11: a cluster with a taint that is not tolerated leaves the scheduling result only with a task.
pub(super) fn move_has_task(history: &History<'_>, target: &Target<'_>, plan: Option<&Plan>) -> Found {
    let mut found = Found::default();
    each_move(history, target, plan, |moved, has_task| {
        found.judged += 1;
        if !has_task {
            found.findings.push(finding(
                Invariant::MoveHasTask,
                moved.now.0,
                Some(ObjectId::of(moved.now.1)),
                format!(
                    "an eviction task from {}, which has a taint that is not tolerated",
                    moved.cluster
                ),
                format!("{} left spec.clusters without a task", moved.cluster),
            ));
        }
    });
    found
}

/// All failing clusters that left a result without a task.
pub(super) fn without_task<'a>(
    history: &History<'a>,
    target: &Target<'_>,
    plan: Option<&Plan>,
) -> Vec<WithoutTask<'a>> {
    let mut found = Vec::new();
    each_move(history, target, plan, |moved, has_task| {
        if !has_task {
            found.push(moved);
        }
    });
    found
}

/// Goes through the failing clusters that left a result because nothing but their taint asks for it.
fn each_move<'a>(
    history: &History<'a>,
    target: &Target<'_>,
    plan: Option<&Plan>,
    mut take: impl FnMut(WithoutTask<'a>, bool),
) {
    if is_on(plan, "Failover") == Some(false) {
        return;
    }
    for revisions in history.bindings.values() {
        for pair in revisions.windows(2) {
            let (before, now) = (pair[0], pair[1]);
            if is_set_aside(now) || target.wrote(now.1) != Some(true) {
                continue;
            }
            let result = failovers::result_of(&before.1.object);
            let left: Vec<ClusterName> = result
                .difference(&failovers::result_of(&now.1.object))
                .cloned()
                .collect();
            for cluster in left {
                let Some(since) = failing_since(history, cluster.as_str(), &now.1.object, now.0) else {
                    continue;
                };
                let has_task = [before, now].iter().any(|it| tasks_from(&it.1.object, &cluster));
                // With several clusters the scheduler may drop one for the sake of another.
                let is_alone = result.len() == 1 || bindings::tasks(&now.1.object).next().is_none();
                let is_excused = !is_alone
                    || !asks_the_same(&before.1.object, &now.1.object)
                    || history
                        .cluster(cluster.as_str())
                        .is_some_and(|it| it.has_left_before(now.0.seq))
                    || is_edited(history, now, since.seq, now.0.seq);
                if has_task || !is_excused {
                    take(WithoutTask { cluster, before, now }, has_task);
                }
            }
        }
    }
}

fn tasks_from(binding: &Value, cluster: &ClusterName) -> bool {
    bindings::tasks(binding).any(|task| task["fromCluster"] == cluster.as_str())
}

/// GRE-02, GRE-04, GRE-10: a task goes when the migration is over, its cluster is back in the result, or a user did it.
pub(super) fn task_stays(history: &History<'_>, target: &Target<'_>, plan: Option<&Plan>) -> Found {
    let mut found = Found::default();
    let has_plugins = plan.is_some_and(|plan| plan.controller.options.contains_key("evict-plugins"));
    if has_plugins || is_on(plan, "Failover") == Some(false) {
        return found;
    }
    let end = history.entries.last().map(|entry| entry.at).unwrap_or_default();
    for task in history.tasks.iter().filter(|task| task.purge_mode != "Never") {
        let cleared = task.cleared.and_then(|cleared| history.binding_at(task, cleared.seq));
        let Some(cleared) = cleared.filter(|it| target.wrote(it.1) == Some(true) && !is_set_aside(*it)) else {
            continue;
        };
        let is_suppressed = history
            .binding_of(task)
            .iter()
            .any(|(_, it)| bindings::tasks(&it.object).any(|it| it.get("suppressDeletion").is_some()));
        // It must be known what came of it: a result that names the cluster again may come later than the end.
        let is_known = cleared.0.at + BACK <= end;
        if is_suppressed || !is_wanted(history, task, cleared) {
            continue;
        }
        found.judged += 1;
        let result = failovers::result_of(&cleared.1.object);
        let is_over = is_back(history, task, cleared)
            || is_gone(history, task, cleared)
            || all_run(history, task, cleared)
            || period_is_over(history, task, cleared, plan);
        let is_excused = || {
            let written = history.written(task);
            let has_left = history
                .cluster(task.from.as_str())
                .is_some_and(|it| it.has_left_before(cleared.0.seq));
            let changed = written.is_none_or(|(_, it)| !asks_the_same(&it.object, &cleared.1.object));
            has_left || changed || is_edited(history, cleared, task.written.seq, cleared.0.seq)
        };
        if is_over || (result.is_empty() && !is_known) || is_excused() {
            continue;
        }
        let seen = if result.is_empty() {
            "it was cleared with nothing in the scheduling result".to_owned()
        } else {
            let after = cleared.0.at.saturating_sub(task.written.at).as_secs_f64();
            format!("it was cleared {after:.1} s after it was written")
        };
        let told = finding(
            Invariant::TaskStaysUntilOver,
            cleared.0,
            Some(task.binding.clone()),
            format!(
                "the task from {} until the new copies run, or the old one is gone",
                task.from
            ),
            seen,
        );
        let blamed = match (result.is_empty(), task.is_directly()) {
            (true, _) => "GRE-02",
            (false, true) => "GRE-10",
            (false, false) => "GRE-04",
        };
        found.findings.push(blaming(told, blamed));
    }
    found
}

/// True if the template exists.
fn is_wanted(history: &History<'_>, task: &Task, at: Placed<'_>) -> bool {
    let template = history
        .copies_of(task)
        .iter()
        .rfind(|(entry, it)| it.cluster.is_control() && entry.seq < at.0.seq);
    template.is_none_or(|(_, it)| {
        it.change != Change::Deleted && it.object.pointer("/metadata/deletionTimestamp").is_none()
    })
}

/// True if the result names the cluster again, or a user has edited the binding, at about the time when the task is cleared.
fn is_back(history: &History<'_>, task: &Task, cleared: Placed<'_>) -> bool {
    let mut about = history
        .binding_of(task)
        .iter()
        .filter(|(entry, _)| entry.seq > task.written.seq && cleared.0.at.abs_diff(entry.at) <= BACK);
    about.any(|(_, it)| failovers::result_of(&it.object).contains(&task.from) || it.by.as_deref() == Some(HANDS))
}

/// True unless the old copy certainly exists.
fn is_gone(history: &History<'_>, task: &Task, cleared: Placed<'_>) -> bool {
    let there = was_there(history.copies_of(task), cleared, &task.from, &history.precedence);
    !matches!(there, There::Yes(_))
}

/// True unless a copy on a cluster of the result is absent or unhealthy by then.
fn all_run(history: &History<'_>, task: &Task, cleared: Placed<'_>) -> bool {
    let result = failovers::result_of(&cleared.1.object);
    let copies = history.copies_of(task);
    let runs = |cluster: &ClusterName| {
        let said = said_healthy(history, task).any(|(there, said)| {
            there == cluster.as_str()
                && said.0.seq >= task.written.seq
                && old_copies::is_known_by(history, task, (there, said), cleared)
        });
        let latest = history.binding_of(task).iter().rfind(|it| it.0.seq <= cleared.0.seq);
        let is_sick = latest.and_then(|(_, it)| bindings::health(&it.object, cluster.as_str())) == Some("Unhealthy");
        let is_absent = matches!(was_there(copies, cleared, cluster, &history.precedence), There::No);
        said || !(is_sick || is_absent)
    };
    !result.is_empty() && result.iter().all(runs)
}

fn period_is_over(history: &History<'_>, task: &Task, cleared: Placed<'_>, plan: Option<&Plan>) -> bool {
    let kept = cleared.0.at.saturating_sub(task.written.at) + bindings::TICK;
    kept >= old_copies::period(history, task, plan)
}

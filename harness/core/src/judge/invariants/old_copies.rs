//! The old copy of a workload after a task was written: how long it stays.

use std::time::Duration;

use serde_json::Value;

use super::{
    Found, History,
    bindings::{REPEATED, TICK, health, said_healthy, tasks},
    blaming,
    excuses::{is_edited, is_harness, is_set_aside},
    finding,
};
use crate::{
    case::model::Invariant,
    judge::{
        failovers::{self, Task},
        order::{Before, Placed},
    },
    plan::{Plan, time_factor::faster_setup},
    timeline::{Change, Entry, HANDS, ObjectId, Revision},
    yaml::decode::parse_duration,
};

/// Minimum time to keep an old copy if no period is given; the default of the documents is ten minutes.
const LEAST_PERIOD: Duration = Duration::from_secs(30);

/// PRG-05, PRG-14: under Gracefully an old copy is not marked for deletion before another copy is healthy, or the grace
/// period is over. One that is not healthy itself leaves no gap, but has to wait all the same.
pub(super) fn gracefully_never_without_copy(history: &History<'_>, plan: Option<&Plan>) -> Found {
    let mut found = Found::default();
    let graceful = |task: &&Task| matches!(task.purge_mode.as_str(), "Gracefully" | "Graciously");
    for task in history.tasks.iter().filter(graceful) {
        let Some(marked) = marked(history, task).filter(|marked| is_wanted(history, task, marked.0)) else {
            continue;
        };
        let before = |(entry, revision): &&(&Entry, &Revision)| {
            history.precedence.before((*entry, *revision), marked) != Before::No
        };
        let bindings = history.binding_of(task);
        let mut was_healthy = bindings
            .iter()
            .filter(before)
            .filter_map(|(_, it)| health(&it.object, task.from.as_str()));
        let was_healthy = was_healthy.next_back() == Some("Healthy");
        found.judged += 1;
        let has_other = is_healthy_elsewhere(history, task, marked);
        let kept = marked.0.at.saturating_sub(task.written.at);
        if !has_other && kept + TICK < period(history, task, plan) {
            let told = finding(
                Invariant::GracefullyNeverWithoutCopy,
                marked.0,
                Some(ObjectId::of(marked.1)),
                format!(
                    "the copy of {} on {} until another one is healthy",
                    task.workload, task.from
                ),
                left(history, task, marked),
            );
            let told = if was_healthy { told } else { blaming(told, "PRG-05") };
            found.findings.push(told);
        }
    }
    found
}

/// PRG-09: under Never the old copy stays, unless a user has confirmed its removal or has edited something since.
pub(super) fn stays_under_never(history: &History<'_>) -> Found {
    let mut found = Found::default();
    for task in history.tasks.iter().filter(|task| task.purge_mode == "Never") {
        let Some(written) = history.written(task) else {
            continue;
        };
        found.judged += 1;
        let Some(marked) = marked(history, task).filter(|marked| is_wanted(history, task, marked.0)) else {
            continue;
        };
        let mut earlier = history.binding_of(task).iter();
        let last = earlier.rfind(|(entry, _)| entry.seq < marked.0.seq);
        let is_asked =
            last.is_some_and(|last| is_set_aside(*last)) || is_edited(history, written, task.written.seq, marked.0.seq);
        if !is_asked {
            found.findings.push(finding(
                Invariant::CopyStaysUnderNever,
                marked.0,
                Some(ObjectId::of(marked.1)),
                format!(
                    "the copy of {} on {} until a user confirms its removal",
                    task.workload, task.from
                ),
                left(history, task, marked),
            ));
        }
    }
    found
}

/// Returns what happened to an old copy, and when.
fn left(history: &History<'_>, task: &Task, marked: Placed<'_>) -> String {
    let what = if is_emptied(history, task, marked) {
        "scaled to 0"
    } else {
        "removed"
    };
    let kept = marked.0.at.saturating_sub(task.written.at);
    format!("it was {what} {:.0} s after the task was written", kept.as_secs_f64())
}

/// Returns `true` if a copy that may take the place of the old one is healthy when the old one goes: one on a cluster that the
/// workload came to or, if it came to none, any other.
fn is_healthy_elsewhere(history: &History<'_>, task: &Task, marked: Placed<'_>) -> bool {
    let until = task.cleared.map_or(u64::MAX, |cleared| cleared.seq);
    let later = history.binding_of(task).iter();
    let later = later.filter(|(entry, _)| task.written.seq <= entry.seq && entry.seq <= until);
    let mut results = later.flat_map(|(_, it)| failovers::result_of(&it.object));
    let has_new = results.any(|cluster| cluster != task.from && !task.result_before.contains(&cluster));
    let may = |cluster: &str| {
        let stayed = task.result_before.iter().any(|it| it.as_str() == cluster);
        cluster != task.from.as_str() && !(has_new && stayed)
    };
    said_healthy(history, task).any(|(cluster, said)| {
        said.0.seq >= task.written.seq && may(cluster) && is_known_by(history, task, (cluster, said), marked)
    })
}

/// Returns `true` if the health of a copy that a revision reports may have been known when something was done. An
/// implementation may look at the copy itself before binding and Work repeat its health; they do so soon, and the status of
/// the copy is the same until then.
pub(super) fn is_known_by(
    history: &History<'_>,
    task: &Task,
    (cluster, said): (&str, Placed<'_>),
    done: Placed<'_>,
) -> bool {
    if history.precedence.before(said, done) != Before::No {
        return true;
    }
    let status = |(_, it): &Placed<'_>| it.object.get("status").cloned();
    let of_cluster = history
        .copies_of(task)
        .iter()
        .filter(|(_, it)| it.cluster.as_str() == cluster);
    let (before, since): (Vec<Placed<'_>>, Vec<Placed<'_>>) = of_cluster
        .take_while(|(entry, _)| entry.seq < said.0.seq)
        .partition(|(entry, _)| entry.seq < done.0.seq);
    let last = before.last().filter(|(_, it)| it.change != Change::Deleted);
    said.0.at <= done.0.at + REPEATED
        && last.is_some_and(|last| {
            since
                .iter()
                .all(|it| it.1.change != Change::Deleted && status(it) == status(last))
        })
}

/// The first revision in which the old copy goes, is gone or is scaled to 0 because of this task. Changes after the workload is
/// back on the cluster, or leaves it again, do not count, and neither does a copy that a step of the case removes.
fn marked<'a>(history: &History<'a>, task: &Task) -> Option<(&'a Entry, &'a Revision)> {
    let again = history
        .tasks_beside(task)
        .find(|it| it.from == task.from && it.written > task.written);
    let by_hand = task.cleared.filter(|cleared| {
        let cleared = history.binding_at(task, cleared.seq);
        cleared.is_some_and(|(_, it)| it.by.as_deref() == Some(HANDS))
    });
    let ends = [task.called_off, again.map(|it| it.written), by_hand];
    let until = ends.into_iter().flatten().map(|end| end.seq).min().unwrap_or(u64::MAX);
    let mut copies = history.copies_of(task).iter();
    let (entry, revision) = copies.find(|(entry, revision)| {
        let goes = revision.object.pointer("/metadata/deletionTimestamp").is_some();
        let gone = revision.change == Change::Deleted;
        let of_task = (task.written.seq + 1..until).contains(&entry.seq);
        of_task && revision.cluster == task.from && (goes || gone || is_emptied(history, task, (entry, revision)))
    })?;
    (!is_harness(revision)).then_some((*entry, *revision))
}

/// Returns `true` if a revision takes the last replicas of a copy, although its template asks for some.
fn is_emptied(history: &History<'_>, task: &Task, (entry, revision): Placed<'_>) -> bool {
    let replicas = |it: &Revision| it.object.pointer("/spec/replicas").and_then(Value::as_u64);
    if replicas(revision) != Some(0) {
        return false;
    }
    let before = |is_it: fn(&Revision, &Revision) -> bool| {
        let mut earlier = history.copies_of(task).iter();
        let last = earlier.rfind(|(it, other)| it.seq < entry.seq && is_it(other, revision));
        last.and_then(|(_, it)| replicas(it)).is_some_and(|it| it > 0)
    };
    before(|other, it| other.cluster == it.cluster) && before(|other, _| other.cluster.is_control())
}

/// Returns `true` if workload and binding still exist at an entry: without them, copies may be removed.
fn is_wanted(history: &History<'_>, task: &Task, until: &Entry) -> bool {
    let is_alive = |(_, revision): &(&Entry, &Revision)| {
        revision.change != Change::Deleted && revision.object.pointer("/metadata/deletionTimestamp").is_none()
    };
    let last = |of: &[(&Entry, &Revision)]| of.iter().rfind(|(entry, _)| entry.seq < until.seq).is_none_or(is_alive);
    let template: Vec<_> = history
        .copies_of(task)
        .iter()
        .copied()
        .filter(|(_, it)| it.cluster.is_control())
        .collect();
    last(&template) && last(history.binding_of(task))
}

/// Minimum time to keep an old copy: the period in the task or, if it has none, the shortest of policy, option and
/// [`LEAST_PERIOD`]. A task cannot give itself a period below that, unless policy or option says the same.
pub(super) fn period(history: &History<'_>, task: &Task, plan: Option<&Plan>) -> Duration {
    let Some((_, written)) = history.written(task) else {
        return Duration::ZERO;
    };
    let recorded = tasks(&written.object).find(|it| it["fromCluster"] == task.from.as_str());
    let recorded = recorded
        .and_then(|it| it["gracePeriodSeconds"].as_u64())
        .map(Duration::from_secs);
    let policy = ["cluster", "application"].into_iter().filter_map(|kind| {
        let seconds = written
            .object
            .pointer(&format!("/spec/failover/{kind}/gracePeriodSeconds"));
        seconds.and_then(Value::as_u64).map(Duration::from_secs)
    });
    let option = plan.and_then(|plan| {
        let setup = faster_setup(&plan.controller, plan.time_factor);
        parse_duration(setup.options.get("graceful-eviction-timeout")?)
    });
    let asked: Vec<Duration> = policy.chain(option).collect();
    recorded
        .filter(|recorded| asked.contains(recorded) || *recorded > LEAST_PERIOD)
        .unwrap_or_else(|| asked.into_iter().fold(LEAST_PERIOD, Duration::min))
}

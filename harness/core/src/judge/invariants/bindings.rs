//! The number of bindings and tasks, and the moments at which a task may be written and carried out.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use serde_json::Value;

use super::{Found, History, blaming, blocked, excuses::is_harness, finding};
use crate::{
    case::model::Invariant,
    judge::{
        allowances::Allowances,
        failovers::{self, BY_APPLICATION, BY_TAINT, Task},
        order::{Before, Placed},
    },
    plan::{Plan, time_factor::faster_setup},
    select::BINDING_KINDS,
    timeline::{Change, Entry, Event, HANDS, HARNESS, ObjectId, Revision},
    workload::Workload,
    yaml::decode::parse_duration,
};

/// Taints say when they came in whole seconds.
pub(super) const TICK: Duration = Duration::from_millis(1500);

/// Time in which a binding or a Work repeats the health of a copy.
const REPEATED: Duration = Duration::from_secs(5);

/// Minimum time to keep an old copy if no period is given; the default of the documents is ten minutes.
const LEAST_PERIOD: Duration = Duration::from_secs(30);

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

/// TNT-03: a task because of a taint is not written before the taint has been there for as long as it is tolerated.
pub(super) fn no_eviction_before_its_time(history: &History<'_>, allowances: &Allowances) -> Found {
    let mut found = Found::default();
    for task in &history.tasks {
        let Some((entry, revision)) = history.written(task) else {
            continue;
        };
        let Some(due) = blocked::earliest(history, task).filter(|_| is_by_taint(history, revision, task)) else {
            continue;
        };
        found.judged += 1;
        if task.written.at + TICK < due && !was_changed_unheard(history, task, allowances) {
            found.findings.push(finding(
                Invariant::NoEvictionBeforeItsTime,
                entry,
                Some(task.binding.clone()),
                format!("no task from {} before {:.3} s", task.from, due.as_secs_f64()),
                format!("one at {:.3} s", task.written.at.as_secs_f64()),
            ));
        }
    }
    found
}

/// Returns `true` if a user changed the cluster that a task empties while the implementation could not hear of it.
fn was_changed_unheard(history: &History<'_>, task: &Task, allowances: &Allowances) -> bool {
    let heard = allowances.known_before(task.written.at, Duration::ZERO);
    let unheard = |entry: &Entry| heard < task.written.at && entry.at >= heard && entry.seq < task.written.seq;
    revisions(history).any(|(entry, it)| {
        let is_cluster = it.kind == "Cluster" && it.object["metadata"]["name"] == task.from.as_str();
        is_cluster && is_harness(it) && unheard(entry)
    })
}

/// Returns `true` if a task is because of an untolerated taint: its reason says so (PRG-07), or there is such a taint and the
/// policy knows no other failover. The words of a reason are free.
pub(super) fn is_by_taint(history: &History<'_>, written: &Revision, task: &Task) -> bool {
    match reason(&written.object, task) {
        Some(BY_TAINT) => true,
        Some(BY_APPLICATION) => false,
        _ => {
            let of_applications = written.object.pointer("/spec/failover/application");
            !is_harness(written)
                && of_applications.is_none_or(Value::is_null)
                && blocked::earliest(history, task).is_some()
        }
    }
}

/// The reason that a task gives.
pub(super) fn reason<'a>(binding: &'a Value, task: &Task) -> Option<&'a str> {
    let mut tasks = tasks(binding);
    tasks.find(|it| it["fromCluster"] == task.from.as_str())?["reason"].as_str()
}

/// The part of the policy that a task follows: `application` or `cluster`; `None` if its cause is not known.
pub(super) fn failure_kind(history: &History<'_>, written: &Revision, task: &Task) -> Option<&'static str> {
    if reason(&written.object, task) == Some(BY_APPLICATION) {
        Some("application")
    } else {
        is_by_taint(history, written, task).then_some("cluster")
    }
}

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
        let kept = marked.0.at.saturating_sub(task.written.at) + TICK;
        if !has_other && kept < period(history, task, plan) {
            let told = finding(
                Invariant::GracefullyNeverWithoutCopy,
                marked.0,
                Some(ObjectId::of(marked.1)),
                format!(
                    "the copy of {} on {} until another one is healthy",
                    task.workload, task.from
                ),
                format!("it was removed {:.0} s after the task was written", kept.as_secs_f64()),
            );
            let told = if was_healthy { told } else { blaming(told, "PRG-05") };
            found.findings.push(told);
        }
    }
    found
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

/// The first revision of the old copy that goes, or is gone, because of this task: what happens when the workload is
/// back there, or leaves it again, has nothing to do with it, nor does what a step of the case removes.
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
        of_task && revision.cluster == task.from && (goes || gone)
    })?;
    let by_harness = revision.by.as_deref().is_some_and(|by| HARNESS.contains(&by));
    (!by_harness).then_some((*entry, *revision))
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

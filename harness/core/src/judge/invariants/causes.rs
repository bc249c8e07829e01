//! The cause of an eviction: a taint that the workload does not tolerate, or an application that stays unhealthy.

use std::time::Duration;

use serde_json::Value;

use super::{
    Found, History,
    bindings::{REPEATED, TICK, revisions, tasks},
    blaming,
    blocked::{self, NoCause},
    excuses::{ASKED_BY, is_harness},
    finding,
};
use crate::{
    case::model::Invariant,
    judge::{
        Finding,
        allowances::Allowances,
        failovers::{BY_APPLICATION, BY_TAINT, Task},
        order::Placed,
    },
    timeline::{Change, Entry, Revision},
};

/// Field of a binding or a policy that asks for application failover.
const APPLICATION: &str = "/spec/failover/application";

/// Kind of the objects that say which workloads are healthy.
const CUSTOMIZATION: &str = "ResourceInterpreterCustomization";

/// TNT-03, TNT-05: a task because of a taint is not written before the taint has been there for as long as it is tolerated,
/// nor if the taint went before, or is tolerated for ever.
pub(super) fn no_eviction_before_its_time(history: &History<'_>, allowances: &Allowances) -> Found {
    let mut found = Found::default();
    for task in &history.tasks {
        let Some(written) = history.written(task) else {
            continue;
        };
        let told = |expected, seen| {
            let object = Some(task.binding.clone());
            finding(Invariant::NoEvictionBeforeItsTime, written.0, object, expected, seen)
        };
        let at = task.written.at.as_secs_f64();
        let broken = match blocked::earliest(history, task) {
            Some(due) if is_by_taint(history, written.1, task) => {
                found.judged += 1;
                (task.written.at + TICK < due).then(|| {
                    let expected = format!("no task from {} before {:.3} s", task.from, due.as_secs_f64());
                    told(expected, format!("one at {at:.3} s"))
                })
            }
            None if reason(&written.1.object, task) == Some(BY_TAINT) && !is_harness(written.1) => {
                let cause = blocked::no_cause(history, task);
                found.judged += usize::from(cause.is_some());
                cause.and_then(|cause| without_cause(task, cause, told))
            }
            Some(_) | None => None,
        };
        if let Some(broken) = broken.filter(|_| !was_changed_unheard(history, task, allowances)) {
            found.findings.push(broken);
        }
    }
    found
}

/// The finding about a task whose taint is not the cause of an eviction.
fn without_cause(task: &Task, cause: NoCause, told: impl Fn(String, String) -> Finding) -> Option<Finding> {
    let expected = format!("no task from {} because of a taint", task.from);
    let at = task.written.at.as_secs_f64();
    match cause {
        NoCause::Tolerated => {
            let seen = format!("one at {at:.3} s, although its taints are tolerated without a limit");
            Some(told(expected, seen))
        }
        NoCause::Removed(removed) => (removed + REPEATED < task.written.at).then(|| {
            let removed = removed.as_secs_f64();
            let seen = format!("one at {at:.3} s, although the taint was removed at {removed:.3} s, before its time");
            blaming(told(expected, seen), "TNT-05")
        }),
    }
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

/// APP-01, APP-02: a task because of an unhealthy workload is written only if the policy asks for application failover, and
/// not before the workload can have been unhealthy for as long as the policy tolerates.
pub(super) fn no_application_failover_before_its_time(history: &History<'_>, allowances: &Allowances) -> Found {
    let mut found = Found::default();
    let asked = Asked::of(history);
    for task in &history.tasks {
        let Some(written) = history.written(task) else {
            continue;
        };
        if reason(&written.1.object, task) != Some(BY_APPLICATION) || is_harness(written.1) {
            continue;
        }
        let told = |expected, seen| {
            let object = Some(task.binding.clone());
            finding(
                Invariant::NoApplicationFailoverBeforeItsTime,
                written.0,
                object,
                expected,
                seen,
            )
        };
        let at = task.written.at.as_secs_f64();
        if !asked.for_application_failover(history, task) {
            found.judged += 1;
            let expected = format!("no application failover from {}: no policy asks for it", task.from);
            found
                .findings
                .push(blaming(told(expected, format!("a task at {at:.3} s")), "APP-01"));
        } else if let (copies @ [_, ..], Some(tolerated)) = (&*copies_of(history, task), asked.tolerated(history, task))
        {
            found.judged += 1;
            let due = asked
                .unhealthy_since(history, task, copies, allowances)
                .map(|since| since + tolerated);
            if due.is_none_or(|due| task.written.at + TICK < due) {
                let expected = match due {
                    Some(due) => format!(
                        "no application failover from {} before {:.3} s",
                        task.from,
                        due.as_secs_f64()
                    ),
                    None => format!("no application failover from {}: the workload is healthy", task.from),
                };
                found.findings.push(told(expected, format!("a task at {at:.3} s")));
            }
        }
    }
    found
}

/// Objects that decide about application failover.
struct Asked<'a> {
    /// Revisions of policies that ask for it.
    policies: Vec<&'a Revision>,
    /// Revisions of the objects that say which workloads are healthy.
    customizations: Vec<Placed<'a>>,
}

impl<'a> Asked<'a> {
    fn of(history: &History<'a>) -> Self {
        let (mut policies, mut customizations) = (Vec::new(), Vec::new());
        for (entry, revision) in revisions(history) {
            if ASKED_BY.contains(&revision.kind.as_str()) && asks(revision) {
                policies.push(revision);
            } else if revision.kind == CUSTOMIZATION {
                customizations.push((entry, revision));
            }
        }
        Self {
            policies,
            customizations,
        }
    }

    /// Returns `true` if the binding asked for application failover until a task was written, or a policy ever did.
    fn for_application_failover(&self, history: &History<'_>, task: &Task) -> bool {
        !self.policies.is_empty() || until_written(history, task).iter().any(|it| asks(it.1))
    }

    /// The shortest time for which an unhealthy workload is tolerated: by the policies that ask for application failover or,
    /// if they do not say it, by the binding. `None` if it is not known.
    fn tolerated(&self, history: &History<'_>, task: &Task) -> Option<Duration> {
        let seconds = |it: &Revision| {
            let conditions = it.object.pointer(APPLICATION)?.get("decisionConditions")?;
            conditions.get("tolerationSeconds")?.as_u64()
        };
        let of_policies: Option<Vec<u64>> = self.policies.iter().map(|it| seconds(it)).collect();
        let of_binding = until_written(history, task).iter().filter_map(|(_, it)| seconds(it));
        let shortest = of_policies.and_then(|all| all.into_iter().min());
        shortest.or_else(|| of_binding.min()).map(Duration::from_secs)
    }

    /// The earliest moment since which the workload may have been unhealthy without interruption: the first change of its copy,
    /// or of what decides about its health, after the last state of it that was collected as healthy. `None` if nothing has
    /// changed since then.
    fn unhealthy_since(
        &self,
        history: &History<'_>,
        task: &Task,
        copies: &[Placed<'_>],
        allowances: &Allowances,
    ) -> Option<Duration> {
        let from = task.from.as_str();
        let mut last: Option<(&Entry, &Value)> = None;
        let mut before = None;
        for (entry, revision) in until_written(history, task) {
            let item = item(&revision.object, from);
            last = item
                .filter(|it| it["health"] == "Healthy" && before != Some(*it))
                .map(|it| (*entry, it))
                .or(last);
            before = item;
        }
        let Some((collected, item)) = last else {
            return copies.first().map(|(entry, _)| entry.at);
        };
        // Collecting takes time, and longer after a disturbance: what was collected may be of before.
        let until = copies.partition_point(|(entry, _)| entry.seq < collected.seq);
        let known = allowances.known_before(collected.at, REPEATED);
        let recent = copies.partition_point(|(entry, _)| entry.at < known);
        let recent = recent.saturating_sub(1).min(until);
        let is_meant = |copy: &Placed<'_>| is_collected_as(copy.1, item);
        let place = copies[recent..until]
            .iter()
            .position(is_meant)
            .map(|place| recent + place);
        let earlier = || copies[..recent].iter().rposition(is_meant);
        let healthy = copies.get(place.or_else(earlier).unwrap_or(recent))?;
        let mut later = copies
            .iter()
            .filter(|it| it.0.seq > healthy.0.seq && differ(it.1, healthy.1));
        let mut customized = self.customizations.iter();
        let customized = customized.find(|(entry, _)| entry.at >= healthy.0.at && is_in_time(task, entry));
        let changes = later
            .next()
            .map(|it| it.0.at)
            .into_iter()
            .chain(customized.map(|it| it.0.at));
        changes.min()
    }
}

/// Returns `true` if a binding or a policy asks for application failover.
fn asks(revision: &Revision) -> bool {
    revision.object.pointer(APPLICATION).is_some_and(|it| !it.is_null())
}

/// Returns `true` if an entry was there when a task was written. The timeline may have the change of a member after what
/// followed from it.
fn is_in_time(task: &Task, entry: &Entry) -> bool {
    entry.at <= task.written.at + TICK
}

/// The states of the copy that a task removes, until the task was written.
fn copies_of<'a>(history: &History<'a>, task: &Task) -> Vec<Placed<'a>> {
    let copies = history.copies_of(task).iter().copied();
    let is_there =
        |(entry, it): &Placed<'_>| it.cluster == task.from && it.change != Change::Deleted && is_in_time(task, entry);
    copies.filter(is_there).collect()
}

/// The revisions of the binding of a task until the task was written.
fn until_written<'h, 'a>(history: &'h History<'a>, task: &Task) -> &'h [Placed<'a>] {
    let all = history.binding_of(task);
    &all[..all.partition_point(|it| it.0.seq <= task.written.seq)]
}

/// Returns `true` if what a binding has collected may be the status of this copy: they differ in no field that both have.
fn is_collected_as(copy: &Revision, item: &Value) -> bool {
    let (Some(here), Some(collected)) = (copy.object.get("status"), item["status"].as_object()) else {
        return false;
    };
    collected
        .iter()
        .all(|(field, value)| here.get(field).is_none_or(|it| it == value))
}

/// Returns `true` if two states of a copy may differ in health.
fn differ(one: &Revision, other: &Revision) -> bool {
    let parts = [
        "/status",
        "/spec",
        "/metadata/generation",
        "/metadata/deletionTimestamp",
    ];
    parts
        .iter()
        .any(|it| one.object.pointer(it) != other.object.pointer(it))
}

/// The item of a binding with the status and the health of its workload on a cluster.
fn item<'a>(binding: &'a Value, cluster: &str) -> Option<&'a Value> {
    let items = binding.pointer("/status/aggregatedStatus").and_then(Value::as_array)?;
    items.iter().find(|item| item["clusterName"] == cluster)
}

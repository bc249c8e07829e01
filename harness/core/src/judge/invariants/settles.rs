//! The state of a run some time after its last disturbance.

use std::{collections::BTreeSet, time::Duration};

use serde_json::Value;

use super::{
    Found, History, bindings, blaming, blocked,
    excuses::{is_harness, is_set_aside},
    finding,
    instances::Target,
};
use crate::{
    case::model::{Action, Invariant},
    judge::{
        allowances::Allowances,
        failovers::{self, Task},
        order::Placed,
        settled::REST,
        step_runs::ran,
    },
    names::ClusterName,
    plan::{Plan, PlannedStep},
    timeline::{Change, Entry, Event, HANDS, Mark, ObjectId, Timeline},
    workload::Workload,
    yaml::decode::parse_duration,
};

/// Time in which everything settles at least.
const SETTLED: Duration = Duration::from_secs(600);

/// Members of policies, bindings and tasks that are periods, in seconds.
const PERIODS: [&str; 6] = [
    "addOnMatchSeconds",
    "blockPredecessorSeconds",
    "delaySeconds",
    "gracePeriodSeconds",
    "removeOnMismatchSeconds",
    "tolerationSeconds",
];

/// The moment from which on everything has had time to settle. None if the run ends before, or time was real: how long an
/// implementation takes then, no document says. After a step `settle` that ended early, it is the moment from which on nothing
/// changed.
fn settled(
    timeline: &Timeline,
    history: &History<'_>,
    plan: Option<&Plan>,
    allowances: &Allowances,
) -> Option<Duration> {
    if let Some(at) = plan.and_then(|plan| settled_early(plan, timeline)) {
        return Some(at);
    }
    let plan = plan.filter(|_| timeline.begin().is_some_and(|begin| begin.order.is_exact()))?;
    let acts = |step: usize| plan.steps.get(step).is_some_and(|step| step.action.facts().acts);
    let is_move = |entry: &&Entry| match &entry.event {
        Event::Revision(it) => it.by.as_deref() == Some(HANDS),
        Event::Mark(Mark::StepEnded { step, .. }) => acts(*step),
        Event::Mark(_) => false,
    };
    let last = history.entries.iter().rfind(is_move)?.at;
    let options = plan
        .controller
        .options
        .values()
        .filter_map(|value| parse_duration(value));
    let mut longest = options.max().unwrap_or_default();
    for (_, revision) in bindings::revisions(history) {
        if revision.cluster.is_control() {
            longest = longest.max(longest_period(&revision.object));
        }
    }
    let needs = SETTLED.max(longest.saturating_mul(2));
    let at = allowances.deadline(last, needs, None)?;
    let end = history.entries.last()?.at;
    (at <= end).then_some(at)
}

/// The moment from which on nothing changed before the last step `settle` ended early, if no step acts after it.
fn settled_early(plan: &Plan, timeline: &Timeline) -> Option<Duration> {
    let is_settle = |step: &PlannedStep| matches!(step.action, Action::Settle(_));
    let number = plan.steps.iter().rposition(is_settle)?;
    let Action::Settle(most) = plan.steps[number].action else {
        return None;
    };
    let acts_later = plan.steps[number..].iter().any(|step| step.action.facts().acts);
    let run = ran(plan, timeline).remove(&number)?;
    let (_, end) = run.end?;
    (!acts_later && run.took() < most).then(|| end.at.saturating_sub(REST))
}

fn longest_period(value: &Value) -> Duration {
    match value {
        Value::Object(members) => members.iter().fold(Duration::ZERO, |longest, (key, value)| {
            let here = match value {
                Value::Number(seconds) if PERIODS.contains(&key.as_str()) => seconds.as_u64().map(Duration::from_secs),
                Value::String(text) if key.starts_with("simulator.baton.dev/") => parse_duration(text),
                value => Some(longest_period(value)),
            };
            longest.max(here.unwrap_or_default())
        }),
        Value::Array(items) => items.iter().map(longest_period).max().unwrap_or_default(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Duration::ZERO,
    }
}

/// GRE-01, GRE-10, PRG-12: some time after the last move a workload that has failed over is where its result says and
/// nowhere else, and has no task any more. A workload that is elsewhere for a visible reason is not judged.
pub(super) fn settles(
    timeline: &Timeline,
    history: &History<'_>,
    plan: Option<&Plan>,
    allowances: &Allowances,
) -> Found {
    let mut found = Found::default();
    let (Some(_), Some(end)) = (settled(timeline, history, plan, allowances), history.entries.last()) else {
        return found;
    };
    for (id, revisions) in &history.bindings {
        let Some(last) = revisions.last().copied().filter(|it| !is_set_aside(*it)) else {
            continue;
        };
        let tasks: Vec<&Task> = history.tasks_of(id).collect();
        let copies = history.copies(&Workload::of_binding(&last.1.object));
        let is_kept = tasks.iter().any(|task| task.purge_mode == "Never");
        let template = copies.iter().rfind(|(_, it)| it.cluster.is_control());
        let is_wanted = template.is_none_or(|(_, it)| it.change != Change::Deleted);
        if tasks.is_empty() || is_kept || !is_wanted {
            continue;
        }
        let wrong = unsettled(history, &tasks, copies, &last.1.object);
        let is_as_it_should_be = wrong.is_empty() && is_well(&tasks, &last.1.object);
        if !is_as_it_should_be && is_visible(history, &tasks, last) {
            continue;
        }
        found.judged += 1;
        found.findings.extend(wrong.into_iter().map(|it| {
            let told = finding(
                Invariant::Settles,
                end,
                Some(id.clone()),
                it.expected,
                it.seen.to_owned(),
            );
            blaming(told, it.blamed)
        }));
    }
    found
}

/// True if no task is left, and the workload is healthy on each cluster of its result.
fn is_well(tasks: &[&Task], binding: &Value) -> bool {
    let result = failovers::result_of(binding);
    tasks.iter().all(|task| task.cleared.is_some()) && !result.is_empty() && is_healthy(binding, &result)
}

fn is_healthy(binding: &Value, clusters: &BTreeSet<ClusterName>) -> bool {
    clusters
        .iter()
        .all(|cluster| bindings::health(binding, cluster.as_str()) == Some("Healthy"))
}

/// A part of the last state that is not the state after a failover.
struct Unsettled {
    expected: String,
    seen: &'static str,
    blamed: &'static str,
}

/// Returns the parts of the last state of a binding, and of the copies of its workload, that differ from the state after a
/// failover.
fn unsettled(history: &History<'_>, tasks: &[&Task], copies: &[Placed<'_>], binding: &Value) -> Vec<Unsettled> {
    let mut all = Vec::new();
    let result = failovers::result_of(binding);
    for task in tasks.iter().filter(|task| task.cleared.is_none()) {
        if !result.is_empty() && is_healthy(binding, &result) {
            all.push(Unsettled {
                expected: format!("no task from {} once the new copies are healthy", task.from),
                seen: "it is still there",
                blamed: if task.is_directly() { "GRE-10" } else { "GRE-01" },
            });
        }
    }
    let clusters: BTreeSet<&ClusterName> = copies.iter().map(|(_, it)| &it.cluster).collect();
    for cluster in clusters
        .into_iter()
        .filter(|it| !it.is_control() && !result.contains(*it))
    {
        let from_there = tasks
            .iter()
            .rfind(|task| task.from == *cluster && task.cleared.is_some());
        if let (Some(task), true) = (from_there, is_spare(history, copies, cluster)) {
            all.push(Unsettled {
                expected: format!("no copy on {cluster}, which the scheduling result does not name"),
                seen: "it is still there",
                blamed: if task.is_directly() { "PRG-12" } else { "GRE-10" },
            });
        }
    }
    // Copies of some kinds, such as ConfigMap, are not recorded.
    let is_recorded = copies.iter().any(|(_, it)| !it.cluster.is_control());
    for cluster in result.iter().filter(|it| is_recorded && is_reachable(history, it)) {
        let last = copies.iter().rfind(|(_, it)| it.cluster == *cluster);
        if last.is_none_or(|(_, it)| it.change == Change::Deleted) {
            all.push(Unsettled {
                expected: format!("a copy on {cluster}, which the scheduling result names"),
                seen: "none, and nothing says why",
                blamed: "GRE-10",
            });
        }
    }
    all
}

/// True if an Event since the first task, or a condition, shows why a workload waits.
fn is_visible(history: &History<'_>, tasks: &[&Task], last: Placed<'_>) -> bool {
    let Some(first) = tasks.first() else { return false };
    let since = first.written.seq..u64::MAX;
    let unmet = |it: &Value| {
        it["status"] != "True"
            && it["type"]
                .as_str()
                .is_some_and(|it| blocked::OF_EVERY_BINDING.contains(&it))
    };
    let conditions = last.1.object.pointer("/status/conditions").and_then(Value::as_array);
    // Some implementations have conditions that say nothing about a failover.
    let tainted = blocked::tainted(history, first);
    let before = history.binding_of(first).iter().rfind(|(entry, _)| entry.seq < tainted);
    let known = before.map(|it| blocked::conditions(it.1)).unwrap_or_default();
    let has_warning = history.entries.iter().any(|entry| match &entry.event {
        Event::Revision(it) if it.kind == "Event" && since.contains(&entry.seq) && it.object["type"] == "Warning" => {
            let about = &it.object["involvedObject"];
            [&first.workload.name, &first.binding.name]
                .iter()
                .any(|name| about["name"] == name.as_str())
        }
        Event::Revision(_) | Event::Mark(_) => false,
    });
    has_warning
        || conditions.into_iter().flatten().any(unmet)
        || blocked::conditions(last.1).iter().any(|it| !known.contains(it))
}

/// True if an unwanted copy exists that the implementation could have removed.
fn is_spare(history: &History<'_>, copies: &[Placed<'_>], cluster: &ClusterName) -> bool {
    let last = copies.iter().rfind(|(_, it)| it.cluster == *cluster);
    let made = copies
        .iter()
        .rfind(|(_, it)| it.cluster == *cluster && it.change == Change::Added);
    let is_there = last.is_some_and(|(_, it)| {
        it.change != Change::Deleted && it.object.pointer("/metadata/deletionTimestamp").is_none()
    });
    is_there && made.is_some_and(|(_, it)| !is_harness(it)) && is_reachable(history, cluster)
}

/// True if a cluster has been ready all the time.
fn is_reachable(history: &History<'_>, cluster: &ClusterName) -> bool {
    let seen = history.cluster(cluster.as_str());
    seen.is_some_and(|it| it.out_of_reach.is_none())
}

/// Once everything has settled, the implementation writes only leases. A warning: no document says so.
pub(super) fn comes_to_rest(
    timeline: &Timeline,
    history: &History<'_>,
    target: &Target<'_>,
    plan: Option<&Plan>,
    allowances: &Allowances,
) -> Found {
    let mut found = Found::default();
    let at = settled(timeline, history, plan, allowances);
    let (Some(at), Some(end)) = (at, history.entries.last()) else {
        return found;
    };
    if at + REST > end.at {
        return found;
    }
    found.judged += 1;
    // After a step `settle` that ended early, the last writes were at this very moment.
    let meanwhile = |entry: &Entry| at < entry.at && entry.at < at + REST;
    let mut writes = bindings::revisions(history)
        .filter(|(entry, it)| meanwhile(entry) && target.wrote(it) == Some(true) && it.kind != "Lease");
    if let Some((entry, revision)) = writes.next() {
        found.findings.push(finding(
            Invariant::ComesToRest,
            entry,
            Some(ObjectId::of(revision)),
            format!("no write within {} s once everything has settled", REST.as_secs()),
            format!("a write, and {} more", writes.count()),
        ));
    }
    found
}

//! An eviction that cannot go ahead as it should: it waits, and says so.

use std::time::Duration;

use serde_json::Value;

use super::{
    Found, History, blaming,
    cluster::{Since, Taint, Taints},
    finding,
};
use crate::{
    case::model::Invariant,
    judge::{
        allowances::Allowances,
        failovers::{Moment, Task},
    },
    timeline::{Change, Entry, Revision},
};

/// Longest time that an eviction may wait without an explanation.
const EXPLAINED_WITHIN: Duration = Duration::from_secs(10);

/// How much earlier than the timeline an implementation may reckon that an eviction is due: taints say when they came
/// in whole seconds, and the observer hears of them a little later.
const EARLY: Duration = Duration::from_secs(2);

/// The longest label value.
const LONGEST: usize = 63;

/// True if a text is a valid label value.
pub(super) fn is_label_value(text: &str) -> bool {
    let ends = |char: Option<char>| char.is_none_or(|char| char.is_ascii_alphanumeric());
    let inside = |char: char| char.is_ascii_alphanumeric() || matches!(char, '-' | '_' | '.');
    text.len() <= LONGEST && text.chars().all(inside) && ends(text.chars().next()) && ends(text.chars().next_back())
}

/// STP-06, OBS-02: an eviction by taint that came much later than it was due shows what held it up while it did: in a
/// condition of the binding, or in an event about binding or workload.
pub(super) fn late_eviction_explained(history: &History<'_>, allowances: &Allowances) -> Found {
    let mut found = Found::default();
    for task in &history.tasks {
        let Some((entry, revision)) = history.written(task) else {
            continue;
        };
        let Some(due) = due(history, allowances, task, revision) else {
            continue;
        };
        found.judged += 1;
        // A member that does not answer keeps others waiting, too.
        let since = allowances.undisturbed(due.at, task.written.at, None);
        let waited = task.written.at.saturating_sub(since);
        if waited > EXPLAINED_WITHIN && !is_explained(history, task, due) {
            let broken = finding(
                Invariant::LateEvictionIsExplained,
                entry,
                Some(task.binding.clone()),
                format!(
                    "a condition or an event that says what held up the eviction from {} since {:.3} s",
                    task.from,
                    due.at.as_secs_f64()
                ),
                format!("nothing for {:.0} s, then the task", waited.as_secs_f64()),
            );
            let blamed = if was_queued(history, task, due) || !has_rules(revision) {
                "OBS-02"
            } else {
                "STP-06"
            };
            found.findings.push(blaming(broken, blamed));
        }
    }
    found
}

/// Returns `true` if other workloads were evicted during the wait: then it waited for its turn, and not for its state.
fn was_queued(history: &History<'_>, task: &Task, due: Moment) -> bool {
    let earlier = history.tasks.partition_point(|it| it.written.seq < task.written.seq);
    // The last ones are the likeliest.
    let mut earlier = history.tasks[..earlier].iter().rev();
    earlier.any(|other| other.binding != task.binding && due.at <= other.written.at + EARLY)
}

/// Returns `true` if the binding demands that state is preserved when its cluster fails.
fn has_rules(binding: &Revision) -> bool {
    let rules = binding.object.pointer("/spec/failover/cluster/statePreservation/rules");
    rules.and_then(Value::as_array).is_some_and(|rules| !rules.is_empty())
}

/// When the taints of the cluster left the workload no time any more; nothing if no taint asks for this eviction.
fn due(history: &History<'_>, allowances: &Allowances, task: &Task, binding: &Revision) -> Option<Moment> {
    let placement = binding.object.pointer("/spec/placement");
    let tolerations = tolerations(&binding.object);
    let taints = taints_at(history, task);
    let first = taints
        .iter()
        .filter_map(|(taint, since)| {
            let tolerated = tolerated(taint, tolerations)?;
            Some((since.added, counted_from(*since, allowances) + tolerated))
        })
        .min_by_key(|(_, at)| *at)?;
    let (since, at) = first;
    // A placement that changed in the meantime may have had other tolerations.
    let settled = history.binding_of(task).iter().rev();
    let settled = settled
        .skip_while(|(entry, _)| entry.seq > task.written.seq)
        .take_while(|(_, revision)| revision.object.pointer("/spec/placement") == placement)
        .last()?;
    Some(Moment {
        seq: since.seq.max(settled.0.seq),
        at: at.max(settled.0.at),
    })
}

/// The moment from which the time of a toleration counts (TNT-03): when the taint was added or, if something disturbed the
/// implementation until it wrote `timeAdded`, the end of that disturbance.
fn counted_from(since: Since, allowances: &Allowances) -> Duration {
    since.dated.map_or(since.added.at, |dated| {
        allowances.undisturbed(since.added.at, dated.at, None)
    })
}

/// The earliest moment at which the taints of the cluster may have left the workload no time any more, whichever of the
/// tolerations counts that its binding has had; nothing if no taint asks for this eviction, or one was there before
/// anybody looked.
pub(super) fn earliest(history: &History<'_>, task: &Task) -> Option<Duration> {
    let known_since = history.entries.first().map(|entry| entry.at).unwrap_or_default();
    let taints = taints_at(history, task);
    if taints.is_empty() || taints.values().any(|since| since.added.at == known_since) || has_other_taint(history, task)
    {
        return None;
    }
    let so_far = history
        .binding_of(task)
        .iter()
        .filter(|(entry, _)| entry.seq <= task.written.seq);
    let due = so_far.flat_map(|(_, revision)| {
        let tolerations = tolerations(&revision.object);
        let due = taints
            .iter()
            .filter_map(|(taint, since)| Some(since.added.at + tolerated(taint, tolerations)?));
        due.collect::<Vec<_>>()
    });
    due.min()
}

/// Reasons for which the taints of a cluster cannot have caused an eviction.
#[derive(Debug, Clone, Copy)]
pub(super) enum NoCause {
    /// The binding has always tolerated them without a limit.
    Tolerated,
    /// The last of those that it tolerates for some time was removed at this moment, before that time was over.
    Removed(Duration),
}

/// Returns the reason for which no taint that the cluster has had can have caused an eviction. `None` if one can have, or if
/// that is not known.
pub(super) fn no_cause(history: &History<'_>, task: &Task) -> Option<NoCause> {
    let cluster = history.cluster(task.from.as_str())?;
    let known_since = history.entries.first().map(|entry| entry.at).unwrap_or_default();
    let had = cluster.all_taints_before(task.written.seq);
    let is_unknown = had.iter().any(|(_, since, _)| since.added.at == known_since);
    if had.is_empty() || is_unknown || cluster.ever_preferred || cluster.has_left_before(task.written.seq) {
        return None;
    }
    let mut last_removed = None;
    for (taint, since, removed) in had {
        let so_far = history.binding_of(task).iter();
        let so_far = so_far.take_while(|(entry, _)| entry.seq <= task.written.seq);
        let times = so_far.filter_map(|(_, it)| tolerated(taint, tolerations(&it.object)));
        let Some(due) = times.min().map(|time| since.added.at + time) else {
            continue;
        };
        let removed = removed.filter(|removed| removed.at + EARLY < due)?;
        last_removed = last_removed.max(Some(removed.at));
    }
    Some(last_removed.map_or(NoCause::Tolerated, NoCause::Removed))
}

/// The cluster tolerations of a binding.
fn tolerations(binding: &Value) -> &[Value] {
    let tolerations = binding.pointer("/spec/placement/clusterTolerations");
    let tolerations = tolerations.and_then(Value::as_array);
    tolerations.map(Vec::as_slice).unwrap_or_default()
}

/// Returns `true` if the cluster ever had a `PreferNoExecute` taint, which has a separate time limit.
fn has_other_taint(history: &History<'_>, task: &Task) -> bool {
    history.cluster(task.from.as_str()).is_some_and(|it| it.ever_preferred)
}

/// The `NoExecute` taints of the cluster when the task was written, each with the moment since when it was there.
fn taints_at<'h>(history: &'h History<'_>, task: &Task) -> &'h Taints {
    static NONE: Taints = Taints::new();
    let of_cluster = history.cluster(task.from.as_str());
    of_cluster
        .and_then(|it| it.taints_before(task.written.seq))
        .unwrap_or(&NONE)
}

/// The entry at which the cluster got the first of the `NoExecute` taints that it has when the task is written; the task's own
/// entry if it has none.
pub(super) fn tainted(history: &History<'_>, task: &Task) -> u64 {
    let taints = taints_at(history, task).values().map(|since| since.added.seq);
    taints.min().unwrap_or(task.written.seq)
}

/// Since when a cluster has had a `NoExecute` taint that a binding tolerates no longer, just before an entry; none if
/// it has no such taint.
pub(super) fn failing_since(history: &History<'_>, cluster: &str, binding: &Value, before: &Entry) -> Option<Moment> {
    let tolerations = tolerations(binding);
    let taints = history.cluster(cluster)?.taints_before(before.seq)?;
    let due = taints.iter().filter_map(|(taint, since)| {
        Some(Moment {
            seq: since.added.seq,
            at: since.added.at + tolerated(taint, tolerations)?,
        })
    });
    due.filter(|due| due.at <= before.at).min_by_key(|due| due.at)
}

/// Time for which a taint is tolerated; none if it is tolerated for ever.
fn tolerated(taint: &Taint, tolerations: &[Value]) -> Option<Duration> {
    let text = |toleration: &Value, member: &str| {
        let value = toleration.get(member).and_then(Value::as_str);
        value.unwrap_or_default().to_owned()
    };
    let matches = |toleration: &&Value| {
        let (key, effect) = (text(toleration, "key"), text(toleration, "effect"));
        let exists = text(toleration, "operator") == "Exists";
        (effect.is_empty() || effect == "NoExecute")
            && (key.is_empty() || key == taint.key)
            && (exists || text(toleration, "value") == taint.value)
    };
    let matching: Vec<&Value> = tolerations.iter().filter(matches).collect();
    if matching.is_empty() {
        return Some(Duration::ZERO);
    }
    let seconds = matching
        .into_iter()
        .filter_map(|toleration| toleration.get("tolerationSeconds").and_then(Value::as_i64));
    seconds
        .min()
        .map(|seconds| Duration::from_secs(u64::try_from(seconds).unwrap_or(0)))
}

/// Returns `true` if an event, or a condition that did not exist before the cluster was tainted, appeared at about the time at
/// which the eviction was due and before the task.
fn is_explained(history: &History<'_>, task: &Task, due: Moment) -> bool {
    let before = |entry: &Entry| entry.at + EARLY < due.at && entry.seq < task.written.seq;
    let tainted = tainted(history, task);
    let known = history
        .binding_of(task)
        .iter()
        .take_while(|(entry, _)| before(entry) && entry.seq < tainted)
        .last();
    let known = known.map(|(_, revision)| conditions(revision)).unwrap_or_default();
    // A condition that stands by then need not be written again.
    let mut standing = history.binding_of(task).iter().take_while(|(entry, _)| before(entry));
    if standing
        .by_ref()
        .last()
        .is_some_and(|(_, revision)| conditions(revision) != known)
    {
        return true;
    }
    let Some(first) = history.entries.get(history.before(due.at, EARLY)) else {
        return false;
    };
    let meanwhile = first.seq..task.written.seq;
    let is_about = |kind: &str, name: &str| history.has_event(kind, name, meanwhile.clone());
    let mut of_binding = history.binding_of(task).iter();
    of_binding.any(|(entry, revision)| {
        meanwhile.contains(&entry.seq) && revision.change != Change::Deleted && conditions(revision) != known
    }) || is_about(&task.binding.kind, &task.binding.name)
        || is_about(&task.workload.kind, &task.workload.name)
}

/// Conditions that every binding has; they speak of other things than of what holds up an eviction.
pub(super) const OF_EVERY_BINDING: [&str; 2] = ["Scheduled", "FullyApplied"];

/// Conditions of a binding without their times: those that not every binding has.
pub(super) fn conditions(binding: &Revision) -> Vec<[&str; 4]> {
    let conditions = binding.object.pointer("/status/conditions").and_then(Value::as_array);
    let part = |condition, member| -> &str {
        let condition: &Value = condition;
        condition.get(member).and_then(Value::as_str).unwrap_or_default()
    };
    let said = conditions
        .into_iter()
        .flatten()
        .map(|condition| ["type", "status", "reason", "message"].map(|member| part(condition, member)));
    said.filter(|[type_, ..]| !OF_EVERY_BINDING.contains(type_)).collect()
}

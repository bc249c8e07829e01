//! Placement of workloads: the clusters that enter a scheduling result, their replicas, and copies that are left behind.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use serde_json::Value;

use super::{Found, History, bindings, blaming, finding, instances::Target};
use crate::{
    case::model::Invariant,
    judge::{allowances::Allowances, failovers},
    names::ClusterName,
    select::BINDING_KINDS,
    timeline::{Change, Entry, HANDS, ObjectId, Revision},
};

/// Time in which a scheduler may not know a change yet: of taints, or of the workload.
const NEWS: Duration = Duration::from_secs(5);

/// Longest time that an old copy may exist after its task was cleared.
const PURGE: Duration = Duration::from_secs(120);

/// Time for which a cluster is blocked if the policy does not set it (APP-08).
const BLOCKED: u64 = 600;

/// A taint of a cluster that keeps workloads off, and since when it is there.
struct Repels {
    key: String,
    value: String,
    effect: String,
    since: Duration,
}

/// TNT-01, TNT-02, TNT-10, APP-08: a cluster that newly enters a scheduling result is in the affinity, has no taint
/// that the workload does not tolerate, and is not one that the workload was evicted from a short while ago.
pub(super) fn destination_fits(history: &History<'_>, target: &Target<'_>, allowances: &Allowances) -> Found {
    let mut found = Found::default();
    let mut clusters: BTreeMap<String, Vec<Repels>> = BTreeMap::new();
    let mut results: BTreeMap<ObjectId, BTreeSet<ClusterName>> = BTreeMap::new();
    let mut evicted: BTreeMap<(ObjectId, String), Duration> = BTreeMap::new();
    for (entry, revision) in bindings::revisions(history) {
        if revision.kind == "Cluster" {
            note_taints(
                clusters.entry(ObjectId::of(revision).name).or_default(),
                entry,
                revision,
            );
        }
        if !BINDING_KINDS.contains(&revision.kind.as_str()) || revision.change == Change::Deleted {
            continue;
        }
        let id = ObjectId::of(revision);
        let now = failovers::result_of(&revision.object);
        let before = results.insert(id.clone(), now.clone()).unwrap_or_default();
        let placement = revision.object.pointer("/spec/placement").filter(|it| !it.is_null());
        if let (Some(placement), Some(true)) = (placement, target.wrote(revision)) {
            for cluster in now.difference(&before) {
                found.judged += 1;
                let repels = clusters.get(cluster.as_str()).map(Vec::as_slice).unwrap_or_default();
                let blocked = evicted.get(&(id.clone(), cluster.to_string()));
                let why = outside(placement, cluster)
                    .or_else(|| repelled(placement, repels, entry, allowances))
                    .or_else(|| is_blocked(&revision.object, blocked.copied(), entry));
                if let Some((requirement, why)) = why {
                    let told = finding(
                        Invariant::DestinationFits,
                        entry,
                        Some(id.clone()),
                        "a cluster that fits as the new one".to_owned(),
                        format!("{cluster}, {why}"),
                    );
                    found.findings.push(blaming(told, requirement));
                }
            }
        }
        for record in list(&revision.object, "/spec/activeEvictionHistory") {
            let cluster = record["clusterName"].as_str().unwrap_or_default().to_owned();
            evicted.entry((id.clone(), cluster)).or_insert(entry.at);
        }
    }
    found
}

fn note_taints(known: &mut Vec<Repels>, entry: &Entry, revision: &Revision) {
    let taints = list(&revision.object, "/spec/taints");
    let text = |taint: &Value, member: &str| taint[member].as_str().unwrap_or_default().to_owned();
    let is = |it: &Repels, taint: &Value| {
        it.key == text(taint, "key") && it.value == text(taint, "value") && it.effect == text(taint, "effect")
    };
    known.retain(|it| taints.iter().any(|taint| is(it, taint)));
    for taint in taints {
        let keeps_off = matches!(taint["effect"].as_str(), Some("NoSchedule" | "NoExecute"));
        if keeps_off && !known.iter().any(|it| is(it, taint)) {
            known.push(Repels {
                key: text(taint, "key"),
                value: text(taint, "value"),
                effect: text(taint, "effect"),
                since: entry.at,
            });
        }
    }
}

type Why = Option<(&'static str, String)>;

/// As far as the names of clusters tell.
fn outside(placement: &Value, cluster: &ClusterName) -> Why {
    let affinity = placement.get("clusterAffinity")?;
    let named = |member: &str| {
        let names = affinity.get(member).and_then(Value::as_array);
        names.filter(|names| !names.is_empty())
    };
    let has = |names: &Vec<Value>| names.iter().any(|name| name == cluster.as_str());
    let missing = named("clusterNames").is_some_and(|names| !has(names));
    let excluded = named("exclude").is_some_and(has);
    (missing || excluded).then(|| ("TNT-10", "which the affinity does not have".to_owned()))
}

fn repelled(placement: &Value, repels: &[Repels], entry: &Entry, allowances: &Allowances) -> Why {
    let tolerations = list(placement, "/clusterTolerations");
    let tolerates = |taint: &Repels| {
        tolerations.iter().any(|it| {
            let text = |member: &str| it[member].as_str().unwrap_or_default();
            let exists = text("operator") == "Exists";
            (text("effect").is_empty() || text("effect") == taint.effect)
                && (text("key").is_empty() || text("key") == taint.key)
                && (exists || text("value") == taint.value)
        })
    };
    let is_known = |it: &&Repels| allowances.undisturbed(it.since, entry.at, None) + NEWS < entry.at;
    let known = repels.iter().find(|it| is_known(it) && !tolerates(it))?;
    let requirement = if known.effect == "NoExecute" {
        "TNT-01"
    } else {
        "TNT-02"
    };
    Some((
        requirement,
        format!("which has the taint {}:{}", known.key, known.effect),
    ))
}

fn is_blocked(binding: &Value, evicted: Option<Duration>, entry: &Entry) -> Why {
    let of_application = binding.pointer("/spec/failover/application")?;
    let for_secs = of_application.get("blockPredecessorSeconds").and_then(Value::as_u64);
    let for_secs = for_secs.unwrap_or(BLOCKED);
    let since = entry.at.saturating_sub(evicted?);
    let is_early = for_secs == 0 || since + NEWS < Duration::from_secs(for_secs);
    is_early.then(|| {
        (
            "APP-08",
            format!("from which it was evicted {:.0} s before", since.as_secs_f64()),
        )
    })
}

/// POL-11: under Divided the replicas of a result that stays for a while are those of the workload.
pub(super) fn replicas_add_up(history: &History<'_>, target: &Target<'_>, allowances: &Allowances) -> Found {
    let mut found = Found::default();
    let mut open: BTreeMap<ObjectId, (&Entry, u64, u64)> = BTreeMap::new();
    let settle = |(entry, sum, wanted): (&Entry, u64, u64), id: ObjectId, until: Duration, found: &mut Found| {
        if allowances
            .deadline(entry.at, NEWS, None)
            .is_none_or(|at_rest| at_rest > until)
        {
            return;
        }
        found.judged += 1;
        if sum != wanted {
            let expected = format!("{wanted} replicas in all clusters together");
            let told = finding(
                Invariant::ReplicasAddUp,
                entry,
                Some(id),
                expected,
                format!("{sum} of them"),
            );
            found.findings.push(told);
        }
    };
    for (entry, revision) in bindings::revisions(history) {
        if !BINDING_KINDS.contains(&revision.kind.as_str()) {
            continue;
        }
        let id = ObjectId::of(revision);
        if let Some(before) = open.remove(&id) {
            settle(before, id.clone(), entry.at, &mut found);
        }
        let full = full_result(&revision.object).filter(|_| target.wrote(revision) == Some(true));
        if let (Some((sum, wanted)), true) = (full, revision.change != Change::Deleted) {
            open.insert(id, (entry, sum, wanted));
        }
    }
    let end = history.entries.last().map(|entry| entry.at).unwrap_or_default();
    for (id, last) in open {
        settle(last, id, end, &mut found);
    }
    found
}

/// The replicas of all clusters and those of the workload, where a scheduler is content with what it has found.
fn full_result(binding: &Value) -> Option<(u64, u64)> {
    let divided = binding.pointer("/spec/placement/replicaScheduling/replicaSchedulingType")? == "Divided";
    let wanted = binding.pointer("/spec/replicas").and_then(Value::as_u64);
    let wanted = wanted.filter(|wanted| divided && *wanted > 0)?;
    let clusters = list(binding, "/spec/clusters");
    let waits = list(binding, "/spec/gracefulEvictionTasks");
    let content = |it: &&Value| it["type"] == "Scheduled" && it["status"] == "True";
    list(binding, "/status/conditions").iter().find(content)?;
    let sum = clusters.iter().filter_map(|it| it["replicas"].as_u64()).sum();
    (!clusters.is_empty() && waits.is_empty()).then_some((sum, wanted))
}

/// GRE-10: when a task is cleared, its cluster is in the result again, or its copy goes.
pub(super) fn task_ends_well(history: &History<'_>, target: &Target<'_>, allowances: &Allowances) -> Found {
    let mut found = Found::default();
    let end = history.entries.last().map(|entry| entry.at).unwrap_or_default();
    // What is never purged stays (PRG-09).
    for task in history.tasks.iter().filter(|task| task.purge_mode != "Never") {
        let Some(cleared) = task.cleared else { continue };
        let deadline = allowances.deadline(cleared.at, PURGE, Some(&task.from));
        let Some(until) = deadline.filter(|until| *until <= end) else {
            continue;
        };
        let of_binding = history.binding_of(task);
        let at_end = history.binding_at(task, cleared.seq);
        let by_target = at_end.is_some_and(|(_, it)| target.wrote(it) == Some(true) && it.change != Change::Deleted);
        let since = of_binding
            .iter()
            .filter(|(entry, _)| entry.seq >= cleared.seq && entry.at <= until);
        let mut since = since.map(|(_, it)| it);
        let wanted_again = since.any(|it| {
            let keeps = it.object.pointer("/spec/preserveResourcesOnDeletion") == Some(&Value::Bool(true));
            keeps || it.by.as_deref() == Some(HANDS) || failovers::result_of(&it.object).contains(&task.from)
        });
        if !by_target || wanted_again || was_out_of_reach(history, &task.from, until) {
            continue;
        }
        let mut copies = history.copies_of(task).iter();
        let last = copies.rfind(|(entry, it)| it.cluster == task.from && entry.at <= until);
        let Some((entry, last)) = last else { continue };
        found.judged += 1;
        let goes = last.object.pointer("/metadata/deletionTimestamp").is_some();
        if last.change != Change::Deleted && !goes {
            found.findings.push(finding(
                Invariant::TaskEndsWell,
                entry,
                Some(ObjectId::of(last)),
                format!("no copy on {} when its task is cleared", task.from),
                format!(
                    "it was still there {} s later",
                    until.saturating_sub(cleared.at).as_secs()
                ),
            ));
        }
    }
    found
}

/// Returns `true` if a cluster was ever not ready until a time: copies on it may be out of reach.
fn was_out_of_reach(history: &History<'_>, cluster: &ClusterName, until: Duration) -> bool {
    let since = history.cluster(cluster.as_str()).and_then(|it| it.out_of_reach);
    since.is_some_and(|since| since < history.until(until))
}

fn list<'a>(value: &'a Value, pointer: &str) -> &'a [Value] {
    let list = value.pointer(pointer).and_then(Value::as_array);
    list.map(Vec::as_slice).unwrap_or_default()
}

//! Copies of a workload while its cluster fails, with a task or without one.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{
    Found, History,
    blocked::failing_since,
    copies::{There, was_there},
    excuses::{asks_the_same, is_edited, is_harness, is_on, is_set_aside},
    finding,
};
use crate::{
    case::model::Invariant,
    judge::{
        failovers::{self, Migrations},
        order::Placed,
    },
    names::ClusterName,
    plan::Plan,
    timeline::{Change, ObjectId},
    workload::Workload,
};

/// The option that says how workloads leave whose policy does not.
pub(super) const MODE: &str = "no-execute-taint-eviction-purge-mode";

/// PRG-03: from a taint that is not tolerated until the workload has left, there is at most one copy under Directly. While
/// a task says how it leaves, `atMostOneLiveCopy` looks.
pub(super) fn one_copy(history: &History<'_>, plan: Option<&Plan>) -> Found {
    let mut found = Found::default();
    if is_on(plan, "Failover") == Some(false) {
        return found;
    }
    for (id, revisions) in &history.bindings {
        let Some(first) = revisions.first() else { continue };
        let copies = history.copies(&Workload::of_binding(&first.1.object));
        let (directly, mut others): (Vec<_>, Vec<_>) = history
            .tasks_of(id)
            .filter(|it| it.ran_alone())
            .partition(|it| it.is_directly());
        // A task of another mode counts if it follows the policy of its time, which may have been edited since.
        others.retain(|task| history.written(task).is_some_and(|it| !is_directly(&it.1.object, plan)));
        let migrations = Migrations { directly, others };
        let created = copies
            .iter()
            .copied()
            .filter(|(_, it)| it.change == Change::Added && !it.cluster.is_control());
        for copy in created.filter(|it| !is_harness(it.1)) {
            let Some(failing) = failing(history, revisions, copy, plan) else {
                continue;
            };
            found.judged += 1;
            let there = was_there(copies, copy, &failing, &history.precedence);
            let is_told = migrations.concern(copy.0.seq, [&failing, &copy.1.cluster])
                || migrations.may_stay(copy.0.seq, &failing);
            if matches!(there, There::Yes(_)) && !is_told && is_of_target(copies, copy, &failing) {
                found.findings.push(finding(
                    Invariant::OneCopyWhileFailing,
                    copy.0,
                    Some(ObjectId::of(copy.1)),
                    format!("no copy on {} while the one on {failing} exists", copy.1.cluster),
                    format!(
                        "copies on {failing}, which has a taint that is not tolerated, and on {}",
                        copy.1.cluster
                    ),
                ));
            }
        }
    }
    found
}

/// True if the copy that a cluster had just before an event was not created by the harness.
fn is_of_target(copies: &[Placed<'_>], event: Placed<'_>, cluster: &ClusterName) -> bool {
    let created = copies
        .iter()
        .rfind(|(entry, it)| entry.seq < event.0.seq && it.cluster == *cluster && it.change == Change::Added);
    created.is_none_or(|(_, it)| !is_harness(it))
}

/// The cluster that a workload is leaving under Directly when a copy of it is made elsewhere: one that it was on alone, and
/// that has had a taint since which nothing else asks for another place.
fn failing(
    history: &History<'_>,
    revisions: &[Placed<'_>],
    copy: Placed<'_>,
    plan: Option<&Plan>,
) -> Option<ClusterName> {
    let now = revisions.iter().rfind(|it| it.0.seq < copy.0.seq).copied()?;
    if is_set_aside(now) || !is_directly(&now.1.object, plan) {
        return None;
    }
    // Clusters that have left the result while they failed, each with the moment since when they did.
    let mut leaving: BTreeMap<ClusterName, u64> = BTreeMap::new();
    for pair in revisions.windows(2).take_while(|pair| pair[1].0.seq < copy.0.seq) {
        let (before, after) = (
            failovers::result_of(&pair[0].1.object),
            failovers::result_of(&pair[1].1.object),
        );
        leaving.retain(|cluster, _| !after.contains(cluster));
        let single = before.first().filter(|_| before.len() == 1);
        if let Some(cluster) = single.filter(|cluster| !after.contains(*cluster))
            && let Some(since) = failing_since(history, cluster.as_str(), &pair[1].1.object, pair[1].0)
        {
            leaving.insert(cluster.clone(), since.seq);
        }
    }
    let (cluster, since) = leaving.into_iter().find(|(cluster, _)| *cluster != copy.1.cluster)?;
    let then = revisions.iter().rfind(|it| it.0.seq <= since)?;
    let has_left = history
        .cluster(cluster.as_str())
        .is_some_and(|it| it.has_left_before(copy.0.seq));
    let is_excused =
        has_left || !asks_the_same(&then.1.object, &now.1.object) || is_edited(history, now, since, copy.0.seq);
    let is_single = failovers::result_of(&now.1.object).len() <= 1;
    (is_single && !is_excused).then_some(cluster)
}

/// True if a workload leaves a failed cluster Directly: by its policy, or by the option if the policy does not say.
fn is_directly(binding: &Value, plan: Option<&Plan>) -> bool {
    let of_policy = binding.pointer("/spec/failover/cluster").filter(|it| !it.is_null());
    let mode = match of_policy {
        Some(policy) => policy.get("purgeMode").and_then(Value::as_str),
        None => plan
            .and_then(|plan| plan.controller.options.get(MODE))
            .map(String::as_str),
    };
    matches!(mode, Some("Directly" | "Immediately"))
}

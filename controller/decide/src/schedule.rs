//! Chooses the clusters of a binding.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use crate::api::policy::{Placement, ReplicaSchedulingType};
use crate::api::{Binding, BindingSpec, Cluster, GracefulEvictionTask, PurgeMode, TaintEffect, TargetCluster};
use crate::conditions::{self, ConditionUpdate};
use crate::dependencies;
use crate::drain;
use crate::evict::mode_of;
use crate::names;
use crate::selector;
use crate::taints::{self, EvictionTime};

/// Time that the scheduler avoids a cluster which an unhealthy application left, if the policy does not set it
/// (APP-08).
const BLOCK_PREDECESSOR: SignedDuration = SignedDuration::from_secs(600);

/// Input of the scheduler.
#[derive(Clone, Copy, Debug)]
pub struct Snapshot<'a> {
    /// Binding to schedule.
    pub binding: &'a Binding,
    /// All clusters by name.
    pub clusters: &'a BTreeMap<String, Arc<Cluster>>,
    /// Clusters that have a Work of this binding, including Works that are being deleted.
    pub occupied: &'a BTreeSet<String>,
    /// Current time.
    pub now: Timestamp,
}

/// Result of the scheduler.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// The scheduling result.
    pub clusters: Vec<TargetCluster>,
    /// Remaining tasks. The tasks of clusters that the workload returns to are removed (GRE-02).
    pub tasks: Vec<GracefulEvictionTask>,
    /// Condition `Scheduled`.
    pub scheduled: ConditionUpdate,
    /// Time to schedule again, if nothing changes before.
    pub again: Option<Timestamp>,
}

/// Returns true if this scheduler schedules the binding, false if the binding names another one.
pub fn is_ours(spec: &BindingSpec) -> bool {
    let name = spec.scheduler_name.as_deref().unwrap_or_default();
    name.is_empty() || name == names::SCHEDULER || dependencies::follows(spec)
}

/// Decides the scheduling result.
///
/// A running copy stays where it is as long as the affinity selects the cluster: taints repel new copies but do not
/// move existing ones (TNT-02). New clusters must match in every respect (TNT-10). If two copies must never coexist, a
/// new cluster is chosen only after the old object is gone (PRG-13).
pub fn decide(snapshot: Snapshot<'_>) -> Decision {
    let spec = &snapshot.binding.spec;
    if dependencies::follows(spec) {
        return Decision {
            clusters: dependencies::clusters(spec),
            tasks: spec.graceful_eviction_tasks.clone(),
            scheduled: ConditionUpdate::yes("Success", "the resource goes where those are that need it"),
            again: None,
        };
    }
    let default = Placement::default();
    let placement = spec.placement.as_ref().unwrap_or(&default);
    let (min, max) = groups(placement);

    let mut chosen = kept(snapshot, placement);
    chosen.truncate(max);
    if chosen.is_empty() {
        chosen = still_there(snapshot, placement, max);
    }
    let leaving = leaving(snapshot, &chosen);
    let waits = !leaving.is_empty() && is_exclusive(spec);
    let mut tasks = spec.graceful_eviction_tasks.clone();
    tasks.retain(|task| !chosen.contains(&task.from_cluster));
    let mut again = None;
    if !waits {
        let (fitting, until) = fitting(snapshot, placement, &chosen);
        again = until;
        let room = max - chosen.len();
        if chosen.len() + fitting.len().min(room) >= min {
            chosen.extend(fitting.into_iter().take(room));
        }
        if chosen.is_empty() {
            chosen = go_back(snapshot, placement, max);
            tasks.retain(|task| !chosen.contains(&task.from_cluster));
        }
    }
    Decision {
        scheduled: scheduled(&chosen, min, waits, &leaving),
        clusters: with_required(spec, share_out(spec, placement, chosen)),
        tasks,
        again,
    }
}

/// Returns true if the workload would have enough clusters after leaving this one now (DRN-01).
pub fn can_leave(snapshot: Snapshot<'_>, cluster: &str) -> bool {
    let default = Placement::default();
    let placement = snapshot.binding.spec.placement.as_ref().unwrap_or(&default);
    let (min, max) = groups(placement);
    let mut chosen = kept(snapshot, placement);
    chosen.retain(|name| name != cluster);
    let (fitting, _) = fitting(snapshot, placement, &chosen);
    let left = fitting.iter().filter(|name| *name != cluster).count();
    chosen.len() + left >= min.min(max)
}

/// Returns the minimum and maximum number of clusters.
fn groups(placement: &Placement) -> (usize, usize) {
    let count = |number: Option<i32>| {
        number
            .and_then(|number| usize::try_from(number).ok())
            .filter(|count| *count > 0)
    };
    let constraint = placement
        .spread_constraints
        .iter()
        .find(|one| matches!(one.spread_by_field.as_deref(), None | Some("cluster")));
    let min = constraint.and_then(|one| count(one.min_groups)).unwrap_or(1);
    let max = constraint.and_then(|one| count(one.max_groups)).unwrap_or(usize::MAX);
    (min, max)
}

/// Returns the clusters of the current result that may stay in it.
fn kept(snapshot: Snapshot<'_>, placement: &Placement) -> Vec<String> {
    let spec = &snapshot.binding.spec;
    let stays = |name: &str| {
        let purged = spec
            .graceful_eviction_tasks
            .iter()
            .any(|task| task.from_cluster == name && mode_of(task) == PurgeMode::Directly);
        let meant = snapshot
            .clusters
            .get(name)
            .is_some_and(|cluster| selector::means(placement.cluster_affinity.as_ref(), cluster));
        meant && !purged
    };
    spec.clusters
        .iter()
        .map(|target| target.name.clone())
        .filter(|name| stays(name))
        .collect()
}

/// Returns the clusters that still have a copy which is being removed without waiting for its successor.
fn leaving(snapshot: Snapshot<'_>, chosen: &[String]) -> Vec<String> {
    let waits_for_successor = |name: &String| {
        snapshot
            .binding
            .spec
            .graceful_eviction_tasks
            .iter()
            .any(|task| task.from_cluster == *name && mode_of(task) != PurgeMode::Directly)
    };
    snapshot
        .occupied
        .iter()
        .filter(|name| !chosen.contains(name) && !waits_for_successor(name))
        .cloned()
        .collect()
}

/// Returns true if an old copy and a new one must never run at the same time (PRG-03).
fn is_exclusive(spec: &BindingSpec) -> bool {
    let by_policy = spec
        .failover
        .as_ref()
        .and_then(|failover| failover.cluster.as_ref())
        .is_some_and(|cluster| cluster.purge_mode.canonical() == PurgeMode::Directly);
    by_policy
        || spec
            .graceful_eviction_tasks
            .iter()
            .any(|task| mode_of(task) == PurgeMode::Directly)
}

/// The clusters that a new copy may go to, best first, and when another one may become free.
fn fitting(snapshot: Snapshot<'_>, placement: &Placement, chosen: &[String]) -> (Vec<String>, Option<Timestamp>) {
    let spec = &snapshot.binding.spec;
    let mut again = None;
    let mut fitting: Vec<(bool, String)> = Vec::new();
    for cluster in snapshot.clusters.values() {
        let name = cluster.name();
        let evicted = spec
            .graceful_eviction_tasks
            .iter()
            .any(|task| task.from_cluster == name);
        if evicted || chosen.iter().any(|taken| taken == name) || !fits(snapshot, placement, cluster) {
            continue;
        }
        match blocked_until(spec, name) {
            Some(until) if until > snapshot.now => {
                again = Some(again.map_or(until, |earlier: Timestamp| earlier.min(until)));
            }
            Some(_) | None => fitting.push((is_second_choice(cluster), name.to_owned())),
        }
    }
    fitting.sort();
    (fitting.into_iter().map(|(_, name)| name).collect(), again)
}

/// Returns true if a new copy may run on the cluster.
fn fits(snapshot: Snapshot<'_>, placement: &Placement, cluster: &Cluster) -> bool {
    let leaves_on_prefer = snapshot
        .binding
        .spec
        .failover
        .as_ref()
        .is_some_and(|failover| failover.cluster.is_some());
    !cluster.is_being_deleted()
        && !drain::is_drained(cluster)
        && conditions::status(&cluster.status.conditions, conditions::READY) == Some("True")
        && selector::means(placement.cluster_affinity.as_ref(), cluster)
        && !taints::repel(&cluster.spec.taints, &placement.cluster_tolerations, leaves_on_prefer)
        && !is_tolerated_no_longer(placement, cluster, snapshot.now)
}

/// Returns true if a workload would have to leave the cluster again at once: it tolerates a taint for a time that is over
/// (TNT-03).
fn is_tolerated_no_longer(placement: &Placement, cluster: &Cluster, now: Timestamp) -> bool {
    let mut no_execute = cluster
        .spec
        .taints
        .iter()
        .filter(|taint| taint.effect == TaintEffect::NoExecute);
    no_execute.any(|taint| {
        let time = taints::tolerated_for(taint, &placement.cluster_tolerations, None);
        match time.map(|time| taints::eviction_time(taint, time)) {
            Some(EvictionTime::Now) => true,
            Some(EvictionTime::At(time)) => time <= now,
            Some(EvictionTime::OnceStamped | EvictionTime::Never) | None => false,
        }
    })
}

fn is_second_choice(cluster: &Cluster) -> bool {
    let prefers = |effect| matches!(effect, TaintEffect::PreferNoSchedule | TaintEffect::PreferNoExecute);
    cluster.spec.taints.iter().any(|taint| prefers(taint.effect))
}

/// Until when the scheduler keeps off a cluster that an unhealthy application left (APP-08).
fn blocked_until(spec: &BindingSpec, cluster: &str) -> Option<Timestamp> {
    let entry = spec
        .active_eviction_history
        .iter()
        .rev()
        .find(|entry| entry.cluster_name == cluster)?;
    let seconds = spec
        .failover
        .as_ref()
        .and_then(|failover| failover.application.as_ref()?.block_predecessor_seconds);
    let block = match seconds {
        Some(0) => return Some(Timestamp::MAX),
        Some(seconds) => SignedDuration::from_secs(i64::from(seconds)),
        None => BLOCK_PREDECESSOR,
    };
    entry.creation_timestamp.and_then(|since| since.checked_add(block).ok())
}

/// Returns the clusters to go back to when no cluster fits: those that the workload left and that have recovered
/// (GRE-02), under `Directly` once the old object is gone (PRG-11).
fn go_back(snapshot: Snapshot<'_>, placement: &Placement, max: usize) -> Vec<String> {
    let spec = &snapshot.binding.spec;
    let mut back: Vec<String> = Vec::new();
    for task in &spec.graceful_eviction_tasks {
        let purged = mode_of(task) != PurgeMode::Directly || !snapshot.occupied.contains(&task.from_cluster);
        let recovered = snapshot
            .clusters
            .get(&task.from_cluster)
            .is_some_and(|cluster| fits(snapshot, placement, cluster));
        let free = blocked_until(spec, &task.from_cluster).is_none_or(|until| until <= snapshot.now);
        if purged && recovered && free && !back.contains(&task.from_cluster) {
            back.push(task.from_cluster.clone());
        }
    }
    back.truncate(max);
    back
}

/// Returns the clusters that recovered before scheduling succeeded: under `Gracefully` the old copy is still there and
/// stays (GRE-02). Empty as long as another old copy is purged first (PRG-13).
fn still_there(snapshot: Snapshot<'_>, placement: &Placement, max: usize) -> Vec<String> {
    let is_purged = |task: &GracefulEvictionTask| {
        mode_of(task) == PurgeMode::Directly && snapshot.occupied.contains(&task.from_cluster)
    };
    if snapshot.binding.spec.graceful_eviction_tasks.iter().any(is_purged) {
        return Vec::new();
    }
    let evicts = |effect| matches!(effect, TaintEffect::NoExecute | TaintEffect::PreferNoExecute);
    let mut back = go_back(snapshot, placement, max);
    back.retain(|name| {
        let tasks = &snapshot.binding.spec.graceful_eviction_tasks;
        let gracefully = tasks
            .iter()
            .any(|task| task.from_cluster == *name && mode_of(task) == PurgeMode::Gracefully);
        let cluster = snapshot.clusters.get(name);
        let is_there = snapshot.occupied.contains(name);
        is_there
            && gracefully
            && cluster.is_some_and(|cluster| !cluster.spec.taints.iter().any(|taint| evicts(taint.effect)))
    });
    back
}

/// Adds the clusters of the bindings that need this resource, except those that it is being evicted from.
fn with_required(spec: &BindingSpec, mut clusters: Vec<TargetCluster>) -> Vec<TargetCluster> {
    for required in dependencies::clusters(spec) {
        let is_chosen = clusters.iter().any(|target| target.name == required.name);
        let is_evicted = spec
            .graceful_eviction_tasks
            .iter()
            .any(|task| task.from_cluster == required.name);
        if !is_chosen && !is_evicted {
            clusters.push(required);
        }
    }
    clusters
}

fn scheduled(chosen: &[String], min: usize, waits: bool, leaving: &[String]) -> ConditionUpdate {
    if waits {
        return ConditionUpdate::no(
            "WaitingForPurge",
            format!(
                "no new cluster is chosen before the object is gone from {}",
                leaving.join(", ")
            ),
        );
    }
    if chosen.len() < min {
        return ConditionUpdate::no("NoClusterFits", format!("{} of {min} clusters fit", chosen.len()));
    }
    ConditionUpdate::yes("Success", "binding has been scheduled")
}

/// Assigns replicas to the chosen clusters: all of them to each, or shares as even as possible.
fn share_out(spec: &BindingSpec, placement: &Placement, chosen: Vec<String>) -> Vec<TargetCluster> {
    let strategy = placement.replica_scheduling.as_ref();
    let divided =
        strategy.and_then(|strategy| strategy.replica_scheduling_type) == Some(ReplicaSchedulingType::Divided);
    let clusters = i32::try_from(chosen.len()).unwrap_or(i32::MAX).max(1);
    let share = |index: usize, replicas: i32| {
        let rest = usize::try_from(replicas % clusters).unwrap_or_default();
        replicas / clusters + i32::from(index < rest)
    };
    chosen
        .into_iter()
        .enumerate()
        .map(|(index, name)| TargetCluster {
            name,
            replicas: spec
                .replicas
                .map(|replicas| if divided { share(index, replicas) } else { replicas }),
        })
        .collect()
}

#[cfg(test)]
#[path = "schedule_tests.rs"]
mod tests;

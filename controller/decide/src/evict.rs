//! Evicts a workload from a cluster that failed.
//!
//! [`tolerated_for`] returns the time until the eviction (see [`crate::affected`]), [`infeasible`] checks whether
//! another cluster could run the workload, [`task`] writes the eviction task with the preserved state, and
//! [`carry_out`] returns the binding's new spec. The eviction queue (see [`crate::queue`]) delays evictions between
//! these steps.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use crate::api::failover::ClusterFailoverBehavior;
use crate::api::policy::{Placement, ReplicaSchedulingType};
use crate::api::{BindingSpec, Cluster, GracefulEvictionTask, PurgeMode, StatePreservation, Taint, TaintEffect};
use crate::preserve::{self, Obstacle};
use crate::selector;
use crate::settings::Settings;
use crate::taints;

/// Reason of evictions caused by taints (PRG-07).
pub const TAINT_UNTOLERATED: &str = "TaintUntolerated";
/// Producer of evictions caused by taints (PRG-07).
pub const TAINT_MANAGER: &str = "TaintManager";
/// Time from a `PreferNoExecute` taint to the eviction, for policies that do not set it (PNE-02).
const PREFER_NO_EXECUTE: SignedDuration = SignedDuration::from_secs(300);

/// Returns a task's purge mode under its current name; a task without one is graceful.
pub fn mode_of(task: &GracefulEvictionTask) -> PurgeMode {
    task.purge_mode.unwrap_or_default().canonical()
}

/// Returns true if the cluster is faulty: it has a taint that evicts workloads.
pub fn is_faulty(cluster: &Cluster) -> bool {
    let faulty = |effect| matches!(effect, TaintEffect::NoExecute | TaintEffect::PreferNoExecute);
    cluster.spec.taints.iter().any(|taint| faulty(taint.effect))
}

/// Returns the time from the taint to the eviction; `None` if the workload stays, for example because the gate
/// `Failover` or the taint manager is off (GAT-01, GAT-07).
pub fn tolerated_for(spec: &BindingSpec, taint: &Taint, settings: &Settings) -> Option<SignedDuration> {
    if !settings.failover || !settings.controllers.taint_manager {
        return None;
    }
    let tolerations = spec
        .placement
        .as_ref()
        .map_or(&[][..], |placement| &placement.cluster_tolerations);
    let prefer_after = behavior(spec).map(|behavior| {
        behavior.toleration_seconds.map_or(PREFER_NO_EXECUTE, |seconds| {
            SignedDuration::from_secs(i64::from(seconds))
        })
    });
    taints::tolerated_for(taint, tolerations, prefer_after)
}

/// Explains why no other cluster could ever run the workload; `None` if one could (PRE-01, PRE-02). Only the affinity
/// counts, because taints come and go.
pub fn infeasible(spec: &BindingSpec, cluster: &str, clusters: &BTreeMap<String, Arc<Cluster>>) -> Option<String> {
    let default = Placement::default();
    let placement = spec.placement.as_ref().unwrap_or(&default);
    let strategy = placement.replica_scheduling.as_ref();
    let divided =
        strategy.and_then(|strategy| strategy.replica_scheduling_type) == Some(ReplicaSchedulingType::Divided);
    let is_candidate = |name: &str| {
        let was_chosen = divided && spec.clusters.iter().any(|target| target.name == name);
        name != cluster && !was_chosen
    };
    let left = clusters
        .iter()
        .filter(|(name, other)| is_candidate(name) && selector::means(placement.cluster_affinity.as_ref(), other))
        .count();
    let groups = placement
        .spread_constraints
        .iter()
        .find_map(|constraint| constraint.min_groups);
    let min = if divided {
        1
    } else {
        groups.and_then(|min| usize::try_from(min).ok()).unwrap_or(1).max(1)
    };
    (left < min).then(|| format!("{left} clusters other than {cluster} match the placement, {min} are needed"))
}

/// Returns the task for an eviction caused by taints (PRG-07, REC-04). `collected` is the status last collected from
/// the failed cluster (STP-01, STP-10).
pub fn task(
    spec: &BindingSpec,
    cluster: &str,
    collected: Option<&Value>,
    settings: &Settings,
    now: Timestamp,
) -> Result<GracefulEvictionTask, Obstacle> {
    let behavior = behavior(spec);
    let mode = behavior
        .map_or(settings.default_purge_mode, |behavior| behavior.purge_mode)
        .canonical();
    let preservation = behavior.and_then(|behavior| behavior.state_preservation.as_ref());
    let replicas = spec
        .clusters
        .iter()
        .find(|target| target.name == cluster)
        .and_then(|target| target.replicas);
    Ok(GracefulEvictionTask {
        from_cluster: cluster.to_owned(),
        purge_mode: Some(mode),
        replicas,
        reason: TAINT_UNTOLERATED.to_owned(),
        message: None,
        producer: TAINT_MANAGER.to_owned(),
        grace_period_seconds: behavior
            .and_then(|behavior| behavior.grace_period_seconds)
            .filter(|_| mode == PurgeMode::Gracefully),
        suppress_deletion: (mode == PurgeMode::Never).then_some(true),
        preserved_label_state: state(spec, preservation, collected, settings)?,
        clusters_before_failover: spec.clusters.iter().map(|target| target.name.clone()).collect(),
        creation_timestamp: Some(now),
    })
}

/// Returns the preserved state, if the gate is on (GAT-02, GAT-03) and the policy asks for it (STP-09).
pub(crate) fn state(
    spec: &BindingSpec,
    preservation: Option<&StatePreservation>,
    collected: Option<&Value>,
    settings: &Settings,
) -> Result<BTreeMap<String, String>, Obstacle> {
    let Some(preservation) = preservation.filter(|_| settings.stateful_injection) else {
        return Ok(BTreeMap::new());
    };
    let none = BTreeMap::new();
    let earlier = spec
        .graceful_eviction_tasks
        .last()
        .map_or(&none, |task| &task.preserved_label_state);
    preserve::preserve(preservation, collected, earlier)
}

/// Returns the policy's `failover.cluster`.
pub(crate) fn behavior(spec: &BindingSpec) -> Option<&ClusterFailoverBehavior> {
    spec.failover.as_ref()?.cluster.as_ref()
}

/// Returns the binding's spec after the eviction: without the cluster in the result, and with the task, once per
/// cluster (PRG-10). Drops `Directly` tasks of earlier failovers whose object is gone, because the new task has taken
/// over their state.
pub fn carry_out(spec: &BindingSpec, task: GracefulEvictionTask, occupied: &BTreeSet<String>) -> BindingSpec {
    let mut spec = spec.clone();
    spec.clusters.retain(|target| target.name != task.from_cluster);
    spec.graceful_eviction_tasks.retain(|earlier| {
        let is_over = mode_of(earlier) == PurgeMode::Directly && !occupied.contains(&earlier.from_cluster);
        earlier.from_cluster != task.from_cluster && !is_over
    });
    spec.graceful_eviction_tasks.push(task);
    spec
}

#[cfg(test)]
#[path = "evict_tests.rs"]
mod tests;

//! Memory for taint decisions: the time since which conditions match, and the taints that each policy added.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use crate::api::taint_policy::{AddedTaint, MatchCondition, MatchWindow};
use crate::api::{Cluster, ClusterTaintPolicy, ClusterTaintPolicyStatus, Taint, TaintEffect};
use crate::conditions;

/// Memory about one cluster. After a restart it is restored from the status of the policies and the transition times of
/// the cluster's conditions (CTP-16).
#[derive(Clone, Debug, Default)]
pub struct Memory {
    /// Match state of each policy's conditions, and the time since which it holds.
    windows: BTreeMap<(String, Side), (bool, Timestamp)>,
    /// Taints that each policy added, with the times.
    added: BTreeMap<String, Added>,
}

/// Taints by key and effect, with the time at which each was added.
type Added = BTreeMap<(String, &'static str), (TaintEffect, Timestamp)>;

/// Purpose of a policy's conditions.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) enum Side {
    /// Conditions for adding taints.
    Add,
    /// Conditions for removing taints, in the released form.
    Remove,
}

impl Memory {
    /// Restores the records about this cluster from a policy's status, when the policy is seen for the first time.
    pub(super) fn recall(&mut self, policy: &ClusterTaintPolicy, cluster: &str) {
        if self.added.contains_key(policy.name()) {
            return;
        }
        let here = policy.status.taints.iter().filter(|taint| taint.cluster == cluster);
        let added = here.map(|taint| {
            let key = (taint.key.clone(), taint.effect.name());
            (key, (taint.effect, taint.since))
        });
        self.added.insert(policy.name().to_owned(), added.collect());
    }

    /// Forgets policies other than these.
    pub(super) fn forget_others(&mut self, policies: &[&ClusterTaintPolicy]) {
        let names: BTreeSet<&str> = policies.iter().map(|policy| policy.name()).collect();
        self.added.retain(|policy, _| names.contains(policy.as_str()));
        self.windows.retain(|(policy, _), _| names.contains(policy.as_str()));
    }

    /// Returns true if the policy added a taint that still exists.
    pub(super) fn has_added(&self, policy: &str) -> bool {
        self.added.get(policy).is_some_and(|added| !added.is_empty())
    }

    /// Records that the policy added the taint.
    pub(super) fn record(&mut self, policy: &str, taint: &Taint, since: Timestamp) {
        let added = self.added.entry(policy.to_owned()).or_default();
        added.insert((taint.key.clone(), taint.effect.name()), (taint.effect, since));
    }

    /// Returns the policies that added this taint.
    pub(super) fn owners(&self, taint: &Taint) -> Vec<&str> {
        let key = (taint.key.clone(), taint.effect.name());
        let has_added = |added: &BTreeMap<_, (_, Timestamp)>| {
            let since = added.get(&key).map(|(_, since)| since.as_second());
            since.is_some() && since == taint.time_added.map(Timestamp::as_second)
        };
        let owners = self.added.iter().filter(|(_, added)| has_added(added));
        owners.map(|(policy, _)| policy.as_str()).collect()
    }

    /// Forgets records whose taint neither exists nor is about to be added.
    pub(super) fn forget_removed(&mut self, before: &[Taint], after: &[Taint]) {
        for added in self.added.values_mut() {
            added.retain(|(key, effect), _| {
                let mut there = before.iter().chain(after);
                there.any(|taint| taint.key == *key && taint.effect.name() == *effect)
            });
        }
    }

    /// Returns whether the conditions match, as passed in `matches`, and since which time.
    pub(super) fn window(
        &mut self,
        (policy, side): (&ClusterTaintPolicy, Side),
        conditions: &[MatchCondition],
        cluster: &Cluster,
        matches: bool,
        now: Timestamp,
    ) -> (bool, Timestamp) {
        let key = (policy.name().to_owned(), side);
        let entry = self.windows.entry(key).or_insert_with(|| {
            let stored = stored(policy, cluster, side).filter(|(stored, _)| *stored == matches);
            stored.unwrap_or_else(|| (matches, began(policy, cluster, conditions, now)))
        });
        if entry.0 != matches {
            *entry = (matches, now);
        }
        *entry
    }

    /// Returns the policy's status updated with the memory about this cluster.
    pub(super) fn status(
        &self,
        policy: &ClusterTaintPolicy,
        cluster: &Cluster,
        now: Timestamp,
    ) -> ClusterTaintPolicyStatus {
        let (name, mut status) = (cluster.name(), policy.status.clone());
        status.taints.retain(|taint| taint.cluster != name);
        status.windows.retain(|window| window.cluster != name);
        let added = self.added.get(policy.name()).into_iter().flatten();
        status
            .taints
            .extend(added.map(|((key, _), (effect, since))| AddedTaint {
                cluster: name.to_owned(),
                key: key.clone(),
                effect: *effect,
                since: *since,
            }));
        status.taints.sort_by(|one, other| {
            let order = |taint: &AddedTaint| (taint.cluster.clone(), taint.key.clone(), taint.effect.name());
            order(one).cmp(&order(other))
        });
        let window = self.windows.get(&(policy.name().to_owned(), Side::Add));
        if let Some((matches, since)) = window
            && !policy.spec.taints_to_add.is_empty()
            && *since != began(policy, cluster, &policy.spec.match_conditions, now)
        {
            status.windows.push(MatchWindow {
                cluster: name.to_owned(),
                matches: *matches,
                since: *since,
            });
            status.windows.sort_by(|one, other| one.cluster.cmp(&other.cluster));
        }
        status
    }
}

/// Returns the window stored in the policy's status, unless it belongs to an earlier cluster of the same name.
fn stored(policy: &ClusterTaintPolicy, cluster: &Cluster, side: Side) -> Option<(bool, Timestamp)> {
    let created = cluster.metadata.creation_timestamp.as_ref().map(|time| time.0);
    let mut windows = policy.status.windows.iter();
    let window = windows.find(|window| side == Side::Add && window.cluster == cluster.name())?;
    created
        .is_none_or(|created| window.since >= created)
        .then_some((window.matches, window.since))
}

/// Returns the earliest time since which the conditions can have their current state: the last transition of any of
/// them, but not before the policy and the cluster existed.
fn began(policy: &ClusterTaintPolicy, cluster: &Cluster, conditions: &[MatchCondition], now: Timestamp) -> Timestamp {
    let transitions = conditions.iter().filter_map(|condition| {
        conditions::get(&cluster.status.conditions, &condition.condition_type).map(|found| found.last_transition_time.0)
    });
    let created = [
        &policy.metadata.creation_timestamp,
        &cluster.metadata.creation_timestamp,
    ];
    let created = created.into_iter().flatten().map(|time| time.0);
    transitions.chain(created).max().unwrap_or(now)
}

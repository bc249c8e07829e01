//! `ClusterTaintPolicy`: a cluster is tainted when its conditions have matched long enough, and no longer when they have
//! not matched long enough (CTP).
//!
//! A policy removes only taints that it has added itself: what it has added stands in its status, written before the
//! taint is. A taint counts as the policy's if its `timeAdded` is the recorded one.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use crate::api::taint_policy::{
    AddedTaint, ClusterTaintPolicySpec, ConditionStatus, MatchCondition, MatchConditionOperator, MatchWindow,
};
use crate::api::{Cluster, ClusterTaintPolicy, ClusterTaintPolicyStatus, Taint, TaintEffect};
use crate::conditions;
use crate::selector;

/// What is remembered of one cluster. After a restart, the status of the policies and the transition times of the
/// cluster's conditions tell (CTP-16).
#[derive(Clone, Debug, Default)]
pub struct Memory {
    /// Since when the conditions of each policy match, or do not.
    windows: BTreeMap<(String, Side), (bool, Timestamp)>,
    /// The taints that each policy has added, and when.
    added: BTreeMap<String, Added>,
}

/// Taints by key and effect, and when each was added.
type Added = BTreeMap<(String, &'static str), (TaintEffect, Timestamp)>;

/// What conditions of a policy are about.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum Side {
    Add,
    Remove,
}

/// The taints of a cluster as policies want them, and when to look again.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// All taints: those of others are kept as they are (CTP-07).
    pub taints: Vec<Taint>,
    /// The policies whose status changes, by name. To be written before the taints.
    pub statuses: BTreeMap<String, ClusterTaintPolicyStatus>,
    /// When to look again, if nothing changes before.
    pub again: Option<Timestamp>,
    /// What changes, for people.
    pub notes: Vec<String>,
}

/// A taint that a policy is about, and what it wants of it now.
struct Wish<'a> {
    policy: &'a str,
    taint: Taint,
    verdict: Verdict,
    again: Option<Timestamp>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Verdict {
    Add,
    Remove,
    Wait,
}

/// Decides the taints of a cluster. With the gate off nothing is added, and what was added stays (GAT-06).
pub fn decide<'a>(
    cluster: &Cluster,
    policies: impl IntoIterator<Item = &'a ClusterTaintPolicy>,
    memory: &mut Memory,
    gate: bool,
    now: Timestamp,
) -> Decision {
    let mut decision = Decision {
        taints: cluster.spec.taints.clone(),
        statuses: BTreeMap::new(),
        again: None,
        notes: Vec::new(),
    };
    if !gate {
        return decision;
    }
    let policies: Vec<&ClusterTaintPolicy> = policies.into_iter().filter(|it| !it.is_being_deleted()).collect();
    memory.forget_others(&policies);
    let mut wishes = Vec::new();
    for policy in &policies {
        memory.recall(policy, cluster.name());
        if is_target(&policy.spec, cluster) || memory.has_added(policy.name()) {
            wishes.extend(self::wishes(policy, cluster, memory, now));
        }
    }
    remove(&mut decision, &wishes, memory);
    add(&mut decision, &wishes, memory);
    memory.forget_removed(&cluster.spec.taints, &decision.taints);
    for policy in &policies {
        let status = memory.status(policy, cluster, now);
        if status != policy.status {
            decision.statuses.insert(policy.name().to_owned(), status);
        }
    }
    decision.again = wishes.iter().filter_map(|wish| wish.again).min();
    decision
}

/// Removes what a policy has added and no policy wants any more (CTP-02, CTP-15).
fn remove(decision: &mut Decision, wishes: &[Wish<'_>], memory: &Memory) {
    let notes = &mut decision.notes;
    decision.taints.retain(|taint| {
        let mut about = wishes.iter().filter(|wish| is_same(&wish.taint, taint));
        let owners = memory.owners(taint);
        if owners.is_empty() || about.any(|wish| wish.verdict != Verdict::Remove) {
            return true;
        }
        notes.push(format!(
            "taint {} removed: the conditions of {} no longer match",
            describe(taint),
            owners.join(", ")
        ));
        false
    });
}

/// Adds what policies want. A taint that is there already and that no policy has added stays its owner's.
fn add(decision: &mut Decision, wishes: &[Wish<'_>], memory: &mut Memory) {
    for wish in wishes.iter().filter(|wish| wish.verdict == Verdict::Add) {
        let present = decision.taints.iter().find(|taint| is_same(&wish.taint, taint));
        let since = match present {
            Some(taint) if memory.owners(taint).is_empty() => continue,
            Some(taint) => taint.time_added,
            None => {
                let what = describe(&wish.taint);
                let note = format!("taint {what} added: the conditions of {} match", wish.policy);
                decision.notes.push(note);
                decision.taints.push(wish.taint.clone());
                wish.taint.time_added
            }
        };
        if let Some(since) = since {
            memory.record(wish.policy, &wish.taint, since);
        }
    }
}

fn describe(taint: &Taint) -> String {
    format!("{}:{}", taint.key, taint.effect.name())
}

impl Memory {
    /// Takes over what a policy's status says of this cluster, the first time that the policy is seen.
    fn recall(&mut self, policy: &ClusterTaintPolicy, cluster: &str) {
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

    fn forget_others(&mut self, policies: &[&ClusterTaintPolicy]) {
        let names: BTreeSet<&str> = policies.iter().map(|policy| policy.name()).collect();
        self.added.retain(|policy, _| names.contains(policy.as_str()));
        self.windows.retain(|(policy, _), _| names.contains(policy.as_str()));
    }

    fn has_added(&self, policy: &str) -> bool {
        self.added.get(policy).is_some_and(|added| !added.is_empty())
    }

    fn record(&mut self, policy: &str, taint: &Taint, since: Timestamp) {
        let added = self.added.entry(policy.to_owned()).or_default();
        added.insert((taint.key.clone(), taint.effect.name()), (taint.effect, since));
    }

    /// The policies that have added this very taint.
    fn owners(&self, taint: &Taint) -> Vec<&str> {
        let key = (taint.key.clone(), taint.effect.name());
        let has_added = |added: &BTreeMap<_, (_, Timestamp)>| {
            let since = added.get(&key).map(|(_, since)| since.as_second());
            since.is_some() && since == taint.time_added.map(Timestamp::as_second)
        };
        let owners = self.added.iter().filter(|(_, added)| has_added(added));
        owners.map(|(policy, _)| policy.as_str()).collect()
    }

    /// A record goes when its taint is neither there nor about to be.
    fn forget_removed(&mut self, before: &[Taint], after: &[Taint]) {
        for added in self.added.values_mut() {
            added.retain(|(key, effect), _| {
                let mut there = before.iter().chain(after);
                there.any(|taint| taint.key == *key && taint.effect.name() == *effect)
            });
        }
    }

    /// The policy's status with what is remembered of this cluster.
    fn status(&self, policy: &ClusterTaintPolicy, cluster: &Cluster, now: Timestamp) -> ClusterTaintPolicyStatus {
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

fn is_same(one: &Taint, other: &Taint) -> bool {
    one.key == other.key && one.effect == other.effect
}

fn is_target(spec: &ClusterTaintPolicySpec, cluster: &Cluster) -> bool {
    selector::means(spec.target_cluster.as_ref().or(spec.target_clusters.as_ref()), cluster)
}

fn wishes<'a>(policy: &'a ClusterTaintPolicy, cluster: &Cluster, memory: &mut Memory, now: Timestamp) -> Vec<Wish<'a>> {
    let (spec, mut wishes) = (&policy.spec, Vec::new());
    let is_target = is_target(spec, cluster);
    let mut track = |side: Side, conditions: &[MatchCondition]| {
        let matches = is_target && conditions.iter().all(|condition| does_match(condition, cluster));
        let entry = memory
            .windows
            .entry((policy.name().to_owned(), side))
            .or_insert_with(|| {
                let stored = stored(policy, cluster, side).filter(|(stored, _)| *stored == matches);
                stored.unwrap_or_else(|| (matches, began(policy, cluster, conditions, now)))
            });
        if entry.0 != matches {
            *entry = (matches, now);
        }
        *entry
    };
    if !spec.taints_to_add.is_empty() {
        let (matches, since) = track(Side::Add, &spec.match_conditions);
        for wanted in &spec.taints_to_add {
            let taint = taint(&wanted.key, wanted.value.as_ref(), wanted.effect);
            let (verdict, seconds) = if matches {
                (Verdict::Add, wanted.add_on_match_seconds.unwrap_or(300))
            } else {
                (Verdict::Remove, wanted.remove_on_mismatch_seconds.unwrap_or(180))
            };
            wishes.push(after(policy.name(), taint, verdict, since, seconds, now));
        }
    }
    if !spec.taints.is_empty() {
        let (add, _) = track(Side::Add, &spec.add_on_conditions);
        let (remove, _) = track(Side::Remove, &spec.remove_on_conditions);
        for wanted in &spec.taints {
            let verdict = match (add, remove && !spec.remove_on_conditions.is_empty()) {
                (true, _) => Verdict::Add,
                (false, true) => Verdict::Remove,
                (false, false) => Verdict::Wait,
            };
            let mut taint = taint(&wanted.key, wanted.value.as_ref(), wanted.effect);
            taint.time_added = Some(now);
            wishes.push(Wish {
                policy: policy.name(),
                taint,
                verdict,
                again: None,
            });
        }
    }
    wishes
}

/// What the policy's status says about the window, if it is about this cluster object and not one that had its name.
fn stored(policy: &ClusterTaintPolicy, cluster: &Cluster, side: Side) -> Option<(bool, Timestamp)> {
    let created = cluster.metadata.creation_timestamp.as_ref().map(|time| time.0);
    let mut windows = policy.status.windows.iter();
    let window = windows.find(|window| side == Side::Add && window.cluster == cluster.name())?;
    created
        .is_none_or(|created| window.since >= created)
        .then_some((window.matches, window.since))
}

fn taint(key: &str, value: Option<&String>, effect: TaintEffect) -> Taint {
    Taint {
        key: key.to_owned(),
        value: value.cloned(),
        effect,
        time_added: None,
    }
}

/// What is wanted, but not before it has been wanted for so long. A taint is dated with the moment that it was due
/// (CTP-13).
fn after(policy: &str, taint: Taint, verdict: Verdict, since: Timestamp, seconds: i32, now: Timestamp) -> Wish<'_> {
    let due = since.checked_add(SignedDuration::from_secs(i64::from(seconds)));
    let (verdict, again) = match due {
        Ok(due) if due <= now => (verdict, None),
        Ok(due) => (Verdict::Wait, Some(due)),
        Err(_) => (Verdict::Wait, None),
    };
    let time_added = due.ok();
    Wish {
        policy,
        taint: Taint { time_added, ..taint },
        verdict,
        again,
    }
}

fn does_match(condition: &MatchCondition, cluster: &Cluster) -> bool {
    let status = match conditions::status(&cluster.status.conditions, &condition.condition_type) {
        Some("True") => ConditionStatus::True,
        Some("False") => ConditionStatus::False,
        Some(_) => ConditionStatus::Unknown,
        None => return false,
    };
    let listed = condition.status_values.contains(&status);
    match condition.operator {
        MatchConditionOperator::In => listed,
        MatchConditionOperator::NotIn => !listed,
    }
}

/// Since when the conditions are as they are, as far as the cluster tells: since the last transition of any of them, and
/// not since before there was the policy.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{at, cluster};
    use serde_json::{Value, json};

    fn policy(spec: &Value) -> ClusterTaintPolicy {
        let metadata = json!({"name": "p", "creationTimestamp": "2026-01-01T00:00:00Z"});
        serde_json::from_value(json!({"metadata": metadata, "spec": spec})).unwrap()
    }

    fn not_ready_policy() -> ClusterTaintPolicy {
        policy(&json!({
            "targetCluster": {"clusterNames": ["member1"]},
            "matchConditions": [{"conditionType": "Ready", "operator": "In", "statusValues": ["False", "Unknown"]}],
            "taintsToAdd": [{"key": "not-ready", "effect": "NoExecute"}]
        }))
    }

    fn with_ready(status: &str, taints: &Value) -> Cluster {
        let mut cluster = cluster("member1", taints);
        status.clone_into(&mut cluster.status.conditions[0].status);
        cluster
    }

    fn keys(decision: &Decision) -> Vec<&str> {
        decision.taints.iter().map(|taint| taint.key.as_str()).collect()
    }

    #[test]
    fn added_after_five_minutes_removed_after_three() {
        let (policy, mut memory) = (not_ready_policy(), Memory::default());
        let others = json!([{"key": "others", "effect": "NoSchedule"}]);
        let down = with_ready("False", &others);
        let decision = decide(&down, [&policy], &mut memory, true, at(299));
        assert_eq!((keys(&decision), decision.again), (vec!["others"], Some(at(300))));
        let decision = decide(&down, [&policy], &mut memory, true, at(300));
        assert_eq!(keys(&decision), ["others", "not-ready"]);
        assert_eq!(decision.taints[1].time_added, Some(at(300)));

        let mut up = with_ready("True", &json!([]));
        up.spec.taints = decision.taints;
        let decision = decide(&up, [&policy], &mut memory, true, at(400));
        assert_eq!(
            (keys(&decision), decision.again),
            (vec!["others", "not-ready"], Some(at(580)))
        );
        assert_eq!(keys(&decide(&up, [&policy], &mut memory, true, at(580))), ["others"]);
    }

    #[test]
    fn flapping_starts_the_time_anew() {
        let (policy, mut memory) = (not_ready_policy(), Memory::default());
        for (second, status) in [(0, "False"), (200, "True"), (250, "False"), (400, "Unknown")] {
            let decision = decide(
                &with_ready(status, &json!([])),
                [&policy],
                &mut memory,
                true,
                at(second),
            );
            assert!(decision.taints.is_empty(), "{second}");
        }
        let decision = decide(
            &with_ready("Unknown", &json!([])),
            [&policy],
            &mut memory,
            true,
            at(550),
        );
        assert_eq!(keys(&decision), ["not-ready"], "False to Unknown is no break");
    }

    #[test]
    fn targets_operators_and_no_conditions() {
        let taints = json!([{"key": "t", "effect": "NoSchedule", "addOnMatchSeconds": 1}]);
        let up = with_ready("True", &json!([]));
        let ready =
            |operator: &str| json!([{"conditionType": "Ready", "operator": operator, "statusValues": ["True"]}]);
        for (spec, expected) in [
            (json!({"taintsToAdd": taints}), 1),
            (
                json!({"taintsToAdd": taints, "targetCluster": {"clusterNames": ["other"]}}),
                0,
            ),
            (json!({"taintsToAdd": taints, "matchConditions": ready("In")}), 1),
            (json!({"taintsToAdd": taints, "matchConditions": ready("NotIn")}), 0),
        ] {
            let decision = decide(&up, [&policy(&spec)], &mut Memory::default(), true, at(10));
            assert_eq!(decision.taints.len(), expected, "{spec}");
        }
    }

    #[test]
    fn the_released_form() {
        let when = |status: &str| json!([{"conditionType": "Ready", "operator": "In", "statusValues": [status]}]);
        let policy = policy(&json!({
            "targetClusters": {"clusterNames": ["member1"]}, "addOnConditions": when("False"),
            "removeOnConditions": when("True"), "taints": [{"key": "t", "effect": "NoExecute"}]
        }));
        let mut memory = Memory::default();
        let added = decide(&with_ready("False", &json!([])), [&policy], &mut memory, true, at(1));
        assert_eq!(keys(&added), ["t"]);
        let mut unknown = with_ready("Unknown", &json!([]));
        unknown.spec.taints = added.taints;
        assert_eq!(keys(&decide(&unknown, [&policy], &mut memory, true, at(2))), ["t"]);
        "True".clone_into(&mut unknown.status.conditions[0].status);
        assert!(decide(&unknown, [&policy], &mut memory, true, at(3)).taints.is_empty());
    }

    #[test]
    fn with_the_gate_off_nothing_is_added_or_removed() {
        let (policy, mut memory) = (not_ready_policy(), Memory::default());
        let down = with_ready("False", &json!([]));
        let decision = decide(&down, [&policy], &mut memory, false, at(9_999));
        assert!(decision.taints.is_empty() && decision.statuses.is_empty());
    }

    #[test]
    fn only_taints_that_a_policy_has_added_are_removed_also_after_a_restart() {
        let mut policy = not_ready_policy();
        let theirs = json!([{"key": "not-ready", "effect": "NoExecute", "timeAdded": "2026-01-01T00:00:01Z"}]);
        let up = with_ready("True", &theirs);
        let decision = decide(&up, [&policy], &mut Memory::default(), true, at(9_999));
        assert_eq!(keys(&decision), ["not-ready"], "nobody knows who has added it");

        let added = decide(
            &with_ready("False", &json!([])),
            [&policy],
            &mut Memory::default(),
            true,
            at(301),
        );
        assert_eq!(added.taints[0].time_added, Some(at(300)), "when it was due");
        policy.status = added.statuses["p"].clone();
        let mut up = with_ready("True", &json!([]));
        up.spec.taints = added.taints;
        let mut memory = Memory::default();
        let decision = decide(&up, [&policy], &mut memory, true, at(400));
        assert!(decision.taints.is_empty(), "the policy's status tells");
        assert!(decision.statuses.is_empty(), "the record goes after the taint");
        up.spec.taints = decision.taints;
        let decision = decide(&up, [&policy], &mut memory, true, at(400));
        assert!(decision.statuses["p"].taints.is_empty());
    }

    #[test]
    fn what_one_policy_still_wants_stays_and_goes_with_the_last() {
        let unknown = policy_named("q", "Unknown");
        let (down, mut memory) = (not_ready_policy(), Memory::default());
        let both = [&down, &unknown];
        let mut cluster = with_ready("Unknown", &json!([]));
        cluster.spec.taints = decide(&cluster, both, &mut memory, true, at(300)).taints;
        "False".clone_into(&mut cluster.status.conditions[0].status);
        for second in [400, 800] {
            let decision = decide(&cluster, both, &mut memory, true, at(second));
            assert_eq!(keys(&decision), ["not-ready"], "{second}");
        }
        "True".clone_into(&mut cluster.status.conditions[0].status);
        decide(&cluster, both, &mut memory, true, at(900));
        assert!(decide(&cluster, both, &mut memory, true, at(1_080)).taints.is_empty());
    }

    #[test]
    fn a_restart_goes_on_with_the_window_where_no_transition_tells_of_it() {
        let (mut policy, mut memory) = (not_ready_policy(), Memory::default());
        decide(&with_ready("False", &json!([])), [&policy], &mut memory, true, at(0));
        let mut unknown = with_ready("Unknown", &json!([]));
        unknown.status.conditions[0].last_transition_time.0 = at(200);
        let decision = decide(&unknown, [&policy], &mut memory, true, at(200));
        policy.status = decision.statuses["p"].clone();
        assert_eq!(policy.status.windows[0].since, at(0));
        let decision = decide(&unknown, [&policy], &mut Memory::default(), true, at(300));
        assert_eq!(keys(&decision), ["not-ready"]);
    }

    fn policy_named(name: &str, status: &str) -> ClusterTaintPolicy {
        let mut policy = not_ready_policy();
        policy.metadata.name = Some(name.to_owned());
        let values = json!([{"conditionType": "Ready", "operator": "In", "statusValues": [status]}]);
        policy.spec.match_conditions = serde_json::from_value(values).unwrap();
        policy
    }
}

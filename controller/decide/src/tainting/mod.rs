//! `ClusterTaintPolicy`: taints a cluster when its conditions have matched long enough, and removes the taint when they
//! have not matched long enough (CTP).
//!
//! A policy removes only taints that it added: they are recorded in its status before they are written to the cluster.
//! A taint belongs to the policy if its `timeAdded` is the recorded one. [`Memory`] keeps this between decisions.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use crate::api::taint_policy::{ClusterTaintPolicySpec, ConditionStatus, MatchCondition, MatchConditionOperator};
use crate::api::{Cluster, ClusterTaintPolicy, ClusterTaintPolicyStatus, Taint, TaintEffect};
use crate::conditions;
use crate::selector;

mod memory;

pub use memory::Memory;
use memory::Side;

/// Taints of a cluster according to the policies, and the time to check again.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// All taints; those that no policy added are kept unchanged (CTP-07).
    pub taints: Vec<Taint>,
    /// Policies whose status changes, by name. Must be written before the taints.
    pub statuses: BTreeMap<String, ClusterTaintPolicyStatus>,
    /// Time to check again, if nothing changes before.
    pub again: Option<Timestamp>,
    /// Descriptions of the changes, for users.
    pub notes: Vec<String>,
}

/// A taint of a policy, and whether the policy adds or removes it now.
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

/// Decides the taints of a cluster. With the gate off no taint is added, and existing ones stay (GAT-06).
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

/// Removes taints that a policy added and no policy asks for any more (CTP-02, CTP-15).
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

/// Adds the taints of policies. A taint that exists and was not added by a policy keeps its owner.
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
        memory.window((policy, side), conditions, cluster, matches, now)
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

fn taint(key: &str, value: Option<&String>, effect: TaintEffect) -> Taint {
    Taint {
        key: key.to_owned(),
        value: value.cloned(),
        effect,
        time_added: None,
    }
}

/// Delays a verdict until its conditions have held for `seconds`. The taint is dated with the time at which it was due
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

#[cfg(test)]
#[path = "../tainting_tests.rs"]
mod tests;

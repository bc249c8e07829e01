//! `ClusterTaintPolicy`: a cluster is tainted when its conditions have matched long enough, and no longer when they have
//! not matched long enough (CTP).

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use crate::api::taint_policy::{ClusterTaintPolicySpec, ConditionStatus, MatchCondition, MatchConditionOperator};
use crate::api::{Cluster, ClusterTaintPolicy, Taint, TaintEffect};
use crate::conditions;
use crate::selector;

/// Since when the conditions of each policy match a cluster, or do not. Kept in memory; after a restart the transition
/// times of the conditions tell.
#[derive(Clone, Debug, Default)]
pub struct Memory(BTreeMap<(String, Side), (bool, Timestamp)>);

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
    /// When to look again, if nothing changes before.
    pub again: Option<Timestamp>,
}

/// A taint that a policy is about, and what it wants of it now.
struct Wish {
    taint: Taint,
    verdict: Verdict,
    again: Option<Timestamp>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Verdict {
    Add,
    Remove,
    EvictionTime,
}

/// Decides the taints of a cluster.
pub fn decide<'a>(
    cluster: &Cluster,
    policies: impl IntoIterator<Item = &'a ClusterTaintPolicy>,
    memory: &mut Memory,
    now: Timestamp,
) -> Decision {
    let wishes: Vec<Wish> = policies
        .into_iter()
        .filter(|policy| !policy.is_being_deleted() && is_target(&policy.spec, cluster))
        .flat_map(|policy| wishes(policy, cluster, memory, now))
        .collect();
    let mut taints = cluster.spec.taints.clone();
    // What one policy wants is not taken away by another that does not.
    taints.retain(|taint| {
        let about = || wishes.iter().filter(|wish| is_same(&wish.taint, taint));
        !about().any(|wish| wish.verdict == Verdict::Remove) || about().any(|wish| wish.verdict != Verdict::Remove)
    });
    for wish in wishes.iter().filter(|wish| wish.verdict == Verdict::Add) {
        if !taints.iter().any(|taint| is_same(&wish.taint, taint)) {
            taints.push(Taint {
                time_added: Some(now),
                ..wish.taint.clone()
            });
        }
    }
    Decision {
        taints,
        again: wishes.iter().filter_map(|wish| wish.again).min(),
    }
}

fn is_same(one: &Taint, other: &Taint) -> bool {
    one.key == other.key && one.effect == other.effect
}

fn is_target(spec: &ClusterTaintPolicySpec, cluster: &Cluster) -> bool {
    selector::means(spec.target_cluster.as_ref().or(spec.target_clusters.as_ref()), cluster)
}

fn wishes(policy: &ClusterTaintPolicy, cluster: &Cluster, memory: &mut Memory, now: Timestamp) -> Vec<Wish> {
    let (spec, mut wishes) = (&policy.spec, Vec::new());
    let mut track = |side: Side, conditions: &[MatchCondition]| {
        let matches = conditions.iter().all(|condition| does_match(condition, cluster));
        let begin = began(policy, cluster, conditions, now);
        let entry = memory
            .0
            .entry((policy.name().to_owned(), side))
            .or_insert((matches, begin));
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
            wishes.push(after(taint, verdict, since, seconds, now));
        }
    }
    if !spec.taints.is_empty() {
        let (add, _) = track(Side::Add, &spec.add_on_conditions);
        let (remove, _) = track(Side::Remove, &spec.remove_on_conditions);
        for wanted in &spec.taints {
            let verdict = match (add, remove && !spec.remove_on_conditions.is_empty()) {
                (true, _) => Verdict::Add,
                (false, true) => Verdict::Remove,
                (false, false) => Verdict::EvictionTime,
            };
            wishes.push(Wish {
                taint: taint(&wanted.key, wanted.value.as_ref(), wanted.effect),
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

/// What is wanted, but not before it has been wanted for so long.
fn after(taint: Taint, verdict: Verdict, since: Timestamp, seconds: i32, now: Timestamp) -> Wish {
    match since.checked_add(SignedDuration::from_secs(i64::from(seconds))) {
        Ok(due) if due <= now => Wish {
            taint,
            verdict,
            again: None,
        },
        Ok(due) => Wish {
            taint,
            verdict: Verdict::EvictionTime,
            again: Some(due),
        },
        Err(_) => Wish {
            taint,
            verdict: Verdict::EvictionTime,
            again: None,
        },
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
        let decision = decide(&down, [&policy], &mut memory, at(299));
        assert_eq!((keys(&decision), decision.again), (vec!["others"], Some(at(300))));
        let decision = decide(&down, [&policy], &mut memory, at(300));
        assert_eq!(keys(&decision), ["others", "not-ready"]);
        assert_eq!(decision.taints[1].time_added, Some(at(300)));

        let mut up = with_ready("True", &json!([]));
        up.spec.taints = decision.taints;
        let decision = decide(&up, [&policy], &mut memory, at(400));
        assert_eq!(
            (keys(&decision), decision.again),
            (vec!["others", "not-ready"], Some(at(580)))
        );
        assert_eq!(keys(&decide(&up, [&policy], &mut memory, at(580))), ["others"]);
    }

    #[test]
    fn flapping_starts_the_time_anew() {
        let (policy, mut memory) = (not_ready_policy(), Memory::default());
        for (second, status) in [(0, "False"), (200, "True"), (250, "False"), (400, "Unknown")] {
            let decision = decide(&with_ready(status, &json!([])), [&policy], &mut memory, at(second));
            assert!(decision.taints.is_empty(), "{second}");
        }
        let decision = decide(&with_ready("Unknown", &json!([])), [&policy], &mut memory, at(550));
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
            let decision = decide(&up, [&policy(&spec)], &mut Memory::default(), at(10));
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
        let added = decide(&with_ready("False", &json!([])), [&policy], &mut memory, at(1));
        assert_eq!(keys(&added), ["t"]);
        let mut unknown = with_ready("Unknown", &json!([]));
        unknown.spec.taints = added.taints;
        assert_eq!(keys(&decide(&unknown, [&policy], &mut memory, at(2))), ["t"]);
        "True".clone_into(&mut unknown.status.conditions[0].status);
        assert!(decide(&unknown, [&policy], &mut memory, at(3)).taints.is_empty());
    }
}

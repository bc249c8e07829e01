//! Taints and tolerations, as in Kubernetes (TNT-01 to TNT-09).

use jiff::{SignedDuration, Timestamp};

use crate::api::policy::{Toleration, TolerationOperator};
use crate::api::{Taint, TaintEffect};

/// Returns true if the toleration matches the taint (TNT-09).
pub fn tolerates(toleration: &Toleration, taint: &Taint) -> bool {
    let effect = toleration.effect.as_deref().unwrap_or_default();
    if !effect.is_empty() && effect != taint.effect.name() {
        return false;
    }
    let key = toleration.key.as_deref().unwrap_or_default();
    if !key.is_empty() && key != taint.key {
        return false;
    }
    match toleration.operator.unwrap_or_default() {
        TolerationOperator::Exists => true,
        TolerationOperator::Equal => {
            toleration.value.as_deref().unwrap_or_default() == taint.value.as_deref().unwrap_or_default()
        }
    }
}

/// Returns true if these taints repel new copies (TNT-01, TNT-02): a `NoSchedule` or `NoExecute` taint that is not
/// tolerated or, for workloads that `PreferNoExecute` evicts, a taint with that effect.
pub fn repel(taints: &[Taint], tolerations: &[Toleration], leaves_on_prefer: bool) -> bool {
    taints.iter().any(|taint| match taint.effect {
        TaintEffect::NoSchedule | TaintEffect::NoExecute => {
            !tolerations.iter().any(|toleration| tolerates(toleration, taint))
        }
        TaintEffect::PreferNoExecute => leaves_on_prefer,
        TaintEffect::PreferNoSchedule => false,
    })
}

/// Time at which a workload must leave a cluster.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum EvictionTime {
    /// At once.
    Now,
    /// At this time, if the taint is still there.
    At(Timestamp),
    /// Once the time of the taint is known; until then the toleration time cannot be computed.
    OnceStamped,
    /// Never.
    Never,
}

/// Returns the time from the taint to the eviction; `None` if the workload stays. Among several tolerations of a
/// `NoExecute` taint the shortest applies, and without one the workload leaves at once (TNT-03, TNT-04).
/// `PreferNoExecute` taints apply only with `prefer_after`, regardless of tolerations (PNE-01 to PNE-03).
pub fn tolerated_for(
    taint: &Taint,
    tolerations: &[Toleration],
    prefer_after: Option<SignedDuration>,
) -> Option<SignedDuration> {
    match taint.effect {
        TaintEffect::NoExecute => {
            let mut matching = tolerations.iter().filter(|it| tolerates(it, taint)).peekable();
            if matching.peek().is_none() {
                return Some(SignedDuration::ZERO);
            }
            let shortest = matching.filter_map(|toleration| toleration.toleration_seconds).min();
            shortest.map(|seconds| SignedDuration::from_secs(seconds.max(0)))
        }
        TaintEffect::PreferNoExecute => prefer_after,
        TaintEffect::NoSchedule | TaintEffect::PreferNoSchedule => None,
    }
}

/// Returns the time at which a workload that tolerates the taint for this long must leave.
pub fn eviction_time(taint: &Taint, tolerated_for: SignedDuration) -> EvictionTime {
    if tolerated_for <= SignedDuration::ZERO {
        return EvictionTime::Now;
    }
    let Some(since) = taint.time_added else {
        return EvictionTime::OnceStamped;
    };
    since
        .checked_add(tolerated_for)
        .map_or(EvictionTime::Never, EvictionTime::At)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn taint(value: Value) -> Taint {
        serde_json::from_value(value).unwrap()
    }

    fn tolerations(value: Value) -> Vec<Toleration> {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn operators_and_empty_fields() {
        let down = taint(json!({"key": "down", "value": "yes", "effect": "NoExecute"}));
        for (toleration, expected) in [
            (json!({"key": "down", "value": "yes"}), true),
            (json!({"key": "down", "operator": "Equal", "value": "no"}), false),
            (json!({"key": "down"}), false),
            (json!({"key": "down", "operator": "Exists"}), true),
            (json!({"operator": "Exists"}), true),
            (json!({"operator": "Exists", "effect": "NoSchedule"}), false),
            (json!({"operator": "Exists", "effect": ""}), true),
            (json!({"key": "", "operator": "Equal", "value": "yes"}), true),
            (json!({"operator": "Equal", "value": "no"}), false),
            (json!({"key": "up", "operator": "Exists"}), false),
        ] {
            assert_eq!(
                tolerates(&serde_json::from_value(toleration.clone()).unwrap(), &down),
                expected,
                "{toleration}"
            );
        }
    }

    /// Returns the earliest eviction time of these taints.
    fn earliest(taints: &[Taint], tolerations: &[Toleration], prefer_after: Option<SignedDuration>) -> EvictionTime {
        let time = |taint: &Taint| {
            let tolerated_for = tolerated_for(taint, tolerations, prefer_after)?;
            Some(eviction_time(taint, tolerated_for))
        };
        taints.iter().filter_map(time).min().unwrap_or(EvictionTime::Never)
    }

    #[test]
    fn the_earliest_time_counts() {
        let added: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        let at = |second| EvictionTime::At(added + SignedDuration::from_secs(second));
        let down = json!({"key": "down", "effect": "NoExecute", "timeAdded": "2026-01-01T00:00:00Z"});
        let slow = json!({"key": "slow", "effect": "NoExecute", "timeAdded": "2026-01-01T00:00:00Z"});
        let exists =
            |key: &str, seconds: Option<i64>| json!({"key": key, "operator": "Exists", "tolerationSeconds": seconds});
        for (taints, tolerated, expected) in [
            (json!([down]), json!([]), EvictionTime::Now),
            (json!([down]), json!([exists("down", None)]), EvictionTime::Never),
            (json!([down]), json!([exists("down", Some(300))]), at(300)),
            (
                json!([down]),
                json!([exists("down", Some(300)), exists("down", Some(60))]),
                at(60),
            ),
            (
                json!([down]),
                json!([exists("down", None), exists("down", Some(60))]),
                at(60),
            ),
            (json!([down]), json!([exists("down", Some(0))]), EvictionTime::Now),
            (
                json!([down, slow]),
                json!([exists("down", Some(300)), exists("slow", Some(60))]),
                at(60),
            ),
            (json!([down, slow]), json!([exists("down", None)]), EvictionTime::Now),
            (
                json!([{"key": "down", "effect": "NoExecute"}]),
                json!([exists("down", Some(9))]),
                EvictionTime::OnceStamped,
            ),
            (
                json!([{"key": "down", "effect": "NoSchedule"}]),
                json!([]),
                EvictionTime::Never,
            ),
        ] {
            let taints: Vec<Taint> = serde_json::from_value(taints).unwrap();
            assert_eq!(
                earliest(&taints, &tolerations(tolerated.clone()), None),
                expected,
                "{tolerated}"
            );
        }
    }

    #[test]
    fn prefer_no_execute_asks_the_policy_alone() {
        let taints = [taint(
            json!({"key": "k", "effect": "PreferNoExecute", "timeAdded": "2026-01-01T00:00:00Z"}),
        )];
        let all = tolerations(json!([{"operator": "Exists"}]));
        assert_eq!(earliest(&taints, &all, None), EvictionTime::Never);
        assert_eq!(earliest(&taints, &all, Some(SignedDuration::ZERO)), EvictionTime::Now);
        assert!(matches!(
            earliest(&taints, &all, Some(SignedDuration::from_secs(1))),
            EvictionTime::At(_)
        ));
        assert!(repel(&taints, &all, true) && !repel(&taints, &all, false));
    }
}

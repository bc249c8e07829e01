//! Condition types, and updates that preserve the transition time.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};

/// On bindings: the scheduler found enough clusters.
pub const SCHEDULED: &str = "Scheduled";
/// On bindings: every copy is applied.
pub const FULLY_APPLIED: &str = "FullyApplied";
/// On bindings: a failover is blocked, with the reason.
pub const FAILOVER_BLOCKED: &str = "FailoverBlocked";
/// On bindings: an eviction is waiting, with the reason (OBS-05).
pub const EVICTION_PENDING: &str = "EvictionPending";
/// On bindings, followed by a cluster name: the copy on that cluster has not been healthy since the transition time.
pub const UNHEALTHY_ON: &str = "UnhealthyOn.";
/// On Works: the object is on the member.
pub const APPLIED: &str = "Applied";
/// On Works: a script reports the object's health; absent unless a script has failed before.
pub const HEALTH_INTERPRETED: &str = "HealthInterpreted";
/// On Works: the object is gone from the member; absent until its removal begins.
pub const REMOVED: &str = "Removed";
/// On clusters: the member's API server answers.
pub const READY: &str = "Ready";

/// New status, reason and message of a condition.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ConditionUpdate {
    /// `True`, `False` or `Unknown`.
    pub status: &'static str,
    /// Machine-readable reason.
    pub reason: String,
    /// Reason shown to users.
    pub message: String,
}

impl ConditionUpdate {
    /// Returns an update with status `True`.
    pub fn yes(reason: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            status: "True",
            reason: reason.into(),
            message: message.into(),
        }
    }

    /// Returns an update with status `False`.
    pub fn no(reason: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            status: "False",
            reason: reason.into(),
            message: message.into(),
        }
    }
}

/// Returns the type of the condition for an unhealthy copy on this cluster.
pub fn unhealthy_on(cluster: &str) -> String {
    format!("{UNHEALTHY_ON}{cluster}")
}

/// Returns the condition of this type.
pub fn get<'a>(conditions: &'a [Condition], type_: &str) -> Option<&'a Condition> {
    conditions.iter().find(|condition| condition.type_ == type_)
}

/// Returns the status of the condition of this type.
pub fn status<'a>(conditions: &'a [Condition], type_: &str) -> Option<&'a str> {
    get(conditions, type_).map(|condition| condition.status.as_str())
}

/// Sets a condition. Its transition time changes only with its status.
pub fn set(conditions: &mut Vec<Condition>, type_: &str, update: ConditionUpdate, now: Timestamp) {
    let Some(condition) = conditions.iter_mut().find(|condition| condition.type_ == type_) else {
        conditions.push(Condition {
            type_: type_.to_owned(),
            status: update.status.to_owned(),
            reason: update.reason,
            message: update.message,
            last_transition_time: Time(now),
            observed_generation: None,
        });
        return;
    };
    if condition.status != update.status {
        update.status.clone_into(&mut condition.status);
        condition.last_transition_time = Time(now);
    }
    condition.reason = update.reason;
    condition.message = update.message;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transition_time_moves_with_the_status_alone() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let mut conditions = Vec::new();
        set(&mut conditions, "X", ConditionUpdate::no("A", "a"), at(1));
        set(&mut conditions, "X", ConditionUpdate::no("B", "b"), at(2));
        assert_eq!(
            (conditions[0].reason.as_str(), conditions[0].last_transition_time.0),
            ("B", at(1))
        );
        set(&mut conditions, "X", ConditionUpdate::yes("B", "b"), at(3));
        assert_eq!(conditions[0].last_transition_time.0, at(3));
        assert_eq!(conditions.len(), 1);
    }
}

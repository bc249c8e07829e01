//! Conditions: changed only when they say something new.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};

/// On bindings: the scheduler found clusters.
pub const SCHEDULED: &str = "Scheduled";
/// On bindings: every copy is applied.
pub const FULLY_APPLIED: &str = "FullyApplied";
/// On bindings: a failover cannot go on, and why.
pub const FAILOVER_BLOCKED: &str = "FailoverBlocked";
/// On Works: the object is on the member.
pub const APPLIED: &str = "Applied";
/// On Works: the object is gone from the member; absent until it is to go.
pub const REMOVED: &str = "Removed";
/// On clusters: the member's API server answers.
pub const READY: &str = "Ready";

/// What a condition is to say.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Says {
    /// `True`, `False` or `Unknown`.
    pub status: &'static str,
    /// Why, in one word.
    pub reason: String,
    /// Why, for people.
    pub message: String,
}

impl Says {
    /// It holds.
    pub fn yes(reason: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            status: "True",
            reason: reason.into(),
            message: message.into(),
        }
    }

    /// It does not hold.
    pub fn no(reason: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            status: "False",
            reason: reason.into(),
            message: message.into(),
        }
    }
}

/// The condition of this type.
pub fn get<'a>(conditions: &'a [Condition], type_: &str) -> Option<&'a Condition> {
    conditions.iter().find(|condition| condition.type_ == type_)
}

/// The status of the condition of this type.
pub fn status<'a>(conditions: &'a [Condition], type_: &str) -> Option<&'a str> {
    get(conditions, type_).map(|condition| condition.status.as_str())
}

/// Lets the condition say this. Its transition time moves only with its status; nothing changes if it says so already.
pub fn set(conditions: &mut Vec<Condition>, type_: &str, says: Says, now: Timestamp) {
    let Some(condition) = conditions.iter_mut().find(|condition| condition.type_ == type_) else {
        conditions.push(Condition {
            type_: type_.to_owned(),
            status: says.status.to_owned(),
            reason: says.reason,
            message: says.message,
            last_transition_time: Time(now),
            observed_generation: None,
        });
        return;
    };
    if condition.status != says.status {
        says.status.clone_into(&mut condition.status);
        condition.last_transition_time = Time(now);
    }
    condition.reason = says.reason;
    condition.message = says.message;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transition_time_moves_with_the_status_alone() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let mut conditions = Vec::new();
        set(&mut conditions, "X", Says::no("A", "a"), at(1));
        set(&mut conditions, "X", Says::no("B", "b"), at(2));
        assert_eq!(
            (conditions[0].reason.as_str(), conditions[0].last_transition_time.0),
            ("B", at(1))
        );
        set(&mut conditions, "X", Says::yes("B", "b"), at(3));
        assert_eq!(conditions[0].last_transition_time.0, at(3));
        assert_eq!(conditions.len(), 1);
    }
}

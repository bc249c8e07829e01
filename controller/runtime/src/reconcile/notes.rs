//! Results that the components of a binding pass to its status.

use baton_decide::conditions::ConditionUpdate;
use jiff::Timestamp;

/// Results of the components of one reconcile.
#[derive(Default)]
pub struct Notes {
    /// Time of the next reconcile.
    pub again: Option<Timestamp>,
    /// The condition `Scheduled`.
    pub scheduled: Option<ConditionUpdate>,
    /// Condition `FailoverBlocked`: the reason why a failover is blocked.
    pub blocked: Option<ConditionUpdate>,
    /// Condition `EvictionPending`: the reason why an eviction waits.
    pub pending: Option<ConditionUpdate>,
    /// Events to publish: reason and message (OBS-02).
    pub events: Vec<(&'static str, String)>,
}

impl Notes {
    /// Requests a reconcile at this time; the earliest time counts.
    pub fn look_at(&mut self, at: Option<Timestamp>) {
        self.again = match (self.again, at) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
    }

    /// Adds an event.
    pub fn tell(&mut self, reason: &'static str, message: String) {
        self.events.push((reason, message));
    }

    /// Sets the condition `EvictionPending`; the first eviction counts.
    pub fn wait(&mut self, condition: ConditionUpdate) {
        self.pending.get_or_insert(condition);
    }

    /// Sets the condition `FailoverBlocked`; the first obstacle counts.
    pub fn block(&mut self, condition: ConditionUpdate) {
        self.blocked.get_or_insert(condition);
    }
}

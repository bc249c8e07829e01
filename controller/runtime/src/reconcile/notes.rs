//! What the components of a binding report to its status.

use baton_decide::conditions::ConditionUpdate;
use jiff::Timestamp;

/// What the components found out on the way.
#[derive(Default)]
pub struct Notes {
    /// When to look again.
    pub again: Option<Timestamp>,
    /// The condition `Scheduled`.
    pub scheduled: Option<ConditionUpdate>,
    /// What keeps a failover from going on.
    pub blocked: Option<ConditionUpdate>,
    /// The condition `EvictionPending`: why an eviction waits.
    pub pending: Option<ConditionUpdate>,
    /// What happened and is worth an event: reason and message (OBS-02).
    pub events: Vec<(&'static str, String)>,
}

impl Notes {
    /// The earliest time that was asked for counts.
    pub fn look_at(&mut self, at: Option<Timestamp>) {
        self.again = match (self.again, at) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
    }

    /// Something happened that is worth an event.
    pub fn tell(&mut self, reason: &'static str, message: String) {
        self.events.push((reason, message));
    }

    /// The first eviction that waits counts.
    pub fn wait(&mut self, condition: ConditionUpdate) {
        self.pending.get_or_insert(condition);
    }

    /// The first obstacle that was found counts.
    pub fn block(&mut self, condition: ConditionUpdate) {
        self.blocked.get_or_insert(condition);
    }
}

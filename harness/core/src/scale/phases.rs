//! The phases of a failover, and when a workload reached them.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A phase of a workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Phase {
    /// From the creation of the workload to its first copy on a member.
    Placed,
    /// From the failure to the eviction task in the binding.
    TaskWritten,
    /// From the failure to the end of the last copy on a failing member.
    OldCopyGone,
    /// From the failure to the first new copy on a healthy member.
    NewCopyCreated,
    /// From the failure to a binding that reports all replicas ready on healthy members.
    Healthy,
}

impl Phase {
    /// All phases, in the order of a failover under Directly.
    pub const ALL: [Self; 5] = [
        Self::Placed,
        Self::TaskWritten,
        Self::OldCopyGone,
        Self::NewCopyCreated,
        Self::Healthy,
    ];

    /// Its name for people.
    pub fn words(self) -> &'static str {
        match self {
            Self::Placed => "placed",
            Self::TaskWritten => "task written",
            Self::OldCopyGone => "old copy gone",
            Self::NewCopyCreated => "new copy created",
            Self::Healthy => "healthy",
        }
    }
}

/// When a workload reached each phase, by the time of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Times {
    /// Creation on the control plane.
    pub created: Option<Duration>,
    /// First copy on a member.
    pub placed: Option<Duration>,
    /// Eviction task.
    pub task: Option<Duration>,
    /// End of the last copy on a failing member.
    pub gone: Option<Duration>,
    /// First copy on a healthy member after the failure.
    pub new: Option<Duration>,
    /// All replicas ready on healthy members.
    pub healthy: Option<Duration>,
}

impl Times {
    /// When the phase ended.
    pub fn end_of(&self, phase: Phase) -> Option<Duration> {
        match phase {
            Phase::Placed => self.placed,
            Phase::TaskWritten => self.task,
            Phase::OldCopyGone => self.gone,
            Phase::NewCopyCreated => self.new,
            Phase::Healthy => self.healthy,
        }
    }

    /// Seconds of the phase, for members that failed at this time.
    pub fn seconds(&self, phase: Phase, failed_at: Option<Duration>) -> Option<f64> {
        let begin = match phase {
            Phase::Placed => self.created,
            Phase::TaskWritten | Phase::OldCopyGone | Phase::NewCopyCreated | Phase::Healthy => failed_at,
        };
        Some(self.end_of(phase)?.saturating_sub(begin?).as_secs_f64())
    }
}

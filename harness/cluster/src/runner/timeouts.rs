//! Timeouts of a run.

use std::time::Duration;

use baton_core::{case::model::Phase, implementation::TargetTimeouts};

/// Timeout per phase of a migration.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Timeouts {
    /// From a policy to a scheduling result.
    pub schedule: Duration,
    /// Until a member's status is in the binding.
    pub collect: Duration,
    /// From a taint to the eviction task.
    pub evict: Duration,
    /// Until the old copy is gone.
    pub purge: Duration,
    /// Until the new copy exists.
    pub create: Duration,
    /// Until something is removed or tidied up.
    pub clear: Duration,
    /// Until the target reports all members as ready, before the first step.
    pub ready: Duration,
    /// Factor for time limits that a case sets (`within`).
    pub factor: f64,
    /// Added to those limits after that.
    pub slack: Duration,
    /// Longest time that a wait goes on without any activity of the target; `None` for no such limit.
    pub silence: Option<Duration>,
    /// Shorten clean-up, because an earlier clean-up of the same run has failed.
    pub hurried: bool,
}

impl Default for Timeouts {
    fn default() -> Self {
        let a_minute = Duration::from_secs(60);
        Self {
            schedule: a_minute,
            collect: a_minute,
            evict: a_minute,
            purge: a_minute,
            create: a_minute,
            clear: a_minute,
            ready: a_minute,
            factor: 1.0,
            slack: Duration::from_secs(10),
            silence: None,
            hurried: false,
        }
    }
}

impl Timeouts {
    /// Multiplies all timeouts by a factor, for slow machines.
    #[must_use]
    pub fn scaled(self, factor: f64) -> Self {
        let scale = |time: Duration| time.mul_f64(factor);
        Self {
            schedule: scale(self.schedule),
            collect: scale(self.collect),
            evict: scale(self.evict),
            purge: scale(self.purge),
            create: scale(self.create),
            clear: scale(self.clear),
            ready: scale(self.ready),
            factor: self.factor * factor,
            slack: self.slack,
            silence: self.silence.map(scale),
            hurried: self.hurried,
        }
    }

    /// Enforces the limits of cases exactly: virtual time advances only when nothing happens, so a slow machine cannot
    /// exceed them.
    #[must_use]
    pub fn exact(self) -> Self {
        Self {
            factor: 1.0,
            slack: Duration::ZERO,
            ..self
        }
    }

    /// Replaces timeouts by those of a target, times the present factor.
    #[must_use]
    pub fn of_target(mut self, of_target: &TargetTimeouts) -> Self {
        let factor = self.factor;
        for (phase, time) in &of_target.phases {
            *self.of_mut(*phase) = time.mul_f64(factor);
        }
        self.ready = of_target.ready.map_or(self.ready, |time| time.mul_f64(factor));
        self.slack = of_target.slack.unwrap_or(self.slack);
        self.scaled(of_target.factor.unwrap_or(1.0))
    }

    fn of_mut(&mut self, phase: Phase) -> &mut Duration {
        match phase {
            Phase::Schedule => &mut self.schedule,
            Phase::Collect => &mut self.collect,
            Phase::Evict => &mut self.evict,
            Phase::Purge => &mut self.purge,
            Phase::Create => &mut self.create,
            Phase::Clear => &mut self.clear,
        }
    }

    pub(super) fn of(&self, phase: Phase) -> Duration {
        match phase {
            Phase::Schedule => self.schedule,
            Phase::Collect => self.collect,
            Phase::Evict => self.evict,
            Phase::Purge => self.purge,
            Phase::Create => self.create,
            Phase::Clear => self.clear,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_target_needs_is_multiplied_for_slow_machines_too() {
        let of_target = TargetTimeouts {
            ready: Some(Duration::from_secs(30)),
            phases: [(Phase::Collect, Duration::from_secs(45))].into(),
            factor: Some(2.0),
            ..TargetTimeouts::default()
        };
        let timeouts = Timeouts::default().scaled(3.0).of_target(&of_target);
        assert_eq!(timeouts.of(Phase::Collect), Duration::from_secs(270));
        assert_eq!(timeouts.ready, Duration::from_secs(180));
        assert_eq!(timeouts.of(Phase::Purge), Duration::from_secs(360));
        assert!((timeouts.factor - 6.0).abs() < 1e-9);
    }
}

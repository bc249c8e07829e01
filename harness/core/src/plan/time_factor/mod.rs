//! A plan whose periods are shorter than its case says, for runs in which time really passes.
//!
//! Everything of a case that is a period shrinks by one factor: what policies and options say (tolerations, grace
//! periods), how long the case lets time pass, and in which time something must happen. Both bounds of a toleration are
//! still judged. The pace of an implementation (polls, retries, defaults that are not written) cannot shrink,
//! so a plan keeps its times where it writes no period or leaves a window of a taint policy out, what is expected of
//! a period that the case does not write stays as it is, and no period becomes shorter than [`FLOOR`]. Nor does the time for
//! which a case keeps an object from going.

mod periods;
mod scale;
#[cfg(test)]
mod tests;

use std::{borrow::Cow, time::Duration};

use super::{Plan, PlannedStep};
use crate::{
    case::model::{Action, Assertion, ControllerSetup, Fault, Mode},
    yaml::decode::parse_duration,
};
use periods::{Periods, as_float};
use scale::{BEFORE, MARGIN, Scale, duration_text};

/// No period becomes shorter: implementations poll and try again every few seconds, and below that a bound says nothing.
pub const FLOOR: Duration = Duration::from_secs(10);

/// Shortest time for which a step watches that something does not happen, unless the case itself gives it less. In a shorter
/// time, an implementation may not have had its turn.
const WATCHED: Duration = Duration::from_secs(5);

impl Plan {
    /// The factor that this plan can bear, which is at least `wanted`: its periods stay whole seconds and do not fall
    /// below [`FLOOR`]. It is 1 for a plan that names no period, starts the target again, or relies on the default of an
    /// option.
    pub fn bearable(&self, setup: &ControllerSetup, wanted: f64) -> f64 {
        let found = Periods::of(self);
        let of_options = setup.options.values().filter_map(|value| parse_duration(value));
        let periods = found.seconds.iter().map(|seconds| Duration::from_secs(*seconds));
        let named = periods
            .chain(found.simulated.iter().copied())
            .chain(of_options.clone())
            .min();
        // Programs start again as slowly as ever, and a period continues in the meantime.
        let restarts =
            |step: &PlannedStep| matches!(step.action, Action::Inject(Fault::StartController) | Action::Start(_));
        // A rate is not a period: evictions at a rate take as long as ever.
        let has_rate = setup.options.keys().any(|name| name.ends_with("-rate"));
        let relies_on_others = (named.is_none() && !found.for_ever)
            || has_rate
            || found.by_default
            || self.controller.relies_on_defaults();
        if wanted >= 1.0 || relies_on_others || self.steps.iter().any(restarts) {
            return 1.0;
        }
        let least = named.into_iter().chain(self.held()).min();
        let floor = least.map_or(0.0, |least| FLOOR.as_secs_f64() / least.as_secs_f64());
        let factor = wanted.max(floor).max(self.least_to_watch()).min(1.0);
        let Some(common) = found.seconds.iter().copied().reduce(greatest_common_divisor) else {
            return factor;
        };
        // A period of 300 s and one of 60 s both stay whole in steps of a 60th.
        let parts = (factor * as_float(common)).ceil();
        parts / as_float(common)
    }

    /// Times for which the plan keeps an object from being deleted: an implementation must have had its turn in that time.
    fn held(&self) -> impl Iterator<Item = Duration> {
        let mut holds = 0_usize;
        self.steps.iter().filter_map(move |step| match step.action {
            Action::Hold { .. } => {
                holds += 1;
                None
            }
            Action::Release { .. } => {
                holds = holds.saturating_sub(1);
                None
            }
            Action::Elapse(time) if holds > 0 => Some(time),
            _ => None,
        })
    }

    /// The factor below which a step that shows that something does not happen would be watched for too short a time.
    fn least_to_watch(&self) -> f64 {
        let factors = self.steps.iter().filter_map(|step| match &step.action {
            Action::Assert(Assertion {
                mode: Mode::Consistently(time),
                proves,
                ..
            }) if !proves.is_empty() && *time >= WATCHED => {
                Some((WATCHED + MARGIN).as_secs_f64() / (*time + BEFORE).as_secs_f64())
            }
            _ => None,
        });
        factors.fold(0.0, f64::max)
    }

    /// The same plan with all its periods times a factor.
    pub fn faster(&self, factor: f64) -> Cow<'_, Self> {
        if (self.time_factor - factor).abs() < f64::EPSILON {
            return Cow::Borrowed(self);
        }
        let scale = Scale {
            factor: factor / self.time_factor,
            periods: Periods::of(self).seconds,
        };
        let steps = self.steps.iter().map(|step| PlannedStep {
            line: step.line,
            action: step.action.rewritten(&scale),
        });
        Cow::Owned(Self {
            steps: steps.collect(),
            time_factor: factor,
            ..self.clone()
        })
    }
}

/// A set-up whose options that are durations are multiplied by a factor.
pub fn faster_setup(setup: &ControllerSetup, factor: f64) -> ControllerSetup {
    let options = setup.options.iter().map(|(name, value)| {
        let scaled = parse_duration(value).map(|time| duration_text(time.mul_f64(factor)));
        (name.clone(), scaled.unwrap_or_else(|| value.clone()))
    });
    ControllerSetup {
        options: options.collect(),
        ..setup.clone()
    }
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

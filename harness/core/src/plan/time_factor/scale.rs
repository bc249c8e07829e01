//! Multiplies the periods of a plan by a factor.

use std::{collections::BTreeSet, time::Duration};

use serde_json::Value;

use super::periods::{SECONDS, SIMULATED, as_float, positive};
use crate::{
    case::model::{Period, Rewrite},
    pattern::{After, Pattern},
    yaml::decode::parse_duration,
};

/// Margin before the end of a period during which nothing may happen: times in taints have whole seconds.
pub(super) const MARGIN: Duration = Duration::from_millis(1500);

/// Time before the end of a period at which cases stop checking that it is kept.
pub(super) const BEFORE: Duration = Duration::from_secs(2);

/// Multiplies the periods of a plan.
pub(super) struct Scale {
    /// The factor, above 0 and up to 1.
    pub(super) factor: f64,
    /// Periods that the plan writes, in seconds, before they are scaled.
    pub(super) periods: BTreeSet<u64>,
}

impl Scale {
    fn factored(&self, time: Duration) -> Duration {
        time.mul_f64(self.factor)
    }

    /// Scales a time for which a condition must hold, or that passes: a time that ends before a period must still do so.
    fn held(&self, time: Duration) -> Duration {
        let periods = self.periods.iter().map(|seconds| Duration::from_secs(*seconds));
        let next = periods.filter(|period| *period > time).min();
        let scaled = self.factored(time);
        next.map_or(scaled, |next| scaled.min(self.factored(next).saturating_sub(MARGIN)))
    }

    /// Scales the time for which a condition must be seen to hold. The period that ends soon after may be that of an option,
    /// which a plan does not know.
    fn seen_to_hold(&self, time: Duration) -> Duration {
        let next = self.factored(time + BEFORE).saturating_sub(MARGIN);
        self.held(time).min(next)
    }

    /// In which time something must happen: what was held until before a period ends may have ended early by the margin.
    fn within(&self, time: Duration) -> Duration {
        self.factored(time) + MARGIN
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a period times a factor up to 1 is a period"
    )]
    fn seconds(&self, number: &serde_json::Number) -> Value {
        positive(number).map_or_else(
            || Value::Number(number.clone()),
            |seconds| Value::from((as_float(seconds) * self.factor).round() as u64),
        )
    }
}

impl Rewrite for Scale {
    fn leaf(&self, key: Option<&str>, leaf: &Value) -> Value {
        match (key, leaf) {
            (Some(key), Value::Number(number)) if SECONDS.contains(&key) => self.seconds(number),
            (Some(key), Value::String(text)) if key.starts_with(SIMULATED) => match parse_duration(text) {
                Some(time) => Value::String(duration_text(self.factored(time))),
                None => leaf.clone(),
            },
            _ => leaf.clone(),
        }
    }

    fn expected(&self, key: Option<&str>, leaf: Pattern) -> Pattern {
        let is_period = key.is_some_and(|key| SECONDS.contains(&key));
        let number = |value: Value| match &value {
            Value::Number(number) if positive(number).is_some_and(|it| self.periods.contains(&it)) => {
                self.seconds(number)
            }
            _ => value,
        };
        match leaf {
            Pattern::Exact(value) if is_period => Pattern::Exact(number(value)),
            Pattern::OneOf(values) if is_period => Pattern::OneOf(values.into_iter().map(number).collect()),
            // What is written on workloads for the simulator is read back.
            Pattern::Text(text) if key.is_some_and(|key| key.starts_with(SIMULATED)) => {
                let scaled = parse_duration(&text).map(|time| duration_text(self.factored(time)));
                Pattern::Text(scaled.unwrap_or(text))
            }
            Pattern::After(after) => Pattern::After(After {
                at_least: after.at_least.map(|time| self.held(time)),
                at_most: after.at_most.map(|time| self.within(time)),
                time: after.time,
            }),
            same => same,
        }
    }

    fn time(&self, period: Period, time: Duration) -> Duration {
        match period {
            Period::Passing => self.held(time),
            Period::Holding => self.seen_to_hold(time),
            Period::Limit => self.within(time),
        }
    }

    /// A workload reports its status at its own pace.
    fn status(&self, status: &Value) -> Value {
        status.clone()
    }

    /// No period of a refused object ever begins.
    fn includes_refused(&self) -> bool {
        false
    }
}

/// In milliseconds, which Go reads as well.
pub(super) fn duration_text(time: Duration) -> String {
    format!("{}ms", time.as_millis())
}

//! The periods in what a plan writes.

use std::{collections::BTreeSet, time::Duration};

use serde_json::Value;

use crate::{plan::Plan, yaml::decode::parse_duration};

/// The members of policies and tasks that are periods, in whole seconds.
pub(super) const SECONDS: [&str; 6] = [
    "tolerationSeconds",
    "gracePeriodSeconds",
    "blockPredecessorSeconds",
    "addOnMatchSeconds",
    "removeOnMismatchSeconds",
    "delaySeconds",
];

/// Prefix of the annotations that set durations of the workload simulator.
pub(super) const SIMULATED: &str = "simulator.baton.dev/";

/// The windows of a taint that a taint policy adds; each has a default.
const WINDOWS: [&str; 2] = ["addOnMatchSeconds", "removeOnMismatchSeconds"];

/// The periods that a plan names.
#[derive(Default)]
pub(super) struct Periods {
    /// Seconds in the objects that the plan writes; none is 0.
    pub(super) seconds: BTreeSet<u64>,
    /// Durations in annotations for the simulator.
    pub(super) simulated: Vec<Duration>,
    /// `true` if a toleration has no time limit.
    pub(super) for_ever: bool,
    /// `true` if a policy leaves out a window, so that its default holds.
    pub(super) by_default: bool,
}

impl Periods {
    pub(super) fn of(plan: &Plan) -> Self {
        let mut found = Self::default();
        for step in &plan.steps {
            step.action
                .facts()
                .writes
                .iter()
                .for_each(|it| found.of_value(it.value));
        }
        found
    }

    fn of_value(&mut self, value: &Value) {
        match value {
            Value::Object(members) => {
                for (key, member) in members {
                    self.of_member(key, member);
                }
            }
            Value::Array(items) => items.iter().for_each(|item| self.of_value(item)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn of_member(&mut self, key: &str, member: &Value) {
        if key == "clusterTolerations" {
            let tolerations = member.as_array().into_iter().flatten();
            self.for_ever |= tolerations.into_iter().any(|it| it["tolerationSeconds"].is_null());
        }
        if key == "taintsToAdd" {
            let taints = member.as_array().into_iter().flatten();
            self.by_default |= taints
                .into_iter()
                .any(|it| WINDOWS.iter().any(|window| it[window].is_null()));
        }
        match member {
            Value::Number(number) if SECONDS.contains(&key) => self.seconds.extend(positive(number)),
            Value::String(text) if key.starts_with(SIMULATED) => self.simulated.extend(parse_duration(text)),
            other => self.of_value(other),
        }
    }
}

/// The number of seconds, if it is a period: 0 is none.
pub(super) fn positive(number: &serde_json::Number) -> Option<u64> {
    number.as_u64().filter(|seconds| *seconds > 0)
}

#[expect(clippy::cast_precision_loss, reason = "periods are far below 2^52 seconds")]
pub(super) fn as_float(seconds: u64) -> f64 {
    seconds as f64
}

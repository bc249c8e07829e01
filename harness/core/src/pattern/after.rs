//! Times by how long they are after others.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde::Serialize;
use serde_json::Value;

use super::{Bindings, DifferenceKind, resolve};
use crate::yaml::decode::parse_duration;

/// Bounds of the time between another moment and this one, inclusive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct After {
    /// The other moment, in RFC 3339, with references.
    pub time: String,
    /// `atLeast`.
    pub at_least: Option<Duration>,
    /// `atMost`.
    pub at_most: Option<Duration>,
}

/// Form of a time after another one.
pub(super) const EXPECTED: &str = "a time after another one is {after: {time: TIME, atLeast: 10s, atMost: 12s}}";

/// Reads `{time: …, atLeast: 10s, atMost: 12s}`; `None` if it has another form.
pub(super) fn read(given: &serde_json::Map<String, Value>) -> Option<After> {
    let mut read = After {
        time: given.get("time").and_then(Value::as_str)?.to_owned(),
        at_least: None,
        at_most: None,
    };
    for (key, value) in given {
        let time = || value.as_str().and_then(parse_duration);
        match key.as_str() {
            "time" => {}
            "atLeast" => read.at_least = Some(time()?),
            "atMost" => read.at_most = Some(time()?),
            _ => return None,
        }
    }
    let is_bounded = read.at_least.is_some() || read.at_most.is_some();
    is_bounded.then_some(read)
}

impl After {
    /// Returns `true` if a text is a time within these bounds.
    pub(super) fn holds(&self, seen: &str, bindings: &Bindings) -> bool {
        let Some(after) = self.after(seen, bindings) else {
            return false;
        };
        self.at_least.is_none_or(|least| after >= bound(least)) && self.at_most.is_none_or(|most| after <= bound(most))
    }

    /// How a text differs that is not a time in these bounds.
    pub(super) fn kind(&self, seen: &str, bindings: &Bindings) -> DifferenceKind {
        let Some(after) = self.after(seen, bindings) else {
            return DifferenceKind::Different;
        };
        if self.at_least.is_some_and(|least| after < bound(least)) {
            DifferenceKind::TooEarly
        } else {
            DifferenceKind::TooLate
        }
    }

    /// Time from the other moment to this one.
    fn after(&self, seen: &str, bindings: &Bindings) -> Option<SignedDuration> {
        let time = |text: &str| text.parse::<Timestamp>().ok();
        Some(time(seen)?.duration_since(time(&resolve(&self.time, bindings))?))
    }

    /// It in words.
    pub(super) fn describe(&self, bindings: &Bindings) -> String {
        let bound = |word: &str, time: Option<Duration>| time.map(|time| format!("{word} {} s", time.as_secs_f64()));
        let bounds = [bound("at least", self.at_least), bound("at most", self.at_most)];
        let bounds: Vec<_> = bounds.into_iter().flatten().collect();
        format!(
            "a time {} after {}",
            bounds.join(" and "),
            resolve(&self.time, bindings)
        )
    }
}

fn bound(time: Duration) -> SignedDuration {
    SignedDuration::try_from(time).unwrap_or(SignedDuration::MAX)
}

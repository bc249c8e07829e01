//! Steps and conditions in words, as a plan prints them and a timeline keeps them.

use std::{collections::BTreeSet, fmt, time::Duration};

use super::{Assertion, Condition, Count, Expect, MetricAssertion, Mode, Phase, Sequence, SnapshotPart, Subject};
use crate::{names::RequirementId, pattern::Bindings};

/// Returns the time limit of a step: its own, or the phase whose timeout counts.
pub(super) fn limit(phase: Phase, within: Option<Duration>) -> String {
    within.map_or_else(
        || format!("phase {}", phase.name()),
        |time| format!("within {} s", time.as_secs_f64()),
    )
}

/// Writes a wait with its time limit.
pub(super) fn wait(until: &Condition, limit: &str, otherwise: Option<&str>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    write!(f, "wait until {until} ({limit})")?;
    otherwise.map_or(Ok(()), |reason| write!(f, ", unsupported otherwise: {reason}"))
}

impl fmt::Display for Assertion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "assert {}: {}", self.mode, self.condition)?;
        if self.within.is_some() || matches!(self.mode, Mode::Eventually | Mode::Observed | Mode::FirstSeen) {
            write!(f, " ({})", limit(self.phase, self.within))?;
        }
        if self.proves.is_empty() {
            Ok(())
        } else {
            write!(f, " [{}]", self.proves)
        }
    }
}

impl fmt::Display for Sequence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "assert order: first {}; then {}", self.first, self.then)?;
        proved(&self.proves, f)
    }
}

impl fmt::Display for MetricAssertion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "assert {}: the metric {}", self.mode, self.metric)?;
        if let Some(time) = self.within {
            write!(f, " (within {} s)", time.as_secs_f64())?;
        }
        proved(&self.proves, f)
    }
}

fn proved(ids: &BTreeSet<RequirementId>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let ids: Vec<_> = ids.iter().map(RequirementId::as_str).collect();
    if ids.is_empty() {
        return Ok(());
    }
    write!(f, " [{}]", ids.join(", "))
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let none = Bindings::new();
        match &self.like {
            Some(like) => write!(f, "like {}: {}", like.describe(&none), self.is.describe(&none)),
            None => write!(f, "in number: {}", self.is.describe(&none)),
        }
    }
}

impl Condition {
    /// Returns the subject, with its place if it can be on several clusters: `Deployment deploy on origin`.
    pub fn subject(&self) -> String {
        let Self { on, of, .. } = self;
        match of {
            Subject::Object(_) | Subject::EventOf(_) => format!("{of} on {on}"),
            Subject::BindingOf(_)
            | Subject::BindingsOf(_)
            | Subject::WorkOf { .. }
            | Subject::Cluster(_)
            | Subject::NoticeOf(_)
            | Subject::NewsOf(_) => of.to_string(),
        }
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let none = Bindings::new();
        write!(f, "{} ", self.subject())?;
        match &self.expect {
            Expect::Present => f.write_str("is there"),
            Expect::Absent => f.write_str("is not there"),
            Expect::Match(pattern) => write!(f, "is like {}", pattern.describe(&none)),
            Expect::NoMatch(pattern) => write!(f, "is not like {}", pattern.describe(&none)),
            Expect::Count(count) => count.fmt(f),
        }
    }
}

impl SnapshotPart {
    /// Its name in cases.
    pub fn name(self) -> &'static str {
        match self {
            Self::Taints => "taints",
            Self::Binding => "binding",
            Self::Labels => "labels",
        }
    }
}

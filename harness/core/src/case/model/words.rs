//! Steps and conditions in words, as a plan prints them and a timeline keeps them.

use std::{collections::BTreeSet, fmt};

use super::{Assertion, Condition, Count, Expect, MetricAssertion, Mode, Sequence, SnapshotPart, Subject};
use crate::{names::RequirementId, pattern::Bindings};

impl fmt::Display for Assertion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "assert {}: {}", self.mode, self.condition)?;
        match (self.mode, self.within) {
            (_, Some(time)) => write!(f, " (within {} s)", time.as_secs_f64())?,
            (Mode::Eventually | Mode::Observed | Mode::FirstSeen, None) => {
                write!(f, " (phase {})", self.phase.name())?;
            }
            (Mode::Now | Mode::Consistently(_) | Mode::Never, None) => {}
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

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let none = Bindings::new();
        let Self { on, of, expect } = self;
        match of {
            Subject::Object(_) | Subject::EventOf(_) => write!(f, "{of} on {on} ")?,
            Subject::BindingOf(_)
            | Subject::BindingsOf(_)
            | Subject::WorkOf { .. }
            | Subject::Cluster(_)
            | Subject::NoticeOf(_)
            | Subject::NewsOf(_) => write!(f, "{of} ")?,
        }
        match expect {
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

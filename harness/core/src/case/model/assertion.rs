//! Conditions, and the times at which they must hold.

use std::{collections::BTreeSet, fmt, time::Duration};

use serde::Serialize;

use super::{Place, Subject};
use crate::{case::claims::Claims, names::RequirementId, pattern::Pattern};

/// Something that holds or does not.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Condition {
    /// Place.
    pub on: Place,
    /// Subject.
    pub of: Subject,
    /// Expectation that the subject must meet.
    pub expect: Expect,
}

/// Expectation about an object.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub enum Expect {
    /// `present: true`: it is there.
    Present,
    /// `absent: true`: it is not there.
    Absent,
    /// `match`: it is there and looks like this.
    Match(Pattern),
    /// `noMatch`: it does not look like this, or is not there.
    NoMatch(Pattern),
    /// `count`: so many of them look like this.
    Count(Count),
}

/// Number of objects that must match a pattern.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Count {
    /// `match`: what counts; all that are there, if absent.
    pub like: Option<Pattern>,
    /// `is`: what the number must be.
    pub is: Pattern,
}

/// Two things of which one must come before the other.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Sequence {
    /// Condition that must hold first.
    pub first: Condition,
    /// Condition that must hold later, for the first time.
    pub then: Condition,
    /// Requirements that are shown if the order is right.
    pub proves: BTreeSet<RequirementId>,
}

/// When something must hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Mode {
    /// `now`: at the moment of the step.
    Now,
    /// `eventually`: at some moment after the step began, in time.
    Eventually,
    /// `consistently`: at every moment of this time.
    Consistently(Duration),
    /// `observed`: of some revision since the run began, in time.
    Observed,
    /// `never`: of no revision from the run's beginning to its end.
    Never,
    /// `firstSeen`: of the first revision of the object that is there now (or comes in time).
    FirstSeen,
}

impl Mode {
    /// Time that it lets pass without waiting for the target.
    pub fn passes(self) -> Option<Duration> {
        match self {
            Self::Consistently(time) => Some(time),
            Self::Now | Self::Eventually | Self::Observed | Self::Never | Self::FirstSeen => None,
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Now => f.write_str("now"),
            Self::Eventually => f.write_str("eventually"),
            // A fast run divides periods; milliseconds are enough for a reader.
            Self::Consistently(time) => write!(f, "consistently for {} s", (time.as_secs_f64() * 1e3).round() / 1e3),
            Self::Observed => f.write_str("observed"),
            Self::Never => f.write_str("never"),
            Self::FirstSeen => f.write_str("first seen"),
        }
    }
}

/// An assertion.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Assertion {
    /// When it must hold.
    pub mode: Mode,
    /// Condition.
    pub condition: Condition,
    /// The phase whose timeout counts where the mode waits.
    pub phase: Phase,
    /// Time that the mode waits, instead of the phase's timeout.
    pub within: Option<Duration>,
    /// Requirements that are shown if it holds. If there are none, it states a precondition of the steps after it.
    pub proves: Claims,
}

/// The named phases of a migration; each has a timeout, which a target may change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Phase {
    /// Until a policy has led to a scheduling result.
    Schedule,
    /// Until a member's status is in the binding.
    Collect,
    /// From a taint to the eviction task.
    Evict,
    /// Until the old copy is gone.
    Purge,
    /// Until the new copy is there.
    Create,
    /// Until something is removed or tidied up.
    Clear,
}

impl Phase {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Schedule,
        Self::Collect,
        Self::Evict,
        Self::Purge,
        Self::Create,
        Self::Clear,
    ];

    /// Its name in cases.
    pub fn name(self) -> &'static str {
        match self {
            Self::Schedule => "schedule",
            Self::Collect => "collect",
            Self::Evict => "evict",
            Self::Purge => "purge",
            Self::Create => "create",
            Self::Clear => "clear",
        }
    }
}

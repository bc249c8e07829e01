//! Values of options.

use std::{fmt, num::NonZeroUsize, str::FromStr, time::Duration};

use baton_core::{
    case::model::MoveFault,
    scale::{
        kinds::{Kind, Shares},
        parameters::{Profile, Spread},
    },
    yaml::decode::parse_duration,
};
use thiserror::Error;

/// An error in the value of an option.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ValueError {
    /// The text is not a time.
    #[error("expected a time such as 60s or 5m")]
    Time,
    /// The time is too short.
    #[error("expected a second or more")]
    TooShort,
    /// The time is too long.
    #[error("expected a week or less")]
    TooLong,
    /// The text is not a number.
    #[error("expected a number, such as 2.5")]
    Number,
    /// The number is out of range.
    #[error("expected a number above 0 and up to {0}")]
    Range(u32),
    /// The text is not a whole number above 0.
    #[error("expected a whole number above 0")]
    Count,
    /// The text has no shares of kinds.
    #[error("expected shares of kinds, such as deployment=3,statefulset=1,flinkdeployment=1")]
    Shares,
    /// The name is unknown.
    #[error("expected one of {0}")]
    Name(String),
}

/// Reads shares of kinds. Kinds that are left out have none.
pub(crate) fn shares(text: &str) -> Result<Shares, ValueError> {
    let mut shares = Shares {
        deployments: 0,
        ..Shares::default()
    };
    for part in text.split(',') {
        let (name, share) = part.split_once('=').ok_or(ValueError::Shares)?;
        let mut kinds = Kind::ALL.into_iter();
        let kind = kinds.find(|kind| kind.name().eq_ignore_ascii_case(name.trim()));
        let share = share.trim().parse().map_err(|_| ValueError::Shares)?;
        shares.set(kind.ok_or(ValueError::Shares)?, share);
    }
    Ok(shares)
}

/// A value by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Named<T>(pub T);

/// A value with a name on the command line.
trait HasName: Copy + 'static {
    const EACH: &'static [Self];
    fn name_of(self) -> &'static str;
}

impl HasName for MoveFault {
    const EACH: &'static [Self] = &Self::ALL;

    fn name_of(self) -> &'static str {
        self.name()
    }
}

impl HasName for Profile {
    const EACH: &'static [Self] = &Self::ALL;

    fn name_of(self) -> &'static str {
        self.name()
    }
}

impl HasName for Spread {
    const EACH: &'static [Self] = &Self::ALL;

    fn name_of(self) -> &'static str {
        self.name()
    }
}

impl<T: HasName> fmt::Display for Named<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.name_of())
    }
}

impl<T: HasName> FromStr for Named<T> {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let found = T::EACH.iter().find(|it| it.name_of() == text);
        found.copied().map(Self).ok_or_else(|| {
            let names: Vec<_> = T::EACH.iter().map(|it| it.name_of()).collect();
            ValueError::Name(names.join(", "))
        })
    }
}

/// Parses a whole number above 0.
pub(super) fn at_least_one(text: &str) -> Result<NonZeroUsize, ValueError> {
    text.parse().map_err(|_| ValueError::Count)
}

/// Parses a time, such as 60s or 5m.
pub(super) fn duration(text: &str) -> Result<Duration, ValueError> {
    parse_duration(text).ok_or(ValueError::Time)
}

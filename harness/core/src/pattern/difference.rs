//! How a place differs from what was expected, in a word that is the same in all cases.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Kind of a difference: with requirement and field it tells one defect from another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum DifferenceKind {
    /// Something that was expected is absent.
    Missing,
    /// Something is present that was not expected.
    Unexpected,
    /// Something has another value than expected.
    Different,
    /// Something happened earlier than allowed.
    TooEarly,
    /// Something happened later than allowed.
    TooLate,
    /// Something that was waited for did not happen.
    Never,
    /// Two events happened in the wrong order.
    Order,
    /// The run did not get as far as a comparison: a program ended, or a step could not be carried out.
    Other,
}

impl DifferenceKind {
    /// All kinds.
    pub const ALL: [Self; 8] = [
        Self::Missing,
        Self::Unexpected,
        Self::Different,
        Self::TooEarly,
        Self::TooLate,
        Self::Never,
        Self::Order,
        Self::Other,
    ];

    /// Its name in reports and target files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::Unexpected => "unexpected",
            Self::Different => "different",
            Self::TooEarly => "tooEarly",
            Self::TooLate => "tooLate",
            Self::Never => "never",
            Self::Order => "order",
            Self::Other => "other",
        }
    }

    /// The names of all kinds.
    pub fn names() -> Vec<&'static str> {
        Self::ALL.map(Self::name).into()
    }
}

impl fmt::Display for DifferenceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Missing => "missing",
            Self::Unexpected => "unexpected",
            Self::Different => "different",
            Self::TooEarly => "too early",
            Self::TooLate => "too late",
            Self::Never => "never happened",
            Self::Order => "in the wrong order",
            Self::Other => "other",
        })
    }
}

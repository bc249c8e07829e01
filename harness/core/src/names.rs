//! Names, with a separate type for each kind, so that they cannot be mixed up.

use std::fmt;

use serde::{Deserialize, Serialize};

macro_rules! name {
    ($(#[$doc:meta])* $type:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $type(String);

        impl $type {
            /// Wraps a name without checking it. Names are checked where files are read.
            pub fn new(name: impl Into<String>) -> Self {
                Self(name.into())
            }

            /// Returns the name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }

        impl From<&str> for $type {
            fn from(name: &str) -> Self {
                Self::new(name)
            }
        }
    };
}

name! {
    /// A case's `metadata.name`: unique in a run, the name of its test and of its evidence.
    CaseId
}
name! {
    /// A cluster of a fleet: `control` for the control plane, otherwise the member's name.
    ClusterName
}
name! {
    /// A part that a member plays in a case, such as `origin` or `destination`.
    RoleName
}
name! {
    /// An entry of the catalogue of requirements, such as `REC-01`.
    RequirementId
}
name! {
    /// A capability that an implementation declares, such as `PurgeDirectly`.
    Feature
}
name! {
    /// A specification document that the catalogue cites, such as `SCF`.
    DocumentId
}

impl ClusterName {
    /// The name of the control plane in every timeline.
    pub const CONTROL: &'static str = "control";

    /// Returns the name of the control plane.
    pub fn control() -> Self {
        Self::new(Self::CONTROL)
    }

    /// Returns `true` for the control plane.
    pub fn is_control(&self) -> bool {
        self.0 == Self::CONTROL
    }
}

/// Returns the number in the name of a member. All fleets name their members `member1`, `member2`, …
pub fn number_of_member(name: &str) -> Option<usize> {
    let digits = name.strip_prefix("member")?;
    let number = digits.parse().ok().filter(|number| *number > 0)?;
    (format!("{number}") == digits).then_some(number)
}

//! Effects of commits.

/// The effect of a commit on its object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// The object was there before the tap was opened.
    Existing,
    /// The object is new.
    Added,
    /// The object was there before.
    Modified,
    /// The object is gone; the commit carries its last state.
    Deleted,
}

impl Change {
    /// Returns the `type` of a watch event.
    pub(crate) fn watch_type(self) -> &'static str {
        match self {
            Self::Existing | Self::Added => "ADDED",
            Self::Modified => "MODIFIED",
            Self::Deleted => "DELETED",
        }
    }
}

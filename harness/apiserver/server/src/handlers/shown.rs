//! Objects as an answer shows them.

use std::sync::Arc;

use serde_json::Value;

use crate::store::{Change, Stored, Text};

/// An object in an answer.
#[derive(Debug, Clone)]
pub(crate) enum Shown {
    /// In its stored form, with another version if needed.
    Stored(Arc<Stored>),
    /// Made for this answer, for example by a dry run or a conversion.
    Value(Arc<Value>),
}

impl Shown {
    pub(crate) fn value(&self) -> Arc<Value> {
        match self {
            Self::Stored(stored) => stored.value(),
            Self::Value(value) => value.clone(),
        }
    }

    /// Calls `look` with the object as JSON.
    pub(crate) fn with_text<T>(&self, look: impl FnOnce(&Text) -> T) -> T {
        match self {
            Self::Stored(stored) => look(stored.text()),
            Self::Value(value) => look(&Text::write(Change::Existing, value)),
        }
    }
}

//! A cache of facts about schemas: the servers of a process mostly serve the same kinds, and a definition is checked
//! when it is created, established and changed.

use std::collections::HashMap;
use std::sync::{LazyLock, PoisonError, RwLock};

use serde_json::Value;

/// Maximum number of remembered schemas; above it, all are forgotten. A process has a few dozen.
const MOST: usize = 256;

/// Facts about schemas, by the schema as written. A fact must depend on nothing else.
pub(super) struct Memory<T>(LazyLock<RwLock<HashMap<Value, T>>>);

impl<T: Clone> Memory<T> {
    /// Returns an empty cache.
    pub(super) const fn new() -> Self {
        Self(LazyLock::new(RwLock::default))
    }

    /// Returns the fact remembered about a schema.
    pub(super) fn of(&self, schema: &Value) -> Option<T> {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        known.get(schema).cloned()
    }

    /// Remembers a fact about a schema.
    pub(super) fn keep(&self, schema: &Value, found: T) {
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST {
            known.clear();
        }
        known.insert(schema.clone(), found);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_schema_is_known_by_all_that_it_says() {
        static MEMORY: Memory<u8> = Memory::new();
        MEMORY.keep(&json!({"type": "object", "properties": {"a": {"type": "string"}}}), 1);
        assert_eq!(
            MEMORY.of(&json!({"properties": {"a": {"type": "string"}}, "type": "object"})),
            Some(1)
        );
        assert_eq!(
            MEMORY.of(&json!({"properties": {"a": {"type": "integer"}}, "type": "object"})),
            None
        );
    }

    #[test]
    fn who_defines_more_and_more_kinds_does_not_fill_the_memory() {
        static MEMORY: Memory<()> = Memory::new();
        for number in 0..=MOST {
            MEMORY.keep(&json!({"maxLength": number}), ());
        }
        let known = (0..=MOST).filter(|number| MEMORY.of(&json!({"maxLength": number})).is_some());
        assert_eq!(known.collect::<Vec<_>>(), [MOST]);
    }
}

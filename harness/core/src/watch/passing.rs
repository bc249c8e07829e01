//! An eviction task that has come and gone: what was not seen of it by then will not be seen any more.

use serde_json::Value;

use crate::{
    pattern::{Bindings, Pattern, resolve},
    timeline::Change,
};

/// Follows the task that a pattern of a binding speaks of, from the last step that acted on.
#[derive(Debug)]
pub(super) struct Passing {
    /// `fromCluster`, with references.
    from: String,
    there: bool,
    came: bool,
}

impl Passing {
    /// Nothing if the pattern does not speak of one task.
    pub fn of(pattern: &Pattern) -> Option<Self> {
        Some(Self {
            from: task_from(pattern)?.to_owned(),
            there: false,
            came: false,
        })
    }

    /// Returns `true` if this revision of the binding no longer has the task. A task counts if it comes once the case has
    /// `acted`, that is, done what could lead to it.
    pub fn is_gone(&mut self, acted: bool, change: Change, binding: &Value, bindings: &Bindings) -> bool {
        let tasks = binding.pointer("/spec/gracefulEvictionTasks").and_then(Value::as_array);
        let from = resolve(&self.from, bindings);
        let is_it = |task: &Value| task.get("fromCluster").and_then(Value::as_str) == Some(from.as_str());
        let there = change != Change::Deleted && tasks.is_some_and(|tasks| tasks.iter().any(is_it));
        self.came |= acted && there && !self.there;
        self.there = there;
        self.came && !there
    }
}

/// `fromCluster` of the only task that a pattern of a binding has.
fn task_from(pattern: &Pattern) -> Option<&str> {
    let Pattern::Map(object) = pattern else { return None };
    let Pattern::Map(spec) = object.get("spec")? else {
        return None;
    };
    let (Pattern::Contains(tasks) | Pattern::Exactly(tasks)) = spec.get("gracefulEvictionTasks")? else {
        return None;
    };
    let [Pattern::Map(task)] = tasks.as_slice() else {
        return None;
    };
    match task.get("fromCluster")? {
        Pattern::Text(from) => Some(from),
        _ => None,
    }
}

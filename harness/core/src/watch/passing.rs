//! An eviction task that has come and gone: what was not seen of it by then will not be seen any more.

use serde_json::Value;

use crate::{
    pattern::{Bindings, Pattern, resolve},
    timeline::{Change, Entry, Event, Mark},
};

/// Follows the task that a pattern of a binding speaks of, from the last step that acted on.
#[derive(Debug)]
pub(super) struct Passing {
    /// `fromCluster`, with references.
    from: String,
    /// The step from whose beginning on it counts.
    act: usize,
    acted: bool,
    there: bool,
    came: bool,
}

impl Passing {
    /// Nothing if the pattern does not speak of one task, or nothing was done that could lead to it.
    pub fn of(pattern: &Pattern, act: Option<usize>) -> Option<Self> {
        Some(Self {
            from: task_from(pattern)?.to_owned(),
            act: act?,
            acted: false,
            there: false,
            came: false,
        })
    }

    pub fn take(&mut self, entry: &Entry) {
        if let Event::Mark(Mark::StepStarted { step, .. }) = &entry.event {
            self.acted |= *step == self.act;
        }
    }

    /// Returns `true` if this revision of the binding no longer has the task.
    pub fn is_gone(&mut self, change: Change, binding: &Value, bindings: &Bindings) -> bool {
        let tasks = binding.pointer("/spec/gracefulEvictionTasks").and_then(Value::as_array);
        let from = resolve(&self.from, bindings);
        let is_it = |task: &Value| task.get("fromCluster").and_then(Value::as_str) == Some(from.as_str());
        let there = change != Change::Deleted && tasks.is_some_and(|tasks| tasks.iter().any(is_it));
        self.came |= self.acted && there && !self.there;
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

//! Visible notices about a workload: warnings about it, and conditions of its binding.

use std::collections::BTreeSet;

use serde_json::Value;

use super::Standpoint;
use crate::{
    case::model::ObjectRef,
    plan::Since,
    select::{self, BINDING_KINDS},
    timeline::{Change, Entry, Event, Mark, ObjectId, Revision},
};

/// Conditions that every binding has. While they are true they speak of other things than of what holds something up.
const OF_EVERY_BINDING: [&str; 2] = ["Scheduled", "FullyApplied"];

/// Collects what can be seen from a step of the plan on.
#[derive(Debug)]
pub(super) struct Notices<'a> {
    workload: &'a ObjectRef,
    standpoint: Standpoint,
    /// Set if only Events count, and all of them.
    events: bool,
    /// Set once warnings count.
    warnings: bool,
    /// Set once new conditions count.
    conditions: bool,
    /// The conditions that were there before.
    known: BTreeSet<String>,
    /// Visible texts, each with its object.
    pub seen: Vec<(ObjectId, String)>,
}

impl<'a> Notices<'a> {
    pub fn of(workload: &'a ObjectRef, standpoint: Standpoint) -> Self {
        Self {
            workload,
            standpoint,
            events: false,
            warnings: standpoint.since.is_none(),
            conditions: standpoint.last_act.is_none(),
            known: BTreeSet::new(),
            seen: Vec::new(),
        }
    }

    /// Only Events, whatever their type.
    pub fn events_of(workload: &'a ObjectRef, standpoint: Standpoint) -> Self {
        Self {
            events: true,
            ..Self::of(workload, standpoint)
        }
    }

    /// Takes in an entry; whether it says something new.
    pub fn take(&mut self, entry: &Entry) -> bool {
        let before = self.seen.len();
        match &entry.event {
            Event::Mark(Mark::StepStarted { step, .. }) => {
                self.warnings |= self.standpoint.since == Some(Since::Began(*step));
                self.conditions |= self.standpoint.last_act == Some(*step);
            }
            Event::Mark(Mark::StepEnded { step, .. }) => {
                self.warnings |= self.standpoint.since == Some(Since::Ended(*step));
            }
            Event::Mark(_) => {}
            Event::Revision(revision) => self.look_at(revision),
        }
        self.seen.len() > before
    }

    fn look_at(&mut self, revision: &Revision) {
        let new = matches!(revision.change, Change::Added | Change::Modified);
        if revision.kind == "Event" {
            let warns = self.events || revision.object.get("type").and_then(Value::as_str) == Some("Warning");
            if self.warnings && new && warns && select::is_event_about(self.workload, &revision.object) {
                self.seen.push((ObjectId::of(revision), said(&revision.object, "type")));
            }
        } else if !self.events
            && BINDING_KINDS.contains(&revision.kind.as_str())
            && select::refers_to(revision.object.pointer("/spec/resource"), self.workload)
        {
            let there = conditions(&revision.object);
            if self.conditions {
                let new = there.difference(&self.known).cloned().collect::<Vec<_>>();
                let id = ObjectId::of(revision);
                self.seen.extend(new.into_iter().map(|text| (id.clone(), text)));
            }
            self.known.extend(there);
        }
    }
}

/// Returns the conditions of a binding, as texts without times.
fn conditions(binding: &Value) -> BTreeSet<String> {
    let conditions = binding.pointer("/status/conditions").and_then(Value::as_array);
    let telling = |condition: &&Value| {
        let text = |member: &str| condition.get(member).and_then(Value::as_str).unwrap_or_default();
        !(OF_EVERY_BINDING.contains(&text("type")) && text("status") == "True")
    };
    let all = conditions.into_iter().flatten().filter(telling);
    all.map(|condition| {
        let status = condition.get("status").and_then(Value::as_str).unwrap_or_default();
        format!("{status} {}", said(condition, "type"))
    })
    .collect()
}

/// Type, reason and message of an Event or a condition.
fn said(value: &Value, kind: &str) -> String {
    let text = |member: &str| value.get(member).and_then(Value::as_str).unwrap_or_default();
    let message = value.get("message").or_else(|| value.get("note"));
    let message = message.and_then(Value::as_str).unwrap_or_default();
    format!("{} {}: {message}", text(kind), text("reason"))
}

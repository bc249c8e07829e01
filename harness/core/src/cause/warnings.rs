//! Warnings as likely causes: the last one about the workload that a step waits for.

use serde_json::Value;

use super::{Cause, bindings, event_message, text};
use crate::{
    judge::Finding,
    timeline::{Change, Entry, Event, ObjectId, Revision, World},
    workload::Workload,
};

/// Words of warnings about two writers at once, of which one tries again.
const RACES: [&str; 3] = [
    "\" already exists",
    "the object has been modified",
    "Operation cannot be fulfilled",
];

/// Returns the last warning, unless it is about another workload than the finding.
pub(super) fn last(entries: &[Entry], world: &World, finding: Option<&Finding>) -> Option<Cause> {
    let object = finding.and_then(|finding| finding.object.as_ref());
    let workload = object.and_then(|id| workload_of(world, &id.into()));
    let mut warnings = entries.iter().rev().filter_map(|entry| match &entry.event {
        Event::Revision(Revision {
            kind, object, change, ..
        }) if *change != Change::Deleted && object["type"] == "Warning" => {
            let reason = text(object, "/reason").unwrap_or("without a reason");
            let message = event_message(kind, object)?;
            let is_race = RACES.iter().any(|words| message.contains(words));
            let about = about(object).and_then(|it| workload_of(world, &it));
            let is_of_another = workload
                .as_ref()
                .zip(about.as_ref())
                .is_some_and(|(one, other)| one != other);
            (!is_race && !is_of_another).then(|| Cause::new(format!("Warning {reason}"), message))
        }
        Event::Revision(_) | Event::Mark(_) => None,
    });
    warnings.next()
}

/// Returns the object that an Event is about.
fn about(event: &Value) -> Option<Workload> {
    // core/v1 and events.k8s.io/v1 name it differently.
    let object = ["involvedObject", "regarding"].iter().find_map(|it| event.get(it))?;
    Some(Workload::of_reference(object))
}

/// Returns the workload that an object is, or whose binding it is; `None` for other objects.
fn workload_of(world: &World, object: &Workload) -> Option<Workload> {
    let mut of_bindings = bindings(world).map(|(id, binding)| (id, Workload::of_binding(binding)));
    let is_it = |(id, workload): &(&ObjectId, Workload)| object == workload || object.includes(id);
    Some(of_bindings.find(is_it)?.1)
}

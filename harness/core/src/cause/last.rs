//! Causes of failures that nothing else explains: the last write of the implementation.

use super::Cause;
use crate::{
    judge::Finding,
    timeline::{Change, Entry, Event, HARNESS, Mark, ObjectId, Revision, StepEnd, Timeline},
};

/// Returns the last write before a timeout, which ends these entries.
pub(super) fn of_timeout(entries: &[Entry]) -> Cause {
    let text = match last_write(entries) {
        Some(write) => format!("the implementation wrote nothing that helps; its last write: {write}"),
        None => "the implementation wrote nothing at all".to_owned(),
    };
    Cause::new("nothing happens any more", text)
}

/// Returns what a finding of a step or an invariant comes from: the end of the implementation, a refusal, or the write that
/// it is about.
pub(super) fn of_finding(timeline: &Timeline, finding: &Finding) -> Cause {
    let entries = timeline.entries();
    let ended = timeline.marks().find_map(|(entry, mark)| match mark {
        Mark::TargetEnded { status, .. } => Some((entry, status)),
        _ => None,
    });
    if let Some((entry, status)) = ended {
        let write = last_write(&entries[..entries.partition_point(|it| it.seq < entry.seq)]);
        let write = write.map(|write| format!("; its last write: {write}"));
        let text = format!("the implementation ended: {status}{}", write.unwrap_or_default());
        return Cause::new("the implementation ends", text);
    }
    let at = entries.iter().find(|entry| entry.seq == finding.seq);
    if let Some(Event::Mark(Mark::StepEnded {
        end: StepEnd::Refused { message },
        ..
    })) = at.map(|entry| &entry.event)
    {
        return Cause::new("a request of the case is refused", message.clone());
    }
    if let Some(Event::Mark(Mark::Answered { refused_with: None, .. })) = at.map(|entry| &entry.event) {
        return Cause::new(finding.title.clone(), "neither a definition nor a webhook refuses it");
    }
    let write = last_write(&entries[..entries.partition_point(|it| it.seq <= finding.seq)]);
    let group = match &finding.field {
        Some(field) => format!("{}: {field}", finding.title),
        None => finding.title.clone(),
    };
    let text = match write {
        Some(write) => format!("the last write of the implementation until then: {write}"),
        None => "the implementation wrote nothing until then".to_owned(),
    };
    Cause::new(group, text)
}

/// Describes the last write of the implementation.
fn last_write(entries: &[Entry]) -> Option<String> {
    let (entry, revision) = entries.iter().rev().find_map(|entry| match &entry.event {
        Event::Revision(revision) if is_write(revision) => Some((entry, revision)),
        Event::Revision(_) | Event::Mark(_) => None,
    })?;
    let verb = match revision.change {
        Change::List | Change::Modified => "changed",
        Change::Added => "created",
        Change::Deleted => "deleted",
    };
    let by = revision.by.as_deref().map(|by| format!(" by {by}")).unwrap_or_default();
    let (id, at, seq) = (ObjectId::of(revision), entry.at.as_secs_f64(), entry.seq);
    Some(format!("{id} {verb}{by} at {at:.3} s, entry {seq}"))
}

/// Returns `true` for a write of another client than the harness. The status of nodes changes all the time.
fn is_write(revision: &Revision) -> bool {
    let is_harness = |by: &str| HARNESS.contains(&by);
    revision.change != Change::List && revision.kind != "Node" && !revision.by.as_deref().is_some_and(is_harness)
}

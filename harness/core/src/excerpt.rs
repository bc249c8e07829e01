//! The part of a timeline around a moment, one line per entry, for people.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::cause;
use crate::metrics::Sample;
use crate::timeline::{Change, Entry, Event, Mark, ObjectId, Revision, StepEnd, Timeline};

/// Entries shown before and after the moment.
const AROUND: usize = 8;

/// Returns the lines around the entry `seq`, which is marked with `>`.
pub fn around(timeline: &Timeline, seq: u64) -> Vec<String> {
    let entries = timeline.entries();
    let centre = entries.partition_point(|entry| entry.seq < seq);
    let from = centre.saturating_sub(AROUND);
    let to = (centre + AROUND + 1).min(entries.len());
    let mut before: BTreeMap<ObjectId, &Value> = BTreeMap::new();
    let mut lines = Vec::new();
    for (index, entry) in entries[..to].iter().enumerate() {
        if index >= from {
            let marker = if index == centre { '>' } else { ' ' };
            lines.push(format!("{marker} {}", line(entry, &before)));
        }
        if let Event::Revision(revision) = &entry.event {
            before.insert(ObjectId::of(revision), &revision.object);
        }
    }
    lines
}

fn line(entry: &Entry, before: &BTreeMap<ObjectId, &Value>) -> String {
    let (at, seq) = (entry.at.as_secs_f64(), entry.seq);
    match &entry.event {
        Event::Revision(revision) => {
            let id = ObjectId::of(revision);
            let verb = match revision.change {
                Change::List => "was there",
                Change::Added => "created",
                Change::Modified => "changed",
                Change::Deleted => "gone",
            };
            let before = before.get(&id).copied();
            let changed = changes(revision, before);
            let said = said(revision, before);
            format!(
                "{at:>9.3} {seq:>5}  {:<8} {} {} {verb}{changed}{said}",
                id.cluster, id.kind, id.name
            )
        }
        Event::Mark(mark) => format!("{at:>9.3} {seq:>5}  {}", words(mark)),
    }
}

/// Returns the message of an Event, or the changed conditions of another object.
fn said(revision: &Revision, before: Option<&Value>) -> String {
    let said = match revision.change {
        Change::List | Change::Deleted => Vec::new(),
        Change::Added | Change::Modified => match cause::event_message(&revision.kind, &revision.object) {
            Some(message) => vec![message],
            None => cause::condition_changes(before, &revision.object),
        },
    };
    said.iter().fold(String::new(), |text, line| text + "; " + line)
}

fn words(mark: &Mark) -> String {
    match mark {
        Mark::Begin(begin) => format!("-- {} begins", begin.case),
        Mark::StepStarted { step, text } => format!("-- step {}: {text}", step + 1),
        Mark::StepEnded { step, end } => match end {
            StepEnd::Done => format!("-- step {} done", step + 1),
            StepEnd::TimedOut { phase, waited_secs } => {
                format!("-- step {} timed out after {waited_secs} s (phase {phase})", step + 1)
            }
            StepEnd::TargetEnded => format!("-- step {} not ended: the target was gone", step + 1),
            StepEnd::HotLoop(hot) => format!("-- step {} not ended: {hot}", step + 1),
            StepEnd::Refused { message } => format!("-- step {} refused: {message}", step + 1),
            StepEnd::Unsupported { reason } => format!("-- step {} unsupported: {reason}", step + 1),
        },
        Mark::RoleBound { role, cluster } => format!("-- {cluster} is the {role}"),
        Mark::Captured { name, value } => format!("-- {name} = {value}"),
        Mark::Started { runs: true, .. } => "-- the controller starts with another set-up".to_owned(),
        Mark::Started { runs: false, .. } => "-- the controller refuses another set-up".to_owned(),
        Mark::Ran { exit: Some(code), .. } => format!("-- the command exits with {code}"),
        Mark::Ran { exit: None, .. } => "-- the command is ended by a signal".to_owned(),
        Mark::Answered {
            refused_with: Some(code),
            message,
        } => format!("-- refused with {code}: {message}"),
        Mark::Answered { refused_with: None, .. } => "-- accepted".to_owned(),
        Mark::Scraped { samples } => format!("-- metrics: {}", listed(samples)),
        Mark::Fence { cluster, revision, .. } => format!("-- {cluster} is at revision {revision}"),
        Mark::Moved { text, .. } => format!("-- move: {text}"),
        Mark::TargetEnded { status, .. } => format!("-- the target ended unexpectedly: {status}"),
        Mark::CleanUp => "-- clean-up".to_owned(),
        Mark::CleanedUp { .. } => "-- cleaned up".to_owned(),
        Mark::Writers(agents) => {
            let agents: Vec<&str> = agents.iter().map(String::as_str).collect();
            format!("-- the target writes as {}", agents.join(", "))
        }
        Mark::Closed { .. } => "-- end".to_owned(),
        Mark::Note { about, .. } => format!("-- {about}"),
    }
}

/// Returns the values of metrics.
fn listed(samples: &[Sample]) -> String {
    let values: Vec<_> = samples.iter().map(|it| format!("{} {}", it.name, it.value)).collect();
    if values.is_empty() {
        "none of this name".to_owned()
    } else {
        values.join(", ")
    }
}

/// Returns the changed paths, two levels deep: enough to see the subject of a revision.
fn changes(revision: &Revision, before: Option<&Value>) -> String {
    let (Change::Modified, Some(before)) = (revision.change, before) else {
        return String::new();
    };
    let mut paths = Vec::new();
    for (key, value) in members(&revision.object).chain(members(before)) {
        let old = before.get(key);
        let new = revision.object.get(key);
        if old == new {
            continue;
        }
        for (inner, _) in members(value) {
            let differs = old.and_then(|it| it.get(inner)) != new.and_then(|it| it.get(inner));
            let path = format!("{key}.{inner}");
            if differs && inner != "resourceVersion" && !paths.contains(&path) {
                paths.push(path);
            }
        }
    }
    if paths.is_empty() {
        String::new()
    } else {
        format!(": {}", paths.join(", "))
    }
}

fn members(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

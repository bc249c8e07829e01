//! The part of a timeline around a moment, one line per entry, for people. Earlier restarts, taints and eviction tasks
//! are shown, too: most findings about a failover cannot be understood without them.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::cause;
use crate::metrics::Sample;
use crate::select::BINDING_KINDS;
use crate::timeline::{Change, Entry, Event, Mark, ObjectId, Revision, StepEnd, Timeline};

/// Entries shown before and after the moment.
const AROUND: usize = 8;

/// Earlier restarts, taints and tasks that are shown, at most; the latest ones.
const LANDMARKS: usize = 10;

/// Line between entries that do not follow each other.
const GAP: &str = "      …";

/// Returns the lines around the entry `seq`, which is marked with `>`, after those of earlier restarts, taints and tasks.
pub fn around(timeline: &Timeline, seq: u64) -> Vec<String> {
    let entries = timeline.entries();
    let centre = entries.partition_point(|entry| entry.seq < seq);
    let from = centre.saturating_sub(AROUND);
    let to = (centre + AROUND + 1).min(entries.len());
    let mut before: BTreeMap<ObjectId, &Value> = BTreeMap::new();
    let (mut earlier, mut lines) = (Vec::new(), Vec::new());
    for (index, entry) in entries[..to].iter().enumerate() {
        if index >= from {
            let marker = if index == centre { '>' } else { ' ' };
            lines.push(format!("{marker} {}", line(entry, &before)));
        } else if is_landmark(entry, &before) {
            earlier.push(format!("  {}", line(entry, &before)));
        }
        if let Event::Revision(revision) = &entry.event {
            before.insert(ObjectId::of(revision), &revision.object);
        }
    }
    let mut shown = earlier.split_off(earlier.len().saturating_sub(LANDMARKS));
    if !shown.is_empty() {
        shown.push(GAP.to_owned());
    }
    shown.append(&mut lines);
    shown
}

/// Returns `true` for an entry that begins or ends a situation: a start or an end of the target, a fault at one of its
/// writes, a change of taints, or a change of eviction tasks.
fn is_landmark(entry: &Entry, before: &BTreeMap<ObjectId, &Value>) -> bool {
    let revision = match &entry.event {
        Event::Mark(Mark::Started { .. } | Mark::TargetEnded { .. } | Mark::Moved { .. }) => return true,
        Event::Mark(Mark::StepStarted { text, .. }) => return is_about_target(text),
        Event::Mark(_) => return false,
        Event::Revision(revision) => revision,
    };
    let list = if revision.kind == "Cluster" {
        "/spec/taints"
    } else if BINDING_KINDS.contains(&revision.kind.as_str()) {
        "/spec/gracefulEvictionTasks"
    } else {
        return false;
    };
    let items = |object: &Value| {
        object
            .pointer(list)
            .and_then(Value::as_array)
            .cloned()
            .unwrap_or_default()
    };
    let old = before.get(&ObjectId::of(revision)).map(|object| items(object));
    revision.change != Change::Deleted && items(&revision.object) != old.unwrap_or_default()
}

/// Returns `true` for the text of a step that starts, stops or restarts the target.
fn is_about_target(step: &str) -> bool {
    let words = ["start", "stop", "restart", "crash"];
    step.contains("the controller") && words.iter().any(|word| step.starts_with(word))
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
            StepEnd::GivenUp { waited_secs, as_in, .. } => {
                format!("-- step {} ended early after {waited_secs} s, as in {as_in}", step + 1)
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

#[cfg(test)]
mod tests {
    use std::{sync::Arc, time::Duration};

    use serde_json::json;

    use super::*;
    use crate::names::ClusterName;

    #[test]
    fn earlier_restarts_taints_and_tasks_are_shown() {
        let revision = |kind: &str, object: Value| {
            Event::Revision(Revision {
                cluster: ClusterName::control(),
                kind: kind.to_owned(),
                change: Change::Modified,
                object: Arc::new(object),
                by: None,
            })
        };
        let step = |text: &str| {
            Event::Mark(Mark::StepStarted {
                step: 0,
                text: text.to_owned(),
            })
        };
        let tainted =
            json!({"metadata": {"name": "member1"}, "spec": {"taints": [{"key": "k", "effect": "NoExecute"}]}});
        let with_task =
            json!({"metadata": {"name": "b"}, "spec": {"gracefulEvictionTasks": [{"fromCluster": "member1"}]}});
        let mut events = vec![
            revision("Cluster", json!({"metadata": {"name": "member1"}, "spec": {}})),
            revision("Cluster", tainted.clone()),
            revision("Cluster", tainted),
            revision("ResourceBinding", with_task),
            step("stop the controller"),
            step("start the controller"),
        ];
        let landmarks = events.len();
        events.extend((0..40).map(|number| step(&format!("elapse {number}"))));
        let entries = (1..).zip(events).map(|(seq, event)| Entry {
            at: Duration::ZERO,
            seq,
            event,
        });
        let timeline = Timeline::new(entries.collect()).unwrap();
        let lines = around(&timeline, 30);
        let earlier: Vec<_> = lines.iter().take_while(|line| *line != GAP).collect();
        assert_eq!(earlier.len(), landmarks - 2, "{lines:#?}");
        assert!(
            earlier[0].contains("Cluster member1") && earlier[0].contains("changed"),
            "{earlier:#?}"
        );
        assert_eq!(lines.len(), earlier.len() + 1 + 2 * AROUND + 1);
        assert!(lines[earlier.len() + 1 + AROUND].starts_with('>'));
        assert!(!around(&timeline, 3).contains(&GAP.to_owned()), "nothing came before");
    }
}

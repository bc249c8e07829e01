//! The cost of a migration: its duration, and the writes that the target made.

use std::time::Duration;

use crate::{
    judge::failovers::{self, Task},
    timeline::{Change, Entry, Event, ObjectId, Revision, Timeline},
};

/// One migration, from the taint to the first revision of the new copy.
#[derive(Debug, Clone, PartialEq)]
pub struct Migration {
    /// Duration from the taint to the new copy, by the clusters' clock.
    pub time: Duration,
    /// Writes of the target on all clusters in that time, in order: `(user agent, request)`. Writes of the harness and
    /// of the clusters are left out. The creation of the new copy comes last. Empty if the clusters do not report the
    /// writer.
    pub writes: Vec<(String, String)>,
}

/// Returns the first migration of a timeline, if there is one.
///
/// `own` lists the user agents that do not belong to the target.
pub fn first_migration(timeline: &Timeline, own: &[&str]) -> Option<Migration> {
    let entries = timeline.entries();
    let tasks = failovers::tasks(entries);
    let task = tasks.first()?;
    let taint = entries
        .iter()
        .rposition(|entry| entry.seq < task.written.seq && is_taint(entry, task))?;
    let created = entries
        .iter()
        .position(|entry| entry.seq > task.written.seq && is_new_copy(entry, task))?;
    let between = entries.get(taint + 1..=created)?;
    let writes = between.iter().filter_map(|entry| match &entry.event {
        Event::Revision(revision) => {
            let by = revision.by.clone().filter(|by| !own.contains(&by.as_str()))?;
            Some((by, what(revision)))
        }
        Event::Mark(_) => None,
    });
    Some(Migration {
        time: entries[created].at.saturating_sub(entries[taint].at),
        writes: writes.collect(),
    })
}

fn is_taint(entry: &Entry, task: &Task) -> bool {
    match &entry.event {
        Event::Revision(revision) => {
            revision.kind == "Cluster"
                && ObjectId::of(revision).name == task.from.as_str()
                && revision.object.pointer("/spec/taints/0").is_some()
        }
        Event::Mark(_) => false,
    }
}

fn is_new_copy(entry: &Entry, task: &Task) -> bool {
    match &entry.event {
        Event::Revision(revision) => {
            let elsewhere = !revision.cluster.is_control() && revision.cluster != task.from;
            revision.change == Change::Added && elsewhere && task.is_copy(&ObjectId::of(revision))
        }
        Event::Mark(_) => false,
    }
}

fn what(revision: &Revision) -> String {
    let verb = match revision.change {
        Change::List => "list",
        Change::Added => "create",
        Change::Modified => "change",
        Change::Deleted => "delete",
    };
    format!("{verb} {} on {}", revision.kind, revision.cluster)
}

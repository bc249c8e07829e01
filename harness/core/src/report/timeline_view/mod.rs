//! A timeline as swim lanes: a lane a cluster, and one for the case; the events on each, and the windows without a copy
//! of a workload, or one too many.
//!
//! - [`TimelineView::of`]: selects the events; `words`: describes an entry; `windows`: no copy, two copies.
//!
//! The view shows only entries that concern a failover: taints, bindings and their tasks, Works, templates and copies.
//! It counts the others, which are on the timeline.

mod windows;
mod words;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use serde::Serialize;
use serde_json::Value;

use super::difference::{self, Changed};
use crate::{
    cause,
    judge::failovers::{self, Task},
    names::ClusterName,
    select::BINDING_KINDS,
    timeline::{Change, Entry, Event, Mark, ObjectId, Revision, StepEnd, Timeline},
    workload::Workload,
};

pub use windows::{Window, WindowKind};
pub use words::What;

/// The view of a timeline.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TimelineView {
    /// The lanes, from left to right.
    pub lanes: Vec<Lane>,
    /// Events, in order.
    pub events: Vec<Drawn>,
    /// Windows without a copy, or with one too many.
    pub windows: Vec<Window>,
    /// Probable cause of a timeout, if the timeline points to one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub likely_cause: Option<String>,
    /// Number of entries that are not drawn.
    pub left_out: usize,
}

/// A lane.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Lane {
    /// Heading: the case, the control plane, or the name of a member.
    pub name: String,
    /// Roles of the member.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<String>,
}

/// A shown event.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Drawn {
    /// Time, in seconds since the timeline began.
    pub at: f64,
    /// Number of the entry on the timeline.
    pub entry: u64,
    /// Number of the lane, from 0.
    pub lane: usize,
    /// Kind of the event.
    pub what: What,
    /// Description of the event.
    pub text: String,
    /// Object that the event is about, if any.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub object: String,
    /// Writer, where the cluster reports it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Changed fields; at most [`MOST_CHANGES`].
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<Changed>,
    /// Number of changes that are left out.
    #[serde(skip_serializing_if = "is_zero")]
    pub more: usize,
    /// Findings at this event, numbered from 0.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<usize>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks with a reference")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// Maximum number of changes shown for one revision.
pub const MOST_CHANGES: usize = 16;

/// Maximum number of events; findings are always shown.
pub const MOST_EVENTS: usize = 400;

/// Fields of an Event that are shown as changes, in core/v1 and events.k8s.io/v1.
const EVENT_FIELDS: [&str; 8] = [
    "count",
    "involvedObject.kind",
    "involvedObject.name",
    "involvedObject.namespace",
    "regarding.kind",
    "regarding.name",
    "regarding.namespace",
    "series.count",
];

/// State while a timeline is walked through.
struct Walk<'a> {
    workloads: BTreeSet<Workload>,
    /// Labels that a task preserves. The view names them when a copy appears.
    preserved: BTreeSet<&'a str>,
    tasks: &'a [Task],
    lanes: BTreeMap<ClusterName, usize>,
    before: BTreeMap<ObjectId, Arc<Value>>,
    drawn: Vec<Drawn>,
    windows: windows::Windows,
    left_out: usize,
}

impl TimelineView {
    /// Builds the view of a timeline up to its clean-up; `findings` are the entries at which the judge found something.
    pub fn of(timeline: &Timeline, findings: &[u64]) -> Self {
        let entries = timeline.entries();
        let tasks = failovers::tasks(entries);
        let (mut lanes, places) = lanes(entries);
        let mut walk = Walk {
            workloads: workloads(entries),
            preserved: tasks
                .iter()
                .flat_map(|task| task.state.keys().map(String::as_str))
                .collect(),
            tasks: &tasks,
            lanes: places,
            before: BTreeMap::new(),
            drawn: Vec::new(),
            windows: windows::Windows::default(),
            left_out: 0,
        };
        for entry in entries {
            if entry.event == Event::Mark(Mark::CleanUp) {
                break;
            }
            let here: Vec<usize> = (0..findings.len())
                .filter(|index| findings[*index] == entry.seq)
                .collect();
            match &entry.event {
                Event::Revision(revision) => walk.revision(entry, revision, here),
                Event::Mark(mark) => walk.mark(entry, mark, here, &mut lanes),
            }
        }
        Self {
            lanes,
            windows: walk.windows.finish(&walk.drawn),
            events: walk.drawn,
            likely_cause: cause::of_timeout(timeline).map(|cause| cause.text),
            left_out: walk.left_out,
        }
    }
}

/// Returns the lanes of the case, the control plane and the members, and the lane of each cluster.
fn lanes(entries: &[Entry]) -> (Vec<Lane>, BTreeMap<ClusterName, usize>) {
    let mut members: BTreeSet<ClusterName> = BTreeSet::new();
    let mut with_case = false;
    for entry in entries {
        match &entry.event {
            Event::Mark(Mark::Begin(begin)) => {
                with_case = true;
                members.extend(begin.members.iter().cloned());
            }
            Event::Revision(revision) if !revision.cluster.is_control() => {
                members.insert(revision.cluster.clone());
            }
            Event::Mark(_) | Event::Revision(_) => {}
        }
    }
    let lane = |name: &str| Lane {
        name: name.to_owned(),
        roles: Vec::new(),
    };
    let mut lanes: Vec<Lane> = with_case.then(|| lane("case")).into_iter().collect();
    let mut places = BTreeMap::new();
    for cluster in std::iter::once(ClusterName::control()).chain(members) {
        places.insert(cluster.clone(), lanes.len());
        lanes.push(lane(cluster.as_str()));
    }
    (lanes, places)
}

/// Returns all workloads of bindings.
fn workloads(entries: &[Entry]) -> BTreeSet<Workload> {
    let mut found = BTreeSet::new();
    for entry in entries {
        if let Event::Revision(revision) = &entry.event
            && BINDING_KINDS.contains(&revision.kind.as_str())
        {
            found.extend(words::workload_of(&revision.object));
        }
    }
    found
}

impl Walk<'_> {
    fn revision(&mut self, entry: &Entry, revision: &Revision, findings: Vec<usize>) {
        let id = ObjectId::of(revision);
        let before = self.before.get(&id).cloned();
        let said = self.say(&id, revision, before.as_deref());
        let full = self.drawn.len() >= MOST_EVENTS;
        let said = match said {
            Some(said) if !full => Some(said),
            Some(_) | None if findings.is_empty() => None,
            other => Some(other.unwrap_or_else(|| words::plainly(&id, revision))),
        };
        if let Some((what, text)) = said {
            let mut changes = difference::between(before.as_deref(), Some(&revision.object));
            if id.kind == "Event" {
                // The text of an Event is drawn; of its fields, only its object and its count add to that.
                changes.retain(|Changed(path, ..)| EVENT_FIELDS.contains(&path.as_str()));
            }
            let more = changes.len().saturating_sub(MOST_CHANGES);
            changes.truncate(MOST_CHANGES);
            self.drawn.push(Drawn {
                at: secs(entry),
                entry: entry.seq,
                lane: self.lanes.get(&id.cluster).copied().unwrap_or_default(),
                what,
                text,
                object: id.to_string(),
                by: revision.by.clone(),
                changes,
                more,
                findings,
            });
        } else {
            self.left_out += 1;
        }
        if let Some(index) = self.drawn.len().checked_sub(1) {
            self.windows.step(index, entry, revision, &id, self.tasks);
        }
        if revision.change == Change::Deleted {
            self.before.remove(&id);
        } else {
            self.before.insert(id, Arc::clone(&revision.object));
        }
    }

    fn mark(&mut self, entry: &Entry, mark: &Mark, findings: Vec<usize>, lanes: &mut [Lane]) {
        if let Mark::RoleBound { role, cluster } = mark
            && let Some(lane) = self.lanes.get(cluster).and_then(|place| lanes.get_mut(*place))
            && !lane.roles.iter().any(|known| known == role.as_str())
        {
            lane.roles.push(role.to_string());
        }
        let said = match mark {
            Mark::StepStarted { step, text } => Some((What::Step, format!("{}. {text}", step + 1))),
            Mark::StepEnded { step, end } => match end {
                StepEnd::Done | StepEnd::TargetEnded => None,
                StepEnd::TimedOut { phase, waited_secs } => Some((
                    What::Failed,
                    format!("step {} timed out after {waited_secs} s (phase {phase})", step + 1),
                )),
                StepEnd::GivenUp { as_in, .. } => {
                    Some((What::Failed, format!("step {} ended early, as in {as_in}", step + 1)))
                }
                StepEnd::HotLoop(hot) => Some((What::Failed, format!("step {} not ended: {hot}", step + 1))),
                StepEnd::Refused { message } => Some((What::Failed, format!("step {} refused: {message}", step + 1))),
                StepEnd::Unsupported { reason } => {
                    Some((What::Failed, format!("step {} unsupported: {reason}", step + 1)))
                }
            },
            Mark::RoleBound { role, cluster } => Some((What::Step, format!("{cluster} is the {role}"))),
            Mark::Captured { name, value } => Some((What::Step, format!("{name} = {value}"))),
            Mark::Started { runs, said } => {
                let outcome = if *runs { "started" } else { "refused to start" };
                Some((What::Step, format!("the controller {outcome}: {}", said.join("; "))))
            }
            Mark::Ran { exit, said } => {
                let outcome = exit.map_or_else(
                    || "was ended by a signal".to_owned(),
                    |code| format!("exited with {code}"),
                );
                Some((What::Step, format!("the command {outcome}: {}", said.join("; "))))
            }
            Mark::Answered { refused_with, message } => {
                let text = refused_with.map_or_else(
                    || "it was accepted".to_owned(),
                    |code| format!("it was refused with {code}: {message}"),
                );
                Some((What::Step, text))
            }
            Mark::TargetEnded { status, .. } => {
                Some((What::Failed, format!("the target ended unexpectedly: {status}")))
            }
            Mark::Moved { text, .. } => Some((What::Step, format!("move: {text}"))),
            Mark::Note { about, .. } => Some((What::Step, about.clone())),
            Mark::Begin(_)
            | Mark::Writers(_)
            | Mark::Fence { .. }
            | Mark::Scraped { .. }
            | Mark::CleanUp
            | Mark::CleanedUp { .. }
            | Mark::Closed { .. } => None,
        };
        let Some((what, text)) = said else { return };
        self.drawn.push(Drawn {
            at: secs(entry),
            entry: entry.seq,
            lane: 0,
            what,
            text,
            object: String::new(),
            by: None,
            changes: Vec::new(),
            more: 0,
            findings,
        });
    }
}

fn secs(entry: &Entry) -> f64 {
    (entry.at.as_secs_f64() * 1e3).round() / 1e3
}

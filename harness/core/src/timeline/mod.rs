//! The timeline: everything that happened on every cluster of a fleet, in one order.
//!
//! It is the only thing that crosses from I/O to judgement. Observers append [`Revision`]s, the runner appends
//! [`Mark`]s; once it is closed it is judged, now or years later: it is written as JSON lines (`wire`) in the
//! format of recordings, so that a recording of a real implementation is a timeline without marks.
//!
//! [`World`] is the state of all clusters at one moment of a timeline.

mod mark;
mod provenance;
mod wire;
mod world;

use std::{sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::names::{CaseId, ClusterName, RoleName};

pub use mark::{Begin, Cause, DEFAULT_NAMESPACE, HotLoop, Mark, Order, StepEnd};
pub use provenance::Provenance;
pub use wire::TimelineError;
pub use world::{ObjectId, World};

/// The user agents of the harness itself, and of the clusters' own parts: what others write is the target's.
pub const HARNESS: [&str; 5] = [
    "baton",
    "baton-simulator",
    "baton-fleet",
    "generic-garbage-collector",
    "",
];

/// The user agent of the clusters' own garbage collector.
pub const GARBAGE_COLLECTOR: &str = HARNESS[3];

/// The user agent of the harness's hands: what the steps of a case do.
pub const HANDS: &str = HARNESS[0];

/// Type of a revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Change {
    /// It was there when the observer began to look.
    List,
    /// It was created.
    Added,
    /// It was changed.
    Modified,
    /// It is gone from the cluster's API; the object is what it last was.
    Deleted,
}

/// One revision of one object on one cluster.
#[derive(Debug, Clone, PartialEq)]
pub struct Revision {
    /// The cluster it was seen on.
    pub cluster: ClusterName,
    /// The object's kind.
    pub kind: String,
    /// Type of the change.
    pub change: Change,
    /// The object as the API gave it, without `managedFields`.
    pub object: Arc<Value>,
    /// The writer (the user agent of the request), if the cluster reports it.
    pub by: Option<String>,
}

/// Content of a line of a timeline.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// Something happened on a cluster.
    Revision(Revision),
    /// The runner did something, or came to know something.
    Mark(Mark),
}

/// One line of a timeline.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// Time since the timeline began.
    pub at: Duration,
    /// Position in the single order of the whole fleet. Strictly ascending.
    pub seq: u64,
    /// The event.
    pub event: Event,
}

/// Everything that happened, in order.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Timeline {
    entries: Vec<Entry>,
}

impl Timeline {
    /// A timeline of entries that are in order already.
    ///
    /// # Errors
    /// [`TimelineError::Order`] if an entry does not come after the one before it.
    pub fn new(entries: Vec<Entry>) -> Result<Self, TimelineError> {
        let mut timeline = Self::default();
        for entry in entries {
            timeline.push(entry)?;
        }
        Ok(timeline)
    }

    /// Appends an entry. Its time is kept to the microsecond, as it is written: what is judged while it is new is
    /// judged the same when it has been read again.
    ///
    /// # Errors
    /// [`TimelineError::Order`] if its `seq` is not greater than that of the last one.
    pub fn push(&mut self, mut entry: Entry) -> Result<(), TimelineError> {
        if let Some(last) = self.entries.last()
            && entry.seq <= last.seq
        {
            return Err(TimelineError::Order {
                line: self.entries.len() + 1,
                seq: entry.seq,
                last: last.seq,
            });
        }
        entry.at = wire::rounded(entry.at);
        self.entries.push(entry);
        Ok(())
    }

    /// All entries, in order.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Returns `true` if the timeline has its end: the runner ends each with the mark [`Mark::Closed`].
    pub fn is_closed(&self) -> bool {
        self.marks().any(|(_, mark)| matches!(mark, Mark::Closed { .. }))
    }

    /// Number of the first line, from 1, before which entries are missing. The runner numbers all entries of a run from 1.
    pub fn gap(&self) -> Option<usize> {
        let mut numbered = (1..).zip(&self.entries);
        let (expected, _) = numbered.find(|(expected, entry)| entry.seq != *expected)?;
        usize::try_from(expected).ok()
    }

    /// All revisions with their entries, in order.
    pub fn revisions(&self) -> impl DoubleEndedIterator<Item = (&Entry, &Revision)> {
        self.entries.iter().filter_map(|entry| match &entry.event {
            Event::Revision(revision) => Some((entry, revision)),
            Event::Mark(_) => None,
        })
    }

    /// All marks with their entries, in order.
    pub fn marks(&self) -> impl DoubleEndedIterator<Item = (&Entry, &Mark)> {
        self.entries.iter().filter_map(|entry| match &entry.event {
            Event::Mark(mark) => Some((entry, mark)),
            Event::Revision(_) => None,
        })
    }

    /// Returns the run to which the timeline belongs; `None` for recordings.
    pub fn begin(&self) -> Option<&Begin> {
        self.marks().find_map(|(_, mark)| match mark {
            Mark::Begin(begin) => Some(begin),
            _ => None,
        })
    }

    /// The same, as one that comes from this run; a recording stays as it is.
    #[must_use]
    pub fn with_provenance(mut self, provenance: Provenance) -> Self {
        if let Some(begin) = self.begin_mut() {
            begin.provenance = Some(Box::new(provenance));
        }
        self
    }

    /// The same, as one of a case with this name; a recording stays as it is.
    #[must_use]
    pub fn of_case(mut self, case: CaseId) -> Self {
        if let Some(begin) = self.begin_mut() {
            begin.case = case;
        }
        self
    }

    fn begin_mut(&mut self) -> Option<&mut Begin> {
        self.entries.iter_mut().find_map(|entry| match &mut entry.event {
            Event::Mark(Mark::Begin(begin)) => Some(begin),
            Event::Mark(_) | Event::Revision(_) => None,
        })
    }

    /// The member that plays a role, once it has been bound.
    pub fn role(&self, role: &RoleName) -> Option<&ClusterName> {
        self.marks().find_map(|(_, mark)| match mark {
            Mark::RoleBound { role: bound, cluster } if bound == role => Some(cluster),
            _ => None,
        })
    }
}

//! Windows without a copy of a workload on any member, or with one more than its binding names clusters.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::{Drawn, words};
use crate::{
    judge::failovers::{self, Task},
    names::ClusterName,
    select::BINDING_KINDS,
    timeline::{Change, Entry, ObjectId, Revision},
    workload::Workload,
};

/// Kind of a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum WindowKind {
    /// No member holds a copy.
    NoCopy,
    /// More members hold a copy than the workload is scheduled to.
    TwoCopies,
    /// More members hold a copy, while a task lets the old copy wait for the new one.
    TwoCopiesGracefully,
}

/// A part of the timeline, from one drawn event to another.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Window {
    /// Kind of the window.
    pub kind: WindowKind,
    /// The workload.
    pub workload: String,
    /// Index of the shown event that began the window.
    pub from: usize,
    /// Index of the shown event that ended it; `None` if it lasted to the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<usize>,
    /// Duration in seconds.
    pub secs: f64,
}

/// State of one workload.
#[derive(Default)]
struct State {
    holders: BTreeSet<ClusterName>,
    result: BTreeSet<ClusterName>,
    /// Set if there ever was a copy, and the template still asks for one.
    wanted: bool,
    open: Option<(WindowKind, usize)>,
}

#[derive(Default)]
pub(super) struct Windows {
    states: BTreeMap<Workload, State>,
    closed: Vec<(Workload, WindowKind, usize, Option<usize>)>,
}

impl Windows {
    /// Adds a revision; `index` is the shown event at this moment.
    pub(super) fn step(&mut self, index: usize, entry: &Entry, revision: &Revision, id: &ObjectId, tasks: &[Task]) {
        let is_binding = BINDING_KINDS.contains(&revision.kind.as_str());
        let workload = if is_binding {
            let Some(workload) = words::workload_of(&revision.object) else {
                return;
            };
            self.states.entry(workload.clone()).or_default();
            workload
        } else {
            Workload::from(id)
        };
        let gone = revision.change == Change::Deleted;
        if !is_binding && !tasks.iter().any(|task| task.is_copy(id)) && !self.states.contains_key(&workload) {
            return;
        }
        let state = self.states.entry(workload.clone()).or_default();
        if is_binding {
            state.result = if gone {
                BTreeSet::new()
            } else {
                failovers::result_of(&revision.object)
            };
        } else if id.cluster.is_control() {
            state.wanted = !gone && (state.wanted || !state.holders.is_empty());
        } else if gone {
            state.holders.remove(&id.cluster);
        } else {
            state.holders.insert(id.cluster.clone());
            state.wanted = true;
        }
        let mut pending = tasks
            .iter()
            .filter(|task| task.is_pending_at(entry.seq) && Workload::from(&task.workload) == workload);
        // A window that began gracefully ends gracefully, although the task is cleared before the old copy is gone.
        let began = state
            .open
            .is_some_and(|(kind, _)| kind == WindowKind::TwoCopiesGracefully);
        let now = state.kind(began || pending.any(|task| !task.is_directly()));
        if now != state.open.map(|(kind, _)| kind) {
            if let Some((kind, from)) = state.open.take() {
                self.closed.push((workload.clone(), kind, from, Some(index)));
            }
            state.open = now.map(|kind| (kind, index));
        }
    }

    /// Returns all windows, by their beginning.
    pub(super) fn finish(mut self, drawn: &[Drawn]) -> Vec<Window> {
        for (workload, state) in self.states {
            if let Some((kind, from)) = state.open {
                self.closed.push((workload, kind, from, None));
            }
        }
        let at = |index: usize| drawn.get(index).map(|it| it.at).unwrap_or_default();
        let last = drawn.len().saturating_sub(1);
        let mut windows: Vec<Window> = self
            .closed
            .into_iter()
            .map(|(workload, kind, from, to)| Window {
                kind,
                workload: format!("{} {}", workload.kind, workload.name),
                from,
                to,
                secs: ((at(to.unwrap_or(last)) - at(from)) * 1e3).round() / 1e3,
            })
            .collect();
        windows.sort_by_key(|window| window.from);
        windows
    }
}

impl State {
    fn kind(&self, gracefully: bool) -> Option<WindowKind> {
        let allowed = self.result.len().max(1);
        if self.holders.len() > allowed {
            let kind = if gracefully {
                WindowKind::TwoCopiesGracefully
            } else {
                WindowKind::TwoCopies
            };
            Some(kind)
        } else if self.wanted && self.holders.is_empty() {
            Some(WindowKind::NoCopy)
        } else {
            None
        }
    }
}

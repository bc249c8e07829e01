//! The growing timeline: observers and the runner write to it, and readers follow it.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll},
    time::Duration,
};

use baton_core::{
    names::ClusterName,
    timeline::{Entry, Event, Mark, Revision, Timeline},
};
use jiff::Timestamp;
use tokio::sync::watch;

use super::Source;
use crate::clock::Clock;

/// A growing timeline. Clones share it.
#[derive(Clone)]
pub struct Recorder(Arc<Shared>);

struct Shared {
    clock: Clock,
    started: Timestamp,
    state: Mutex<State>,
    progress: watch::Sender<Progress>,
}

struct State {
    timeline: Timeline,
    /// Position of the last entry.
    seq: u64,
    source: Box<dyn Source>,
    closed: bool,
}

/// Length of a timeline so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Progress {
    entries: usize,
    closed: bool,
}

/// An event of an observer, before it has its position.
#[derive(Debug)]
pub(crate) struct Seen {
    /// Time of the event, by the clusters' clock.
    pub at: Timestamp,
    /// The event.
    pub event: Event,
}

impl Seen {
    pub(crate) fn revision(at: Timestamp, revision: Revision) -> Self {
        let event = Event::Revision(revision);
        Self { at, event }
    }
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder").finish_non_exhaustive()
    }
}

impl Recorder {
    /// Starts a timeline with a mark, followed by the events of the source, which begin with the present objects.
    pub(crate) fn start(clock: Clock, started: Timestamp, begin: Mark, source: Box<dyn Source>) -> Self {
        let state = State {
            timeline: Timeline::default(),
            seq: 0,
            source,
            closed: false,
        };
        let (progress, _) = watch::channel(Progress {
            entries: 0,
            closed: false,
        });
        let recorder = Self(Arc::new(Shared {
            clock,
            started,
            state: Mutex::new(state),
            progress,
        }));
        {
            let mut state = recorder.lock();
            recorder.append(&mut state, started, Event::Mark(begin));
        }
        let pump = recorder.clone();
        tokio::spawn(async move { std::future::poll_fn(|context| pump.poll_source(context)).await });
        recorder
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn append(&self, state: &mut State, at: Timestamp, event: Event) {
        let at = Duration::try_from(at.duration_since(self.0.started)).unwrap_or_default();
        state.seq = state.seq.saturating_add(1);
        let seq = state.seq;
        let pushed = state.timeline.push(Entry { at, seq, event });
        debug_assert!(pushed.is_ok(), "seq ascends by construction");
        self.publish(state);
    }

    fn publish(&self, state: &State) {
        self.0.progress.send_replace(Progress {
            entries: state.timeline.entries().len(),
            closed: state.closed,
        });
    }

    /// Appends the events that have happened since.
    fn catch_up(&self, state: &mut State, context: Option<&mut Context<'_>>) {
        for Seen { at, event } in state.source.take(context) {
            self.append(state, at, event);
        }
    }

    fn poll_source(&self, context: &mut Context<'_>) -> Poll<()> {
        let mut state = self.lock();
        if state.closed {
            return Poll::Ready(());
        }
        self.catch_up(&mut state, Some(context));
        Poll::Pending
    }

    /// Appends a mark of the runner, after all events that have happened before. Ignored after the end of the timeline.
    pub fn mark(&self, mark: Mark) {
        let mut state = self.lock();
        if state.closed {
            return;
        }
        self.catch_up(&mut state, None);
        self.append(&mut state, (self.0.clock)(), Event::Mark(mark.redacted()));
    }

    /// Checks whether a kind on a cluster is observed. If not, a later note on the timeline says when it is.
    pub(crate) fn hears_of(&self, cluster: &ClusterName, kind: &str) -> bool {
        self.lock().source.hears_of(cluster, kind)
    }

    /// Checks whether a write to a kind on a cluster may arrive later than its answer.
    pub(crate) fn may_lag(&self, cluster: &ClusterName, kind: &str) -> bool {
        self.lock().source.may_lag(cluster, kind)
    }

    /// Returns a copy of the timeline, with all events so far.
    pub fn timeline(&self) -> Timeline {
        let mut state = self.lock();
        if !state.closed {
            self.catch_up(&mut state, None);
        }
        state.timeline.clone()
    }

    /// Follows the timeline from its first entry.
    pub fn follow(&self) -> Follower {
        Follower {
            recorder: self.clone(),
            progress: self.0.progress.subscribe(),
            read: 0,
        }
    }

    /// Reads the timeline and forgets what was read, so that memory does not grow with history. For a single reader: neither
    /// followers nor [`Recorder::timeline`] see what it has read.
    pub fn drain(&self) -> Drain {
        Drain {
            recorder: self.clone(),
            progress: self.0.progress.subscribe(),
        }
    }

    /// Ends the timeline with a mark, after all events so far, and returns it. A second call adds nothing.
    pub fn close(&self, mark: Mark) -> Timeline {
        let mut state = self.lock();
        if !state.closed {
            self.catch_up(&mut state, None);
            for Seen { at, event } in state.source.rest() {
                self.append(&mut state, at, event);
            }
            self.append(&mut state, (self.0.clock)(), Event::Mark(mark.redacted()));
            state.closed = true;
            state.source = Box::new(super::Nothing);
            self.publish(&state);
        }
        state.timeline.clone()
    }
}

/// Reads a growing timeline from the beginning.
#[derive(Debug)]
pub struct Follower {
    recorder: Recorder,
    progress: watch::Receiver<Progress>,
    read: usize,
}

impl Follower {
    /// Returns the entries since the last call, without waiting; may be empty.
    pub fn available(&mut self) -> Vec<Entry> {
        let mut state = self.recorder.lock();
        if !state.closed {
            self.recorder.catch_up(&mut state, None);
        }
        let new = state.timeline.entries().get(self.read..).unwrap_or_default().to_vec();
        self.read += new.len();
        new
    }

    /// Waits for more entries; `None` once the timeline is closed and read to its end. May be dropped while it waits.
    pub async fn next(&mut self) -> Option<Vec<Entry>> {
        loop {
            let closed = self.progress.borrow_and_update().closed;
            let new = self.available();
            if !new.is_empty() {
                return Some(new);
            }
            if closed || self.progress.changed().await.is_err() {
                return None;
            }
        }
    }
}

/// Reads a growing timeline and forgets what was read.
#[derive(Debug)]
pub struct Drain {
    recorder: Recorder,
    progress: watch::Receiver<Progress>,
}

impl Drain {
    /// Waits for more entries; `None` once the timeline is closed and read to its end. May be dropped while it waits.
    pub async fn next(&mut self) -> Option<Timeline> {
        loop {
            let closed = self.progress.borrow_and_update().closed;
            let new = self.available();
            if !new.entries().is_empty() {
                return Some(new);
            }
            if closed || self.progress.changed().await.is_err() {
                return None;
            }
        }
    }

    /// Returns the entries since the last call, without waiting; may be empty.
    pub fn available(&mut self) -> Timeline {
        let mut state = self.recorder.lock();
        if !state.closed {
            self.recorder.catch_up(&mut state, None);
        }
        std::mem::take(&mut state.timeline)
    }
}

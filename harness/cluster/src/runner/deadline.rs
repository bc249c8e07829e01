//! Time limits of waiting steps.

use std::time::Duration;

use baton_core::timeline::{Change, Entry, Event, HARNESS};
use tokio::time::Instant;

/// A wait with a time limit.
pub(super) struct Wait {
    began: Instant,
    limit: Duration,
    /// Ends the wait early if nothing has happened by then.
    silence: Option<Duration>,
    granted: bool,
}

impl Wait {
    pub(super) fn begin(limit: Duration, silence: Option<Duration>) -> Self {
        Self {
            began: Instant::now(),
            limit,
            silence: silence.filter(|silence| *silence < limit),
            granted: false,
        }
    }

    /// Longest duration of the wait, as things are now.
    pub(super) fn time(&self) -> Duration {
        self.silence.unwrap_or(self.limit)
    }

    pub(super) fn deadline(&self) -> Instant {
        self.began + self.time()
    }

    /// Extends the wait once; returns whether it was extended.
    pub(super) fn grant(&mut self, more: Duration) -> bool {
        if self.granted {
            return false;
        }
        self.limit = self.time() + more;
        self.silence = None;
        self.granted = true;
        true
    }

    /// Returns `true` if nothing has happened and the wait may end early for that.
    pub(super) fn is_silent(&self) -> bool {
        self.silence.is_some()
    }

    /// Waits for the whole time, whether something happens or not.
    pub(super) fn in_full(&mut self) {
        self.silence = None;
    }

    /// Handles the events since the last call.
    pub(super) fn take(&mut self, news: &[Entry]) {
        if news.iter().any(is_sign_of_life) {
            self.silence = None;
        }
    }
}

/// Checks whether an entry is activity of another client than the harness. Nodes do not count: kubelets renew them all
/// the time.
fn is_sign_of_life(entry: &Entry) -> bool {
    match &entry.event {
        Event::Revision(revision) => {
            revision.change != Change::List
                && revision.kind != "Node"
                && revision.by.as_deref().is_none_or(|by| !HARNESS.contains(&by))
        }
        Event::Mark(_) => false,
    }
}

//! How long a step waits.

use std::time::Duration;

use baton_core::timeline::{Change, Entry, Event, HARNESS};
use tokio::time::Instant;

/// A wait that has begun.
pub(super) struct Wait {
    began: Instant,
    limit: Duration,
    /// It ends sooner if nobody has done anything by then.
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

    /// How long is waited at most, as things are now.
    pub(super) fn time(&self) -> Duration {
        self.silence.unwrap_or(self.limit)
    }

    pub(super) fn deadline(&self) -> Instant {
        self.began + self.time()
    }

    /// Goes on for longer than was intended; whether it does: once, and not again.
    pub(super) fn grant(&mut self, more: Duration) -> bool {
        if self.granted {
            return false;
        }
        self.limit = self.time() + more;
        self.silence = None;
        self.granted = true;
        true
    }

    /// Takes in what has happened meanwhile.
    pub(super) fn take(&mut self, news: &[Entry]) {
        if news.iter().any(is_sign_of_life) {
            self.silence = None;
        }
    }
}

/// Whether somebody else than the harness did something. Nodes do not count: kubelets renew them all the time.
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

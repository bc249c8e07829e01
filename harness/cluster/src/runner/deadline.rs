//! How long a step waits.

use std::time::Duration;

use baton_core::timeline::{Change, Entry, Event, HARNESS};
use tokio::time::Instant;

/// A wait that has begun.
pub(super) struct Wait {
    began: Instant,
    /// Of the target.
    due: Duration,
    limit: Duration,
    /// It ends sooner if nobody has done anything by then.
    silence: Option<Duration>,
    granted: bool,
    begun_anew: bool,
}

impl Wait {
    pub(super) fn begin(limit: Duration, silence: Option<Duration>) -> Self {
        Self {
            began: Instant::now(),
            due: limit,
            limit,
            silence: silence.filter(|silence| *silence < limit),
            granted: false,
            begun_anew: false,
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

    /// The garbage collector of a cluster has come: what is left to do is the target's, which has the whole of its time
    /// from now on; once, and not again.
    pub(super) fn begin_anew(&mut self) {
        if !self.begun_anew {
            self.limit = self.began.elapsed() + self.due;
            self.begun_anew = true;
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_target_has_its_time_however_late_the_garbage_collector_comes() {
        let (began, time, more) = (Instant::now(), Duration::from_secs(60), Duration::from_secs(60));
        let mut wait = Wait::begin(time, None);
        tokio::time::advance(Duration::from_secs(59)).await;
        wait.begin_anew();
        assert_eq!(wait.deadline(), began + Duration::from_secs(119), "marked at 59 s");
        tokio::time::advance(Duration::from_secs(10)).await;
        wait.begin_anew();
        assert_eq!(wait.deadline(), began + Duration::from_secs(119), "once");

        let mut wait = Wait::begin(time, Some(Duration::from_secs(5)));
        let began = Instant::now();
        assert!(wait.grant(more) && !wait.grant(more));
        assert_eq!(
            wait.deadline(),
            began + Duration::from_secs(65),
            "nobody had done anything"
        );
        tokio::time::advance(Duration::from_secs(64)).await;
        wait.begin_anew();
        assert_eq!(wait.deadline(), began + Duration::from_secs(124));
    }
}

//! Time limits of waiting steps.

use std::time::Duration;

use baton_core::timeline::{Change, Entry, Event, HARNESS};
use tokio::time::Instant;

use super::processors::Reading;

/// Time without events that ends a wait early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Silence {
    /// Counts from the beginning of the wait; after an event, the wait no longer ends early.
    FromBeginning(Duration),
    /// Counts from the last event.
    SinceLastEvent(Duration),
}

impl Silence {
    fn time(self) -> Duration {
        match self {
            Self::FromBeginning(time) | Self::SinceLastEvent(time) => time,
        }
    }
}

/// A wait with a time limit.
pub(super) struct Wait {
    began: Instant,
    limit: Duration,
    /// Ends the wait early if nothing happens for this long.
    silence: Option<Silence>,
    /// Time of the last event, or the beginning.
    quiet_since: Instant,
    granted: bool,
    /// How busy the machine was at the beginning, until the wait is extended for it; `None` if its limit is fixed.
    load: Option<Reading>,
}

impl Wait {
    pub(super) fn begin(limit: Duration, silence: Option<Silence>) -> Self {
        let began = Instant::now();
        Self {
            began,
            limit,
            silence: silence.filter(|silence| silence.time() < limit),
            quiet_since: began,
            granted: false,
            load: None,
        }
    }

    /// Lets the wait take twice as long if the machine is busy from this reading on. That is for limits which no document sets.
    pub(super) fn patient(mut self, load: Reading) -> Self {
        self.load = Some(load);
        self
    }

    /// Extends the wait once if the machine was busy all the time; returns whether it was extended.
    pub(super) fn extend_if_busy(&mut self, now: &Reading) -> bool {
        let is_busy = !self.is_silent() && self.load.is_some_and(|began| now.is_busy_since(&began));
        if is_busy {
            self.limit *= 2;
            self.load = None;
        }
        is_busy
    }

    /// Longest duration of the wait if something happens.
    pub(super) fn limit(&self) -> Duration {
        self.limit
    }

    /// Longest duration of the wait, as things are now.
    pub(super) fn time(&self) -> Duration {
        self.deadline() - self.began
    }

    pub(super) fn deadline(&self) -> Instant {
        let end = self.began + self.limit;
        match self.silence {
            Some(silence) => end.min(self.quiet_since + silence.time()),
            None => end,
        }
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

    /// Returns `true` if the wait may end early because nothing happens.
    pub(super) fn is_silent(&self) -> bool {
        self.deadline() < self.began + self.limit
    }

    /// Waits for the whole time, whether something happens or not.
    pub(super) fn in_full(&mut self) {
        self.silence = None;
    }

    /// Handles the events since the last call.
    pub(super) fn take(&mut self, news: &[Entry]) {
        if !news.iter().any(is_sign_of_life) {
            return;
        }
        match self.silence {
            Some(Silence::SinceLastEvent(_)) => self.quiet_since = Instant::now(),
            Some(Silence::FromBeginning(_)) | None => self.silence = None,
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use baton_core::{names::ClusterName, timeline::Revision};
    use serde_json::json;

    use super::*;

    /// A write of the target.
    fn event() -> Entry {
        Entry {
            at: Duration::ZERO,
            seq: 1,
            event: Event::Revision(Revision {
                cluster: ClusterName::control(),
                kind: "ResourceBinding".to_owned(),
                change: Change::Modified,
                object: Arc::new(json!({})),
                by: Some("target".to_owned()),
            }),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_patient_wait_is_extended_once_on_a_busy_machine() {
        let [limit, most, little] = [60, 55, 30].map(Duration::from_secs);
        let idle = Reading::with(Duration::ZERO);
        let mut fixed = Wait::begin(limit, None);
        let mut patient = Wait::begin(limit, None).patient(idle);
        tokio::time::advance(limit).await;
        assert!(!patient.extend_if_busy(&Reading::with(little)));
        assert!(!fixed.extend_if_busy(&Reading::with(most)));
        assert!(patient.extend_if_busy(&Reading::with(most)));
        assert!(!patient.extend_if_busy(&Reading::with(most)), "only once");
        assert_eq!((fixed.time(), patient.time()), (limit, 2 * limit));
    }

    #[tokio::test(start_paused = true)]
    async fn silence_counts_from_the_last_event_or_ends_with_the_first() {
        let [limit, silence, second] = [60, 6, 1].map(Duration::from_secs);
        let mut since_last = Wait::begin(limit, Some(Silence::SinceLastEvent(silence)));
        let mut from_beginning = Wait::begin(limit, Some(Silence::FromBeginning(silence)));
        for wait in [&since_last, &from_beginning] {
            assert_eq!((wait.time(), wait.is_silent()), (silence, true));
        }
        tokio::time::advance(second).await;
        for wait in [&mut since_last, &mut from_beginning] {
            wait.take(&[event()]);
        }
        assert_eq!((since_last.time(), since_last.is_silent()), (second + silence, true));
        assert_eq!((from_beginning.time(), from_beginning.is_silent()), (limit, false));
        tokio::time::advance(Duration::from_secs(56)).await;
        since_last.take(&[event()]);
        assert_eq!(
            (since_last.time(), since_last.is_silent()),
            (limit, false),
            "the time is up first"
        );
    }
}

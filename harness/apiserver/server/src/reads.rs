//! Faults of what clients read: watches that are held back, lists from a cache that lags, and reads that are refused.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use crate::api_error::ApiError;
use crate::ordered_notify::OrderedNotify;

/// The faults of reads of one server.
#[derive(Debug)]
pub(crate) struct Reads {
    rules: Mutex<Rules>,
    /// Number of times that held watches were released early.
    releases: OrderedNotify<u64>,
}

#[derive(Debug, Default)]
struct Rules {
    /// The moment until which watches of a kind send nothing; of all kinds, if there is none.
    held_until: BTreeMap<Option<String>, Instant>,
    /// The last two revisions that were remembered, the older one first.
    remembered: [u64; 2],
    /// The revision that lists of any age show, and the moment until which they do.
    stale: Option<(u64, Instant)>,
    /// The moment until which reads of objects are refused.
    refused_until: Option<Instant>,
}

impl Reads {
    /// Returns reads without a fault.
    pub(crate) fn new() -> Self {
        Self {
            rules: Mutex::default(),
            releases: OrderedNotify::new(0),
        }
    }

    fn rules(&self) -> MutexGuard<'_, Rules> {
        self.rules.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Holds back watches of a kind, or all, for this time; zero releases them.
    pub(crate) fn hold_watches(&self, kind: Option<String>, time: Duration) {
        self.rules().held_until.insert(kind, Instant::now() + time);
        if time.is_zero() {
            self.releases.change(|releases| *releases += 1);
        }
    }

    /// Remembers a revision, and the one before it.
    pub(crate) fn remember(&self, revision: u64) {
        let mut rules = self.rules();
        rules.remembered = [rules.remembered[1], revision];
    }

    /// Lets lists of any age show the state at the last but one remembered revision for this time.
    pub(crate) fn serve_stale(&self, time: Duration) {
        let mut rules = self.rules();
        rules.stale = Some((rules.remembered[0], Instant::now() + time));
    }

    /// Refuses reads of objects and lists for this time.
    pub(crate) fn refuse(&self, time: Duration) {
        self.rules().refused_until = Some(Instant::now() + time);
    }

    /// The revision that lists of any age show, if they are stale.
    pub(crate) fn stale_revision(&self) -> Option<u64> {
        let (revision, until) = self.rules().stale?;
        (Instant::now() < until).then_some(revision)
    }

    /// The error of a request with this verb, while reads are refused.
    pub(crate) fn check(&self, verb: &str) -> Result<(), ApiError> {
        let is_refused = self.rules().refused_until.is_some_and(|until| Instant::now() < until);
        if is_refused && matches!(verb, "get" | "list") {
            let message = "the server refuses reads for some time".to_owned();
            return Err(ApiError::new(503, "ServiceUnavailable", message, None));
        }
        Ok(())
    }

    /// Waits while watches of a kind send nothing.
    pub(crate) async fn released(&self, kind: Option<&str>) {
        loop {
            let before = self.releases.get();
            let held_until = {
                let held = &self.rules().held_until;
                let of_kind = held.iter().filter(|(it, _)| it.is_none() || it.as_deref() == kind);
                of_kind.map(|(_, until)| *until).max()
            };
            match held_until.filter(|until| *until > Instant::now()) {
                Some(until) => {
                    // Released or not, another hold may be longer.
                    let _ = timeout_at(until, self.releases.wait_for(|releases| *releases != before)).await;
                }
                None => return,
            }
        }
    }
}

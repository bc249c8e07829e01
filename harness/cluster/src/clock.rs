//! Time, handed in: no part of the harness reads a system clock but through a [`Clock`].

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;

/// Gives the present time.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// A clock that shows `start` now and goes as tokio's does: with a paused runtime it stands still until all wait.
pub fn tokio_clock(start: Timestamp) -> Clock {
    let origin = Instant::now();
    Arc::new(move || {
        let elapsed = SignedDuration::try_from(origin.elapsed()).unwrap_or(SignedDuration::MAX);
        start.checked_add(elapsed).unwrap_or(Timestamp::MAX)
    })
}

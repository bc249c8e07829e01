//! Clocks. The harness reads the time only through a [`Clock`] that its caller passes in.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;

/// Function that returns the current time.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// A clock that starts at `start` and follows tokio's clock: with paused time it stands still until every task waits.
pub fn tokio_clock(start: Timestamp) -> Clock {
    let origin = Instant::now();
    Arc::new(move || {
        let elapsed = SignedDuration::try_from(origin.elapsed()).unwrap_or(SignedDuration::MAX);
        start.checked_add(elapsed).unwrap_or(Timestamp::MAX)
    })
}

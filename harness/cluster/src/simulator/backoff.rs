//! The delay before a failed watch restarts.

use std::time::Duration;

use kube::runtime::utils;

/// Delay before a failed watch restarts: grows with each failure, and without jitter, since runs must be reproducible.
#[derive(Default)]
pub(super) struct Backoff {
    failures: u32,
}

impl Iterator for Backoff {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        let wait = Duration::from_millis(100).saturating_mul(1 << self.failures.min(5));
        self.failures = self.failures.saturating_add(1);
        Some(wait)
    }
}

impl utils::Backoff for Backoff {
    fn reset(&mut self) {
        self.failures = 0;
    }
}

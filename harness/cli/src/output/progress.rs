//! Progress of a run for logs: a line every ten seconds.

use std::time::{Duration, Instant};

use baton_core::event::{CaseOutcome, CaseResult};

/// Time between two lines.
const EVERY: Duration = Duration::from_secs(10);

/// Counts the cases that have ended.
pub(super) struct Log {
    began: Instant,
    last: Duration,
    ended: usize,
    deviating: usize,
}

impl Log {
    /// Starts to count now.
    pub(super) fn new() -> Self {
        Self {
            began: Instant::now(),
            last: Duration::ZERO,
            ended: 0,
            deviating: 0,
        }
    }

    /// Adds a case.
    pub(super) fn ended(&mut self, result: &CaseResult) {
        self.ended += 1;
        let deviates = matches!(result.outcome, CaseOutcome::Deviates { .. }) && !result.known;
        self.deviating += usize::from(deviates);
    }

    /// Returns the next line, if it is due.
    pub(super) fn line(&mut self, expected: usize) -> Option<String> {
        let elapsed = self.began.elapsed();
        if elapsed < self.last + EVERY {
            return None;
        }
        self.last = elapsed;
        Some(words(self.ended, expected, self.deviating, elapsed))
    }
}

/// Formats the progress: `120 of 607 cases, 3 deviate, about 81 s left`.
fn words(ended: usize, expected: usize, deviating: usize, elapsed: Duration) -> String {
    let deviate = match deviating {
        0 => String::new(),
        1 => ", 1 deviates".to_owned(),
        many => format!(", {many} deviate"),
    };
    let parts = u32::try_from(ended.max(1)).unwrap_or(u32::MAX);
    let others = u32::try_from(expected.saturating_sub(ended)).unwrap_or(u32::MAX);
    let left = (elapsed / parts).saturating_mul(others);
    format!("{ended} of {expected} cases{deviate}, about {} s left", left.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_follows_from_the_time_of_the_cases_so_far() {
        let elapsed = Duration::from_secs(20);
        assert_eq!(
            words(120, 600, 3, elapsed),
            "120 of 600 cases, 3 deviate, about 79 s left"
        );
        assert_eq!(
            words(600, 600, 1, elapsed),
            "600 of 600 cases, 1 deviates, about 0 s left"
        );
        assert_eq!(words(0, 10, 0, elapsed), "0 of 10 cases, about 200 s left");
    }
}

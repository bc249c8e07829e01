//! The rate of evictions, checked while they happen.

use std::time::Duration;

/// Seconds that a clock of whole seconds, and an observer that hears a little later, may bring two tasks together.
const NEAR: f64 = 1.0;

/// Evictions from one cluster. No span of time may have more of them than the rate allows, the first one being free; a
/// single number stands for all spans that end now.
#[derive(Debug, Clone)]
pub struct RateCheck {
    rate: f64,
    count: f64,
    /// The least number of evictions ahead of the rate that there has been at any eviction.
    least: f64,
}

impl RateCheck {
    /// For this many evictions per second.
    pub fn new(rate: f64) -> Self {
        Self {
            rate,
            count: 0.0,
            least: f64::INFINITY,
        }
    }

    /// Takes an eviction, and returns whether it came too early.
    pub fn is_too_early(&mut self, at: Duration) -> bool {
        let ahead = self.count - self.rate * at.as_secs_f64();
        self.count += 1.0;
        self.least = self.least.min(ahead);
        ahead - self.least > self.rate * NEAR + 1e-6
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn too_early(rate: f64, at: &[u64]) -> Vec<bool> {
        let mut check = RateCheck::new(rate);
        at.iter()
            .map(|at| check.is_too_early(Duration::from_secs(*at)))
            .collect()
    }

    #[test]
    fn a_rate_that_is_kept_is_never_too_early() {
        assert_eq!(too_early(0.5, &[10, 12, 14, 30, 32]), [false; 5]);
        assert_eq!(too_early(2.0, &[0, 0, 1, 1, 2, 2]), [false; 6]);
    }

    #[test]
    fn a_burst_is_found_however_long_nothing_happened_before() {
        assert_eq!(
            too_early(0.5, &[0, 2, 1000, 1000, 1000]),
            [false, false, false, true, true]
        );
    }
}

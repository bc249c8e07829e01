//! Bytes and durations of the exchanges with clients.

use std::collections::BTreeMap;
use std::time::Duration;

/// Bytes and durations of exchanges of one kind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Bytes of the bodies of requests.
    pub received: u64,
    /// Bytes of the bodies of answers, and of the lines of watches.
    pub sent: u64,
    /// Time from each request to its answer. Watches are not in it.
    pub durations: Durations,
}

impl Traffic {
    /// Adds the exchanges of another server or kind.
    pub fn add(&mut self, other: &Self) {
        self.received += other.received;
        self.sent += other.sent;
        self.durations.add_all(&other.durations);
    }
}

/// Distribution of durations, by the server's clock. Takes the same memory for any number of them: durations that differ by
/// less than an eighth may share a part.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Durations {
    /// Number of durations in each part of the distribution.
    parts: BTreeMap<u64, u64>,
    longest: Duration,
}

impl Durations {
    /// Adds a duration.
    pub fn add(&mut self, duration: Duration) {
        let micros = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
        *self.parts.entry(part_of(micros)).or_default() += 1;
        self.longest = self.longest.max(duration);
    }

    /// Adds all durations of another distribution.
    pub fn add_all(&mut self, other: &Self) {
        for (part, count) in &other.parts {
            *self.parts.entry(*part).or_default() += count;
        }
        self.longest = self.longest.max(other.longest);
    }

    /// Removes the durations of an earlier state of this distribution. The longest one stays.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let rest = self.parts.iter().map(|(part, count)| {
            let before = earlier.parts.get(part).copied().unwrap_or_default();
            (*part, count.saturating_sub(before))
        });
        Self {
            parts: rest.filter(|(_, count)| *count > 0).collect(),
            longest: self.longest,
        }
    }

    /// Number of durations.
    pub fn count(&self) -> u64 {
        self.parts.values().sum()
    }

    /// The longest duration.
    pub fn longest(&self) -> Duration {
        self.longest
    }

    /// Returns the upper end of the part with this percentile, by the nearest rank; `None` without durations.
    pub fn percentile(&self, percent: u64) -> Option<Duration> {
        let rank = self.count().saturating_mul(percent).div_ceil(100).max(1);
        let mut passed = 0;
        let part = self.parts.iter().find(|(_, count)| {
            passed += **count;
            passed >= rank
        });
        part.map(|(part, _)| Duration::from_micros(end_of(*part)).min(self.longest))
    }
}

/// The part of a number of microseconds: its four leading bits, and how many follow.
fn part_of(micros: u64) -> u64 {
    let following = u64::from((u64::BITS - micros.leading_zeros()).saturating_sub(4));
    following * 8 + (micros >> following)
}

/// The greatest number of microseconds in a part.
fn end_of(part: u64) -> u64 {
    if part < 16 {
        return part;
    }
    let following = part / 8 - 1;
    let leading = part - following * 8;
    // The last part ends with the greatest number there is.
    let end = (u128::from(leading) + 1) << following;
    u64::try_from(end - 1).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_duration_is_within_an_eighth_of_the_end_of_its_part() {
        for micros in (0..5_000).chain([65_535, 65_536, 1_000_000, u64::MAX]) {
            let end = end_of(part_of(micros));
            assert!(micros <= end && end - micros <= micros / 8, "{micros}: {end}");
        }
    }

    #[test]
    fn percentiles_are_by_the_nearest_rank() {
        let mut durations = Durations::default();
        for millis in 1..=100 {
            durations.add(Duration::from_millis(millis));
        }
        let about = |percent: u64, millis: u64| {
            let found = durations.percentile(percent).unwrap_or_default();
            let exact = Duration::from_millis(millis);
            assert!(found >= exact && found <= exact * 9 / 8, "{percent}: {found:?}");
        };
        about(50, 50);
        about(99, 99);
        assert_eq!(durations.percentile(100), Some(Duration::from_millis(100)));
        assert_eq!(
            (durations.count(), durations.longest()),
            (100, Duration::from_millis(100))
        );
        assert_eq!(Durations::default().percentile(50), None);
    }

    #[test]
    fn later_durations_can_be_told_from_earlier_ones() {
        let mut durations = Durations::default();
        durations.add(Duration::from_millis(900));
        let earlier = durations.clone();
        durations.add(Duration::from_millis(10));
        let later = durations.since(&earlier);
        assert_eq!(later.count(), 1);
        assert!(later.percentile(99) < Some(Duration::from_millis(12)));
        let mut both = earlier;
        both.add_all(&later);
        assert_eq!(both, durations);
    }
}

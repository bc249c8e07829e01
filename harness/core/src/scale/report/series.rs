//! Numbers of workloads over time.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::scale::phases::Times;

/// Number of steps of a series.
const STEPS: u32 = 120;

/// Number of steps before and after a step that count for its throughput.
const AROUND: usize = 6;

/// Number of parts of a distribution.
const PARTS: usize = 40;

/// Numbers of workloads over time, from the failure on: the first of each is the number at the failure.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Series {
    /// Seconds between two numbers.
    pub step_seconds: f64,
    /// Workloads that wait for their eviction task: the length of the queue.
    pub waiting: Vec<u64>,
    /// Workloads that have a task and are not healthy yet.
    pub moving: Vec<u64>,
    /// Workloads that are healthy elsewhere.
    pub healthy: Vec<u64>,
}

impl Series {
    pub(super) fn of<'a>(times: impl Iterator<Item = &'a Times>, failed_at: Duration, end: Duration) -> Self {
        let times: Vec<&Times> = times.collect();
        let ends = times.iter().filter_map(|it| it.healthy).max();
        // A run lasts on after the last workload is healthy; the plot need not.
        let all_healthy = times.iter().all(|it| it.healthy.is_some());
        let end = if all_healthy { ends.unwrap_or(end) } else { end };
        let step = (end.saturating_sub(failed_at) / STEPS).max(Duration::from_micros(1));
        let mut series = Self {
            step_seconds: step.as_secs_f64(),
            ..Self::default()
        };
        for number in 0..=STEPS {
            let at = if number == STEPS {
                end.max(failed_at)
            } else {
                failed_at + step * number
            };
            let reached = |moment: Option<Duration>| moment.is_some_and(|it| it <= at);
            let count = |of: &dyn Fn(&Times) -> bool| times.iter().filter(|it| of(it)).count() as u64;
            series.healthy.push(count(&|it| reached(it.healthy)));
            series
                .moving
                .push(count(&|it| reached(it.task) && !reached(it.healthy)));
            series
                .waiting
                .push(count(&|it| !reached(it.task) && !reached(it.healthy)));
        }
        series
    }

    /// Workloads that became healthy per second, at each step: the mean of the steps around it. A step alone is so short
    /// that it has a few workloads or none.
    #[expect(
        clippy::cast_precision_loss,
        reason = "numbers of workloads and steps are far below 2^52"
    )]
    pub fn throughput(&self) -> Vec<f64> {
        let Some(last) = self.healthy.len().checked_sub(1) else {
            return Vec::new();
        };
        let around = |step: usize| {
            let (from, to) = (step.saturating_sub(AROUND), (step + AROUND).min(last));
            let healthy = self.healthy[to].saturating_sub(self.healthy[from]);
            let seconds = self.step_seconds * (to - from).max(1) as f64;
            healthy as f64 / seconds
        };
        (0..=last).map(around).collect()
    }
}

/// A part of a distribution.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Bucket {
    /// Its upper end.
    pub up_to: f64,
    /// Number of values above the end of the part before it, and no greater than this.
    pub count: u64,
}

impl Bucket {
    /// The distribution of values, in parts of the same width from 0 to the greatest.
    pub fn all(values: &[f64]) -> Vec<Self> {
        let Some(max) = values.iter().copied().max_by(f64::total_cmp) else {
            return Vec::new();
        };
        let width = (max / 40.0).max(f64::MIN_POSITIVE);
        let mut buckets: Vec<Self> = (1..=PARTS)
            .scan(0.0, |up_to, _| {
                *up_to += width;
                Some(Self {
                    up_to: *up_to,
                    count: 0,
                })
            })
            .collect();
        for value in values {
            let place = buckets.partition_point(|it| it.up_to < *value).min(PARTS - 1);
            buckets[place].count += 1;
        }
        buckets
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Times of a task and of health.
    fn times(task: Option<u64>, healthy: Option<u64>) -> Times {
        Times {
            task: task.map(Duration::from_secs),
            healthy: healthy.map(Duration::from_secs),
            ..Times::default()
        }
    }

    #[test]
    fn each_workload_waits_then_moves_then_is_healthy() {
        let times = [times(Some(10), Some(20)), times(Some(70), Some(130)), times(None, None)];
        let series = Series::of(times.iter(), Duration::from_secs(10), Duration::from_secs(130));
        assert!((series.step_seconds - 1.0).abs() < 1e-9);
        let at = |second: usize| (series.waiting[second], series.moving[second], series.healthy[second]);
        assert_eq!(
            [at(0), at(10), at(60), at(119), at(120)],
            [(2, 1, 0), (2, 0, 1), (1, 1, 1), (1, 1, 1), (1, 0, 2)]
        );
    }

    #[test]
    fn a_steady_throughput_is_a_level_line() {
        // One workload each two seconds, so that every other step has none.
        let times: Vec<Times> = (0..=120).step_by(2).map(|at| times(Some(0), Some(at))).collect();
        let throughput = Series::of(times.iter(), Duration::ZERO, Duration::from_secs(120)).throughput();
        assert_eq!(throughput.len(), 121);
        let inner = &throughput[AROUND..=120 - AROUND];
        assert!(inner.iter().all(|it| (it - 0.5).abs() < 0.05), "{throughput:?}");
        assert!(Series::default().throughput().is_empty());
    }

    #[test]
    fn a_distribution_has_each_value_once() {
        let values = [0.0, 0.5, 1.0, 4.0, 4.0];
        let buckets = Bucket::all(&values);
        assert_eq!(buckets.len(), PARTS);
        assert_eq!(buckets.iter().map(|it| it.count).sum::<u64>(), 5);
        assert_eq!(buckets.last().map(|it| it.count), Some(2));
        assert_eq!(Bucket::all(&[0.0, 0.0])[0].count, 2);
        assert_eq!(Bucket::all(&[]), []);
    }
}

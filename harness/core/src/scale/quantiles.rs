//! Percentiles.

use serde::{Deserialize, Serialize};

/// How values are distributed.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Quantiles {
    /// Number of values.
    pub count: usize,
    /// Half of the values are at most this.
    pub p50: f64,
    /// 90 % of the values are at most this.
    pub p90: f64,
    /// 99 % of the values are at most this.
    pub p99: f64,
    /// The greatest value.
    pub max: f64,
}

impl Quantiles {
    /// Of these values, by the nearest rank: each percentile is one of the values. `None` if there are none.
    pub fn of(mut values: Vec<f64>) -> Option<Self> {
        values.sort_by(f64::total_cmp);
        let max = *values.last()?;
        let count = values.len();
        let rank = |percent: usize| values.get((count * percent).div_ceil(100).max(1) - 1).copied();
        Some(Self {
            count,
            p50: rank(50)?,
            p90: rank(90)?,
            p99: rank(99)?,
            max,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: impl IntoIterator<Item = u32>) -> Option<Quantiles> {
        Quantiles::of(values.into_iter().map(f64::from).collect())
    }

    #[test]
    fn percentiles_are_values_by_the_nearest_rank() {
        let hundred = of((1..=100).rev());
        let expected = Quantiles {
            count: 100,
            p50: 50.0,
            p90: 90.0,
            p99: 99.0,
            max: 100.0,
        };
        assert_eq!(hundred, Some(expected));
        let three = of([3, 1, 2]).map(|it| [it.p50, it.p90, it.p99, it.max]);
        assert_eq!(three, Some([2.0, 3.0, 3.0, 3.0]));
        let one = of([7]).map(|it| [it.p50, it.p90, it.p99, it.max]);
        assert_eq!(one, Some([7.0; 4]));
        assert_eq!(of([]), None);
    }
}

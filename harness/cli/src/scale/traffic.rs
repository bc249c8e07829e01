//! Figures of the requests of a run.

use baton_cluster::fleet::{Durations, RequestCounts, RequestKey, Traffic};
use baton_core::{
    scale::{
        quantiles::Quantiles,
        report::{Indicators, Requests},
    },
    timeline::HARNESS,
};

/// Requests until members failed, and after that.
pub(super) fn requests(before: &RequestCounts, after: &RequestCounts) -> Vec<Requests> {
    let each = after.requests.iter().map(|(key, count)| {
        let placing = before.requests.get(key).copied().unwrap_or_default();
        let kind = if key.subresource.is_empty() {
            key.kind.clone()
        } else {
            format!("{}/{}", key.kind, key.subresource)
        };
        let bytes = |of: Option<&Traffic>| of.map_or(0, |it| it.received + it.sent);
        let placing_bytes = bytes(before.traffic.get(key));
        let all_bytes = after.traffic.get(key).map(|it| bytes(Some(it)));
        Requests {
            program: key.client.clone(),
            is_harness: is_harness(key),
            verb: key.verb.clone(),
            kind,
            placing,
            moving: count.saturating_sub(placing),
            placing_bytes: all_bytes.map(|_| placing_bytes),
            moving_bytes: all_bytes.map(|all| all.saturating_sub(placing_bytes)),
        }
    });
    each.collect()
}

/// The service level indicators. `counts` is `None` where the clock stands while requests are answered.
pub(super) fn indicators(
    counts: Option<&RequestCounts>,
    distribution: Option<Quantiles>,
    registration: &[f64],
) -> Indicators {
    let latency = |are_reads: bool| {
        let mut all = Durations::default();
        for (key, durations) in &counts?.control {
            if !is_harness(key) && matches!(key.verb.as_str(), "get" | "list") == are_reads {
                all.add_all(durations);
            }
        }
        quantiles(&all)
    };
    Indicators {
        api_writes: latency(false),
        api_reads: latency(true),
        distribution,
        registration: Quantiles::of(registration.to_vec()),
    }
}

fn is_harness(key: &RequestKey) -> bool {
    HARNESS.contains(&key.client.as_str())
}

fn quantiles(durations: &Durations) -> Option<Quantiles> {
    let seconds = |percent: u64| Some(durations.percentile(percent)?.as_secs_f64());
    Some(Quantiles {
        count: usize::try_from(durations.count()).ok()?,
        p50: seconds(50)?,
        p90: seconds(90)?,
        p99: seconds(99)?,
        max: durations.longest().as_secs_f64(),
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn key(client: &str, verb: &str) -> RequestKey {
        RequestKey {
            client: client.to_owned(),
            verb: verb.to_owned(),
            group: String::new(),
            kind: "Event".to_owned(),
            subresource: String::new(),
        }
    }

    fn traffic(bytes: u64) -> Traffic {
        Traffic {
            received: 1,
            sent: bytes - 1,
            durations: Durations::default(),
        }
    }

    #[test]
    fn bytes_are_told_apart_by_the_failure() {
        let create = key("target", "create");
        let counts = |count: u64, bytes: u64| RequestCounts {
            requests: [(create.clone(), count)].into(),
            traffic: [(create.clone(), traffic(bytes))].into(),
            ..RequestCounts::default()
        };
        let found = requests(&counts(2, 20), &counts(5, 70));
        let found: Vec<_> = found
            .iter()
            .map(|it| (it.placing, it.moving, it.placing_bytes, it.moving_bytes))
            .collect();
        assert_eq!(found, [(2, 3, Some(20), Some(50))]);
    }

    #[test]
    fn only_the_requests_of_the_target_have_a_latency() {
        let took = |millis: u64| {
            let mut durations = Durations::default();
            durations.add(Duration::from_millis(millis));
            durations
        };
        let counts = RequestCounts {
            control: [
                (key("target", "create"), took(20)),
                (key("target", "list"), took(500)),
                (key(HARNESS[0], "create"), took(900)),
            ]
            .into(),
            ..RequestCounts::default()
        };
        let of = indicators(Some(&counts), None, &[]);
        let max = |of: Option<Quantiles>| of.map(|it| (it.count, it.max));
        assert_eq!(max(of.api_writes), Some((1, 0.02)));
        assert_eq!(max(of.api_reads), Some((1, 0.5)));
        assert_eq!(indicators(None, None, &[]), Indicators::default());
    }
}

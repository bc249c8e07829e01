//! Counters of the requests to clusters, from their fault injectors.

use std::collections::BTreeMap;

use baton_apiserver::{Durations, FaultInjector, RequestKey, Traffic};

/// Counted requests for resources.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RequestCounts {
    /// Number of requests, by user agent, verb and kind.
    pub requests: BTreeMap<RequestKey, u64>,
    /// Number of answers with an error, by user agent and HTTP status.
    pub refusals: BTreeMap<(String, u16), u64>,
    /// Bytes and durations, where the backend measures them.
    pub traffic: BTreeMap<RequestKey, Traffic>,
    /// Durations of the requests to the control plane alone, where the backend measures them.
    pub control: BTreeMap<RequestKey, Durations>,
}

/// Request counts of all clusters.
pub(super) fn traffic<'a>(faults: impl Iterator<Item = &'a FaultInjector>) -> RequestCounts {
    let mut traffic = RequestCounts::default();
    for faults in faults {
        for (request, count) in faults.counts() {
            *traffic.requests.entry(request).or_default() += count;
        }
        for (refusal, count) in faults.refusals() {
            *traffic.refusals.entry(refusal).or_default() += count;
        }
        for (request, measured) in faults.traffic() {
            traffic.traffic.entry(request).or_default().add(&measured);
        }
    }
    traffic
}

/// Number of counted writes, by user agent.
pub(super) fn writes<'a>(faults: impl Iterator<Item = &'a FaultInjector>) -> BTreeMap<String, u64> {
    let mut writes = BTreeMap::new();
    for (counted, count) in faults.flat_map(FaultInjector::counts) {
        if !matches!(counted.verb.as_str(), "get" | "list" | "watch") {
            *writes.entry(counted.client).or_default() += count;
        }
    }
    writes
}

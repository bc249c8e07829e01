//! The order of two events; on different clusters it is known only as far as the timeline's order goes.

use std::{collections::BTreeMap, time::Duration};

use serde_json::Value;

use crate::{
    names::ClusterName,
    timeline::{Entry, Mark, Order, Revision, Timeline},
};

/// Order of one event and another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Before {
    Yes,
    No,
    /// They are too close.
    Unknown,
}

/// A revision where it stands on the timeline.
pub(super) type Placed<'a> = (&'a Entry, &'a Revision);

/// Order of the events of a timeline.
pub(super) struct Precedence {
    order: Order,
    /// By cluster: revisions, and the latest moment at which one of them or an earlier one was asked for. What has a
    /// greater revision happened after that.
    fences: BTreeMap<ClusterName, BTreeMap<u64, Duration>>,
}

impl Precedence {
    /// A timeline that does not say is a recording: its order is that of arrival.
    pub(super) fn of(timeline: &Timeline) -> Self {
        let mut fences: BTreeMap<_, BTreeMap<_, Duration>> = BTreeMap::new();
        for (_, mark) in timeline.marks() {
            if let Mark::Fence {
                cluster,
                revision,
                asked_secs,
            } = mark
                && let Ok(asked) = Duration::try_from_secs_f64(*asked_secs)
            {
                let of_cluster = fences.entry(cluster.clone()).or_default();
                let latest = of_cluster.entry(*revision).or_insert(asked);
                *latest = asked.max(*latest);
            }
        }
        for of_cluster in fences.values_mut() {
            let mut latest = Duration::ZERO;
            for asked in of_cluster.values_mut() {
                latest = latest.max(*asked);
                *asked = latest;
            }
        }
        Self {
            order: timeline.begin().map_or(Order::ARRIVAL, |begin| begin.order),
            fences,
        }
    }

    /// Compares the moments of `first` and `second`.
    pub(super) fn before(&self, first: Placed<'_>, second: Placed<'_>) -> Before {
        let Order::Arrival { uncertainty_secs } = self.order else {
            return by_place(first, second);
        };
        if first.1.cluster == second.1.cluster {
            return by_place(first, second);
        }
        let uncertainty = Duration::try_from_secs_f64(uncertainty_secs).unwrap_or_default();
        // An event has happened when one hears of it, and not before the fence that it lies behind.
        let certainly = |x: Placed<'_>, y: Placed<'_>| {
            let apart = x.0.at.saturating_add(uncertainty) < y.0.at;
            apart || self.not_before(y.1).is_some_and(|fence| x.0.at <= fence)
        };
        if certainly(first, second) {
            Before::Yes
        } else if certainly(second, first) {
            Before::No
        } else {
            Before::Unknown
        }
    }

    /// The latest moment before which a revision cannot have been committed.
    fn not_before(&self, revision: &Revision) -> Option<Duration> {
        let text = revision
            .object
            .pointer("/metadata/resourceVersion")
            .and_then(Value::as_str);
        let number: u64 = text?.parse().ok()?;
        let fences = self.fences.get(&revision.cluster)?;
        fences.range(..number).next_back().map(|(_, asked)| *asked)
    }
}

fn by_place(first: Placed<'_>, second: Placed<'_>) -> Before {
    if first.0.seq < second.0.seq {
        Before::Yes
    } else {
        Before::No
    }
}

//! The state that is kept of a workload.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use serde::{Deserialize, Serialize};

use super::binding::Bound;
use crate::{
    names::ClusterName,
    scale::{kinds::Kind, phases::Times},
};

/// Number of events that are kept of a workload.
const MOST_TOLD: usize = 24;

/// An event of a workload, for people.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Told {
    /// Seconds from the begin of the run.
    pub at: f64,
    /// Description.
    pub what: String,
}

/// The state that is kept of a workload.
#[derive(Debug)]
pub(super) struct Workload {
    pub(super) kind: Kind,
    /// Replicas that are asked for.
    pub(super) replicas: u64,
    pub(super) times: Times,
    /// Its copies on members, and whether all replicas of each are ready.
    pub(super) copies: BTreeMap<ClusterName, bool>,
    /// Its binding, as last seen.
    pub(super) bound: Bound,
    /// Failing clusters that a task has named.
    pub(super) had_task: BTreeSet<ClusterName>,
    /// Status of the copy on the failing cluster, as collected before the task.
    pub(super) collected: Collected,
    /// Set while all replicas are ready, before members fail.
    pub(super) is_placed: bool,
    /// Set if it had a copy on a member that failed.
    pub(super) affected: bool,
    /// Its last event.
    pub(super) last: Duration,
    told: Vec<(Duration, String)>,
}

/// Values of the status that were collected from a failing cluster while its copy was healthy.
#[derive(Debug, Default)]
pub(super) struct Collected {
    /// Those of each preserved value, in the order of the rules.
    pub(super) values: Vec<BTreeSet<String>>,
}

impl Collected {
    pub(super) fn learn(&mut self, bound: &Bound, cluster: &ClusterName) {
        let state = bound.state_on(cluster);
        self.values
            .resize_with(self.values.len().max(state.len()), BTreeSet::new);
        for (values, value) in self.values.iter_mut().zip(state) {
            values.extend(value.clone());
        }
    }
}

impl Workload {
    pub(super) fn new(kind: Kind, replicas: u64) -> Self {
        Self {
            kind,
            replicas,
            times: Times::default(),
            copies: BTreeMap::new(),
            bound: Bound::default(),
            had_task: BTreeSet::new(),
            collected: Collected::default(),
            is_placed: false,
            affected: false,
            last: Duration::ZERO,
            told: Vec::new(),
        }
    }

    /// Keeps an event. Of a workload that has too many, the first ones are kept.
    pub(super) fn tell(&mut self, at: Duration, what: impl FnOnce() -> String) {
        if self.told.len() < MOST_TOLD {
            self.told.push((at, what()));
        }
    }

    pub(super) fn story(&self) -> Vec<Told> {
        let told = self.told.iter().map(|(at, what)| Told {
            at: at.as_secs_f64(),
            what: what.clone(),
        });
        told.collect()
    }
}

//! The plugins that decide whether an eviction under `Gracefully` is over (GRE-08).
//!
//! Any of those that the option `evict-plugins` names clears a task. Always on, whatever it names: the cluster is in the
//! scheduling result again (GRE-03), the grace period is over (GRE-05), a user says so (GRE-11).

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use crate::api::{Binding, BindingStatus, ResourceHealth};

/// A plugin.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Plugin {
    /// The new copies are applied and healthy.
    ResourceHealth,
}

impl Plugin {
    /// All plugins.
    pub const ALL: [Self; 1] = [Self::ResourceHealth];

    /// The name in the option.
    pub fn name(self) -> &'static str {
        match self {
            Self::ResourceHealth => "ResourceHealth",
        }
    }

    /// Whether the eviction may be cleared, as far as this plugin can tell. `status` is what is presently known of the
    /// binding's copies.
    pub fn passes(self, binding: &Binding, status: &BindingStatus) -> bool {
        match self {
            Self::ResourceHealth => has_healthy_successor(binding, status),
        }
    }
}

impl fmt::Display for Plugin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Plugin {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|plugin| plugin.name() == name);
        found.ok_or_else(|| name.to_owned())
    }
}

/// Whether the eviction may be cleared, by any of these plugins.
pub fn pass(plugins: &BTreeSet<Plugin>, binding: &Binding, status: &BindingStatus) -> bool {
    plugins.iter().any(|plugin| plugin.passes(binding, status))
}

/// Whether all copies of the scheduling result are applied and healthy. An empty result is no healthy one: what was
/// left has nowhere to go (PRG-06).
pub(crate) fn has_healthy_successor(binding: &Binding, status: &BindingStatus) -> bool {
    let clusters = &binding.spec.clusters;
    let is_healthy = |name: &str| {
        let item = status.aggregated_status.iter().find(|item| item.cluster_name == name);
        item.is_some_and(|item| item.applied && item.health == ResourceHealth::Healthy)
    };
    !clusters.is_empty() && clusters.iter().all(|target| is_healthy(&target.name))
}

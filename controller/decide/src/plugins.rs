//! Plugins that decide when an eviction under `Gracefully` is complete (GRE-08).
//!
//! Any plugin of the option `evict-plugins` can clear a task. Three reasons always clear it, whatever the option
//! contains: the cluster is in the scheduling result again (GRE-03), the grace period has expired (GRE-05), a user
//! confirms it (GRE-11).

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use crate::api::{Binding, BindingStatus, ResourceHealth};

/// A plugin that can clear evictions.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Plugin {
    /// Clears an eviction when the new copies are applied and healthy.
    ResourceHealth,
}

/// A name that no plugin has.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("unknown plugin {0:?}")]
pub struct UnknownPlugin(pub String);

impl Plugin {
    /// All known plugins.
    pub const ALL: [Self; 1] = [Self::ResourceHealth];

    /// Returns the plugin's name in the option.
    pub fn name(self) -> &'static str {
        match self {
            Self::ResourceHealth => "ResourceHealth",
        }
    }

    /// Returns true if this plugin clears the eviction. `status` is the current status of the binding's copies.
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
    type Err = UnknownPlugin;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|plugin| plugin.name() == name);
        found.ok_or_else(|| UnknownPlugin(name.to_owned()))
    }
}

/// Returns true if any of these plugins clears the eviction.
pub fn pass(plugins: &BTreeSet<Plugin>, binding: &Binding, status: &BindingStatus) -> bool {
    plugins.iter().any(|plugin| plugin.passes(binding, status))
}

/// Returns true if all copies of the scheduling result are applied and healthy. An empty result is not healthy: no
/// cluster has taken over the workload (PRG-06).
pub(crate) fn has_healthy_successor(binding: &Binding, status: &BindingStatus) -> bool {
    let clusters = &binding.spec.clusters;
    let is_healthy = |name: &str| {
        let item = status.aggregated_status.iter().find(|item| item.cluster_name == name);
        item.is_some_and(|item| item.applied && item.health == ResourceHealth::Healthy)
    };
    !clusters.is_empty() && clusters.iter().all(|target| is_healthy(&target.name))
}

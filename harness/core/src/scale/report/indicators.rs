//! Service level indicators.

use serde::{Deserialize, Serialize};

use crate::scale::quantiles::Quantiles;

/// The service level indicators of Karmada's scalability report, in seconds, so that figures compare with it. Its objectives
/// are 1 s for the 99th percentile of API calls and 2 s for that of the distribution of resources.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Indicators {
    /// Latency of writes of the target to the control plane; in real time only, and where the backend measures it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_writes: Option<Quantiles>,
    /// Latency of reads of the target from the control plane, without watches; in real time only, and where the backend
    /// measures it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_reads: Option<Quantiles>,
    /// From the creation of a workload to its first copy on a member.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub distribution: Option<Quantiles>,
    /// From the creation of a `Cluster`, or from the start of the target if that is later, until the target reports the
    /// cluster as ready.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub registration: Option<Quantiles>,
}

/// A service level indicator.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Indicator {
    /// Name for people.
    pub name: &'static str,
    /// Seconds.
    pub seconds: Quantiles,
}

impl Indicators {
    /// The indicators that were measured.
    pub fn measured(&self) -> Vec<Indicator> {
        let all = [
            ("API calls: writes", self.api_writes),
            ("API calls: reads", self.api_reads),
            ("distribution of resources", self.distribution),
            ("registration of clusters", self.registration),
        ];
        let measured = all.into_iter().filter_map(|(name, seconds)| {
            let seconds = seconds?;
            Some(Indicator { name, seconds })
        });
        measured.collect()
    }
}

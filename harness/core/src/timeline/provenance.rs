//! The run that a timeline comes from.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::names::CaseId;

/// The run that a timeline comes from, as it was when it began. A report must agree with it: leaving cases out, or
/// adding to the baseline, would need a change of every timeline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Provenance {
    /// When the run began.
    pub started: Timestamp,
    /// The seed of this run of the case.
    pub seed: u64,
    /// Number of the attempt, from 1.
    pub attempt: u32,
    /// The part of the selected cases that the run was of, as in `2/4`; none if it was all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<String>,
    /// Digests of what is settled before the first case, by what they are of: the implementation, the selected cases,
    /// ….
    pub settled: BTreeMap<String, String>,
    /// The cases of the run that are not run because the target or the clusters lack something, with the reasons.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub unsupported: BTreeMap<CaseId, Vec<String>>,
    /// The versions of Kubernetes that the clusters of this case say they have.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub kubernetes_versions: BTreeSet<String>,
}

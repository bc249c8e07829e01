//! What the runner notes on the timeline.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::names::{CaseId, ClusterName, RoleName};

/// What the timeline belongs to; always its first entry.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Begin {
    /// The case that was run.
    pub case: CaseId,
    /// The members of the fleet, by name.
    pub members: Vec<ClusterName>,
    /// When the timeline began, as the clusters' clock says (RFC 3339).
    pub started: jiff::Timestamp,
    /// The backend that the fleet is of.
    pub backend: String,
    /// The implementation under test.
    pub target: String,
}

/// How a step ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "result")]
pub enum StepEnd {
    /// It was carried out, or what it waited for came.
    Done,
    /// What it waited for did not come in time.
    TimedOut {
        /// The named phase whose time was up.
        phase: String,
        /// How long was waited, in seconds.
        waited_secs: f64,
    },
    /// A cluster refused it.
    Refused {
        /// What the cluster answered.
        message: String,
    },
}

/// One note of the runner.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Mark {
    /// The run began.
    Begin(Begin),
    /// A step of the plan began.
    StepStarted {
        /// Its number in the plan, from 0.
        step: usize,
        /// What it does, in words.
        text: String,
    },
    /// A step of the plan ended.
    StepEnded {
        /// Its number in the plan, from 0.
        step: usize,
        /// How it ended.
        end: StepEnd,
    },
    /// A role was bound to a member.
    RoleBound {
        /// The role.
        role: RoleName,
        /// The member that plays it from now on.
        cluster: ClusterName,
    },
    /// A value was captured.
    Captured {
        /// The name under which patterns refer to it.
        name: String,
        /// The value, as text.
        value: String,
    },
    /// The target was started with another set-up.
    Started {
        /// Whether it runs now.
        runs: bool,
        /// Why it does not run, or what it warned of; a message each.
        said: Vec<String>,
    },
    /// The case is over and its objects are being removed: what follows is no failover.
    CleanUp,
    /// Nothing follows; observers have delivered all that had happened.
    Closed {
        /// API writes by user agent during the run, where the clusters count them.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        writes: BTreeMap<String, u64>,
    },
    /// Something else worth keeping, for people; never judged.
    Note {
        /// What it is about.
        about: String,
        /// The details.
        details: Value,
    },
}

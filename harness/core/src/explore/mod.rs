//! Exploration: a search for faults at moments that no case thought of.
//!
//! A workload fails over in a few dozen writes of the implementation. An exploration records them in a run without faults
//! ([`TargetWrite`], [`points`]), then runs the case again with a fault at one of them ([`space`]), and again with faults at
//! two. The invariants judge each run ([`oracle`]). What they find is made smaller ([`shrink`]) and written as a case
//! ([`variant`]) that `baton run` replays, and each plan gets a line of the [`journal`], so that an exploration can go on where it was stopped.
//!
//! All of this is pure; the command `explore` runs the plans.

pub mod coverage;
pub mod journal;
pub mod map;
pub mod oracle;
pub mod points;
pub mod shrink;
pub mod space;
pub mod states;
pub mod variant;

use crate::names::ClusterName;

/// A write that the implementation asked for, as a gate before the clusters saw it. Leases and Events are not among them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetWrite {
    /// Number of the step during which it came, from 0.
    pub step: usize,
    /// Cluster.
    pub cluster: ClusterName,
    /// `create`, `update`, `patch`, `delete` or `deletecollection`.
    pub verb: String,
    /// API group with the version, such as `apps/v1`.
    pub api_version: String,
    /// Kind.
    pub kind: String,
    /// Subresource; `None` for the object itself.
    pub subresource: Option<String>,
    /// Name of the object; `None` for creations.
    pub name: Option<String>,
    /// User agent.
    pub client: String,
}

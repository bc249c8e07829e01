//! A checked case. Faults and starts of the target are in `fault_injection`, texts for people in
//! `words`.

mod action;
mod assertion;
mod command;
mod facts;
mod fault_injection;
mod invariant;
mod metric;
mod moves;
mod rewrite;
mod subject;
mod words;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
};

use serde::Serialize;
use serde_json::Value;

use crate::names::{CaseId, Feature, RequirementId, RoleName};

pub use action::{Action, Refused};
pub use assertion::{Assertion, Condition, Count, Expect, Mode, Phase, Sequence};
pub use command::CommandRun;
pub use facts::{Facts, Write};
pub use fault_injection::{Expected, FIRST_INSTANCE, Failing, Fault, Start};
pub use invariant::Invariant;
pub use metric::{Metric, MetricAssertion};
pub use moves::{Move, MoveFault, WritePoint};
pub use rewrite::{Period, Rewrite};
pub use subject::{ObjectRef, Place, Subject, Workloads};

/// A case, checked: nothing in it can be wrong any more but what an implementation does.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Case {
    /// `metadata.name`, unique in a run.
    pub id: CaseId,
    /// `metadata.labels`: what people choose cases by.
    #[serde(skip)]
    pub labels: BTreeMap<String, String>,
    /// The folder below `cases/` that it lies in, such as `proposal`; snapshots lie in a folder of the same name.
    #[serde(skip)]
    pub area: String,
    /// The file it was read from.
    #[serde(skip)]
    pub file: PathBuf,
    /// `spec.title`: what it shows, as a sentence.
    pub title: String,
    /// `spec.requirements`: what it is about. Each must be proved by a step or an invariant.
    pub requirements: BTreeSet<RequirementId>,
    /// `spec.features`: what the target must be capable of.
    pub features: BTreeSet<Feature>,
    /// `spec.members`: how many members the fleet has; at least 1.
    pub members: usize,
    /// `spec.controller`: how the target is set up.
    pub controller: ControllerSetup,
    /// `spec.steps`, at least one.
    pub steps: Vec<Step>,
    /// `spec.invariants`: those that must have had something to judge; all others are judged where they apply.
    pub invariants: BTreeSet<Invariant>,
    /// `spec.exempt`: invariants that are not judged in this case, each with the reason.
    pub exempt: BTreeMap<Invariant, String>,
}

impl Case {
    /// Returns `true` if a policy of it preserves state on some failover.
    pub fn preserves_state(&self) -> bool {
        let mut written = self.steps.iter().flat_map(|step| step.action.facts().writes);
        written.any(|it| behaviors(it.value).any(|of| of.get("statePreservation").is_some()))
    }
}

/// Returns the behaviors that a policy sets for failovers of clusters and of applications.
pub fn behaviors(policy: &Value) -> impl Iterator<Item = &Value> {
    let behaviors = ["cluster", "application"].map(|of| policy.pointer(&format!("/spec/failover/{of}")));
    behaviors.into_iter().flatten()
}

/// How a target is set up for a case.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct ControllerSetup {
    /// `featureGates`: what is not named has its default.
    pub feature_gates: BTreeMap<String, bool>,
    /// `options`: flags by name without dashes, such as `resource-eviction-rate`, with their values as text.
    pub options: BTreeMap<String, String>,
}

impl ControllerSetup {
    /// Value of an option in a case that relies on the default of the implementation: it is started without the option.
    pub const DEFAULT: &str = "default";

    /// Returns the set-up of a program: without the options that have their default.
    #[must_use]
    pub fn without_defaults(&self) -> Self {
        let mut setup = self.clone();
        setup.options.retain(|_, value| value != Self::DEFAULT);
        setup
    }

    /// Returns `true` if a case relies on the default of an option.
    pub fn relies_on_defaults(&self) -> bool {
        self.options.values().any(|value| value == Self::DEFAULT)
    }
}

/// One step of a case.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Step {
    /// Its line in the file, from 1.
    #[serde(skip)]
    pub line: usize,
    /// The action.
    pub action: Action,
}

/// A taint as it is put on a Cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Taint {
    /// `key`.
    pub key: String,
    /// `value`, may be left out.
    pub value: Option<String>,
    /// `effect`: `NoExecute`, `NoSchedule`, `PreferNoExecute`, `PreferNoSchedule`.
    pub effect: String,
}

/// Values that are compared with a file under `snapshots/`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Snapshot {
    /// Its name, unique in the case.
    pub name: String,
    /// The workload that it is about.
    pub workload: ObjectRef,
    /// Its parts.
    pub of: Vec<SnapshotPart>,
    /// The moment: when this object was first seen on that member, else the moment of the step.
    pub when_first_seen_on: Option<RoleName>,
}

/// Part of a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum SnapshotPart {
    /// `taints` of every member.
    Taints,
    /// `binding`: scheduling result and eviction tasks.
    Binding,
    /// `labels` of the template and of every copy.
    Labels,
}

impl SnapshotPart {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Taints, Self::Binding, Self::Labels];
}

//! A checked case. Faults and starts of the target are in `fault_injection`, texts for people in
//! `words`.

mod assertion;
mod command;
mod fault_injection;
mod invariant;
mod metric;
mod moves;
mod refused;
mod subject;
mod words;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    time::Duration,
};

use serde::Serialize;
use serde_json::Value;

use crate::names::{CaseId, Feature, RequirementId, RoleName};

pub use assertion::{Assertion, Condition, Count, Expect, Mode, Phase, Sequence};
pub use command::CommandRun;
pub use fault_injection::{Expected, FIRST_INSTANCE, Failing, Fault, Start};
pub use invariant::Invariant;
pub use metric::{Metric, MetricAssertion};
pub use moves::{Move, MoveFault, WritePoint};
pub use refused::Refused;
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
        let preserves = |object: &Value| behaviors(object).any(|it| it.get("statePreservation").is_some());
        self.steps.iter().any(|step| match &step.action {
            Action::Apply { objects, .. } => objects.iter().any(preserves),
            Action::Patch { merge, .. } => preserves(merge),
            _ => false,
        })
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

/// One step of a case.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Step {
    /// Its line in the file, from 1.
    #[serde(skip)]
    pub line: usize,
    /// The action.
    pub action: Action,
}

/// Action of a step.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub enum Action {
    /// `apply`: server-side apply of objects.
    Apply {
        /// Place.
        on: Vec<Place>,
        /// The objects of the `file`, or the one `resource`. Texts in them may refer to roles.
        objects: Vec<Value>,
        /// The file they came from, below `fixtures/`, for people.
        #[serde(skip)]
        file: Option<String>,
        /// Requirements that are shown if the API accepts them.
        #[serde(skip_serializing_if = "BTreeSet::is_empty")]
        proves: BTreeSet<RequirementId>,
    },
    /// `admission`: puts admission rules in force, in the place of a policy engine on the member.
    Admission {
        /// Place.
        on: Vec<Place>,
        /// The rules, as the file has them.
        rules: String,
        /// The file, below `fixtures/`.
        file: String,
    },
    /// `patch`: a merge patch of one object.
    Patch {
        /// Place.
        on: Place,
        /// Object.
        of: Subject,
        /// The patch. Texts in it may refer to roles and captures.
        merge: Value,
    },
    /// `setStatus`: a merge patch of an object's status, as the workload's own controller would make it.
    SetStatus {
        /// Place.
        on: Place,
        /// Object.
        of: Subject,
        /// Value that is merged into `.status`.
        status: Value,
    },
    /// `delete`: deletes an object; does not wait until it is gone.
    Delete {
        /// Place.
        on: Place,
        /// Object.
        of: Subject,
    },
    /// `bindRole`: waits until the scheduling result of a workload names one member that plays none of the other
    /// roles, and gives it the role.
    BindRole {
        /// The role.
        role: RoleName,
        /// The workload.
        from: ObjectRef,
        /// Members with these roles do not count.
        not: Vec<RoleName>,
    },
    /// `capture`: waits until a field is there and keeps its value; patterns refer to it as `${name}`.
    Capture {
        /// The name.
        name: String,
        /// Place.
        on: Place,
        /// Object.
        of: Subject,
        /// The field, as keys from the object's root: `[status, jobStatus, jobID]`, written with dots.
        field: Vec<String>,
    },
    /// `capture: {name: …, now: true}`: keeps the present time.
    CaptureNow(String),
    /// `refused`: a request that the API must not accept.
    Refused(Refused),
    /// `taint`: adds a taint to a cluster, leaving others alone.
    Taint {
        /// Cluster.
        cluster: Place,
        /// The taint.
        taint: Taint,
        /// `for`: after this time it is removed again, and the step ends; it stays if absent.
        lasts: Option<Duration>,
    },
    /// `untaint`: removes a taint from a cluster.
    Untaint {
        /// Cluster.
        cluster: Place,
        /// The taint's key.
        key: String,
        /// The taint's effect.
        effect: String,
    },
    /// `hold`: puts a finalizer on an object, so that it stays when it is deleted.
    Hold {
        /// Place.
        on: Place,
        /// Object.
        of: Subject,
    },
    /// `release`: takes that finalizer off again.
    Release {
        /// Place.
        on: Place,
        /// Object.
        of: Subject,
    },
    /// `cutOff`, `heal`, `unready`, `ready`, `unjoin`, `join`, `condition`, `delay`, `fail`, `controller: stop` and `start`:
    /// injects a fault, or ends one.
    Inject(Fault),
    /// `controller: {refuses: …}` or `{warns: …}`: starts the target anew with another set-up, and hears what it says.
    Start(Start),
    /// `run`: runs a command of the implementation to its end.
    Run(CommandRun),
    /// `elapse`: lets time pass. On real clusters it really takes that long.
    Elapse(Duration),
    /// `wait`: waits until something holds.
    Wait {
        /// Condition to wait for.
        until: Condition,
        /// The phase whose timeout counts.
        phase: Phase,
        /// `orUnsupported`: what the implementation has not if it does not come, so that the case is not for it.
        #[serde(skip_serializing_if = "Option::is_none")]
        otherwise: Option<String>,
    },
    /// `assert`: judged on the timeline; `eventually`, `observed` and `firstSeen` also wait, `consistently` lets time pass.
    Assert(Assertion),
    /// `assert: {mode: order, …}`: of two things, which came first.
    Order(Box<Sequence>),
    /// `assert: {metric: …}`: what a metric of the target says.
    Metric(MetricAssertion),
    /// `snapshot`: compares what is there with a file under `snapshots/`.
    Snapshot(Snapshot),
}

impl Action {
    /// The requirements that it is to show.
    pub fn claims(&self) -> BTreeSet<RequirementId> {
        match self {
            Self::Apply { proves, .. } => proves.clone(),
            Self::Assert(assertion) => assertion.proves.ids(),
            Self::Start(start) => start.proves.clone(),
            Self::Refused(refused) => refused.proves.clone(),
            Self::Run(run) => run.proves.clone(),
            Self::Order(sequence) => sequence.proves.clone(),
            Self::Metric(assertion) => assertion.proves.clone(),
            _ => BTreeSet::new(),
        }
    }
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

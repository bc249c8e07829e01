//! A checked case. Faults and starts of the target are in `fault_injection`, texts for people in
//! `words`.

mod command;
mod fault_injection;
mod invariant;
mod metric;
mod refused;
mod words;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    path::PathBuf,
    time::Duration,
};

use serde::Serialize;
use serde_json::Value;

use super::claims::Claims;
use crate::{
    names::{CaseId, Feature, RequirementId, RoleName},
    pattern::Pattern,
};

pub use command::CommandRun;
pub use fault_injection::{Expected, FIRST_INSTANCE, Failing, Fault, Start};
pub use invariant::Invariant;
pub use metric::{Metric, MetricAssertion};
pub use refused::Refused;

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
    /// What is done.
    pub action: Action,
}

/// What a step does.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub enum Action {
    /// `apply`: server-side apply of objects.
    Apply {
        /// Where.
        on: Vec<Place>,
        /// The objects of the `file`, or the one `resource`. Texts in them may refer to roles.
        objects: Vec<Value>,
        /// The file they came from, below `fixtures/`, for people.
        #[serde(skip)]
        file: Option<String>,
        /// What it shows that the API accepts them.
        #[serde(skip_serializing_if = "BTreeSet::is_empty")]
        proves: BTreeSet<RequirementId>,
    },
    /// `admission`: puts admission rules in force, in the place of a policy engine on the member.
    Admission {
        /// Where.
        on: Vec<Place>,
        /// The rules, as the file has them.
        rules: String,
        /// The file, below `fixtures/`.
        file: String,
    },
    /// `patch`: a merge patch of one object.
    Patch {
        /// Where.
        on: Place,
        /// What.
        of: Subject,
        /// The patch. Texts in it may refer to roles and captures.
        merge: Value,
    },
    /// `setStatus`: a merge patch of an object's status, as the workload's own controller would make it.
    SetStatus {
        /// Where.
        on: Place,
        /// What.
        of: Subject,
        /// What `.status` becomes, merged.
        status: Value,
    },
    /// `delete`: deletes an object; does not wait until it is gone.
    Delete {
        /// Where.
        on: Place,
        /// What.
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
        /// Where.
        on: Place,
        /// What.
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
        /// Which cluster.
        cluster: Place,
        /// The taint.
        taint: Taint,
        /// `for`: after this time it is removed again, and the step ends; it stays if absent.
        lasts: Option<Duration>,
    },
    /// `untaint`: removes a taint from a cluster.
    Untaint {
        /// Which cluster.
        cluster: Place,
        /// The taint's key.
        key: String,
        /// The taint's effect.
        effect: String,
    },
    /// `hold`: puts a finalizer on an object, so that it stays when it is deleted.
    Hold {
        /// Where.
        on: Place,
        /// What.
        of: Subject,
    },
    /// `release`: takes that finalizer off again.
    Release {
        /// Where.
        on: Place,
        /// What.
        of: Subject,
    },
    /// `cutOff`, `heal`, `unready`, `ready`, `condition`, `delay`, `fail`, `controller: stop` and `start`: injects a fault, or ends one.
    Inject(Fault),
    /// `controller: {refuses: …}` or `{warns: …}`: starts the target anew with another set-up, and hears what it says.
    Start(Start),
    /// `run`: runs a command of the implementation to its end.
    Run(CommandRun),
    /// `elapse`: lets time pass. On real clusters it really takes that long.
    Elapse(Duration),
    /// `wait`: waits until something holds.
    Wait {
        /// What is waited for.
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

/// A cluster, or several, as a case names them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Place {
    /// `control`: the control plane.
    Control,
    /// `members`: every member.
    Members,
    /// The member that plays a role.
    Role(RoleName),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Control => f.pad("control"),
            Self::Members => f.pad("members"),
            Self::Role(role) => role.fmt(f),
        }
    }
}

/// Which object: `{kind, name}`, with `namespace` (default `default`) and `apiVersion` where the kind alone does not say.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct ObjectRef {
    /// `apiVersion`; for kinds that the case applies itself it is filled in from there.
    pub api_version: String,
    /// `kind`.
    pub kind: String,
    /// `namespace`, or nothing for cluster-scoped kinds.
    pub namespace: Option<String>,
    /// `name`.
    pub name: String,
}

impl fmt::Display for ObjectRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind, self.name)
    }
}

/// All workloads of a kind with some labels: `{kind, labels}`, with `namespace` and `apiVersion` as for one of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Workloads {
    /// `apiVersion`.
    pub api_version: String,
    /// `kind`.
    pub kind: String,
    /// `namespace`, or nothing for cluster-scoped kinds.
    pub namespace: Option<String>,
    /// `labels` that their templates have; all of the kind, if there are none.
    pub labels: BTreeMap<String, String>,
}

impl fmt::Display for Workloads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "every {}", self.kind)?;
        let labels: Vec<_> = self
            .labels
            .iter()
            .map(|(key, value)| format!("{key}={value}"))
            .collect();
        match labels.as_slice() {
            [] => Ok(()),
            labels => write!(f, " with {}", labels.join(",")),
        }
    }
}

/// What a step is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub enum Subject {
    /// An object itself.
    Object(ObjectRef),
    /// `{bindingOf: …}`: the binding of a workload, on the control plane.
    BindingOf(ObjectRef),
    /// `{bindingsOf: …}`: the bindings of several workloads, on the control plane; they are counted.
    BindingsOf(Workloads),
    /// `{workOf: …, for: origin}`: the Work that carries a workload to a member, on the control plane.
    WorkOf {
        /// The workload.
        workload: ObjectRef,
        /// The member.
        member: RoleName,
    },
    /// `{cluster: origin}`: the Cluster object of a member, on the control plane.
    Cluster(RoleName),
    /// `{eventOf: …}`: any Event that is about an object; matches if one of them does.
    EventOf(Box<Subject>),
    /// `{noticeOf: …}`: what people can see about a workload since the last step that did something or waited: a Warning
    /// about it or its binding, or a condition of the binding, as a text; matches if one of them does.
    NoticeOf(ObjectRef),
    /// `{newsOf: …}`: any Event about a workload or its binding since the last step that did something or waited, as a
    /// text; matches if one of them does.
    NewsOf(ObjectRef),
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Object(object) => object.fmt(f),
            Self::BindingOf(workload) => write!(f, "the binding of {workload}"),
            Self::BindingsOf(workloads) => write!(f, "the bindings of {workloads}"),
            Self::WorkOf { workload, member } => write!(f, "the work of {workload} for {member}"),
            Self::Cluster(role) => write!(f, "the cluster {role}"),
            Self::EventOf(subject) => write!(f, "an event of {subject}"),
            Self::NoticeOf(workload) => write!(f, "a new warning or condition about {workload}"),
            Self::NewsOf(workload) => write!(f, "a new event about {workload}"),
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

/// Something that holds or does not.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Condition {
    /// Where.
    pub on: Place,
    /// What it is about.
    pub of: Subject,
    /// What must hold of it.
    pub expect: Expect,
}

/// What must hold of an object.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub enum Expect {
    /// `present: true`: it is there.
    Present,
    /// `absent: true`: it is not there.
    Absent,
    /// `match`: it is there and looks like this.
    Match(Pattern),
    /// `noMatch`: it does not look like this, or is not there.
    NoMatch(Pattern),
    /// `count`: so many of them look like this.
    Count(Count),
}

/// How many of several objects look like something.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Count {
    /// `match`: what counts; all that are there, if absent.
    pub like: Option<Pattern>,
    /// `is`: what the number must be.
    pub is: Pattern,
}

/// Two things of which one must come before the other.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Sequence {
    /// What must hold first.
    pub first: Condition,
    /// What must hold later, for the first time.
    pub then: Condition,
    /// What it shows if the order is right.
    pub proves: BTreeSet<RequirementId>,
}

/// When something must hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Mode {
    /// `now`: at the moment of the step.
    Now,
    /// `eventually`: at some moment after the step began, in time.
    Eventually,
    /// `consistently`: at every moment for so long.
    Consistently(Duration),
    /// `observed`: of some revision since the run began, in time.
    Observed,
    /// `never`: of no revision from the run's beginning to its end.
    Never,
    /// `firstSeen`: of the first revision of the object that is there now (or comes in time).
    FirstSeen,
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Now => f.write_str("now"),
            Self::Eventually => f.write_str("eventually"),
            Self::Consistently(time) => write!(f, "consistently for {} s", time.as_secs_f64()),
            Self::Observed => f.write_str("observed"),
            Self::Never => f.write_str("never"),
            Self::FirstSeen => f.write_str("first seen"),
        }
    }
}

/// An assertion.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Assertion {
    /// When it must hold.
    pub mode: Mode,
    /// What must hold.
    pub condition: Condition,
    /// The phase whose timeout counts where the mode waits.
    pub phase: Phase,
    /// How long the mode waits, in the place of the phase's timeout.
    pub within: Option<Duration>,
    /// What it shows if it holds. If nothing, it says what the steps after it build on.
    pub proves: Claims,
}

/// The named phases of a migration; each has a timeout, which a target may change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Phase {
    /// Until a policy has led to a scheduling result.
    Schedule,
    /// Until a member's status is in the binding.
    Collect,
    /// From a taint to the eviction task.
    Evict,
    /// Until the old copy is gone.
    Purge,
    /// Until the new copy is there.
    Create,
    /// Until something is removed or tidied up.
    Clear,
}

impl Phase {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Schedule,
        Self::Collect,
        Self::Evict,
        Self::Purge,
        Self::Create,
        Self::Clear,
    ];

    /// Its name in cases.
    pub fn name(self) -> &'static str {
        match self {
            Self::Schedule => "schedule",
            Self::Collect => "collect",
            Self::Evict => "evict",
            Self::Purge => "purge",
            Self::Create => "create",
            Self::Clear => "clear",
        }
    }
}

/// What is compared with a file under `snapshots/`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Snapshot {
    /// Its name, unique in the case.
    pub name: String,
    /// The workload that it is about.
    pub workload: ObjectRef,
    /// What it shows.
    pub of: Vec<SnapshotPart>,
    /// The moment: when this object was first seen on that member, else the moment of the step.
    pub when_first_seen_on: Option<RoleName>,
}

/// What a snapshot can show.
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

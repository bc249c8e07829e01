//! The invariants: their names, and what they show.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::names::RequirementId;

/// Rule that holds in every run, independent of its steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Invariant {
    /// Under Directly an object is created on the next cluster only when it is absent from the one it left.
    OriginGoneBeforeDestinationCreated,
    /// While a workload leaves a cluster under Directly, no two members hold it, or pods of it, at the same moment.
    AtMostOneLiveCopy,
    /// No template ever carries an injected label that its owner did not give it.
    NoLabelOnTemplate,
    /// No cluster of clustersBeforeFailover is ever given an injected label.
    NoLabelOnPredecessor,
    /// A task whose state must be injected names the clusters that ran the workload before.
    TaskNamesPredecessors,
    /// A task's preserved state changes only to what was collected of the old copy.
    PreservedStateNeverChanges,
    /// No cluster is at once in the scheduling result and in a Directly task.
    ResultAndTaskDisjoint,
    /// An eviction that comes late was visibly held up.
    LateEvictionIsExplained,
    /// After clean-up nothing of what the target made is left.
    NothingLeftAfterCleanUp,
    /// Nobody but the target, and the steps of the case, writes bindings.
    OnlyTheTargetWritesBindings,
    /// The target makes no write that changes nothing.
    NoWriteChangesNothing,
    /// Of several instances of the target no two write by turns.
    OneInstanceWrites,
    /// No revision of a binding has two tasks for one cluster.
    OneTaskPerCluster,
    /// No two bindings refer to one workload at the same moment.
    OneBindingPerWorkload,
    /// A task because of a taint is not written before its time.
    NoEvictionBeforeItsTime,
    /// A task because of an unhealthy workload is not written before its time.
    NoApplicationFailoverBeforeItsTime,
    /// Under Gracefully a healthy old copy stays until another one is healthy, or its period is over.
    GracefullyNeverWithoutCopy,
    /// Under Never the old copy stays until a user confirms its removal.
    CopyStaysUnderNever,
    /// A copy that ever has an injected label has it from its first revision on; none without it came before.
    LabelsFromFirstRevision,
    /// An injected label stays until the copy was healthy for the first time.
    LabelsUntilHealthy,
    /// No label is injected under another mode than Directly, or on several clusters.
    LabelsOnlyUnderDirectly,
    /// The target removes no taint that another writer put on a cluster.
    OthersTaintsSurvive,
    /// With the gate Failover off no task is written, and no policy taints a cluster.
    GateOffMovesNothing,
    /// No more evictions by taint begin than the rate allows.
    EvictionRateKept,
    /// The target adds a `NoExecute` taint only where a `ClusterTaintPolicy` has it.
    OnlyPoliciesTaint,
    /// A `ClusterTaintPolicy` taints no cluster before its conditions have held for its window.
    TaintNotBeforeItsWindow,
    /// The target removes a taint of a `ClusterTaintPolicy` only after its conditions have not held for its window.
    TaintStaysForItsWindow,
    /// The target changes no tolerations of a policy.
    PoliciesUntouched,
    /// A cluster that newly enters a scheduling result fits.
    DestinationFits,
    /// Under Divided the replicas of a result add up to those of the workload.
    ReplicasAddUp,
    /// When a task is cleared its cluster is in the result again, or its copy goes.
    TaskEndsWell,
    /// Under Directly the scheduling result names a new cluster only when the old copy is gone.
    ScheduledOnlyAfterGone,
    /// A cluster with a taint that is not tolerated leaves the scheduling result only with a task.
    MoveHasTask,
    /// A task goes when the migration is over, its cluster is back in the result, or a user did it.
    TaskStaysUntilOver,
    /// A task has an entry for each rule, with the value that was collected last.
    StatePreserved,
    /// A task has the purge mode and the grace period of the policy.
    TaskFollowsPolicy,
    /// The next copy has all of the state that is kept, in its first revision.
    StateReachesCopy,
    /// From a taint that is not tolerated on there is at most one copy under Directly, with a task or without one.
    OneCopyWhileFailing,
    /// Some time after the last move a workload is where its result says, or it is visible why not.
    Settles,
    /// Some time after the last move the target writes nothing more; a warning only.
    ComesToRest,
}

impl Invariant {
    /// All of them.
    pub const ALL: [Self; 40] = [
        Self::OriginGoneBeforeDestinationCreated,
        Self::AtMostOneLiveCopy,
        Self::NoLabelOnTemplate,
        Self::NoLabelOnPredecessor,
        Self::TaskNamesPredecessors,
        Self::PreservedStateNeverChanges,
        Self::ResultAndTaskDisjoint,
        Self::LateEvictionIsExplained,
        Self::NothingLeftAfterCleanUp,
        Self::OnlyTheTargetWritesBindings,
        Self::NoWriteChangesNothing,
        Self::OneInstanceWrites,
        Self::OneTaskPerCluster,
        Self::OneBindingPerWorkload,
        Self::NoEvictionBeforeItsTime,
        Self::NoApplicationFailoverBeforeItsTime,
        Self::GracefullyNeverWithoutCopy,
        Self::CopyStaysUnderNever,
        Self::LabelsFromFirstRevision,
        Self::LabelsUntilHealthy,
        Self::LabelsOnlyUnderDirectly,
        Self::OthersTaintsSurvive,
        Self::GateOffMovesNothing,
        Self::EvictionRateKept,
        Self::OnlyPoliciesTaint,
        Self::TaintNotBeforeItsWindow,
        Self::TaintStaysForItsWindow,
        Self::PoliciesUntouched,
        Self::DestinationFits,
        Self::ReplicasAddUp,
        Self::TaskEndsWell,
        Self::ScheduledOnlyAfterGone,
        Self::MoveHasTask,
        Self::TaskStaysUntilOver,
        Self::StatePreserved,
        Self::TaskFollowsPolicy,
        Self::StateReachesCopy,
        Self::OneCopyWhileFailing,
        Self::Settles,
        Self::ComesToRest,
    ];

    /// Its name in cases.
    pub fn name(self) -> &'static str {
        match self {
            Self::OriginGoneBeforeDestinationCreated => "originGoneBeforeDestinationCreated",
            Self::AtMostOneLiveCopy => "atMostOneLiveCopy",
            Self::NoLabelOnTemplate => "noLabelOnTemplate",
            Self::NoLabelOnPredecessor => "noLabelOnPredecessor",
            Self::TaskNamesPredecessors => "taskNamesPredecessors",
            Self::PreservedStateNeverChanges => "preservedStateNeverChanges",
            Self::ResultAndTaskDisjoint => "resultAndTaskDisjoint",
            Self::LateEvictionIsExplained => "lateEvictionIsExplained",
            Self::NothingLeftAfterCleanUp => "nothingLeftAfterCleanUp",
            Self::OnlyTheTargetWritesBindings => "onlyTheTargetWritesBindings",
            Self::NoWriteChangesNothing => "noWriteChangesNothing",
            Self::OneInstanceWrites => "oneInstanceWrites",
            Self::OneTaskPerCluster => "oneTaskPerCluster",
            Self::OneBindingPerWorkload => "oneBindingPerWorkload",
            Self::NoEvictionBeforeItsTime => "noEvictionBeforeItsTime",
            Self::NoApplicationFailoverBeforeItsTime => "noApplicationFailoverBeforeItsTime",
            Self::GracefullyNeverWithoutCopy => "gracefullyNeverWithoutCopy",
            Self::CopyStaysUnderNever => "copyStaysUnderNever",
            Self::LabelsFromFirstRevision => "labelsFromFirstRevision",
            Self::LabelsUntilHealthy => "labelsUntilHealthy",
            Self::LabelsOnlyUnderDirectly => "labelsOnlyUnderDirectly",
            Self::OthersTaintsSurvive => "othersTaintsSurvive",
            Self::GateOffMovesNothing => "gateOffMovesNothing",
            Self::EvictionRateKept => "evictionRateKept",
            Self::OnlyPoliciesTaint => "onlyPoliciesTaint",
            Self::TaintNotBeforeItsWindow => "taintNotBeforeItsWindow",
            Self::TaintStaysForItsWindow => "taintStaysForItsWindow",
            Self::PoliciesUntouched => "policiesUntouched",
            Self::DestinationFits => "destinationFits",
            Self::ReplicasAddUp => "replicasAddUp",
            Self::TaskEndsWell => "taskEndsWell",
            Self::ScheduledOnlyAfterGone => "scheduledOnlyAfterGone",
            Self::MoveHasTask => "moveHasTask",
            Self::TaskStaysUntilOver => "taskStaysUntilOver",
            Self::StatePreserved => "statePreserved",
            Self::TaskFollowsPolicy => "taskFollowsPolicy",
            Self::StateReachesCopy => "stateReachesCopy",
            Self::OneCopyWhileFailing => "oneCopyWhileFailing",
            Self::Settles => "settles",
            Self::ComesToRest => "comesToRest",
        }
    }

    /// The requirements that it shows where it had something to judge.
    pub fn proves(self) -> BTreeSet<RequirementId> {
        let ids: &[&str] = match self {
            Self::OriginGoneBeforeDestinationCreated => &["PRG-01"],
            Self::AtMostOneLiveCopy | Self::OneCopyWhileFailing => &["PRG-03"],
            Self::NoLabelOnTemplate => &["REC-08"],
            Self::NoLabelOnPredecessor => &["REC-03"],
            Self::TaskNamesPredecessors => &["REC-04"],
            Self::PreservedStateNeverChanges => &["STP-11"],
            Self::ResultAndTaskDisjoint => &["PRG-11"],
            Self::LateEvictionIsExplained => &["STP-06", "OBS-02"],
            Self::NothingLeftAfterCleanUp => &["POL-08", "POL-14"],
            Self::OneInstanceWrites => &["EVQ-07"],
            Self::OneTaskPerCluster => &["PRG-10"],
            Self::OneBindingPerWorkload => &["POL-01"],
            Self::NoEvictionBeforeItsTime => &["TNT-03"],
            Self::NoApplicationFailoverBeforeItsTime => &["APP-02"],
            Self::GracefullyNeverWithoutCopy => &["PRG-05", "PRG-14"],
            Self::CopyStaysUnderNever => &["PRG-09"],
            Self::LabelsFromFirstRevision => &["REC-01"],
            Self::LabelsUntilHealthy => &["REC-11"],
            Self::LabelsOnlyUnderDirectly => &["REC-05", "REC-06"],
            Self::OthersTaintsSurvive => &["CTP-07", "CTP-12"],
            Self::GateOffMovesNothing => &["GAT-01", "GAT-06"],
            Self::EvictionRateKept => &["RAT-01", "RAT-02", "RAT-03"],
            Self::OnlyPoliciesTaint => &["CTP-08"],
            Self::TaintNotBeforeItsWindow => &["CTP-01", "CTP-06"],
            Self::TaintStaysForItsWindow => &["CTP-02"],
            Self::PoliciesUntouched => &["TNT-06"],
            Self::DestinationFits => &["TNT-01", "TNT-02", "TNT-10", "APP-08"],
            Self::ReplicasAddUp => &["POL-11"],
            Self::TaskEndsWell | Self::Settles => &["GRE-10"],
            Self::ScheduledOnlyAfterGone => &["PRG-13"],
            Self::MoveHasTask => &["TNT-11"],
            Self::TaskStaysUntilOver => &["GRE-02", "GRE-04", "GRE-10"],
            Self::StatePreserved => &["STP-01", "STP-02", "STP-03"],
            Self::TaskFollowsPolicy => &["POL-05", "PRG-08", "APP-07", "GRE-05"],
            Self::StateReachesCopy => &["REC-01", "REC-02", "STP-12"],
            // They make the other findings trustworthy; the catalogue has no requirement for them.
            Self::OnlyTheTargetWritesBindings | Self::NoWriteChangesNothing | Self::ComesToRest => &[],
        };
        ids.iter().map(|id| RequirementId::new(*id)).collect()
    }
}

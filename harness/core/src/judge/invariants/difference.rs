//! Field and kind of difference of each invariant, so that its findings and those of assertions show the same defect.

use crate::{
    case::model::Invariant,
    judge::DifferenceKind::{self, Different, Missing, TooEarly, TooLate, Unexpected},
};

const LABELS: &str = "metadata.labels[]";
const TASKS: &str = "spec.gracefulEvictionTasks";
const STATE: &str = "spec.gracefulEvictionTasks[].preservedLabelState[]";
const RESULT: &str = "spec.clusters";
/// Taints of a Cluster.
pub(super) const TAINTS: &str = "spec.taints";

/// The field that a finding of an invariant is about, if it is about one, and how it differs.
pub(super) fn of(invariant: Invariant) -> (Option<&'static str>, DifferenceKind) {
    match invariant {
        Invariant::OriginGoneBeforeDestinationCreated
        | Invariant::GracefullyNeverWithoutCopy
        | Invariant::CopyStaysUnderNever => (None, TooEarly),
        Invariant::AtMostOneLiveCopy
        | Invariant::NothingLeftAfterCleanUp
        | Invariant::OnlyTheTargetWritesBindings
        | Invariant::NoWriteChangesNothing
        | Invariant::OneInstanceWrites
        | Invariant::OneBindingPerWorkload
        | Invariant::TaskEndsWell
        | Invariant::OneCopyWhileFailing
        | Invariant::Settles
        | Invariant::ComesToRest => (None, Unexpected),
        Invariant::LateEvictionIsExplained => (None, Missing),
        Invariant::NoLabelOnTemplate | Invariant::NoLabelOnPredecessor | Invariant::LabelsOnlyUnderDirectly => {
            (Some(LABELS), Unexpected)
        }
        Invariant::LabelsFromFirstRevision => (Some(LABELS), TooLate),
        Invariant::LabelsUntilHealthy => (Some(LABELS), TooEarly),
        Invariant::TaskNamesPredecessors => (Some("spec.gracefulEvictionTasks[].clustersBeforeFailover"), Different),
        Invariant::PreservedStateNeverChanges | Invariant::StatePreserved => (Some(STATE), Different),
        Invariant::TaskFollowsPolicy => (Some(TASKS), Different),
        Invariant::StateReachesCopy => (Some(LABELS), Missing),
        Invariant::MoveHasTask => (Some(TASKS), Missing),
        Invariant::ResultAndTaskDisjoint | Invariant::DestinationFits | Invariant::ScheduledOnlyAfterGone => {
            (Some(RESULT), Unexpected)
        }
        Invariant::ReplicasAddUp => (Some("spec.clusters[].replicas"), Different),
        Invariant::OneTaskPerCluster | Invariant::GateOffMovesNothing => (Some(TASKS), Unexpected),
        Invariant::NoEvictionBeforeItsTime
        | Invariant::NoApplicationFailoverBeforeItsTime
        | Invariant::EvictionRateKept
        | Invariant::TaskStaysUntilOver => (Some(TASKS), TooEarly),
        Invariant::OthersTaintsSurvive => (Some(TAINTS), Missing),
        Invariant::OnlyPoliciesTaint => (Some(TAINTS), Unexpected),
        Invariant::TaintNotBeforeItsWindow | Invariant::TaintStaysForItsWindow => (Some(TAINTS), TooEarly),
        Invariant::PoliciesUntouched => (Some("spec.placement.clusterTolerations"), Different),
    }
}

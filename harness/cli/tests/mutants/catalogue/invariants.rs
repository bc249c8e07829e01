//! Invariants hold in every case, also where no assertion looks: each of them alone finds a defect.

use crate::mutant::Mutant;

/// Name, invariant that the mutant breaks, and name of the original mutant.
const BROKEN: [(&str, &str, &str); 34] = [
    (
        "origin-not-gone",
        "originGoneBeforeDestinationCreated",
        "marked-counts-as-gone",
    ),
    ("two-live-copies", "atMostOneLiveCopy", "pods-outlive-the-object"),
    ("template-labelled", "noLabelOnTemplate", "labels-on-the-template"),
    ("predecessor-labelled", "noLabelOnPredecessor", "labels-back-home"),
    (
        "predecessors-missing",
        "taskNamesPredecessors",
        "predecessors-not-recorded",
    ),
    ("state-changed", "preservedStateNeverChanges", "state-rewritten"),
    ("result-and-task", "resultAndTaskDisjoint", "result-keeps-the-origin"),
    ("late-in-silence", "lateEvictionIsExplained", "blocked-in-silence"),
    ("moved-without-task", "moveHasTask", "moves-without-a-task"),
    ("task-goes-early", "taskStaysUntilOver", "task-cleared-with-the-result"),
    ("state-not-kept", "statePreserved", "no-state-at-all"),
    ("state-not-injected", "stateReachesCopy", "labels-missing"),
    (
        "two-copies-without-task",
        "oneCopyWhileFailing",
        "old-copy-stays-without-a-task",
    ),
    ("never-settled", "settles", "task-never-cleared"),
    ("copies-outlive-works", "nothingLeftAfterCleanUp", "copies-left"),
    ("two-tasks", "oneTaskPerCluster", "task-written-twice"),
    ("evicted-early", "noEvictionBeforeItsTime", "toleration-seconds-ignored"),
    (
        "application-moved-early",
        "noApplicationFailoverBeforeItsTime",
        "unhealthy-leaves-soon",
    ),
    ("gone-under-never", "copyStaysUnderNever", "never-ends-by-itself"),
    (
        "gap-under-gracefully",
        "gracefullyNeverWithoutCopy",
        "old-copy-not-held",
    ),
    ("labels-late", "labelsFromFirstRevision", "labels-added-later"),
    ("labels-lost-early", "labelsUntilHealthy", "labels-removed-early"),
    (
        "labels-of-another-mode",
        "labelsOnlyUnderDirectly",
        "labels-under-gracefully",
    ),
    ("taints-of-others-lost", "othersTaintsSurvive", "writes-all-taints"),
    (
        "moved-with-the-gate-off",
        "gateOffMovesNothing",
        "failover-gate-ignored",
    ),
    ("too-many-at-once", "evictionRateKept", "rate-doubled"),
    ("taint-of-nobody", "onlyPoliciesTaint", "taints-by-itself"),
    ("window-not-awaited", "taintNotBeforeItsWindow", "taints-at-once"),
    ("untainted-early", "taintStaysForItsWindow", "untaints-at-once"),
    ("destination-outside", "destinationFits", "destination-anywhere"),
    ("replicas-too-few", "replicasAddUp", "replicas-lost"),
    ("task-ends-badly", "taskEndsWell", "copies-left"),
    ("named-early", "scheduledOnlyAfterGone", "destination-named-early"),
    ("leaders-by-turns", "oneInstanceWrites", "two-leaders"),
];

/// Returns a mutant for each invariant, made of the mutants that break requirements; for an invariant without a
/// requirement, there is a mutant in `writers`.
pub fn mutants(known: &[Mutant]) -> Vec<Mutant> {
    let broken = BROKEN.into_iter().filter_map(|(name, breaks, same_as)| {
        let mutant = known.iter().find(|mutant| mutant.name == same_as)?;
        Some(Mutant {
            name,
            breaks,
            ..*mutant
        })
    });
    broken.collect()
}

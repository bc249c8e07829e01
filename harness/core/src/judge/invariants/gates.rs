//! Objects that the implementation must not change: all of them with the gate Failover off, and policies always.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Finding, Found, History, bindings, blaming, causes, difference, finding, instances::Target, taints};
use crate::{
    case::model::{Action, Invariant},
    judge::failovers::BY_APPLICATION,
    plan::Plan,
    timeline::{Change, Entry, Event, HANDS, Mark, ObjectId},
};

/// GAT-01, GAT-06: with the gate Failover off no task is written, and no cluster gets a taint of a
/// `ClusterTaintPolicy`. A case that runs a command, such as drain, asks for more than the gate rules.
pub(super) fn off_moves_nothing(history: &History<'_>, target: &Target<'_>, plan: Option<&Plan>) -> Found {
    let mut found = Found::default();
    let is_off = |plan: &&Plan| plan.controller.feature_gates.get("Failover") != Some(&true);
    let commands = |plan: &Plan| plan.steps.iter().any(|step| matches!(step.action, Action::Run(_)));
    let Some(plan) = plan.filter(is_off).filter(|plan| !commands(plan)) else {
        return found;
    };
    let until = other_setup(history, plan);
    let mut there: BTreeMap<ObjectId, Vec<(String, String)>> = BTreeMap::new();
    let mut of_policies: Vec<(String, String)> = Vec::new();
    for (entry, revision) in bindings::revisions(history).filter(|(entry, _)| entry.seq < until) {
        let id = ObjectId::of(revision);
        if revision.kind == "ClusterTaintPolicy" {
            of_policies.extend(taints::of_policy(&revision.object));
            found.judged += 1;
        }
        if revision.kind != "Cluster" || revision.change == Change::Deleted {
            continue;
        }
        let now = taints::of(&revision.object);
        let before = there.insert(id.clone(), now.clone());
        let new = now
            .into_iter()
            .find(|it| before.as_ref().is_some_and(|before| !before.contains(it)));
        let Some(new) = new else { continue };
        found.judged += 1;
        if target.wrote(revision) == Some(true) && of_policies.contains(&new) {
            let (key, effect) = new;
            let expected = "no taint of a ClusterTaintPolicy with the gate Failover off".to_owned();
            let told = finding(
                Invariant::GateOffMovesNothing,
                entry,
                Some(id),
                expected,
                format!("{key}:{effect}"),
            );
            let field = Some(difference::TAINTS.to_owned());
            found.findings.push(blaming(Finding { field, ..told }, "GAT-06"));
        }
    }
    for task in history.tasks.iter().filter(|task| task.written.seq < until) {
        let Some((entry, revision)) = history.written(task) else {
            continue;
        };
        let by_application = causes::reason(&revision.object, task) == Some(BY_APPLICATION);
        if !by_application && revision.by.as_deref() != Some(HANDS) {
            let told = finding(
                Invariant::GateOffMovesNothing,
                entry,
                Some(task.binding.clone()),
                "no eviction task with the gate Failover off".to_owned(),
                format!("one from {}", task.from),
            );
            found.findings.push(blaming(told, "GAT-01"));
        }
    }
    found
}

/// The entry from which on the implementation runs with another set-up.
fn other_setup(history: &History<'_>, plan: &Plan) -> u64 {
    let starts = |step: usize| matches!(plan.steps.get(step).map(|it| &it.action), Some(Action::Start(_)));
    let is = |entry: &&Entry| matches!(&entry.event, Event::Mark(Mark::StepStarted { step, .. }) if starts(*step));
    history.entries.iter().find(is).map_or(u64::MAX, |entry| entry.seq)
}

/// TNT-06: the implementation changes no tolerations of a policy.
pub(super) fn policies_untouched(history: &History<'_>, target: &Target<'_>) -> Found {
    let mut found = Found::default();
    let mut known: BTreeMap<ObjectId, Value> = BTreeMap::new();
    for (entry, revision) in bindings::revisions(history) {
        if !matches!(revision.kind.as_str(), "PropagationPolicy" | "ClusterPropagationPolicy") {
            continue;
        }
        let id = ObjectId::of(revision);
        let tolerations = revision.object.pointer("/spec/placement/clusterTolerations");
        let tolerations = tolerations.cloned().unwrap_or_default();
        found.judged += 1;
        let before = known.insert(id.clone(), tolerations.clone());
        let changed = before.is_some_and(|before| before != tolerations);
        if changed && revision.change == Change::Modified && target.wrote(revision) == Some(true) {
            found.findings.push(finding(
                Invariant::PoliciesUntouched,
                entry,
                Some(id),
                "the tolerations of the policy as its author wrote them".to_owned(),
                tolerations.to_string(),
            ));
        }
    }
    found
}

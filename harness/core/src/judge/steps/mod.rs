//! The steps of a plan, judged along the marks of its timeline.

mod answers;
mod assertions;
mod stops;

use std::collections::BTreeMap;

use assertions::Ground;
use stops::{ended_badly, given_up, hot_loop, not_happened, not_reached, target_ended};

use super::{
    Finding,
    finding::{DifferenceKind, difference},
    several,
    situations::Situations,
    snapshots,
    step_runs::{Judged, Ran, before_clean_up, ran},
};
use crate::{
    case::model::{Action, Fault},
    catalogue::Consequence,
    pattern::resolve,
    plan::Plan,
    timeline::{StepEnd, Timeline},
    watch::{Known, Standpoint},
};

/// Judges all steps that ran; one that did not end well, or did not run at all, is a finding.
pub fn judge(plan: &Plan, timeline: &Timeline) -> Judged {
    let ran = ran(plan, timeline);
    let situations = Situations::of(plan);
    let mut ground = Ground::default();
    let mut judged = Judged::default();
    let mut reached = 0;
    judged.findings.extend(target_ended(timeline));
    judged.findings.extend(hot_loop(timeline));
    for (number, step) in plan.steps.iter().enumerate() {
        reached = number;
        let Some(run) = ran.get(&number) else {
            judged.findings.extend(not_reached(plan, number, timeline));
            let reason = format!("the run ended before step {}", number + 1);
            let claimed = plan.steps[number..].iter().flat_map(|step| step.action.facts().claims);
            judged.leave_open(claimed, &reason);
            judged.incomplete = Some(reason);
            break;
        };
        if ends_without_result(number, plan, run, &mut judged) {
            break;
        }
        match &step.action {
            Action::Assert(assertion) => {
                let standpoint = Standpoint::at(plan, number);
                assertions::judge(
                    (number, assertion),
                    standpoint,
                    run,
                    timeline,
                    (&mut ground, &mut judged),
                );
            }
            Action::Order(sequence) => several::order(number, sequence, run, timeline, (&ground.lost, &mut judged)),
            Action::Metric(assertion) => several::metric(number, assertion, run, timeline, (&ground.lost, &mut judged)),
            Action::Refused(refused) => answers::refused(number, refused, run, timeline, (&mut ground, &mut judged)),
            Action::Run(command) => answers::command(number, command, run, timeline, &mut judged),
            Action::Start(start) => {
                answers::start(number, start, run, timeline, &mut judged);
                if judged.unsupported.is_some() {
                    break;
                }
            }
            action => {
                carry_out((number, action), plan, run, timeline, &mut judged);
                if judged.unsupported.is_some() {
                    break;
                }
            }
        }
        if let Action::Inject(Fault::Move(it)) = &step.action {
            judged.inconclusive.extend(not_happened(number, it, timeline));
        }
        if let Some(reason) = situations.cut_short(number, &step.action, run) {
            judged.incomplete.get_or_insert_with(|| reason.clone());
            ground.lost.get_or_insert(reason);
        }
        if let Action::Snapshot(snapshot) = &step.action {
            judged
                .snapshots
                .push(snapshots::take(snapshot, timeline, run.entries.end));
        }
    }
    keep_findings(reached, plan, &mut judged);
    name_values(&mut judged, &ran, timeline);
    judged
}

/// Lets deviations before a step count, although the implementation does not support the case from this step on.
fn keep_findings(reached: usize, plan: &Plan, judged: &mut Judged) {
    let deviates = |it: &Finding| plan.asked.gravest(&it.requirements) == Some(Consequence::Deviation);
    if !judged.findings.iter().any(deviates) {
        return;
    }
    if let Some(reason) = judged.unsupported.take() {
        let claimed = plan.steps[reached..].iter().flat_map(|step| step.action.facts().claims);
        judged.leave_open(claimed, &reason);
        judged.incomplete = Some(reason);
        judged.ended_early = true;
    }
}

/// Notes a step with which the run ended although nothing deviates: the implementation lacks something, or the wait ended
/// early. Returns `true` if it is one.
fn ends_without_result(number: usize, plan: &Plan, run: &Ran<'_>, judged: &mut Judged) -> bool {
    let step = &plan.steps[number];
    if let Some((StepEnd::Unsupported { reason }, _)) = &run.end {
        judged.unsupported = Some(reason.clone());
    } else if let Some(finding) = given_up(number, &step.action, run) {
        let reason = format!("step {} ended early: {}", number + 1, finding.seen);
        let claimed = plan.steps[number..].iter().flat_map(|step| step.action.facts().claims);
        judged.leave_open(claimed, &reason);
        judged.incomplete = Some(reason);
        judged.given_up = Some(finding);
        judged.ended_early = true;
    } else {
        return false;
    }
    true
}

/// Judges a step that acts or waits.
fn carry_out((number, action): (usize, &Action), plan: &Plan, run: &Ran<'_>, timeline: &Timeline, judged: &mut Judged) {
    let ended = ended_badly(number, action, run, timeline);
    if let Some(reason) = ended.as_ref().and_then(|it| declined(it, plan, judged)) {
        judged.unsupported = Some(reason);
        return;
    }
    if ended.is_some() {
        judged.incomplete = Some(format!("step {} could not be carried out", number + 1));
    } else if matches!(run.end, Some((StepEnd::Done, _))) {
        judged.proved.extend(action.facts().claims);
    }
    match (ended, action) {
        (Some(finding), Action::Wait { until, .. }) => judged.tell(finding, &until.expect, run, timeline),
        (ended, _) => judged.findings.extend(ended),
    }
}

/// The reason for which a case is not for an implementation: it refuses an object that no requirement obliges it to
/// accept, such as a policy with a spelling that it MAY know, and nothing was found before.
fn declined(refused: &Finding, plan: &Plan, so_far: &Judged) -> Option<String> {
    let is_free = plan.asked.gravest(&refused.requirements) == Some(Consequence::None);
    (is_free && so_far.findings.is_empty()).then(|| refused.seen.clone())
}

/// Replaces the references in the expectations of findings by the roles and captures that they stand for.
fn name_values(judged: &mut Judged, ran: &BTreeMap<usize, Ran<'_>>, timeline: &Timeline) {
    let findings = judged.findings.iter_mut().chain(&mut judged.inconclusive);
    for finding in findings.chain(&mut judged.given_up) {
        let run = finding.step.and_then(|step| ran.get(&step));
        if let Some(run) = run.filter(|_| finding.expected.contains("${")) {
            let known = Known::after(&timeline.entries()[..run.entries.end]);
            finding.expected = resolve(&finding.expected, &known.bindings);
        }
    }
}

//! The steps of a plan, judged along the marks of its timeline.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

use super::{Finding, SnapshotText, snapshots};
use crate::{
    case::model::{Action, Assertion, Expected, Mode, Start},
    names::RequirementId,
    plan::Plan,
    timeline::{Entry, Event, Mark, StepEnd, Timeline},
    watch::{Evidence, Known, Outcome, Watch},
};

/// What the steps came to.
#[derive(Debug, Default)]
pub struct Judged {
    pub findings: Vec<Finding>,
    pub proved: BTreeSet<RequirementId>,
    pub snapshots: Vec<SnapshotText>,
}

/// Where a step lies on the timeline, and how the runner says that it ended.
struct Ran<'a> {
    /// Entries from its start mark (inclusive) to its end mark (exclusive).
    entries: Range<usize>,
    end: Option<(&'a StepEnd, &'a Entry)>,
}

/// Judges all steps that ran; one that did not end well, or did not run at all, is a finding.
pub fn judge(plan: &Plan, timeline: &Timeline) -> Judged {
    let ran = ran(timeline);
    let mut judged = Judged::default();
    judged.findings.extend(target_ended(timeline));
    judged.findings.extend(hot_loop(timeline));
    for (number, step) in plan.steps.iter().enumerate() {
        let Some(run) = ran.get(&number) else {
            judged.findings.extend(not_reached(plan, number, timeline));
            break;
        };
        match &step.action {
            Action::Assert(assertion) => judge_assertion(number, assertion, run, timeline, &mut judged),
            Action::Start(start) => judge_start(number, start, run, timeline, &mut judged),
            action => judged.findings.extend(ended_badly(number, action, run, timeline)),
        }
        if let Action::Snapshot(snapshot) = &step.action {
            judged
                .snapshots
                .push(snapshots::take(snapshot, timeline, run.entries.end));
        }
    }
    judged
}

fn ran(timeline: &Timeline) -> BTreeMap<usize, Ran<'_>> {
    let mut ran: BTreeMap<usize, Ran<'_>> = BTreeMap::new();
    for (index, entry) in timeline.entries().iter().enumerate() {
        match &entry.event {
            Event::Mark(Mark::StepStarted { step, .. }) => {
                ran.insert(
                    *step,
                    Ran {
                        entries: index..timeline.entries().len(),
                        end: None,
                    },
                );
            }
            Event::Mark(Mark::StepEnded { step, end }) => {
                if let Some(run) = ran.get_mut(step) {
                    run.entries.end = index;
                    run.end = Some((end, entry));
                }
            }
            Event::Mark(_) | Event::Revision(_) => {}
        }
    }
    ran
}

/// The part of a timeline that is judged: what comes with clean-up is no failover.
pub fn before_clean_up(timeline: &Timeline) -> &[Entry] {
    let clean_up = timeline
        .entries()
        .iter()
        .position(|entry| entry.event == Event::Mark(Mark::CleanUp));
    &timeline.entries()[..clean_up.unwrap_or(timeline.entries().len())]
}

fn judge_assertion(number: usize, assertion: &Assertion, run: &Ran<'_>, timeline: &Timeline, judged: &mut Judged) {
    let entries = timeline.entries();
    let mut watch = Watch::begin(assertion.mode, &assertion.condition, &entries[..=run.entries.start]);
    let rest = match assertion.mode {
        Mode::Never => &before_clean_up(timeline)[run.entries.start + 1..],
        Mode::Now | Mode::Eventually | Mode::Consistently(_) | Mode::Observed | Mode::FirstSeen => {
            &entries[run.entries.start + 1..run.entries.end]
        }
    };
    for entry in rest {
        if watch.outcome().is_some() {
            break;
        }
        watch.feed(entry);
    }
    // What was still open when the target ended, or time did, is neither shown nor refuted: that is the finding.
    if watch.outcome().is_none() && matches!(run.end, Some((StepEnd::TargetEnded | StepEnd::HotLoop(_), _))) {
        return;
    }
    match watch.finish() {
        Outcome::Held(_) => judged.proved.extend(assertion.proves.iter().cloned()),
        Outcome::Failed(evidence) => judged.findings.push(failed(number, assertion, evidence, run)),
    }
}

/// A start with another set-up: whether the target ran, and what it said, stands in a mark of the step.
fn judge_start(number: usize, start: &Start, run: &Ran<'_>, timeline: &Timeline, judged: &mut Judged) {
    let entries = &timeline.entries()[run.entries.clone()];
    let started = entries.iter().find_map(|entry| match &entry.event {
        Event::Mark(Mark::Started { runs, said }) => Some((entry, *runs, said)),
        Event::Mark(_) | Event::Revision(_) => None,
    });
    let Some((entry, runs, said)) = started else {
        let ended = ended_badly(number, &Action::Start(start.clone()), run, timeline);
        return judged.findings.extend(ended);
    };
    let mentions = |message: &String| start.mentions.iter().all(|text| message.contains(text.as_str()));
    if runs == (start.expect == Expected::Warning) && said.iter().any(mentions) {
        return judged.proved.extend(start.proves.iter().cloned());
    }
    let outcome = if runs { "it started" } else { "it refused" };
    let words = if said.is_empty() {
        "nothing".to_owned()
    } else {
        said.join("; ")
    };
    judged.findings.push(Finding {
        requirements: start.proves.clone(),
        title: "a start with another set-up".to_owned(),
        step: Some(number),
        expected: start.to_string(),
        seen: format!("{outcome} and said: {words}"),
        object: None,
        seq: entry.seq,
        at: entry.at,
        mismatches: Vec::new(),
    });
}

fn failed(number: usize, assertion: &Assertion, evidence: Evidence, run: &Ran<'_>) -> Finding {
    let mut seen = match (&evidence.object, evidence.mismatches.is_empty()) {
        (Some(object), true) => object.to_string(),
        (Some(object), false) => format!("{object}, not like that"),
        (None, _) => "no such object".to_owned(),
    };
    if let Some((StepEnd::TimedOut { phase, waited_secs }, _)) = &run.end {
        seen = format!("{seen}, for {waited_secs} s (phase {phase})");
    }
    Finding {
        requirements: assertion.proves.clone(),
        title: format!("{}: {}", assertion.mode, assertion.condition.of),
        step: Some(number),
        expected: if assertion.mode == Mode::Never {
            format!("never that {}", assertion.condition)
        } else {
            assertion.condition.to_string()
        },
        seen,
        object: evidence.object,
        seq: evidence.seq,
        at: evidence.at,
        mismatches: evidence.mismatches,
    }
}

/// A step that acts or waits: it failed if the runner says so.
fn ended_badly(number: usize, action: &Action, run: &Ran<'_>, timeline: &Timeline) -> Option<Finding> {
    let entries = timeline.entries();
    let (seen, entry) = match run.end {
        // That the target ended, or time did, is told once, and not again for the step.
        Some((StepEnd::Done | StepEnd::TargetEnded | StepEnd::HotLoop(_), _)) => return None,
        Some((StepEnd::TimedOut { phase, waited_secs }, entry)) => (
            format!("nothing of the kind for {waited_secs} s (phase {phase})"),
            entry,
        ),
        Some((StepEnd::Refused { message }, entry)) => (format!("refused: {message}"), entry),
        None => ("the run ended in the middle of this step".to_owned(), entries.last()?),
    };
    let mut finding = Finding {
        requirements: BTreeSet::new(),
        title: "a step of the case could not be carried out".to_owned(),
        step: Some(number),
        expected: action.to_string(),
        seen,
        object: None,
        seq: entry.seq,
        at: entry.at,
        mismatches: Vec::new(),
    };
    if let Action::Wait { until, .. } = action {
        let mut watch = Watch::begin(Mode::Eventually, until, &entries[..=run.entries.start]);
        entries[run.entries.start + 1..run.entries.end]
            .iter()
            .for_each(|entry| watch.feed(entry));
        if let Outcome::Failed(nearest) = watch.finish() {
            finding.mismatches = nearest.mismatches;
            finding.object = nearest.object;
        }
    }
    Some(finding)
}

/// A target that ended by itself, though nobody had told it to.
fn target_ended(timeline: &Timeline) -> Option<Finding> {
    timeline.marks().find_map(|(entry, mark)| {
        let Mark::TargetEnded { status, last_lines } = mark else {
            return None;
        };
        let mut seen = format!("it ended by itself: {status}");
        for line in last_lines {
            seen.push_str("\n            ");
            seen.push_str(line);
        }
        Some(Finding {
            requirements: BTreeSet::new(),
            title: "the implementation under test did not go on running".to_owned(),
            step: None,
            expected: "that it runs until the case stops it".to_owned(),
            seen,
            object: None,
            seq: entry.seq,
            at: entry.at,
            mismatches: Vec::new(),
        })
    })
}

/// Somebody who wrote without ever waiting, so that no time passed.
fn hot_loop(timeline: &Timeline) -> Option<Finding> {
    timeline.marks().find_map(|(entry, mark)| {
        let (step, hot) = match mark {
            Mark::StepEnded {
                step,
                end: StepEnd::HotLoop(hot),
            } => (Some(*step), hot),
            Mark::CleanedUp {
                end: StepEnd::HotLoop(hot),
            } => (None, hot),
            _ => return None,
        };
        Some(Finding {
            requirements: BTreeSet::new(),
            title: "an object is written in a hot loop".to_owned(),
            step,
            expected: "that whoever writes waits for something before writing again".to_owned(),
            seen: hot.to_string(),
            object: None,
            seq: entry.seq,
            at: entry.at,
            mismatches: Vec::new(),
        })
    })
}

/// Requirements whose steps were never reached are not shown; that needs a finding only if no earlier step has one.
fn not_reached(plan: &Plan, number: usize, timeline: &Timeline) -> Option<Finding> {
    let entries = timeline.entries();
    let last = entries.last()?;
    let stopped = entries.iter().any(|entry| {
        matches!(
            &entry.event,
            Event::Mark(Mark::StepEnded {
                end: StepEnd::TimedOut { .. } | StepEnd::Refused { .. } | StepEnd::TargetEnded | StepEnd::HotLoop(_),
                ..
            })
        )
    });
    (!stopped).then(|| Finding {
        requirements: BTreeSet::new(),
        title: "the timeline ends before the case does".to_owned(),
        step: Some(number),
        expected: plan.steps[number].action.to_string(),
        seen: "nothing of this step".to_owned(),
        object: None,
        seq: last.seq,
        at: last.at,
        mismatches: Vec::new(),
    })
}

/// Roles and captures as they were known at an entry.
pub fn known_at(timeline: &Timeline, end: usize) -> Known {
    let mut known = Known::default();
    for entry in &timeline.entries()[..end] {
        known.learn(entry);
    }
    known
}

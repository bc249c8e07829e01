//! Runs and steps that ended early, and the reasons.

use std::collections::BTreeSet;

use super::{DifferenceKind, Finding, Ran, difference};
use crate::{
    case::model::{Action, Mode, Move},
    plan::Plan,
    timeline::{Event, Mark, StepEnd, Timeline},
    watch::{Known, Outcome, Standpoint, Watch},
};

/// A step that acts or waits: it failed if the runner says so.
pub(super) fn ended_badly(number: usize, action: &Action, run: &Ran<'_>, timeline: &Timeline) -> Option<Finding> {
    let entries = timeline.entries();
    let (seen, entry, kind) = match run.end {
        // The end of the target, or of the time, is reported once, and not again for the step.
        Some((
            StepEnd::Done
            | StepEnd::TargetEnded
            | StepEnd::HotLoop(_)
            | StepEnd::Unsupported { .. }
            | StepEnd::GivenUp { .. },
            _,
        )) => {
            return None;
        }
        Some((StepEnd::TimedOut { phase, waited_secs }, entry)) => (
            format!("nothing of the kind for {waited_secs} s (phase {phase})"),
            entry,
            DifferenceKind::Never,
        ),
        Some((StepEnd::Refused { message }, entry)) => {
            (format!("refused: {message}"), entry, DifferenceKind::Unexpected)
        }
        None => {
            let seen = "the run ended in the middle of this step".to_owned();
            (seen, entries.last()?, DifferenceKind::Other)
        }
    };
    let mut finding = Finding {
        requirements: match (action, run.end) {
            (Action::Apply { proves, .. }, Some((StepEnd::Refused { .. }, _))) => proves.clone(),
            _ => BTreeSet::new(),
        },
        field: None,
        kind,
        title: "a step of the case could not be carried out".to_owned(),
        step: Some(number),
        expected: action.to_string(),
        seen,
        object: None,
        seq: entry.seq,
        at: entry.at,
        mismatches: Vec::new(),
        follows: None,
    };
    if let Action::Wait { until, .. } = action {
        let history = &entries[..=run.entries.start];
        let mut watch = Watch::begin(Mode::Eventually, until, history, Standpoint::default());
        entries[run.entries.start + 1..run.entries.end]
            .iter()
            .for_each(|entry| watch.feed(entry));
        if let Outcome::Failed(nearest) = watch.finish() {
            if let Some((field, kind)) = difference(&nearest.mismatches, &Known::after(&entries[..run.entries.end])) {
                (finding.field, finding.kind) = (field, kind);
            }
            finding.mismatches = nearest.mismatches;
            finding.object = nearest.object;
        }
    }
    Some(finding)
}

/// A wait that ended early, because the run had shown its cause: neither a deviation nor a proof.
pub(super) fn given_up(number: usize, action: &Action, run: &Ran<'_>) -> Option<Finding> {
    let Some((
        StepEnd::GivenUp {
            waited_secs,
            as_in,
            cause,
            ..
        },
        entry,
    )) = run.end
    else {
        return None;
    };
    Some(Finding {
        requirements: BTreeSet::new(),
        field: None,
        kind: DifferenceKind::Never,
        title: "a wait ended early".to_owned(),
        step: Some(number),
        expected: action.to_string(),
        seen: format!(
            "nothing for {waited_secs} s; the case {as_in} waited in full, and its likely cause is the one here: {}",
            cause.text
        ),
        object: None,
        seq: entry.seq,
        at: entry.at,
        mismatches: Vec::new(),
        follows: None,
    })
}

/// A target that ended although nothing had told it to.
pub(super) fn target_ended(timeline: &Timeline) -> Option<Finding> {
    timeline.marks().find_map(|(entry, mark)| {
        let Mark::TargetEnded { status, last_lines } = mark else {
            return None;
        };
        let mut seen = format!("it ended unexpectedly: {status}");
        for line in last_lines {
            seen.push_str("\n            ");
            seen.push_str(line);
        }
        Some(Finding {
            requirements: BTreeSet::new(),
            field: None,
            kind: DifferenceKind::Other,
            title: "the implementation under test did not go on running".to_owned(),
            step: None,
            expected: "that it runs until the case stops it".to_owned(),
            seen,
            object: None,
            seq: entry.seq,
            at: entry.at,
            mismatches: Vec::new(),
            follows: None,
        })
    })
}

/// Somebody who wrote without ever waiting, so that no time passed.
pub(super) fn hot_loop(timeline: &Timeline) -> Option<Finding> {
    timeline.marks().find_map(|(entry, mark)| {
        let (step, hot) = match mark {
            Mark::StepEnded {
                step,
                end: StepEnd::HotLoop(hot),
            } => (Some(*step), hot),
            Mark::CleanedUp {
                end: StepEnd::HotLoop(hot),
                ..
            } => (None, hot),
            _ => return None,
        };
        Some(Finding {
            requirements: BTreeSet::new(),
            field: None,
            kind: DifferenceKind::Other,
            title: "an object is written in a hot loop".to_owned(),
            step,
            expected: "that whoever writes waits for something before writing again".to_owned(),
            seen: hot.to_string(),
            object: None,
            seq: entry.seq,
            at: entry.at,
            mismatches: Vec::new(),
            follows: None,
        })
    })
}

/// A move whose write never came: the run does not show what the case is about.
pub(super) fn not_happened(number: usize, it: &Move, timeline: &Timeline) -> Option<Finding> {
    let mut marks = timeline.marks();
    if marks.any(|(_, mark)| matches!(mark, Mark::Moved { step, .. } if *step == number)) {
        return None;
    }
    let last = timeline.entries().last()?;
    Some(Finding {
        requirements: BTreeSet::new(),
        field: None,
        kind: DifferenceKind::Never,
        title: "a move did not happen".to_owned(),
        step: Some(number),
        expected: it.to_string(),
        seen: "the controller did not make this write".to_owned(),
        object: None,
        seq: last.seq,
        at: last.at,
        mismatches: Vec::new(),
        follows: None,
    })
}

/// Requirements whose steps were never reached are not shown; that needs a finding only if no earlier step has one.
pub(super) fn not_reached(plan: &Plan, number: usize, timeline: &Timeline) -> Option<Finding> {
    let entries = timeline.entries();
    let last = entries.last()?;
    let stopped = entries.iter().any(|entry| {
        matches!(
            &entry.event,
            Event::Mark(Mark::StepEnded {
                end: StepEnd::TimedOut { .. }
                    | StepEnd::Refused { .. }
                    | StepEnd::TargetEnded
                    | StepEnd::HotLoop(_)
                    | StepEnd::GivenUp { .. },
                ..
            })
        )
    });
    (!stopped).then(|| Finding {
        requirements: BTreeSet::new(),
        field: None,
        kind: DifferenceKind::Other,
        title: "the timeline ends before the case does".to_owned(),
        step: Some(number),
        expected: plan.steps[number].action.to_string(),
        seen: "nothing of this step".to_owned(),
        object: None,
        seq: last.seq,
        at: last.at,
        mismatches: Vec::new(),
        follows: None,
    })
}

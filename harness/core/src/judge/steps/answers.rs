//! Steps that look at an answer: to a start with another set-up, to a request, to a command. It stands in a mark of the
//! step.

use serde_json::Value;

use super::{DifferenceKind, Finding, Judged, Ran, assertions::Ground, stops::ended_badly};
use crate::{
    case::model::{Action, CommandRun, Expected, Refused, Start, Write},
    redact,
    timeline::{Change, Entry, Event, HANDS, Mark, Revision, Timeline},
};

/// Judges a start with another set-up: a mark of the step says whether the target ran, and what it said. A target that
/// refuses a deprecated gate or option no longer has it, so that a case about a warning is not for it.
pub(super) fn start(number: usize, start: &Start, run: &Ran<'_>, timeline: &Timeline, judged: &mut Judged) {
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
    let as_expected = runs == (start.expect == Expected::Warning);
    if as_expected && said.iter().any(mentions) {
        return judged.proved.extend(start.proves.iter().cloned());
    }
    if start.expect == Expected::Warning && !runs {
        judged.unsupported = Some(format!("it refuses to start: {}", nearest_words(said, &start.mentions)));
        return;
    }
    let outcome = if runs { "it started" } else { "it refused" };
    let words = if as_expected && !said.is_empty() {
        let mentions = start.mentions.join(" and ");
        format!("; none of its messages mentions {mentions} ({} in all)", said.len())
    } else {
        format!(" and said: {}", nearest_words(said, &start.mentions))
    };
    judged.findings.push(Finding {
        requirements: start.proves.clone(),
        field: None,
        kind: if as_expected {
            DifferenceKind::Missing
        } else {
            DifferenceKind::Unexpected
        },
        title: "a start with another set-up".to_owned(),
        step: Some(number),
        expected: start.to_string(),
        seen: format!("{outcome}{words}"),
        object: None,
        seq: entry.seq,
        at: entry.at,
        mismatches: Vec::new(),
        follows: None,
    });
}

/// Judges a request that must be refused by the answer, which is a mark of the step. If the request was accepted, the
/// steps after it are not judged: a cluster-scoped policy is at fault only where the namespaced one is refused.
pub(super) fn refused(
    number: usize,
    refused: &Refused,
    run: &Ran<'_>,
    timeline: &Timeline,
    (ground, judged): (&mut Ground, &mut Judged),
) {
    if let Some(reason) = &ground.lost {
        return judged.leave_open(refused.proves.iter().cloned(), reason);
    }
    let entries = &timeline.entries()[run.entries.clone()];
    let answered = entries.iter().find_map(|entry| match &entry.event {
        Event::Mark(Mark::Answered { refused_with, message }) => Some((entry, *refused_with, message)),
        Event::Mark(_) | Event::Revision(_) => None,
    });
    let Some((entry, status, message)) = answered else {
        let ended = ended_badly(number, &Action::Refused(refused.clone()), run, timeline);
        return judged.findings.extend(ended);
    };
    let claimed = refused.proves.iter().cloned();
    if let Some(status) = status.filter(|status| Refused::STATUSES.contains(status)) {
        if refused.mentions.iter().all(|text| message.contains(text.as_str())) {
            return judged.proved.extend(claimed);
        }
        // No document gives the wording: another reason and another wording cannot be distinguished.
        let reason = format!(
            "step {} was refused with {status}, maybe for another reason: {message}",
            number + 1
        );
        return judged.leave_open(claimed, &reason);
    }
    ground.lost = Some(format!("step {} was not refused", number + 1));
    judged.findings.push(Finding {
        requirements: refused.proves.clone(),
        field: None,
        kind: if status.is_some() {
            DifferenceKind::Different
        } else {
            DifferenceKind::Unexpected
        },
        title: "a request that must be refused".to_owned(),
        step: Some(number),
        expected: refused.to_string(),
        seen: status.map_or_else(
            || {
                format!(
                    "it was accepted{}",
                    with_mentioned(refused, &timeline.entries()[run.entries.start..])
                )
            },
            |status| format!("it was refused with {status}: {message}"),
        ),
        object: None,
        seq: entry.seq,
        at: entry.at,
        mismatches: Vec::new(),
        follows: None,
    });
}

/// Returns the fields of a request that its refusal would mention: ` with jsonPath: "{ .status"`. If the request has none of
/// them, those that it was given before it was stored: `, and stored with jsonPath: ""`. Empty if there are none there either.
fn with_mentioned(refused: &Refused, since: &[Entry]) -> String {
    let (mut sent, mut stored) = (Vec::new(), Vec::new());
    for write in refused.request.facts().writes {
        find_mentioned(write.value, &refused.mentions, &mut sent);
        let object = since.iter().find_map(|entry| match &entry.event {
            Event::Revision(it) if is_written(&write, it) => Some(&it.object),
            Event::Revision(_) | Event::Mark(_) => None,
        });
        if let Some(object) = object {
            find_mentioned(object, &refused.mentions, &mut stored);
        }
    }
    match (sent.as_slice(), stored.as_slice()) {
        ([], []) => String::new(),
        ([], stored) => format!(", and stored with {}", stored.join(", ")),
        (sent, _) => format!(" with {}", sent.join(", ")),
    }
}

/// Returns `true` for the revision of an object that a request wrote.
fn is_written(write: &Write<'_>, revision: &Revision) -> bool {
    let name = revision.object.pointer("/metadata/name").and_then(Value::as_str);
    write
        .object()
        .is_some_and(|(_, kind, wanted)| revision.kind == kind && name == Some(wanted))
        && revision.change != Change::Deleted
        && revision.by.as_deref() == Some(HANDS)
}

fn find_mentioned(value: &Value, mentions: &[String], fields: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            for (key, value) in members {
                if mentions.contains(key) {
                    fields.push(format!("{key}: {}", redact::shown(value)));
                } else {
                    find_mentioned(value, mentions, fields);
                }
            }
        }
        Value::Array(elements) => {
            for element in elements {
                find_mentioned(element, mentions, fields);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Judges the result of a command, which is in a mark of the step.
pub(super) fn command(number: usize, command: &CommandRun, run: &Ran<'_>, timeline: &Timeline, judged: &mut Judged) {
    let entries = &timeline.entries()[run.entries.clone()];
    let ran = entries.iter().find_map(|entry| match &entry.event {
        Event::Mark(Mark::Ran { exit, said }) => Some((entry, *exit, said)),
        Event::Mark(_) | Event::Revision(_) => None,
    });
    let Some((entry, exit, said)) = ran else {
        let ended = ended_badly(number, &Action::Run(command.clone()), run, timeline);
        return judged.findings.extend(ended);
    };
    let says = |text: &String| said.iter().any(|line| line.contains(text.as_str()));
    let exits_well = exit == Some(i32::from(command.exits));
    if exits_well && command.says.iter().all(says) {
        return judged.proved.extend(command.proves.iter().cloned());
    }
    let outcome = exit.map_or_else(
        || "it was ended by a signal".to_owned(),
        |code| format!("it exited with {code}"),
    );
    let words = nearest_words(said, &command.says);
    judged.findings.push(Finding {
        requirements: command.proves.clone(),
        field: None,
        kind: if exits_well {
            DifferenceKind::Missing
        } else {
            DifferenceKind::Unexpected
        },
        title: "a command of the implementation".to_owned(),
        step: Some(number),
        expected: command.to_string(),
        seen: format!("{outcome} and said: {words}"),
        object: None,
        seq: entry.seq,
        at: entry.at,
        mismatches: Vec::new(),
        follows: None,
    });
}

/// Of all that was said, what has most of what was expected, and the last words: a program may say a great deal.
fn nearest_words(said: &[String], mentions: &[String]) -> String {
    const MOST: usize = 4;
    const LONGEST: usize = 300;
    if said.is_empty() {
        return "nothing".to_owned();
    }
    let score = |message: &String| mentions.iter().filter(|text| message.contains(text.as_str())).count();
    let mut order: Vec<usize> = (0..said.len()).rev().collect();
    order.sort_by_key(|place| std::cmp::Reverse(score(&said[*place])));
    let mut kept: Vec<usize> = order.into_iter().take(MOST).collect();
    kept.sort_unstable();
    let left_out = said.len() - kept.len();
    let brief = |place: usize| match said[place].char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &said[place][..end]),
        None => said[place].clone(),
    };
    let words = kept.into_iter().map(brief).collect::<Vec<_>>().join("; ");
    match left_out {
        0 => words,
        more => format!("{words} (and {more} messages more)"),
    }
}

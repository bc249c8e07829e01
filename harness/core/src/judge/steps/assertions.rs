//! Assertions: how each came out, what it shows and refutes, and what the steps after it can build on.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use super::{DifferenceKind, Finding, Judged, Ran, before_clean_up, difference};
use crate::{
    case::model::{Assertion, Expect, Mode, Subject},
    names::RequirementId,
    pattern::path,
    timeline::{Entry, Event, Mark, ObjectId, StepEnd, Timeline},
    watch::{Evidence, Known, Outcome, Standpoint, Watch},
};

/// State that earlier steps leave to later ones.
#[derive(Default)]
pub(super) struct Ground {
    /// Reason for which no later step is judged.
    pub(super) lost: Option<String>,
    /// Keys of a task's state with a wrong value, each with the step that found it: labels with these keys cannot be right
    /// either, and that is not a second defect.
    state: BTreeMap<String, usize>,
}

/// Path of the preserved state in a task, and of the labels in an object.
const STATE: &str = "preservedLabelState";
const LABELS: &str = "labels";

impl Ground {
    /// Takes in which keys of a task's state are not as they should be.
    fn note_state(&mut self, number: usize, evidence: &Evidence) {
        for mismatch in &evidence.mismatches {
            if let [.., state, key] = path::keys(&mismatch.path).as_slice()
                && state == STATE
            {
                self.state.entry(key.clone()).or_insert(number);
            }
        }
    }

    /// The key of the state that a broken assertion builds on, if that was not as it should be: all that it misses is
    /// the label with this key, or the object that was to have it.
    fn built_on(&self, assertion: &Assertion, evidence: &Evidence) -> Option<(String, usize)> {
        let Expect::Match(pattern) = &assertion.condition.expect else {
            return None;
        };
        let places = match evidence.mismatches.as_slice() {
            [] if evidence.object.is_none() => pattern.places(),
            mismatches => mismatches.iter().map(|it| path::keys(&it.path)).collect(),
        };
        let label = |place: &Vec<String>| match place.as_slice() {
            [.., labels, key] if labels == LABELS => self.state.get_key_value(key),
            _ => None,
        };
        let inner = |place: &Vec<String>| places.iter().any(|it| it != place && it.starts_with(place));
        let leaves = places.iter().filter(|place| !inner(place)).map(label);
        let all: Option<Vec<_>> = leaves.collect();
        let (key, step) = all?.into_iter().next()?;
        Some((key.clone(), *step))
    }
}

pub(super) fn judge(
    (number, assertion): (usize, &Assertion),
    standpoint: Standpoint,
    run: &Ran<'_>,
    timeline: &Timeline,
    (ground, judged): (&mut Ground, &mut Judged),
) {
    let claimed = assertion.proves.ids();
    if let Some(reason) = &ground.lost {
        return judged.leave_open(claimed, reason);
    }
    let evidence = match outcome(assertion, standpoint, run, timeline) {
        None => return judged.leave_open(claimed, "the run ended before it could be told"),
        Some(Outcome::Held(_)) => return judged.proved.extend(claimed),
        Some(Outcome::Failed(evidence)) => evidence,
    };
    if assertion.proves.is_empty() && assertion.mode != Mode::Never {
        let reason = format!("it builds on step {}, which did not hold", number + 1);
        ground.lost = Some(reason);
    }
    let mut refuted = assertion.proves.refuted_by(&evidence.mismatches);
    let whole = claimed.difference(&refuted).cloned().collect::<Vec<_>>();
    if matches!(assertion.mode, Mode::Consistently(_)) {
        judged.leave_open(
            whole,
            &format!("step {} was broken before its time was over", number + 1),
        );
    } else {
        judged.proved.extend(whole);
    }
    let follows = ground.built_on(assertion, &evidence).map(|(key, step)| {
        let reason = format!(
            "the label {key} builds on the state that step {} did not find",
            step + 1
        );
        judged.leave_open(std::mem::take(&mut refuted), &reason);
        step
    });
    ground.note_state(number, &evidence);
    let difference = how_it_differs(
        assertion,
        &evidence,
        &Known::after(&timeline.entries()[..run.entries.end]),
    );
    let mut finding = failed(
        (number, assertion),
        refuted,
        evidence,
        difference,
        (run, since_act(standpoint, run, timeline)),
    );
    if let Some(step) = follows {
        finding.seen = format!("{}; this follows from step {}", finding.seen, step + 1);
        finding.follows = follows;
    }
    if let Some(earlier) =
        earlier(assertion, standpoint, run, timeline).filter(|_| finding.kind == DifferenceKind::Missing)
    {
        let at = earlier.at.as_secs_f64();
        finding.seen = format!("{}; it was like that at {at:.3} s, before this step", finding.seen);
    }
    match assertion.mode {
        Mode::Eventually => judged.tell(finding, &assertion.condition.expect, run, timeline),
        // The step does not wait: the implementation continued although something still existed.
        _ => judged.findings.push(finding),
    }
}

/// Returns where a condition that must come held before its step began.
fn earlier(assertion: &Assertion, standpoint: Standpoint, run: &Ran<'_>, timeline: &Timeline) -> Option<Evidence> {
    if assertion.mode != Mode::Eventually || !matches!(assertion.condition.expect, Expect::Match(_)) {
        return None;
    }
    let history = &timeline.entries()[..=run.entries.start];
    match Watch::begin(Mode::Observed, &assertion.condition, history, standpoint).outcome() {
        Some(Outcome::Held(evidence)) => Some(evidence.clone()),
        Some(Outcome::Failed(_)) | None => None,
    }
}

/// Returns the entries in which a condition must hold all the time. On a slow machine, a period that earlier steps began can
/// end before the step that judges it; the entries after this end are left out. In virtual time no step is slow.
fn meanwhile<'a>(time: Duration, run: &Ran<'_>, timeline: &'a Timeline) -> &'a [Entry] {
    let entries = &timeline.entries()[run.entries.start + 1..run.entries.end];
    let is_virtual = timeline.begin().is_some_and(|begin| begin.virtual_time);
    let over = |entry: &Entry| !is_virtual && entry.at > run.acted.period_from(time) + time;
    let end = entries.iter().position(over);
    &entries[..end.unwrap_or(entries.len())]
}

/// How an assertion came out; nothing if it was still open when the target ended, or time did.
fn outcome(assertion: &Assertion, standpoint: Standpoint, run: &Ran<'_>, timeline: &Timeline) -> Option<Outcome> {
    let entries = timeline.entries();
    let history = &entries[..=run.entries.start];
    let mut watch = Watch::begin(assertion.mode, &assertion.condition, history, standpoint);
    let rest = match assertion.mode {
        Mode::Never => &before_clean_up(timeline)[run.entries.start + 1..],
        Mode::Consistently(time) => meanwhile(time, run, timeline),
        Mode::Now | Mode::Eventually | Mode::Observed | Mode::FirstSeen => {
            &entries[run.entries.start + 1..run.entries.end]
        }
    };
    for entry in rest {
        if watch.outcome().is_some() {
            break;
        }
        watch.feed(entry);
    }
    if watch.outcome().is_none() && matches!(run.end, Some((StepEnd::TargetEnded | StepEnd::HotLoop(_), _))) {
        return None;
    }
    Some(watch.finish())
}

/// The field in which what was seen differs, and how.
fn how_it_differs(assertion: &Assertion, evidence: &Evidence, known: &Known) -> (Option<String>, DifferenceKind) {
    let of_objects =
        !matches!(assertion.condition.expect, Expect::Count(_)) && !is_one_of_several(&assertion.condition.of);
    if let Some(difference) = difference(&evidence.mismatches, known).filter(|_| of_objects) {
        return difference;
    }
    match (&assertion.condition.expect, assertion.mode == Mode::Never) {
        (Expect::NoMatch(pattern), false) | (Expect::Match(pattern), true) => {
            (pattern.field(), DifferenceKind::Unexpected)
        }
        (Expect::NoMatch(pattern), true) => (pattern.field(), DifferenceKind::Missing),
        (Expect::Present, true) | (Expect::Absent, false) => (None, DifferenceKind::Unexpected),
        (Expect::Present | Expect::Match(_), false) | (Expect::Absent, true) => (None, DifferenceKind::Missing),
        (Expect::Count(_), _) => (None, DifferenceKind::Different),
    }
}

/// Returns `true` if one of several objects has to match: those that do not are not wrong.
fn is_one_of_several(subject: &Subject) -> bool {
    matches!(subject, Subject::EventOf(_) | Subject::NoticeOf(_) | Subject::NewsOf(_))
}

fn failed(
    (number, assertion): (usize, &Assertion),
    requirements: BTreeSet<RequirementId>,
    evidence: Evidence,
    (field, kind): (Option<String>, DifferenceKind),
    (run, since_act): (&Ran<'_>, &[Entry]),
) -> Finding {
    let mut seen = match (&evidence.object, evidence.mismatches.is_empty()) {
        (Some(object), true) => object.to_string(),
        (Some(object), false) => format!("{object}, not like that"),
        (None, false) if matches!(assertion.condition.expect, Expect::Count(_)) => "another number".to_owned(),
        (None, _) if is_one_of_several(&assertion.condition.of) => "none".to_owned(),
        (None, _) => "no such object".to_owned(),
    };
    if let Some((StepEnd::TimedOut { phase, waited_secs }, _)) = &run.end {
        seen = format!("{seen}, for {waited_secs} s (phase {phase})");
    }
    let moment = |entry: &Entry| (entry.seq, entry.at);
    let nearest = evidence.object.as_ref().map(|_| (evidence.seq, evidence.at));
    let nearest = nearest.filter(|(seq, _)| since_act.first().is_none_or(|act| act.seq < *seq));
    let last = evidence
        .object
        .as_ref()
        .and_then(|id| last_write(id, since_act))
        .map(moment);
    // A wrong value was written then. What is missing did not happen until the end.
    let written = match (assertion.mode, kind) {
        (Mode::Observed, DifferenceKind::Different) => nearest,
        (Mode::Eventually, DifferenceKind::Different | DifferenceKind::Unexpected) => last,
        _ => None,
    };
    let (seq, at) = match (assertion.mode, written, &run.end) {
        (_, Some(written), _) => written,
        (Mode::Observed | Mode::Eventually, None, Some((_, end))) => moment(end),
        _ => (evidence.seq, evidence.at),
    };
    // The differences are those of the revision that came nearest: a reader must not look for them at another moment.
    let is_explained = assertion.mode == Mode::Observed && written.is_none()
        || assertion.mode == Mode::Eventually && written.is_some();
    if let Some((nearest, at)) = nearest.filter(|(nearest, _)| is_explained && *nearest != seq) {
        seen = format!("{seen}; the nearest at {:.3} s, entry {nearest}", at.as_secs_f64());
    }
    Finding {
        requirements,
        field,
        kind,
        title: format!("{}: {}", assertion.mode, assertion.condition.of),
        step: Some(number),
        expected: if assertion.mode == Mode::Never {
            format!("never that {}", assertion.condition)
        } else {
            assertion.condition.to_string()
        },
        seen,
        object: evidence.object,
        seq,
        at,
        mismatches: evidence.mismatches,
        follows: None,
    }
}

/// Returns the entries of a step and those before it, from the last step on that did something.
fn since_act<'a>(standpoint: Standpoint, run: &Ran<'_>, timeline: &'a Timeline) -> &'a [Entry] {
    let until = &timeline.entries()[..run.entries.end];
    let is_act = |entry: &Entry| matches!(&entry.event, Event::Mark(Mark::StepStarted { step, .. }) if Some(*step) == standpoint.last_act);
    &until[until.iter().position(is_act).unwrap_or_default()..]
}

/// Returns the last revision of an object among these entries.
fn last_write<'a>(id: &ObjectId, entries: &'a [Entry]) -> Option<&'a Entry> {
    let is_of_object =
        |entry: &&Entry| matches!(&entry.event, Event::Revision(revision) if ObjectId::of(revision) == *id);
    entries.iter().rfind(is_of_object)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{
        case::{
            claims::Claims,
            model::{Condition, ObjectRef, Phase, Place},
        },
        pattern::{Mismatch, Pattern},
    };

    /// Otherwise one defect would be reported twice.
    #[test]
    fn another_warning_is_the_same_difference_as_none() {
        let workload = ObjectRef {
            api_version: "apps/v1".to_owned(),
            kind: "Deployment".to_owned(),
            namespace: Some("default".to_owned()),
            name: "deploy".to_owned(),
        };
        let other = Mismatch {
            path: String::new(),
            expected: "a text with \"member1\"".to_owned(),
            seen: "another text".to_owned(),
            kind: DifferenceKind::Different,
            weight: 1,
        };
        let differs = |of: Subject, mismatches: Vec<Mismatch>| {
            let condition = Condition {
                on: Place::Control,
                of,
                expect: Expect::Match(Pattern::from_value(&json!({"mentions": ["member1"]})).expect("a pattern")),
            };
            let assertion = Assertion {
                mode: Mode::Now,
                condition,
                phase: Phase::Evict,
                within: None,
                proves: Claims::default(),
            };
            let evidence = Evidence {
                seq: 0,
                at: Duration::ZERO,
                object: None,
                mismatches,
            };
            how_it_differs(&assertion, &evidence, &Known::default())
        };
        let notice = || Subject::NoticeOf(workload.clone());
        assert_eq!(differs(notice(), vec![other.clone()]), differs(notice(), Vec::new()));
        assert_ne!(
            differs(Subject::Object(workload.clone()), vec![other]).1,
            DifferenceKind::Missing
        );
    }
}

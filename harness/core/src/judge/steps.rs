//! The steps of a plan, judged along the marks of its timeline.

mod commands;

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
    time::Duration,
};

use super::{Finding, SnapshotText, several, situations::Situations, snapshots};
use crate::{
    case::model::{Action, Assertion, Expect, Expected, Mode, Refused, Start},
    names::RequirementId,
    pattern::path,
    plan::Plan,
    timeline::{Entry, Event, Mark, StepEnd, Timeline},
    watch::{Evidence, Known, Outcome, Standpoint, Watch},
};

/// What the steps came to.
#[derive(Debug, Default)]
pub struct Judged {
    pub findings: Vec<Finding>,
    pub proved: BTreeSet<RequirementId>,
    /// What steps were to prove and did not, though nothing refutes it; each with the reason.
    pub left_open: BTreeMap<RequirementId, String>,
    /// Why the run as a whole shows nothing: a situation did not last, or the case did not come to its end.
    pub incomplete: Option<String>,
    /// What the implementation has not, if the run ended for that.
    pub unsupported: Option<String>,
    pub snapshots: Vec<SnapshotText>,
}

impl Judged {
    /// Notes that these are not judged, and why.
    pub fn leave_open(&mut self, ids: impl IntoIterator<Item = RequirementId>, reason: &str) {
        for id in ids {
            self.left_open.entry(id).or_insert_with(|| reason.to_owned());
        }
    }
}

/// Where a step lies on the timeline, and how the runner says that it ended.
pub struct Ran<'a> {
    /// Entries from its start mark (inclusive) to its end mark (exclusive).
    pub entries: Range<usize>,
    pub began: Duration,
    pub end: Option<(&'a StepEnd, &'a Entry)>,
}

impl Ran<'_> {
    /// How long it took; as long as one likes, if the run ended before it did.
    pub fn took(&self) -> Duration {
        self.end
            .map_or(Duration::MAX, |(_, entry)| entry.at.saturating_sub(self.began))
    }
}

/// What the steps so far leave to those that follow.
#[derive(Default)]
struct Ground {
    /// Why nothing after this is judged.
    lost: Option<String>,
    /// Keys of a task's state that were not as they should be, each with the step that says so: labels with these keys
    /// cannot be right either, and that is no fault of whoever puts them there.
    state: BTreeMap<String, usize>,
}

/// Judges all steps that ran; one that did not end well, or did not run at all, is a finding.
pub fn judge(plan: &Plan, timeline: &Timeline) -> Judged {
    let ran = ran(timeline);
    let situations = Situations::of(plan);
    let mut ground = Ground::default();
    let mut judged = Judged::default();
    judged.findings.extend(target_ended(timeline));
    judged.findings.extend(hot_loop(timeline));
    for (number, step) in plan.steps.iter().enumerate() {
        let Some(run) = ran.get(&number) else {
            judged.findings.extend(not_reached(plan, number, timeline));
            let reason = format!("the run ended before step {}", number + 1);
            let claimed = plan.steps[number..].iter().flat_map(|step| step.action.claims());
            judged.leave_open(claimed, &reason);
            judged.incomplete = Some(reason);
            break;
        };
        if let Some((StepEnd::Unsupported { reason }, _)) = &run.end {
            judged.unsupported = Some(reason.clone());
            break;
        }
        match &step.action {
            Action::Assert(assertion) => {
                let standpoint = Standpoint::at(plan, number);
                judge_assertion(
                    (number, assertion),
                    standpoint,
                    run,
                    timeline,
                    (&mut ground, &mut judged),
                );
            }
            Action::Order(sequence) => several::order(number, sequence, run, timeline, (&ground.lost, &mut judged)),
            Action::Metric(assertion) => several::metric(number, assertion, run, timeline, (&ground.lost, &mut judged)),
            Action::Refused(refused) => judge_refused(number, refused, run, timeline, &mut judged),
            Action::Run(command) => commands::judge(number, command, run, timeline, &mut judged),
            Action::Start(start) => judge_start(number, start, run, timeline, &mut judged),
            action => {
                let ended = ended_badly(number, action, run, timeline);
                if ended.is_some() {
                    judged.incomplete = Some(format!("step {} could not be carried out", number + 1));
                } else if matches!(run.end, Some((StepEnd::Done, _))) {
                    judged.proved.extend(action.claims());
                }
                judged.findings.extend(ended);
            }
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
                        began: entry.at,
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

fn judge_assertion(
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
    if let Some((key, step)) = ground.built_on(assertion, &evidence) {
        let reason = format!(
            "the label {key} builds on the state that step {} did not find",
            step + 1
        );
        judged.leave_open(std::mem::take(&mut refuted), &reason);
    }
    ground.note_state(number, &evidence);
    judged.findings.push(failed(number, assertion, refuted, evidence, run));
}

/// How an assertion came out; nothing if it was still open when the target ended, or time did.
fn outcome(assertion: &Assertion, standpoint: Standpoint, run: &Ran<'_>, timeline: &Timeline) -> Option<Outcome> {
    let entries = timeline.entries();
    let history = &entries[..=run.entries.start];
    let mut watch = Watch::begin(assertion.mode, &assertion.condition, history, standpoint);
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
    if watch.outcome().is_none() && matches!(run.end, Some((StepEnd::TargetEnded | StepEnd::HotLoop(_), _))) {
        return None;
    }
    Some(watch.finish())
}

/// Where a task keeps what it has preserved, and an object its labels.
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
        nearest_words(said, &start.mentions)
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

/// A request that must be refused: what was answered stands in a mark of the step.
fn judge_refused(number: usize, refused: &Refused, run: &Ran<'_>, timeline: &Timeline, judged: &mut Judged) {
    let entries = &timeline.entries()[run.entries.clone()];
    let answered = entries.iter().find_map(|entry| match &entry.event {
        Event::Mark(Mark::Answered { refused_with, message }) => Some((entry, *refused_with, message)),
        Event::Mark(_) | Event::Revision(_) => None,
    });
    let Some((entry, status, message)) = answered else {
        let ended = ended_badly(number, &Action::Refused(refused.clone()), run, timeline);
        return judged.findings.extend(ended);
    };
    let mentioned = refused.mentions.iter().all(|text| message.contains(text.as_str()));
    if mentioned && status.is_some_and(|status| Refused::STATUSES.contains(&status)) {
        return judged.proved.extend(refused.proves.iter().cloned());
    }
    judged.findings.push(Finding {
        requirements: refused.proves.clone(),
        title: "a request that must be refused".to_owned(),
        step: Some(number),
        expected: refused.to_string(),
        seen: status.map_or_else(
            || "it was accepted".to_owned(),
            |status| format!("it was refused with {status}: {message}"),
        ),
        object: None,
        seq: entry.seq,
        at: entry.at,
        mismatches: Vec::new(),
    });
}

/// Of all that was said, what has most of what was expected, and the last words: a program may say a great deal.
fn nearest_words(said: &[String], mentions: &[String]) -> String {
    const MOST: usize = 4;
    const LONGEST: usize = 300;
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

fn failed(
    number: usize,
    assertion: &Assertion,
    requirements: BTreeSet<RequirementId>,
    evidence: Evidence,
    run: &Ran<'_>,
) -> Finding {
    let mut seen = match (&evidence.object, evidence.mismatches.is_empty()) {
        (Some(object), true) => object.to_string(),
        (Some(object), false) => format!("{object}, not like that"),
        (None, false) if matches!(assertion.condition.expect, Expect::Count(_)) => "another number".to_owned(),
        (None, _) => "no such object".to_owned(),
    };
    if let Some((StepEnd::TimedOut { phase, waited_secs }, _)) = &run.end {
        seen = format!("{seen}, for {waited_secs} s (phase {phase})");
    }
    Finding {
        requirements,
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
        Some((StepEnd::Done | StepEnd::TargetEnded | StepEnd::HotLoop(_) | StepEnd::Unsupported { .. }, _)) => {
            return None;
        }
        Some((StepEnd::TimedOut { phase, waited_secs }, entry)) => (
            format!("nothing of the kind for {waited_secs} s (phase {phase})"),
            entry,
        ),
        Some((StepEnd::Refused { message }, entry)) => (format!("refused: {message}"), entry),
        None => ("the run ended in the middle of this step".to_owned(), entries.last()?),
    };
    let mut finding = Finding {
        requirements: match (action, run.end) {
            (Action::Apply { proves, .. }, Some((StepEnd::Refused { .. }, _))) => proves.clone(),
            _ => BTreeSet::new(),
        },
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
        let history = &entries[..=run.entries.start];
        let mut watch = Watch::begin(Mode::Eventually, until, history, Standpoint::default());
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

//! A timeline of a run of an earlier form of a case, as a run of the present one.
//!
//! Steps are found again by their texts. What a case asserts does not change what happens, so that an assertion that is
//! new, or says something else, is looked at where its neighbours are. A new wait must end before the next step that
//! was taken: if it does not, the case of today would have gone another way, and nothing from there on is a step of it.

use std::{fs, io::Read as _, time::Duration};

use baton_core::{
    case::model::{Action, Case, Mode},
    plan::Plan,
    timeline::{Entry, Event, Mark, StepEnd, Timeline},
    watch::{Standpoint, Watch},
};
use flate2::read::GzDecoder;
use serde_json::Value;

use crate::common;

/// The lines of a timeline of `fixtures/timelines/karmada`.
#[derive(Clone)]
pub struct Lines(pub Vec<Value>);

impl Lines {
    pub fn of(name: &str) -> Self {
        let file = common::root().join(format!("fixtures/timelines/karmada/{name}.jsonl.gz"));
        let mut text = String::new();
        let bytes = fs::read(file).unwrap();
        GzDecoder::new(bytes.as_slice()).read_to_string(&mut text).unwrap();
        Self(text.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
    }

    pub fn timeline(&self) -> Timeline {
        // The number of the line is the place of an entry that does not say.
        let bare = self.0.iter().map(|line| {
            let mut line = line.clone();
            line.as_object_mut().unwrap().remove("seq");
            line.to_string()
        });
        let text = bare.collect::<Vec<_>>().join("\n");
        Timeline::read(text.as_bytes()).unwrap()
    }
}

/// A step that was taken.
struct Taken {
    text: String,
    began: usize,
    ended: usize,
    end: StepEnd,
}

/// The plan of the case with the times that the run gave it, and the timeline with the steps of the case.
pub fn run_of(case: &Case, timeline: &Timeline) -> (Plan, Timeline) {
    let taken = taken(timeline);
    let namespace = &timeline.begin().unwrap().namespace;
    let mut plan = Plan::of(case).in_namespace(namespace).into_owned();
    let texts: Vec<String> = plan.steps.iter().map(|step| step.action.to_string()).collect();
    let pairs = pairs(&taken, &texts);
    let mut marks = Vec::new();
    let mut at = 0;
    let last = pairs.iter().map(|(_, new)| *new).max().unwrap();
    let came_to_its_end = taken.last().is_some_and(|step| step.end == StepEnd::Done);
    for (number, step) in plan.steps.iter().enumerate() {
        if number > last && !came_to_its_end {
            break;
        }
        let text = texts[number].clone();
        let found = pairs
            .iter()
            .find(|(_, new)| *new == number)
            .map(|(old, _)| &taken[*old]);
        let (began, ended, end) = match (found, &step.action) {
            (Some(taken), _) => (taken.began, taken.ended, taken.end.clone()),
            (None, Action::Wait { until, .. }) => {
                let next = pairs.iter().find(|(_, new)| *new > number);
                let limit = next.map_or(timeline.entries().len(), |(old, _)| taken[*old].began);
                let history = &timeline.entries()[..at];
                let mut watch = Watch::begin(Mode::Eventually, until, history, Standpoint::default());
                let rest = timeline.entries()[at..limit].iter();
                let held = watch.outcome().is_some()
                    || rest.clone().any(|entry| {
                        watch.feed(entry);
                        watch.outcome().is_some()
                    });
                if !held {
                    break;
                }
                (at, limit, StepEnd::Done)
            }
            (None, _) => (at, at, StepEnd::Done),
        };
        marks.push((began, Mark::StepStarted { step: number, text }));
        marks.push((ended, Mark::StepEnded { step: number, end }));
        at = ended;
    }
    for (old, number) in pairs {
        if let Action::Assert(assertion) = &mut plan.steps[number].action
            && let (Mode::Consistently(time), Some(asked)) = (&mut assertion.mode, seconds(&taken[old].text))
        {
            *time = asked;
        }
    }
    (plan, with_marks(timeline, marks))
}

fn taken(timeline: &Timeline) -> Vec<Taken> {
    let mut taken: Vec<Taken> = Vec::new();
    for (index, entry) in timeline.entries().iter().enumerate() {
        match &entry.event {
            Event::Mark(Mark::StepStarted { text, .. }) => taken.push(Taken {
                text: text.clone(),
                began: index,
                ended: index,
                end: StepEnd::Done,
            }),
            Event::Mark(Mark::StepEnded { end, .. }) => {
                let last = taken.last_mut().unwrap();
                (last.ended, last.end) = (index, end.clone());
            }
            _ => {}
        }
    }
    taken
}

/// The pairs of equal steps, as many as there can be in order; then assertions next to them, in order.
fn pairs(taken: &[Taken], texts: &[String]) -> Vec<(usize, usize)> {
    let old: Vec<String> = taken.iter().map(|step| key(&step.text)).collect();
    let new: Vec<String> = texts.iter().map(|text| key(text)).collect();
    let mut longest = vec![vec![0; new.len() + 1]; old.len() + 1];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            longest[i][j] = if old[i] == new[j] {
                longest[i + 1][j + 1] + 1
            } else {
                longest[i + 1][j].max(longest[i][j + 1])
            };
        }
    }
    let (mut i, mut j, mut same) = (0, 0, Vec::new());
    while i < old.len() && j < new.len() {
        if old[i] == new[j] {
            same.push((i, j));
            (i, j) = (i + 1, j + 1);
        } else if longest[i + 1][j] >= longest[i][j + 1] {
            i += 1;
        } else {
            j += 1;
        }
    }
    let mut all = Vec::new();
    let mut before = (0, 0);
    for (i, j) in same.into_iter().chain([(old.len(), new.len())]) {
        let kind = |text: &String| text.split(' ').take(2).collect::<Vec<_>>().join(" ");
        let mut left: Vec<usize> = (before.0..i).collect();
        for (new_step, text) in new.iter().enumerate().take(j).skip(before.1) {
            let same_kind = left.iter().position(|old_step| kind(&old[*old_step]) == kind(text));
            if let Some(place) = same_kind {
                all.push((left[place], new_step));
                left.drain(..=place);
            }
        }
        if i < old.len() {
            all.push((i, j));
        }
        before = (i + 1, j + 1);
    }
    all
}

/// Returns the text that identifies a step: for an assertion, neither its time nor the requirements that it proves.
fn key(text: &str) -> String {
    let Some(assertion) = text.strip_prefix("assert ") else {
        return text.to_owned();
    };
    let (mode, rest) = assertion.split_once(": ").unwrap();
    let mode = mode.split(' ').next().unwrap();
    let rest = rest.split(" (phase ").next().unwrap();
    let rest = rest.split(" (within ").next().unwrap();
    let rest = rest.split(" [").next().unwrap();
    format!("assert {mode}: {rest}")
}

/// `assert consistently for 30 s: …`
fn seconds(text: &str) -> Option<Duration> {
    let (_, rest) = text.split_once("consistently for ")?;
    let (seconds, _) = rest.split_once(" s")?;
    Some(Duration::from_secs_f64(seconds.parse().ok()?))
}

fn with_marks(timeline: &Timeline, marks: Vec<(usize, Mark)>) -> Timeline {
    let mut marks = marks.into_iter().peekable();
    let mut aligned = Timeline::default();
    let mut seq = 0;
    let mut push = |at: Duration, event: Event| {
        seq += 1;
        aligned.push(Entry { at, seq, event }).unwrap();
    };
    for (index, entry) in timeline.entries().iter().enumerate() {
        while let Some((_, mark)) = marks.next_if(|(place, _)| *place <= index) {
            push(entry.at, Event::Mark(mark));
        }
        let of_step = matches!(
            entry.event,
            Event::Mark(Mark::StepStarted { .. } | Mark::StepEnded { .. })
        );
        if !of_step {
            push(entry.at, entry.event.clone());
        }
    }
    aligned
}

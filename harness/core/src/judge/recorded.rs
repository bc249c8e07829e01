//! Judges a recording by a case: a person or a script made the changes, and the steps of the case are searched in the
//! recorded events.
//!
//! Steps of people and of the harness (taints, faults) leave traces in objects, or none; a step without traces is taken as
//! done. The marks of a run are placed at the traces, and the result is judged as a run.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use jiff::Timestamp;
use serde_json::Value;

use super::{Verdict, judge};
use crate::{
    case::model::{Action, Assertion, Condition, Mode, ObjectRef, Place, Subject},
    judge::failovers::result_of,
    names::{ClusterName, RoleName},
    pattern::{self, Bindings, NAMESPACE},
    plan::Plan,
    select::{self, Followed},
    timeline::{Begin, Change, DEFAULT_NAMESPACE, Entry, Event, Mark, Order, Revision, StepEnd, Timeline, World},
    watch::{Known, Outcome, Standpoint, Watch},
};

/// Result of judging a recording by a case.
#[derive(Debug, Clone, PartialEq)]
pub struct Recorded {
    /// The verdict, with entries of the recording. It has no snapshots.
    pub verdict: Verdict,
    /// Steps that leave no trace in a recording, and were taken as done; in words.
    pub assumed: Vec<String>,
    /// The step of a person that the recording does not show, in words. Nothing after it is judged.
    pub missing: Option<String>,
}

/// Judges a recording by the plan of a case, and by the invariants.
pub fn judge_by(plan: &Plan, recording: &Timeline) -> Recorded {
    let mut search = Search::new(plan, recording);
    let plan = &*plan.in_namespace(&search.namespace);
    for (number, step) in plan.steps.iter().enumerate() {
        if !search.step(number, &step.action) {
            break;
        }
    }
    let Search {
        assumed,
        missing,
        marks,
        ..
    } = search;
    let (timeline, places) = with_marks(recording, marks);
    let mut verdict = judge(plan, &timeline);
    let findings = verdict.findings.iter_mut().chain(&mut verdict.inconclusive);
    findings.for_each(|finding| finding.seq = places.get(&finding.seq).copied().unwrap_or(finding.seq));
    if missing.is_some() {
        // The person who made the recording left out the step; the implementation is not at fault.
        verdict
            .findings
            .retain(|finding| finding.step.is_none() || !finding.requirements.is_empty());
    }
    verdict.snapshots.clear();
    Recorded {
        verdict,
        assumed,
        missing,
    }
}

/// How a step is found.
enum Found {
    /// Its trace is complete with this entry (its index); before the first one for what was there before.
    At(usize),
    /// Nothing shows it, and nothing could.
    NoTrace,
    /// It could be seen, and is not there. True if it is the implementation that should have done it.
    Missing { by_target: bool },
}

/// Looks for steps, one after the other.
struct Search<'a> {
    entries: &'a [Entry],
    namespace: String,
    known: Known,
    /// How much of the recording lies before the next step.
    cursor: usize,
    /// The entry at which the clean-up began.
    end: usize,
    /// Marks, each with the number of entries before it.
    marks: Vec<(usize, Mark)>,
    assumed: Vec<String>,
    missing: Option<String>,
}

impl<'a> Search<'a> {
    fn new(plan: &Plan, recording: &'a Timeline) -> Self {
        let entries = recording.entries();
        let namespace = namespace(recording);
        let members: Vec<ClusterName> = members(recording).into_iter().collect();
        let begin = Mark::Begin(Begin {
            case: plan.case.clone(),
            members: members.clone(),
            started: Timestamp::UNIX_EPOCH,
            backend: "recording".to_owned(),
            target: String::new(),
            namespace: namespace.clone(),
            time_factor: 1.0,
            order: Order::ARRIVAL,
            virtual_time: false,
            provenance: None,
        });
        let deletes = plan
            .steps
            .iter()
            .any(|step| matches!(step.action, Action::Delete { .. }));
        Self {
            entries,
            end: if deletes {
                entries.len()
            } else {
                tidying(recording, &namespace)
            },
            known: Known {
                bindings: Bindings::from([(NAMESPACE.to_owned(), namespace.clone())]),
                members,
            },
            namespace,
            cursor: 0,
            marks: vec![(0, begin)],
            assumed: Vec::new(),
            missing: None,
        }
    }

    /// Finds a step and puts its marks; false if nothing after it can be found.
    fn step(&mut self, number: usize, action: &Action) -> bool {
        let text = action.to_string();
        let started = Mark::StepStarted {
            step: number,
            text: text.clone(),
        };
        self.marks.push((self.cursor, started));
        let (end, at, go_on) = match action {
            Action::Assert(assertion) => self.assertion(assertion),
            action => match self.find(action) {
                Found::At(index) => {
                    self.cursor = self.cursor.max(index + 1);
                    (StepEnd::Done, self.cursor, true)
                }
                Found::NoTrace => {
                    self.assumed.push(text);
                    (StepEnd::Done, self.cursor, true)
                }
                Found::Missing { by_target } => {
                    if !by_target {
                        self.missing = Some(text);
                    }
                    (self.timed_out(), self.end.max(self.cursor), false)
                }
            },
        };
        self.marks.push((at, Mark::StepEnded { step: number, end }));
        go_on
    }

    fn timed_out(&self) -> StepEnd {
        let last = self.entries.last().map(|entry| entry.at).unwrap_or_default();
        let now = self.entries[..self.cursor]
            .last()
            .map(|entry| entry.at)
            .unwrap_or_default();
        StepEnd::timed_out("recording", last.saturating_sub(now))
    }

    /// An assertion that waits takes the case to the moment when it came true; one that never does leaves it where it
    /// is, since a driver does not wait for it.
    fn assertion(&mut self, assertion: &Assertion) -> (StepEnd, usize, bool) {
        match assertion.mode {
            Mode::Now | Mode::Never => (StepEnd::Done, self.cursor, true),
            Mode::Consistently(time) => (StepEnd::Done, self.after(time), true),
            Mode::Eventually | Mode::Observed | Mode::FirstSeen => {
                match self.watch(assertion.mode, &assertion.condition) {
                    Some(index) => {
                        self.cursor = self.cursor.max(index + 1);
                        (StepEnd::Done, self.cursor, true)
                    }
                    None => (self.timed_out(), self.end.max(self.cursor), true),
                }
            }
        }
    }

    /// The place after which so much time has passed.
    fn after(&self, time: Duration) -> usize {
        let now = self.entries[..self.cursor]
            .last()
            .map(|entry| entry.at)
            .unwrap_or_default();
        let later = self.entries.iter().position(|entry| entry.at >= now + time);
        later
            .unwrap_or(self.entries.len())
            .clamp(self.cursor, self.end.max(self.cursor))
    }

    /// The entry that settles a condition for good.
    fn watch(&self, mode: Mode, condition: &Condition) -> Option<usize> {
        let history = self.with_known(self.cursor);
        let mut watch = Watch::begin(mode, condition, &history, Standpoint::default());
        let held = |watch: &Watch<'_>| matches!(watch.outcome(), Some(Outcome::Held(_)));
        if held(&watch) {
            return Some(self.cursor.saturating_sub(1));
        }
        for (index, entry) in self.entries.iter().enumerate().take(self.end).skip(self.cursor) {
            watch.feed(entry);
            if held(&watch) {
                return Some(index);
            }
        }
        None
    }

    /// The entries before a place, with the marks that tell what is known there.
    fn with_known(&self, place: usize) -> Vec<Entry> {
        let mark = |(at, mark): &(usize, Mark)| Entry {
            at: self.entries[..*at].last().map(|entry| entry.at).unwrap_or_default(),
            seq: 0,
            event: Event::Mark(mark.clone()),
        };
        self.marks
            .iter()
            .map(mark)
            .chain(self.entries[..place].iter().cloned())
            .collect()
    }

    fn find(&mut self, action: &Action) -> Found {
        match action {
            Action::Apply { on, objects, .. } => self.applied(on, objects),
            Action::BindRole { role, from, not } => self.bound(role, from, not),
            Action::Capture { name, on, of, field } => self.captured(name, on, of, field),
            Action::Wait { until, .. } => match self.watch(Mode::Eventually, until) {
                Some(index) => Found::At(index),
                None => Found::Missing { by_target: true },
            },
            Action::Taint { cluster, taint, .. } => self.on_cluster(cluster, |object| has_taint(object, &taint.effect)),
            Action::Untaint { cluster, effect, .. } => self.on_cluster(cluster, |object| !has_taint(object, effect)),
            Action::Patch { on, of, merge } => self.driven(on, of, |object, known| {
                object.is_some_and(|object| has(object, merge, known))
            }),
            Action::SetStatus { on, of, status } => self.driven(on, of, |object, known| {
                object.is_some_and(|object| has(&object["status"], status, known))
            }),
            Action::Delete { on, of } => self.driven(on, of, |object, _| {
                object.is_none_or(|object| object.pointer("/metadata/deletionTimestamp").is_some())
            }),
            other if other.facts().needs_no_trace => Found::At(self.cursor.saturating_sub(1)),
            _ => Found::NoTrace,
        }
    }

    /// Follows what a subject speaks of from the cursor on until it shows something.
    fn until<T>(&self, of: &Subject, mut look: impl FnMut(&World, &Known) -> Option<T>) -> Option<(usize, T)> {
        let mut found = Followed::new(of);
        for entry in &self.entries[..self.cursor] {
            found.step(entry, &self.known.bindings);
        }
        if let Some(shown) = look(found.world(), &self.known) {
            return Some((self.cursor.saturating_sub(1), shown));
        }
        for (index, entry) in self.entries.iter().enumerate().take(self.end).skip(self.cursor) {
            let may_differ = found.step(entry, &self.known.bindings);
            if let Some(shown) = may_differ.then(|| look(found.world(), &self.known)).flatten() {
                return Some((index, shown));
            }
        }
        None
    }

    fn applied(&self, on: &[Place], objects: &[Value]) -> Found {
        let mut last = None;
        for place in on {
            for cluster in select::clusters(place, &self.known.bindings, &self.known.members) {
                for object in objects {
                    let text = |pointer| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
                    let (kind, name) = (text("/kind"), text("/metadata/name"));
                    // A recording does not have all kinds: policies and definitions, for two.
                    if !self.revisions().any(|(_, it)| it.cluster == cluster && it.kind == kind) {
                        continue;
                    }
                    let seen = self.revisions().find(|(_, it)| {
                        let its_name = it.object.pointer("/metadata/name").and_then(Value::as_str);
                        it.cluster == cluster && it.kind == kind && its_name == Some(name)
                    });
                    match seen {
                        Some((index, _)) => last = last.max(Some(index)),
                        None => return Found::Missing { by_target: false },
                    }
                }
            }
        }
        last.map_or(Found::NoTrace, Found::At)
    }

    fn revisions(&self) -> impl Iterator<Item = (usize, &'a Revision)> {
        self.entries
            .iter()
            .enumerate()
            .filter_map(|(index, entry)| match &entry.event {
                Event::Revision(revision) => Some((index, revision)),
                Event::Mark(_) => None,
            })
    }

    fn bound(&mut self, role: &RoleName, from: &ObjectRef, not: &[RoleName]) -> Found {
        let subject = Subject::BindingOf(from.clone());
        let control = ClusterName::control();
        let found = self.until(&subject, |world, known| {
            let (_, binding) = select::find(&subject, &control, world, &known.bindings).next()?;
            let taken: Vec<_> = not.iter().filter_map(|it| known.bindings.get(it.as_str())).collect();
            let mut left = result_of(binding)
                .into_iter()
                .filter(|name| !taken.iter().any(|it| *it == name.as_str()));
            let only = left.next()?;
            left.next().is_none().then_some(only)
        });
        let Some((index, cluster)) = found else {
            return Found::Missing { by_target: true };
        };
        self.known.bindings.insert(role.to_string(), cluster.to_string());
        let role = role.clone();
        self.marks.push((index + 1, Mark::RoleBound { role, cluster }));
        Found::At(index)
    }

    fn captured(&mut self, name: &str, on: &Place, of: &Subject, field: &[String]) -> Found {
        let place = select::place_of(of, on).clone();
        let found = self.until(of, |world, known| {
            let clusters = select::clusters(&place, &known.bindings, &known.members);
            clusters.iter().find_map(|cluster| {
                let (_, object) = select::find(of, cluster, world, &known.bindings).next()?;
                match select::field_of(object, field)? {
                    Value::String(text) if !text.is_empty() => Some(text.clone()),
                    value @ (Value::Number(_) | Value::Bool(_)) => Some(value.to_string()),
                    Value::String(_) | Value::Null | Value::Array(_) | Value::Object(_) => None,
                }
            })
        });
        let Some((index, value)) = found else {
            return Found::Missing { by_target: true };
        };
        self.known.bindings.insert(name.to_owned(), value.clone());
        let name = name.to_owned();
        self.marks.push((index + 1, Mark::Captured { name, value }));
        Found::At(index)
    }

    /// Something that the driver did to the Cluster object of a member.
    fn on_cluster(&self, cluster: &Place, shows: impl Fn(&Value) -> bool) -> Found {
        let Place::Role(role) = cluster else {
            return Found::NoTrace;
        };
        let subject = Subject::Cluster(role.clone());
        self.driven(cluster, &subject, |object, _| object.is_some_and(&shows))
    }

    /// Something that the driver did to an object.
    fn driven(&self, on: &Place, of: &Subject, shows: impl Fn(Option<&Value>, &Bindings) -> bool) -> Found {
        let place = select::place_of(of, on);
        let found = self.until(of, |world, known| {
            let clusters = select::clusters(place, &known.bindings, &known.members);
            let all = clusters.iter().all(|cluster| {
                let object = select::find(of, cluster, world, &known.bindings).next();
                shows(object.map(|(_, object)| &**object), &known.bindings)
            });
            (all && !clusters.is_empty()).then_some(())
        });
        match found {
            Some((index, ())) => Found::At(index),
            None => Found::Missing { by_target: false },
        }
    }
}

/// Returns `true` if a Cluster has a taint with this effect and any key: the key of a recording differs from the case's.
fn has_taint(cluster: &Value, effect: &str) -> bool {
    let taints = cluster.pointer("/spec/taints").and_then(Value::as_array);
    taints.is_some_and(|taints| taints.iter().any(|taint| taint["effect"] == effect))
}

/// Returns `true` if an object has all fields that are merged into it.
fn has(object: &Value, merge: &Value, known: &Bindings) -> bool {
    match merge {
        Value::Object(members) => members.iter().all(|(key, value)| match (object.get(key), value) {
            (None, Value::Null) => true,
            (None, _) => false,
            (Some(there), value) => has(there, value, known),
        }),
        Value::String(text) => object.as_str() == Some(pattern::resolve(text, known).as_str()),
        other => object == other,
    }
}

/// The namespace of the recorded workload: that of its first binding.
fn namespace(recording: &Timeline) -> String {
    let binding = recording
        .revisions()
        .find(|(_, it)| it.kind == select::BINDING_KINDS[0]);
    let named = binding.and_then(|(_, it)| it.object.pointer("/metadata/namespace")?.as_str());
    named.unwrap_or(DEFAULT_NAMESPACE).to_owned()
}

fn members(recording: &Timeline) -> BTreeSet<ClusterName> {
    let control = ClusterName::control();
    let name = |revision: &Revision| match revision.kind.as_str() {
        "Cluster" => revision
            .object
            .pointer("/metadata/name")?
            .as_str()
            .map(ClusterName::new),
        _ => Some(revision.cluster.clone()),
    };
    let names = recording.revisions().filter_map(|(_, revision)| name(revision));
    names.filter(|name| *name != control).collect()
}

/// The number of entries before the driver removes what the workload was made of.
fn tidying(recording: &Timeline, namespace: &str) -> usize {
    let control = ClusterName::control();
    let of_driver = |it: &Revision| {
        let own = it.object.pointer("/metadata/namespace").and_then(Value::as_str) == Some(namespace);
        own && it.cluster == control
            && it.change == Change::Deleted
            && !select::BINDING_KINDS.contains(&it.kind.as_str())
    };
    let entries = recording.entries();
    let first = entries
        .iter()
        .position(|entry| matches!(&entry.event, Event::Revision(it) if of_driver(it)));
    first.unwrap_or(entries.len())
}

/// A timeline with marks put in, and the places of its entries in the recording by their new ones.
fn with_marks(recording: &Timeline, mut marks: Vec<(usize, Mark)>) -> (Timeline, BTreeMap<u64, u64>) {
    marks.sort_by_key(|(place, _)| *place);
    let mut marks = marks.into_iter().peekable();
    let mut timeline = Timeline::default();
    let mut places = BTreeMap::new();
    let mut push = |at: Duration, event: Event, of: u64| {
        let seq = places.len() as u64 + 1;
        places.insert(seq, of);
        // Numbers ascend by construction.
        let _ = timeline.push(Entry { at, seq, event });
    };
    let (mut at, mut of) = (Duration::ZERO, 0);
    for (index, entry) in recording.entries().iter().enumerate() {
        while let Some((_, mark)) = marks.next_if(|(place, _)| *place <= index) {
            push(at, Event::Mark(mark), of);
        }
        (at, of) = (entry.at, entry.seq);
        push(at, entry.event.clone(), of);
    }
    for (_, mark) in marks {
        push(at, Event::Mark(mark), of);
    }
    (timeline, places)
}

//! Evaluates conditions on a growing timeline, in the same way for the runner, which waits, and for the judge, which looks
//! back.
//!
//! A [`Watch`] begins at a step: it knows what happened until then and is fed what happens afterwards, entry by entry.
//! `notices` collects what people can see, `passing` tells when an eviction task has come and gone.

mod notices;
mod passing;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use serde_json::Value;

use crate::{
    case::model::{Condition, Count, Expect, Mode, Subject},
    names::ClusterName,
    pattern::{Bindings, Mismatch, NAMESPACE, Pattern, weight},
    plan::{Plan, Since},
    select::{self, Followed},
    timeline::{Change, Entry, Event, Mark, ObjectId, Revision},
};
use notices::Notices;
use passing::Passing;

/// Values that the run knows at a moment: members by role, captured values, all members.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Known {
    /// Roles, captured values, and the namespace of the case.
    pub bindings: Bindings,
    /// The members of the fleet.
    pub members: Vec<ClusterName>,
}

impl Known {
    /// Returns what is known after these entries.
    pub fn after<'a>(entries: impl IntoIterator<Item = &'a Entry>) -> Self {
        let mut known = Self::default();
        for entry in entries {
            known.learn(entry);
        }
        known
    }

    /// Takes in what an entry says.
    pub fn learn(&mut self, entry: &Entry) {
        match &entry.event {
            Event::Mark(Mark::Begin(begin)) => {
                self.members.clone_from(&begin.members);
                self.bindings.insert(NAMESPACE.to_owned(), begin.namespace.clone());
            }
            Event::Mark(Mark::RoleBound { role, cluster }) => {
                self.bindings.insert(role.to_string(), cluster.to_string());
            }
            Event::Mark(Mark::Captured { name, value }) => {
                self.bindings.insert(name.clone(), value.clone());
            }
            Event::Mark(_) | Event::Revision(_) => {}
        }
    }
}

/// Place and moment at which a condition was found to hold, or not to hold.
#[derive(Debug, Clone, PartialEq)]
pub struct Evidence {
    /// The entry that settled it.
    pub seq: u64,
    /// Its time.
    pub at: Duration,
    /// The object that was looked at, if there was one.
    pub object: Option<ObjectId>,
    /// Differences of the object; empty if it matches, or does not exist.
    pub mismatches: Vec<Mismatch>,
}

/// How a condition came out.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// It held.
    Held(Evidence),
    /// It did not; the evidence is what came nearest.
    Failed(Evidence),
}

/// Position of a watch in a plan, which decides the earlier steps that count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Standpoint {
    /// Since when a warning counts; from the beginning, if absent.
    pub since: Option<Since>,
    /// The last step that did something, if there is one.
    pub last_act: Option<usize>,
}

impl Standpoint {
    /// That of a step.
    pub fn at(plan: &Plan, step: usize) -> Self {
        Self {
            since: plan.since(step),
            last_act: plan.last_act(step),
        }
    }
}

/// Returns `true` if an object is being deleted in the foreground, and only the cluster's garbage collector holds it. That of
/// a real cluster discovers new kinds every half a minute.
pub fn is_left_to_garbage_collector(object: &Value) -> bool {
    let finalizers = object.pointer("/metadata/finalizers").and_then(Value::as_array);
    object.pointer("/metadata/deletionTimestamp").is_some()
        && finalizers.is_some_and(|it| it.len() == 1 && it[0] == "foregroundDeletion")
}

/// A condition under observation from one step on.
#[derive(Debug)]
pub struct Watch<'a> {
    mode: Mode,
    condition: &'a Condition,
    known: Known,
    began: Duration,
    /// The last step before it that did something.
    last_act: Option<usize>,
    /// Entry with which that step began; `None` before it, or without one.
    acted: Option<u64>,
    found: Followed<'a>,
    /// The first revision of every object that is there (its latest incarnation), for `firstSeen`.
    first: BTreeMap<ObjectId, (u64, Duration, Arc<Value>)>,
    nearest: Option<Evidence>,
    /// Set if `nearest` is the result of the last evaluation.
    is_last_look: bool,
    settled: Option<Outcome>,
    last: (u64, Duration),
    notices: Option<Notices<'a>>,
    passing: Option<Passing>,
}

impl<'a> Watch<'a> {
    /// Begins to watch after `history`.
    pub fn begin(mode: Mode, condition: &'a Condition, history: &[Entry], standpoint: Standpoint) -> Self {
        let mut watch = Self {
            mode,
            condition,
            known: Known::after(history),
            began: history.last().map(|entry| entry.at).unwrap_or_default(),
            last_act: standpoint.last_act,
            acted: None,
            found: Followed::new(&condition.of),
            first: BTreeMap::new(),
            nearest: None,
            is_last_look: false,
            settled: None,
            last: (0, Duration::ZERO),
            notices: match &condition.of {
                Subject::NoticeOf(workload) => Some(Notices::of(workload, standpoint)),
                Subject::NewsOf(workload) => Some(Notices::events_of(workload, standpoint)),
                _ => None,
            },
            passing: match (mode, &condition.of, &condition.expect) {
                (Mode::Observed, Subject::BindingOf(_), Expect::Match(pattern)) => Passing::of(pattern),
                _ => None,
            },
        };
        for entry in history {
            watch.take(entry);
            if matches!(mode, Mode::Observed | Mode::Never) {
                watch.look_at_revision(entry);
            }
        }
        match mode {
            Mode::Now | Mode::Eventually | Mode::Consistently(_) | Mode::FirstSeen => watch.look_at_world(),
            Mode::Observed | Mode::Never => {}
        }
        watch
    }

    /// Takes in the next entry.
    pub fn feed(&mut self, entry: &Entry) {
        if let (Mode::Consistently(time), None) = (self.mode, &self.settled)
            && entry.at >= self.began + time
        {
            self.settled = Some(Outcome::Held(self.evidence(None, Vec::new())));
        }
        let may_differ = self.take(entry);
        if self.settled.is_some() {
            return;
        }
        match self.mode {
            Mode::Now => {}
            Mode::Eventually | Mode::Consistently(_) | Mode::FirstSeen if may_differ => self.look_at_world(),
            Mode::Eventually | Mode::Consistently(_) | Mode::FirstSeen => self.see_the_same(),
            Mode::Observed | Mode::Never => self.look_at_revision(entry),
        }
    }

    /// How it came out, once that is certain.
    pub fn outcome(&self) -> Option<&Outcome> {
        self.settled.as_ref()
    }

    /// Returns `true` if only a cluster's garbage collector keeps the condition from holding.
    pub fn waits_for_garbage_collector(&self) -> bool {
        let object = self.nearest.as_ref().and_then(|evidence| evidence.object.as_ref());
        let object = object.and_then(|id| self.found.world().get(id));
        matches!(self.condition.expect, Expect::Absent) && object.is_some_and(|it| is_left_to_garbage_collector(it))
    }

    /// How it came out, now that nothing more is to come.
    pub fn finish(self) -> Outcome {
        let nothing = self.evidence(None, Vec::new());
        match (self.settled, self.mode) {
            (Some(outcome), _) => outcome,
            (None, Mode::Never | Mode::Consistently(_)) => Outcome::Held(nothing),
            (None, Mode::Now | Mode::Eventually | Mode::Observed | Mode::FirstSeen) => {
                Outcome::Failed(self.nearest.unwrap_or(nothing))
            }
        }
    }

    /// Returns `true` if another evaluation may have another result.
    fn take(&mut self, entry: &Entry) -> bool {
        self.last = (entry.seq, entry.at);
        if let Event::Mark(Mark::StepStarted { step, .. }) = &entry.event
            && Some(*step) == self.last_act
        {
            self.acted = Some(entry.seq);
        }
        if self.mode == Mode::FirstSeen
            && let Event::Revision(revision) = &entry.event
            && self.found.is_of_its_kinds(&revision.kind)
        {
            let id = ObjectId::of(revision);
            if revision.change == Change::Deleted {
                self.first.remove(&id);
            } else {
                self.first
                    .entry(id)
                    .or_insert_with(|| (entry.seq, entry.at, Arc::clone(&revision.object)));
            }
        }
        let mut may_differ = self.found.step(entry, &self.known.bindings);
        if let Some(notices) = &mut self.notices {
            may_differ |= notices.take(entry);
        }
        may_differ
    }

    fn evidence(&self, object: Option<&ObjectId>, mismatches: Vec<Mismatch>) -> Evidence {
        let (seq, at) = self.last;
        Evidence {
            seq,
            at,
            object: object.cloned(),
            mismatches,
        }
    }

    fn look_at_world(&mut self) {
        if self.mode == Mode::FirstSeen {
            return self.look_at_first();
        }
        match (self.world_holds(), self.mode) {
            (outcome, Mode::Now)
            | (outcome @ Outcome::Held(_), Mode::Eventually)
            | (outcome @ Outcome::Failed(_), Mode::Consistently(_)) => self.settled = Some(outcome),
            (Outcome::Failed(evidence), _) => self.keep_if_nearer(evidence),
            (Outcome::Held(_), _) => {}
        }
    }

    /// The same failure again, later.
    fn see_the_same(&mut self) {
        if let (true, Some(nearest)) = (self.is_last_look, &mut self.nearest) {
            (nearest.seq, nearest.at) = self.last;
        }
    }

    /// Returns `true` if the condition holds in the present world, on each of its clusters.
    fn world_holds(&self) -> Outcome {
        let mut outcome = Outcome::Failed(self.evidence(None, Vec::new()));
        for cluster in self.clusters() {
            outcome = self.cluster_holds(&cluster);
            if matches!(outcome, Outcome::Failed(_)) {
                break;
            }
        }
        outcome
    }

    fn cluster_holds(&self, cluster: &ClusterName) -> Outcome {
        if let Some(notices) = &self.notices {
            return self.notice_holds(&notices.seen);
        }
        let mut found = select::find(&self.condition.of, cluster, self.found.world(), &self.known.bindings);
        let none = || self.evidence(None, Vec::new());
        let some = |(id, _): (&ObjectId, _)| self.evidence(Some(id), Vec::new());
        match &self.condition.expect {
            Expect::Present => found
                .next()
                .map_or_else(|| Outcome::Failed(none()), |it| Outcome::Held(some(it))),
            Expect::Absent => found
                .next()
                .map_or_else(|| Outcome::Held(none()), |it| Outcome::Failed(some(it))),
            Expect::NoMatch(pattern) => found
                .find(|(_, object)| pattern.matches(Some(object), &self.known.bindings))
                .map_or_else(|| Outcome::Held(none()), |it| Outcome::Failed(some(it))),
            Expect::Match(pattern) => {
                let mut nearest: Option<Evidence> = None;
                for (id, object) in found {
                    let mismatches = pattern.mismatches(Some(object), &self.known.bindings);
                    if mismatches.is_empty() {
                        return Outcome::Held(self.evidence(Some(id), mismatches));
                    }
                    if nearest
                        .as_ref()
                        .is_none_or(|best| weight(&mismatches) < weight(&best.mismatches))
                    {
                        nearest = Some(self.evidence(Some(id), mismatches));
                    }
                }
                Outcome::Failed(nearest.unwrap_or_else(none))
            }
            Expect::Count(count) => self.count_holds(count, found.collect()),
        }
    }

    /// Returns `true` if the expected number of these objects match.
    fn count_holds(&self, count: &Count, found: Vec<(&ObjectId, &Arc<Value>)>) -> Outcome {
        let bindings = &self.known.bindings;
        let all = found.len();
        let is_like = |object: &Value| {
            count
                .like
                .as_ref()
                .is_none_or(|like| like.matches(Some(object), bindings))
        };
        let counted = found.into_iter().filter(|(_, object)| is_like(object));
        let names: Vec<&str> = counted.map(|(id, _)| id.name.as_str()).collect();
        let mut mismatches = count.is.mismatches(Some(&Value::from(names.len())), bindings);
        for mismatch in &mut mismatches {
            "count".clone_into(&mut mismatch.path);
            mismatch.seen = match names.as_slice() {
                [] => format!("0 of {all}"),
                names => format!("{} of {all}: {}", names.len(), names.join(", ")),
            };
        }
        let evidence = self.evidence(None, mismatches);
        if evidence.mismatches.is_empty() {
            Outcome::Held(evidence)
        } else {
            Outcome::Failed(evidence)
        }
    }

    /// Returns `true` if the condition holds for the visible texts: for one of them, or for none.
    fn notice_holds(&self, seen: &[(ObjectId, String)]) -> Outcome {
        let none = || self.evidence(None, Vec::new());
        let differs = |pattern: &Pattern, text: &str| {
            let text = Value::String(text.to_owned());
            pattern.mismatches(Some(&text), &self.known.bindings)
        };
        let any = |pattern: &Pattern| seen.iter().find(|(_, text)| differs(pattern, text).is_empty());
        let some = |(id, _): &(ObjectId, String)| self.evidence(Some(id), Vec::new());
        match &self.condition.expect {
            Expect::Present => seen
                .last()
                .map_or_else(|| Outcome::Failed(none()), |it| Outcome::Held(some(it))),
            Expect::Absent => seen
                .last()
                .map_or_else(|| Outcome::Held(none()), |it| Outcome::Failed(some(it))),
            // The reader takes a count of bindings alone.
            Expect::Count(_) => Outcome::Failed(none()),
            Expect::NoMatch(pattern) => {
                any(pattern).map_or_else(|| Outcome::Held(none()), |it| Outcome::Failed(some(it)))
            }
            Expect::Match(pattern) => any(pattern).map_or_else(
                || {
                    let last = seen.last();
                    let last = last.map(|(id, text)| self.evidence(Some(id), differs(pattern, text)));
                    Outcome::Failed(last.unwrap_or_else(none))
                },
                |it| Outcome::Held(some(it)),
            ),
        }
    }

    fn look_at_first(&mut self) {
        for cluster in self.clusters() {
            let found = select::find(&self.condition.of, &cluster, self.found.world(), &self.known.bindings).next();
            let Some((id, (seq, at, object))) = found.and_then(|(id, _)| self.first.get_key_value(id)) else {
                continue;
            };
            let (held, mismatches) = match &self.condition.expect {
                Expect::Present => (true, Vec::new()),
                Expect::Absent | Expect::Count(_) => (false, Vec::new()),
                Expect::Match(pattern) => {
                    let mismatches = pattern.mismatches(Some(object), &self.known.bindings);
                    (mismatches.is_empty(), mismatches)
                }
                Expect::NoMatch(pattern) => (!pattern.matches(Some(object), &self.known.bindings), Vec::new()),
            };
            let evidence = Evidence {
                seq: *seq,
                at: *at,
                object: Some(id.clone()),
                mismatches,
            };
            self.settled = Some(if held {
                Outcome::Held(evidence)
            } else {
                Outcome::Failed(evidence)
            });
            return;
        }
    }

    fn look_at_revision(&mut self, entry: &Entry) {
        if self.settled.is_some() {
            return;
        }
        let Event::Revision(revision) = &entry.event else {
            return;
        };
        if !self.found.is_of_its_kinds(&revision.kind) {
            return;
        }
        let Some(id) = self.concerned(revision) else { return };
        let gone = revision.change == Change::Deleted;
        let bindings = &self.known.bindings;
        let (held, mismatches) = match &self.condition.expect {
            Expect::Present => (!gone, Vec::new()),
            Expect::Absent => (gone, Vec::new()),
            Expect::Match(_) if gone => return,
            Expect::Match(pattern) => {
                let mismatches = pattern.mismatches(Some(&revision.object), bindings);
                (mismatches.is_empty(), mismatches)
            }
            Expect::NoMatch(pattern) => (gone || !pattern.matches(Some(&revision.object), bindings), Vec::new()),
            Expect::Count(_) => return,
        };
        let evidence = self.evidence(Some(&id), mismatches);
        match (self.mode, held) {
            (Mode::Never, true) => self.settled = Some(Outcome::Failed(evidence)),
            (Mode::Never, false) => {}
            (_, true) => self.settled = Some(Outcome::Held(evidence)),
            (_, false) => self.keep_if_nearer(evidence),
        }
        let gone = self.passing.as_mut().is_some_and(|passing| {
            passing.is_gone(
                self.acted.is_some(),
                revision.change,
                &revision.object,
                &self.known.bindings,
            )
        });
        if let (None, true, Some(nearest)) = (&self.settled, gone, self.nearest.clone()) {
            self.settled = Some(Outcome::Failed(nearest));
        }
    }

    fn concerned(&self, revision: &Revision) -> Option<ObjectId> {
        let id = ObjectId::of(revision);
        let here = self.clusters().contains(&id.cluster);
        let about = select::is_subject(&self.condition.of, &id, &revision.object, &self.known.bindings);
        (here && about).then_some(id)
    }

    fn clusters(&self) -> Vec<ClusterName> {
        let place = select::place_of(&self.condition.of, &self.condition.on);
        select::clusters(place, &self.known.bindings, &self.known.members)
    }

    /// Of several failures the one with the fewest differences teaches most; of equal ones the latest. Of the revisions since
    /// the last step that did something, it is the first that was like that: the one with which a wrong value was written.
    fn keep_if_nearer(&mut self, evidence: Evidence) {
        let distance = |it: &Evidence| (it.object.is_none(), weight(&it.mismatches));
        let nearer = |best: &Evidence| match self.mode {
            Mode::Observed if self.acted.is_none_or(|acted| best.seq > acted) => distance(&evidence) < distance(best),
            Mode::Observed => distance(&evidence) <= distance(best),
            Mode::Now | Mode::Eventually | Mode::Consistently(_) | Mode::Never | Mode::FirstSeen => {
                distance(&evidence) <= distance(best)
            }
        };
        self.is_last_look = self.nearest.as_ref().is_none_or(nearer);
        if self.is_last_look {
            self.nearest = Some(evidence);
        }
    }
}
